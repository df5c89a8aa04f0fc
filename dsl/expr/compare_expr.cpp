// equal and compare of dsl/expr/traverse.h.
#include <bit>
#include <set>
#include <utility>

#include "dsl/expr/traverse.h"
#include "dsl/func/function.h"

namespace mica {
namespace {

template <typename T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int three_way(const std::string& a, const std::string& b) {
  const int order = a.compare(b);
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

int three_way(const Type& a, const Type& b) {
  if (const int order = three_way(a.code, b.code)) return order;
  if (const int order = three_way(a.bits, b.bits)) return order;
  return three_way(a.lanes, b.lanes);
}

// One comparison of two expressions, in which each pair of shared nodes is compared once.
class Comparison {
 public:
  int of(const Expr& a, const Expr& b) {
    if (a.same_as(b)) return 0;
    if (!a.defined() || !b.defined()) return a.defined() ? 1 : -1;
    const ExprNode& left = a.node();
    const ExprNode& right = b.node();
    if (const int order = three_way(left.op.index(), right.op.index())) return order;
    if (const int order = three_way(left.type, right.type)) return order;
    const bool shared = a.ptr().use_count() > 1 && b.ptr().use_count() > 1;
    if (shared && equal_.count({&left, &right}) > 0) return 0;
    const int order = std::visit(
        [&](const auto& op) { return order_of(op, std::get<std::decay_t<decltype(op)>>(right.op)); },
        left.op);
    if (shared && order == 0) equal_.emplace(&left, &right);
    return order;
  }

 private:
  template <typename T>
  static int three_way(const T& a, const T& b) {
    return mica::three_way(a, b);
  }
  int three_way(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    if (const int order = three_way(a.size(), b.size())) return order;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (const int order = of(a[i], b[i])) return order;
    }
    return 0;
  }

  // The order of the payloads of two nodes of one kind.
  int order_of(const IntImm& a, const IntImm& b) { return three_way(a.value, b.value); }
  int order_of(const FloatImm& a, const FloatImm& b) {
    return three_way(std::bit_cast<std::int64_t>(a.value), std::bit_cast<std::int64_t>(b.value));
  }
  int order_of(const VarRef& a, const VarRef& b) { return three_way(a.name, b.name); }
  int order_of(const ParamRef& a, const ParamRef& b) {
    return a.param == b.param ? 0 : three_way(a.param->name, b.param->name);
  }
  int order_of(const RVarRef& a, const RVarRef& b) {
    if (const int order = three_way(a.index, b.index)) return order;
    if (a.domain == b.domain) return 0;
    if (const int order = three_way(a.domain->name, b.domain->name)) return order;
    const auto& left = a.domain->dims;
    const auto& right = b.domain->dims;
    if (const int order = three_way(left.size(), right.size())) return order;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (const int order = three_way(left[i].name, right[i].name)) return order;
      if (const int order = of(left[i].min, right[i].min)) return order;
      if (const int order = of(left[i].extent, right[i].extent)) return order;
    }
    return 0;
  }
  int order_of(const ImageField& a, const ImageField& b) {
    if (const int order = three_way(a.field, b.field)) return order;
    if (const int order = three_way(a.dimension, b.dimension)) return order;
    return a.image == b.image ? 0 : three_way(a.image->name, b.image->name);
  }
  int order_of(const Cast& a, const Cast& b) { return of(a.value, b.value); }
  int order_of(const Unary& a, const Unary& b) {
    if (const int order = three_way(a.op, b.op)) return order;
    return of(a.a, b.a);
  }
  int order_of(const Binary& a, const Binary& b) {
    if (const int order = three_way(a.op, b.op)) return order;
    if (const int order = of(a.a, b.a)) return order;
    return of(a.b, b.b);
  }
  int order_of(const Compare& a, const Compare& b) {
    if (const int order = three_way(a.op, b.op)) return order;
    if (const int order = of(a.a, b.a)) return order;
    return of(a.b, b.b);
  }
  int order_of(const Select& a, const Select& b) {
    if (const int order = of(a.condition, b.condition)) return order;
    if (const int order = of(a.if_true, b.if_true)) return order;
    return of(a.if_false, b.if_false);
  }
  int order_of(const Fma& a, const Fma& b) {
    if (const int order = of(a.a, b.a)) return order;
    if (const int order = of(a.b, b.b)) return order;
    return of(a.c, b.c);
  }
  int order_of(const Strict& a, const Strict& b) { return of(a.value, b.value); }
  int order_of(const Access& a, const Access& b) {
    if (const int order = three_way(a.name, b.name)) return order;
    if (const int order = three_way(a.value_index, b.value_index)) return order;
    return three_way(a.args, b.args);
  }
  int order_of(const Let& a, const Let& b) {
    if (const int order = three_way(a.name, b.name)) return order;
    if (const int order = of(a.value, b.value)) return order;
    return of(a.body, b.body);
  }
  int order_of(const Load& a, const Load& b) {
    if (const int order = three_way(a.buffer, b.buffer)) return order;
    if (const int order = three_way(a.index, b.index)) return order;
    if (const int order = three_way(a.logical, b.logical)) return order;
    if (const int order = three_way(a.alignment, b.alignment)) return order;
    return three_way(a.streamed, b.streamed);
  }
  int order_of(const Ramp& a, const Ramp& b) {
    if (const int order = of(a.base, b.base)) return order;
    return of(a.stride, b.stride);
  }
  int order_of(const Broadcast& a, const Broadcast& b) { return of(a.value, b.value); }
  int order_of(const Shuffle& a, const Shuffle& b) {
    if (const int order = three_way(a.vectors, b.vectors)) return order;
    return three_way(a.lanes, b.lanes);
  }
  int order_of(const Reinterpret& a, const Reinterpret& b) { return of(a.value, b.value); }
  int order_of(const WarpShuffle& a, const WarpShuffle& b) {
    if (const int order = three_way(a.delta, b.delta)) return order;
    return of(a.value, b.value);
  }
  int order_of(const Print& a, const Print& b) {
    if (const int order = three_way(a.texts, b.texts)) return order;
    if (const int order = of(a.value, b.value)) return order;
    if (const int order = of(a.condition, b.condition)) return order;
    return three_way(a.operands, b.operands);
  }

  std::set<std::pair<const ExprNode*, const ExprNode*>> equal_;  // for lookup only
};

}  // namespace

int compare(const Expr& a, const Expr& b) { return Comparison().of(a, b); }

bool equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (!a.defined() || !b.defined() || a.node().hash != b.node().hash) return false;
  return compare(a, b) == 0;
}

}  // namespace mica
