#include "dsl/pipeline/call_inliner.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "dsl/expr/limits.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

// Folding may leave fewer of them.
constexpr std::int64_t kMostInlined = 2 * kMostOperations;

bool is_leaf(const Expr& e) {
  return e.as<IntImm>() || e.as<FloatImm>() || e.as<VarRef>() || e.as<ParamRef>();
}

/// stride * base + constant, modulo 2^32, where `base` is no such sum.
struct Affine {
  Expr base;  // undefined for a constant
  std::int32_t stride = 1, constant = 0;
};

std::int32_t wrapped(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

Affine scaled(Affine a, std::int64_t factor) {
  a.stride = wrapped(a.stride * factor);
  a.constant = wrapped(a.constant * factor);
  return a;
}

/// Of an i32. `steps`: how many nodes more may be looked into; those beyond are bases.
Affine affine(const Expr& e, int& steps) {
  const Affine whole{e};
  if (const auto* value = e.as<IntImm>()) return {{}, 0, wrapped(value->value)};
  const auto* op = e.as<Binary>();
  if (op == nullptr || --steps < 0) return whole;
  if (op->op != BinaryOp::Add && op->op != BinaryOp::Sub && op->op != BinaryOp::Mul) return whole;
  const Affine a = affine(op->a, steps);
  const Affine b = affine(op->b, steps);
  if (op->op == BinaryOp::Mul) {
    return !a.base.defined() ? scaled(b, a.constant) : !b.base.defined() ? scaled(a, b.constant) : whole;
  }
  if (a.base.defined() && b.base.defined() && !equal(a.base, b.base)) return whole;
  const std::int64_t sign = op->op == BinaryOp::Add ? 1 : -1;
  return {a.base.defined() ? a.base : b.base,
          wrapped((a.base.defined() ? a.stride : 0) + sign * (b.base.defined() ? b.stride : 0)),
          wrapped(a.constant + sign * b.constant)};
}

/// x + 1 - 2 as x - 1, where that is less: coordinates of one point are one node, on whatever way
/// through Funcs it is reached.
Expr gathered(const Expr& coordinate) {
  constexpr int kMostSteps = 16;
  int steps = kMostSteps;
  const Affine a = affine(coordinate, steps);
  if (steps == kMostSteps) return coordinate;
  if (!a.base.defined() || a.stride == 0) return make_const(coordinate.type(), a.constant);
  const bool mirrored = a.stride == -1;
  const int needed = mirrored ? 1 : (a.stride != 1 ? 1 : 0) + (a.constant != 0 ? 1 : 0);
  if (needed >= kMostSteps - steps) return coordinate;
  if (mirrored) return a.constant - a.base;
  const Expr ramp = a.stride * a.base;
  return a.constant < 0 && a.constant > std::numeric_limits<std::int32_t>::min() ? ramp - (-a.constant)
                                                                                 : ramp + a.constant;
}

/// A call with its coordinates gathered.
Expr gathered_call(const Expr& call) {
  return map_children(call, [](const Expr& arg) { return arg.type() == Int(32) ? gathered(arg) : arg; });
}

}  // namespace

Expr inlined(const FunctionData& callee, const Access& access) {
  const Expr& body = callee.definitions.front().values[static_cast<std::size_t>(access.value_index)];
  return substitute(body, [&](const std::string& name) -> Expr {
    for (std::size_t d = 0; d < callee.args.size(); ++d) {
      if (callee.args[d] != name) continue;
      const auto* same = access.args[d].as<VarRef>();
      return same != nullptr && same->name == name ? Expr() : access.args[d];
    }
    return {};
  });
}

void CallInliner::begin(const SourceLocation& where) {
  operations_ = 0;
  where_ = where;
}

Expr CallInliner::operator()(const Expr& e) {
  if (!e.defined()) return e;
  const auto seen = done_.find(e.ptr().get());
  if (seen != done_.end()) return seen->second.second;
  Expr r = map_children(e, [this](const Expr& child) { return (*this)(child); });
  const auto* access = r.as<Access>();
  const FunctionData* callee = access == nullptr ? nullptr : callee_of_(*access);
  if (callee != nullptr) {
    r = value_of(*callee, gathered_call(r));
  } else if (!is_leaf(e) && ++operations_ > kMostInlined && !counts_.empty()) {
    refuse();
  }
  done_.emplace(e.ptr().get(), std::pair(e, r));
  return r;
}

Expr CallInliner::value_of(const FunctionData& callee, const Expr& call) {
  const std::size_t hash = call.node().hash;
  for (const Call& known : calls_[hash]) {
    if (known.callee == &callee && equal(known.access, call)) return known.value;
  }
  ++counts_[callee.name];
  Expr value = (*this)(inlined(callee, *call.as<Access>()));
  calls_[hash].push_back({&callee, call, value});
  return value;
}

void CallInliner::refuse() const {
  const auto most = std::max_element(counts_.begin(), counts_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  throw UserError(
      fmt::format(
          "{} has more than {} operations a point, with all that is computed inline in it ({} at "
          "{} points); at most {} are compiled: compute {}, or another Func on the way, with "
          "compute_root()",
          func_, kMostInlined, most->first, most->second, kMostOperations, most->first),
      where_);
}

}  // namespace mica
