// The stores of one point of a definition: its values, in terms of the loops around, as loads of arrays.
//
//   f(x) = u(x - 1) + u(x + 1), x the value f.x + 3     f[f.x + 3] = u[f.x + 2] + u[f.x + 4]
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/program.h"

namespace mica::passes {

/// The values of the last points of a thread's columns, newest first: an array in registers for each
/// value of a Func with a recurrence, whose first dimensions are the Func's own without the
/// recurrence's.
struct Carried {
  std::vector<std::string> names;
  std::vector<std::size_t> dims;  ///< the Func's other dimensions
  std::vector<Expr> mins;
  std::vector<std::int64_t> extents;
  std::int64_t reach = 1;
};

/// What a Var of a definition, or a dimension of its reduction domain, is; undefined: none of them.
using ValueOf = std::function<Expr(const std::string&)>;

/// Stores what definition `index` of `func` gives at the point of `value_of`. With `carried`, reads of
/// the Func itself come from there, and the values are put there, too.
ir::Stmt point_stores(const Program& program, const FunctionData& func, std::size_t index,
                      const ValueOf& value_of, const Carried* carried = nullptr);

}  // namespace mica::passes
