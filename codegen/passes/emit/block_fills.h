// Boxes that all threads of a block fill together, each a few of the points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/analysis/bounds.h"
#include "codegen/passes/emit/point_stores.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/program.h"

namespace mica::passes {

/// Where in a kernel a box is filled.
struct FillPlace {
  const planning::KernelPlan* kernel = nullptr;  ///< null: of a root Func without one
  planning::BlockRow row = {};
  std::int64_t threads[3] = {1, 1, 1};  ///< of the block, in x, y, z
  bool inside = false;   ///< the block's points all lie in the domain: whole vectors do; or `clamped`
  bool clamped = false;  ///< the same code as in such blocks, of which loads are held in their arrays
  bool in_step = false;  ///< of a march, which waits for the asynchronous copies that it begins
  /// Of a Func and a box of it: the condition under which the point of `value_of` is to be filled;
  /// undefined: always.
  std::function<Expr(const FunctionData&, const analysis::Box&, const ValueOf& value_of)> needed = {};
};

/// The threads that fill a box of `func`.
planning::Crew crew_of(const FunctionData& func, const FillPlace& place);
/// The size of a box inside a block; UserError where it varies.
std::vector<std::int64_t> fixed_extents(const Program& program, const FunctionData& func,
                                        const analysis::Box& box);
/// The loops that fill `box` by definition `index` of `func`. UserErrors: a box whose size varies; a
/// copy of what is computed.
ir::Stmt fill_box(const Program& program, const FunctionData& func, std::size_t index,
                  const analysis::Box& box, LoadPolicy policy, const FillPlace& place);

}  // namespace mica::passes
