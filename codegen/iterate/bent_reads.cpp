#include "codegen/iterate/bent_reads.h"

#include "codegen/iterate/iteration_state.h"
#include "dsl/expr/match.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/bent_index.h"

namespace mica::iterate {
namespace {

/// Is its value known when a run begins, and the same for all steps?
bool is_bound(const Expr& e) {
  bool known = e.type() == Int(32);
  visit_nodes({e}, [&](const Expr& node) {
    const auto* param = node.as<ParamRef>();
    const bool stays = param != nullptr && param->param != step_param().data();
    known = known && (stays || node.as<IntImm>() != nullptr || node.as<ImageField>() != nullptr ||
                      node.as<Binary>() != nullptr);
  });
  return known;
}

Expr mirrored(const Expr& coordinate, Bend how, const boundary::Range& range) {
  return how == Bend::Mirror ? boundary::mirrored(coordinate, range)
                             : boundary::mirrored_about_edge(coordinate, range);
}

/// The extent of which mirrored coordinates have this period, 2 * extent or 2 * extent - 2.
Expr extent_of(const Expr& period, Bend how) {
  const int less = how == Bend::Mirror ? 0 : 2;
  if (const auto* value = as_int(period)) return static_cast<std::int32_t>((*value + less) / 2);
  const Binary* shorter = as_binary(period, BinaryOp::Sub);
  if (less > 0 && shorter == nullptr) return {};
  const Binary* twice = as_binary(less > 0 ? shorter->a : period, BinaryOp::Mul);
  if (twice == nullptr) return {};
  return is_const(twice->a, 2) ? twice->b : twice->a;
}

}  // namespace

std::optional<Bent> bent_of(const Expr& index) {
  const Binary* low = as_binary(index, BinaryOp::Max);
  const Binary* high = low != nullptr ? as_binary(low->a, BinaryOp::Min) : nullptr;
  if (high == nullptr || !is_bound(low->b) || !is_bound(high->b) || is_bound(high->a))
    return std::nullopt;
  // Where the range begins at a constant, it may be folded into its neighbours.
  const Binary* sum = as_binary(high->a, BinaryOp::Add);
  const Binary* nearer = as_binary(sum != nullptr ? sum->b : high->a, BinaryOp::Min);
  const Binary* rest = nearer != nullptr ? as_binary(nearer->a, BinaryOp::Mod) : nullptr;
  for (const Bend how : {Bend::Mirror, Bend::MirrorAboutEdge}) {
    const Expr extent = rest != nullptr ? extent_of(rest->b, how) : Expr();
    if (!extent.defined()) continue;
    const Binary* from_min = as_binary(rest->a, BinaryOp::Sub);
    for (const Expr& x : {from_min != nullptr ? from_min->a : rest->a, rest->a + low->b}) {
      if (equal(index, mirrored(x, how, {low->b, extent}))) return Bent{how, x, low->b, high->b};
    }
  }
  return Bent{Bend::Clamp, high->a, low->b, high->b};
}

}  // namespace mica::iterate
