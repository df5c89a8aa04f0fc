#include "codegen/analysis/float_intervals.h"

#include <cmath>
#include <limits>
#include <optional>

#include "dsl/expr/operators.h"

namespace mica::analysis {
namespace {

using Of = std::function<Interval(const Expr&)>;
using Line = std::function<Expr(const Expr&)>;

// Functions are computed with an error in the last places.
constexpr double kBeyond = 1e-5;

std::optional<double> number_of(const Interval& i) {
  const auto* imm = i.is_point() ? i.min.as<FloatImm>() : nullptr;
  if (imm == nullptr || !std::isfinite(imm->value)) return std::nullopt;
  return imm->value;
}

// The line through both ends of `a`, which rises, falls, or does what its factor's sign says.
Interval along(const Interval& a, std::optional<bool> falls, const Line& line) {
  if (!a.bounded()) return {};
  const Expr first = line(a.min), last = line(a.max);
  if (!falls) {
    // 0 times infinity is no end, though there are values beside it.
    const Expr most = make_const(first.type(), std::numeric_limits<double>::infinity());
    const Expr known = first == first && last == last;
    return {select(known, min(first, last), -most), select(known, max(first, last), most)};
  }
  return *falls ? Interval{last, first} : Interval{first, last};
}

// Does a line with this factor fall?
std::optional<bool> falls_with(const Interval& factor) {
  const auto number = number_of(factor);
  return number ? std::optional(*number < 0) : std::nullopt;
}

Interval of_fma(const Expr& e, const Fma& op, const Of& of) {
  const Interval a = of(op.a), b = of(op.b), c = of(op.c);
  if (!c.is_point()) return {};
  if (a.is_point()) {
    return along(b, falls_with(a), [&](const Expr& end) {
      return make_expr(e.type(), Fma{a.min, end, c.min});
    });
  }
  if (!b.is_point()) return {};
  return along(a, falls_with(b), [&](const Expr& end) {
    return make_expr(e.type(), Fma{end, b.min, c.min});
  });
}

Interval of_binary(const Expr& e, const Binary& op, const Of& of) {
  const auto both = [&](double most) {
    return Interval{make_const(e.type(), -most), make_const(e.type(), most)};
  };
  if (op.op == BinaryOp::Atan2) return both(M_PI + kBeyond);
  const Interval a = of(op.a), b = of(op.b);
  if (op.op == BinaryOp::Fmod) {
    const auto divisor = number_of(b);
    return divisor ? both(std::abs(*divisor)) : Interval{};
  }
  const bool at_right = b.is_point();
  if (!at_right && !a.is_point()) return {};
  const Line line = [&](const Expr& end) {
    return make_expr(e.type(), at_right ? Binary{op.op, end, b.min} : Binary{op.op, a.min, end});
  };
  switch (op.op) {
    case BinaryOp::Add: return along(at_right ? a : b, false, line);
    case BinaryOp::Sub: return along(at_right ? a : b, !at_right, line);
    case BinaryOp::Mul: return along(at_right ? a : b, falls_with(at_right ? b : a), line);
    case BinaryOp::Div: {
      const auto divisor = number_of(b);
      return divisor && *divisor != 0 ? along(a, *divisor < 0, line) : Interval{};
    }
    default: return {};
  }
}

Interval of_unary(const Expr& e, const Unary& op, const Of& of) {
  const auto number = [&](double value) { return make_const(e.type(), value); };
  const auto side = [&](const Expr& x) {
    return x.defined() ? make_expr(e.type(), Unary{op.op, x}) : Expr();
  };
  switch (op.op) {
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tanh: return {number(-1 - kBeyond), number(1 + kBeyond)};
    default: break;
  }
  const Interval a = of(op.a);
  switch (op.op) {
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round: return {side(a.min), side(a.max)};
    case UnaryOp::Neg: {
      const auto negated = [&](const Expr& x) {
        const auto* imm = x.defined() ? x.as<FloatImm>() : nullptr;
        return imm != nullptr ? number(-imm->value) : side(x);
      };
      return {negated(a.max), negated(a.min)};
    }
    case UnaryOp::Abs: return {number(0), a.bounded() ? max(side(a.min), side(a.max)) : Expr()};
    case UnaryOp::Sqrt: return {number(0), a.max.defined() ? side(max(a.max, number(0))) : Expr()};
    case UnaryOp::Exp: {
      const auto* most = a.max.defined() ? a.max.as<FloatImm>() : nullptr;
      return {number(0), most ? number(std::exp(most->value) * (1 + kBeyond)) : Expr()};
    }
    default: return {};
  }
}

}  // namespace

Interval monotone_interval(const Expr& e, const Of& of) {
  if (const auto* op = e.as<Fma>()) return of_fma(e, *op, of);
  if (const auto* op = e.as<Binary>()) return of_binary(e, *op, of);
  if (const auto* op = e.as<Unary>()) return of_unary(e, *op, of);
  if (const auto* op = e.as<Cast>()) {
    const Interval a = of(op->value);
    const auto side = [&](const Expr& x) { return x.defined() ? cast(e.type(), x) : Expr(); };
    return {side(a.min), side(a.max)};
  }
  return {};
}

}  // namespace mica::analysis
