#include "codegen/analysis/bent_offset.h"

#include "codegen/analysis/linear.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

/// Is it a few operations on integers, at most `most` of them, written out? Data are none.
bool is_short(const Expr& index, int& most) {
  if (--most < 0) return false;
  if (const auto* op = index.as<Binary>()) return is_short(op->a, most) && is_short(op->b, most);
  return index.as<IntImm>() != nullptr || index.as<VarRef>() != nullptr ||
         index.as<ParamRef>() != nullptr || index.as<ImageField>() != nullptr;
}

/// `index` without what keeps it to a box: u.min + (x + 1 - u.min) % u.extent becomes x + 1. A mirrored
/// one, min(i, 2n - 1 - i), becomes what it is before the mirror.
Expr unbent(const Expr& index, const std::string& var) {
  if (const auto* op = index.as<Binary>()) {
    const bool is_end = op->op == BinaryOp::Min || op->op == BinaryOp::Max;
    const bool first = uses_var(op->a, var), second = uses_var(op->b, var);
    if ((is_end || op->op == BinaryOp::Mod) && first != second) {
      return unbent(first ? op->a : op->b, var);
    }
    if (is_end && first) {
      const Expr a = unbent(op->a, var), b = unbent(op->b, var);
      const auto slope = [&](const Expr& e) { return linearize(e).coefficient(var); };
      if (slope(a) == 1 && slope(b) == -1) return a;
      if (slope(a) == -1 && slope(b) == 1) return b;
      return make_expr(index.type(), Binary{op->op, a, b});
    }
  }
  return map_children(index, [&](const Expr& child) { return unbent(child, var); });
}

}  // namespace

std::optional<std::int64_t> bent_offset(const Expr& index, const std::string& var) {
  int most = 64;  // of a mirrored index a dozen
  if (!is_short(index, most)) return std::nullopt;
  const Linear form = linearize(unbent(index, var));
  const bool is_near = form.terms.size() == 1 && form.terms.front().second == 1 &&
                       equal(form.terms.front().first, make_var(var));
  return is_near ? std::optional(form.constant) : std::nullopt;
}

}  // namespace mica::analysis
