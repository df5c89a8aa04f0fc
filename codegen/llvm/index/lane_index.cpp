#include "codegen/llvm/index/lane_index.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "codegen/analysis/linear.h"
#include "codegen/ir/stmt.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {
namespace {

constexpr std::int64_t kMostBases = 4;

Expr binary(BinaryOp op, const Expr& a, const Expr& b) { return make_expr(a.type(), Binary{op, a, b}); }

Expr plus(const Expr& e, std::int64_t constant) {
  return constant == 0 ? e : binary(BinaryOp::Add, e, make_const(e.type(), constant));
}

/// The same lanes by `bases` bases, a multiple of those it has.
LaneIndex spread(const LaneIndex& form, std::size_t bases) {
  const std::size_t own = form.bases.size();
  LaneIndex result;
  for (std::size_t p = 0; p < bases; ++p) {
    const auto turns = static_cast<std::int64_t>(p / own);
    result.bases.push_back(plus(form.bases[p % own], form.stride * turns));
  }
  result.stride = form.stride * static_cast<std::int64_t>(bases / own);
  return result;
}

std::optional<LaneIndex> sum_of(BinaryOp op, const LaneIndex& a, const LaneIndex& b) {
  const std::size_t bases = std::max(a.bases.size(), b.bases.size());
  const LaneIndex left = spread(a, bases), right = spread(b, bases);
  LaneIndex result;
  for (std::size_t p = 0; p < bases; ++p) {
    result.bases.push_back(binary(op, left.bases[p], right.bases[p]));
  }
  result.stride = op == BinaryOp::Add ? left.stride + right.stride : left.stride - right.stride;
  return result;
}

std::optional<LaneIndex> product_of(const LaneIndex& form, const Expr& factor) {
  const std::int64_t* constant = as_int(factor);
  if (constant == nullptr && form.stride != 0) return std::nullopt;
  LaneIndex result{{}, constant != nullptr ? form.stride * *constant : 0};
  for (const Expr& base : form.bases) result.bases.push_back(binary(BinaryOp::Mul, base, factor));
  return result;
}

/// Of a linear form and a positive constant. With k = divisor/stride, floor((x + stride*(k*q +
/// p))/divisor) is q + floor((x + stride*p)/divisor).
std::optional<LaneIndex> quotient_of(const LaneIndex& form, const Expr& divisor) {
  const std::int64_t* value = as_int(divisor);
  if (value == nullptr || *value < 1 || form.bases.size() != 1 || form.stride < 0) return std::nullopt;
  if (form.stride % *value == 0) {
    return LaneIndex{{binary(BinaryOp::Div, form.bases[0], divisor)}, form.stride / *value};
  }
  if (*value % form.stride != 0) return std::nullopt;
  const std::int64_t bases = *value / form.stride;
  if (bases > kMostBases || !std::has_single_bit(static_cast<std::uint64_t>(bases))) return std::nullopt;
  LaneIndex result{{}, 1};
  for (std::int64_t p = 0; p < bases; ++p) {
    result.bases.push_back(binary(BinaryOp::Div, plus(form.bases[0], form.stride * p), divisor));
  }
  return result;
}

}  // namespace

std::optional<LaneIndex> lane_index(const Expr& e) {
  if (const Ramp* ramp = e.as<Ramp>()) {
    const std::int64_t* stride = as_int(ramp->stride);
    if (stride == nullptr) return std::nullopt;
    return LaneIndex{{ramp->base}, *stride};
  }
  if (const Broadcast* broadcast = e.as<Broadcast>()) return LaneIndex{{broadcast->value}, 0};
  if (const Cast* cast = e.as<Cast>()) {
    const Type from = cast->value.type();
    if (!from.is_int() || !e.type().is_int() || from.bits > e.type().bits) return std::nullopt;
    std::optional<LaneIndex> form = lane_index(cast->value);
    for (std::size_t p = 0; form && p < form->bases.size(); ++p) {
      form->bases[p] = make_expr(e.type().element(), Cast{form->bases[p]});
    }
    return form;
  }
  const Binary* op = e.as<Binary>();
  if (op == nullptr) return std::nullopt;
  const bool known = op->op == BinaryOp::Add || op->op == BinaryOp::Sub || op->op == BinaryOp::Mul ||
                     op->op == BinaryOp::Div;
  if (!known) return std::nullopt;
  const std::optional<LaneIndex> a = lane_index(op->a);
  const std::optional<LaneIndex> b = a ? lane_index(op->b) : std::nullopt;
  if (!a || !b) return std::nullopt;
  const auto uniform = [](const LaneIndex& form) { return form.bases.size() == 1 && form.stride == 0; };
  switch (op->op) {
    case BinaryOp::Mul:
      if (uniform(*b)) return product_of(*a, b->bases[0]);
      return uniform(*a) ? product_of(*b, a->bases[0]) : std::nullopt;
    case BinaryOp::Div: return uniform(*b) ? quotient_of(*a, b->bases[0]) : std::nullopt;
    default: return sum_of(op->op, *a, *b);
  }
}

bool is_side_by_side(const Expr& first, int lanes) {
  const std::string x = ir::kGpuAxisNames[static_cast<std::size_t>(ir::GpuAxis::ThreadX)];
  std::int64_t step = 0;
  for (const auto& [atom, factor] : analysis::linearize(first).terms) {
    const auto* wider = atom.as<Cast>();  // an index of 64 bits
    const auto* var = (wider != nullptr ? wider->value : atom).as<VarRef>();
    if (var != nullptr && var->name == x) {
      step += factor;
    } else if (uses_var(atom, x)) {
      return false;
    }
  }
  return step == lanes;
}

}  // namespace mica::llvm_backend
