// The step of an Iteration as one Func, of which time tiles and patches take several:
//
//   before   v(x) = v0(x) + p0(x) - p0(x - 1)       replaces v0
//            p(x) = p0(x) + v(x + 1) - v(x)         replaces p0
//   after    v.p(x) = {v(x), p(x)}                  v and p as they are, but without directives
//
// A value means something at the points that its own Func's box has. Elsewhere it may read beyond the
// fields, and nobody asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/iterate/iteration_state.h"

namespace mica::iterate {

struct JointStep {
  Func func;                         ///< of a step of one Func that one
  std::vector<std::size_t> fields;   ///< by value: which field it replaces
  std::vector<std::size_t> outputs;  ///< by value: whose it is of the step's Funcs
  std::string why;                   ///< they are none: `func` is undefined; empty: they are
};

/// What becomes of Funcs of a step that others of it read.
enum class ReadFuncs : std::uint8_t {
  Inline,  ///< computed again for each read
  Kept,    ///< computed once a step, where its levels are
};

/// Its dimensions have the names, and its loops are those, of the step's first Func.
JointStep joint_step(const Iteration::State& state, ReadFuncs read);

}  // namespace mica::iterate
