#include "codegen/plan/frame/own_order.h"

#include <algorithm>
#include <numeric>

#include "codegen/analysis/recurrences.h"
#include "codegen/analysis/simplify.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::planning {

using passes::simplify;

namespace {

Expr number(std::int64_t value) { return make_const(Int(32), value); }

/// i with factor * i mod count = 1; they have no common divisor.
std::int64_t inverse(std::int64_t factor, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (floor_mod(factor * i, count) == 1) return i;
  }
  throw InternalError("a color's factor has an inverse");
}

/// The dimension whose loop steps from point to point of one color: the first whose factor says for all
/// others which of its points have it. The number of dimensions if none does.
std::size_t stepped_dimension(const std::vector<std::int64_t>& factors, std::int64_t count) {
  const auto steps = [&](std::int64_t factor) { return std::gcd(factor, count) == 1; };
  return static_cast<std::size_t>(std::find_if(factors.begin(), factors.end(), steps) - factors.begin());
}

}  // namespace

void add_own_order(const FunctionData& func, std::size_t index,
                   std::map<std::string, LoopVars::Root>& roots) {
  const Definition& definition = func.definitions[index];
  if (definition.recurrence && definition.recurrence->ahead) {
    roots.at(func.args[definition.recurrence->dim]).descends = true;
  }
  if (!definition.coloring) return;
  // All of a small output is its rim. Two extents below 0 would make a fused loop of some iterations.
  for (auto& [var, root] : roots) root.extent = simplify(max(root.extent, 0));
  const Coloring& coloring = *definition.coloring;
  const auto factors = color_factors(func, coloring);
  const std::size_t d = stepped_dimension(factors, coloring.count);
  if (d == factors.size()) return;
  LoopVars::Root& root = roots.at(func.args[d]);
  // The color of the first point of the row tells how far the row's first one of the wanted color is.
  const Expr first = substitute(coloring.value, [&](const std::string& name) {
    return name == func.args[d] ? root.base : Expr();
  });
  const std::int64_t times = inverse(factors[d], coloring.count);
  root.phase = ((number(coloring.only) - first) * number(times)) % number(coloring.count);
  root.step = coloring.count;
  root.points = root.extent;
  root.extent = simplify((root.extent + number(root.step - 1)) / number(root.step));
}

Expr color_condition(const FunctionData& func, std::size_t index) {
  const auto& coloring = func.definitions[index].coloring;
  if (!coloring) return {};
  const auto factors = color_factors(func, *coloring);
  if (stepped_dimension(factors, coloring->count) < factors.size()) return {};
  return coloring->value % number(coloring->count) == number(coloring->only);
}

}  // namespace mica::planning
