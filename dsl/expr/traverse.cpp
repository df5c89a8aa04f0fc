#include "dsl/expr/traverse.h"

#include <bit>
#include <cstdint>
#include <functional>

#include "dsl/expr/mix.h"
#include "dsl/expr/substitution.h"
#include "dsl/func/function.h"

namespace mica {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

using Rewrite = FunctionRef<Expr(const Expr&)>;

// `items` rewritten into `result`, which stays empty (no copy) when none changed.
bool map_list(const std::vector<Expr>& items, Rewrite rewrite, std::vector<Expr>& result) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    Expr item = rewrite(items[i]);
    if (result.empty()) {
      if (item.same_as(items[i])) continue;
      result.reserve(items.size());
      result.assign(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(i));
    }
    result.push_back(std::move(item));
  }
  return !result.empty();
}

}  // namespace

namespace {

void for_each_child_of(const ExprNode& node, FunctionRef<void(const Expr&)> visit) {
  const auto each = [&](const std::vector<Expr>& items) {
    for (const Expr& item : items) visit(item);
  };
  std::visit(Overloaded{
                 [](const IntImm&) {},
                 [](const FloatImm&) {},
                 [](const VarRef&) {},
                 [](const ParamRef&) {},
                 [](const RVarRef&) {},
                 [](const ImageField&) {},
                 [&](const Cast& op) { visit(op.value); },
                 [&](const Unary& op) { visit(op.a); },
                 [&](const Binary& op) { visit(op.a), visit(op.b); },
                 [&](const Compare& op) { visit(op.a), visit(op.b); },
                 [&](const Select& op) { visit(op.condition), visit(op.if_true), visit(op.if_false); },
                 [&](const Fma& op) { visit(op.a), visit(op.b), visit(op.c); },
                 [&](const Strict& op) { visit(op.value); },
                 [&](const Access& op) { each(op.args); },
                 [&](const Let& op) { visit(op.value), visit(op.body); },
                 [&](const Load& op) { each(op.index), each(op.logical); },
                 [&](const Ramp& op) { visit(op.base), visit(op.stride); },
                 [&](const Broadcast& op) { visit(op.value); },
                 [&](const Shuffle& op) { each(op.vectors); },
                 [&](const Reinterpret& op) { visit(op.value); },
                 [&](const WarpShuffle& op) { visit(op.value); },
                 [&](const Print& op) { visit(op.value), visit(op.condition), each(op.operands); },
             },
             node.op);
}

}  // namespace

void for_each_child(const Expr& e, FunctionRef<void(const Expr&)> visit) {
  for_each_child_of(e.node(), visit);
}

namespace {

// Mixed bits of the structure: what compare calls equal gives the same ones, since names count where it
// compares them, and what only says where a node came from does not.
class Hasher {
 public:
  explicit Hasher(const ExprNode& node) {
    const Type type = node.type;
    add(node.op.index());
    add(static_cast<std::uint64_t>(type.code) << 32 | static_cast<std::uint64_t>(type.bits) << 16 |
        static_cast<std::uint64_t>(type.lanes));
    std::visit(*this, node.op);
    for_each_child_of(node, [this](const Expr& child) { add(child.defined() ? child->hash : 0); });
  }
  [[nodiscard]] std::size_t value() const { return static_cast<std::size_t>(state_); }

  // What a node says itself.
  template <typename Op>
  void operator()(const Op& op) {
    if constexpr (requires { op.op; }) add(static_cast<std::uint64_t>(op.op));
    if constexpr (requires { op.name; }) add(op.name);
    if constexpr (requires { op.value_index; }) add(static_cast<std::uint64_t>(op.value_index));
  }
  void operator()(const IntImm& op) { add(static_cast<std::uint64_t>(op.value)); }
  void operator()(const FloatImm& op) { add(std::bit_cast<std::uint64_t>(op.value)); }
  void operator()(const Load& op) { add(op.buffer); }
  void operator()(const Print& op) {
    for (const std::string& text : op.texts) add(text);
  }

 private:
  void add(std::uint64_t bits) { state_ = mixed(state_, bits); }
  void add(const std::string& text) { add(std::hash<std::string>()(text)); }

  std::uint64_t state_ = 0;
};

}  // namespace

ExprNode::ExprNode(Type of, Op what) : type(of), op(std::move(what)), hash(Hasher(*this).value()) {}

namespace {

// Lets go of nodes and Funcs one after the other, and first of what is inside those that nothing else
// holds: neither a deep expression nor a long chain of Funcs needs a deep stack to go.
class Release {
 public:
  // What a node that goes is made of. Nodes and Funcs are made as what they are, not const.
  void take_from(const ExprNode& node) {
    for_each_child_of(node, [this](const Expr& child) { take(child); });
    const auto* access = std::get_if<Access>(&node.op);
    if (access == nullptr || access->function == nullptr) return;
    funcs_.push_back(std::move(const_cast<Access*>(access)->function));
  }
  void run() {
    while (!exprs_.empty() || !funcs_.empty()) {
      if (exprs_.empty()) {
        const auto last = std::move(funcs_.back());
        funcs_.pop_back();
        if (last.use_count() == 1) take_from(*last);
        continue;
      }
      const Expr last = std::move(exprs_.back());
      exprs_.pop_back();
      if (last.ptr().use_count() == 1) take_from(last.node());
    }
  }

 private:
  void take(const Expr& e) {
    const bool is_leaf = e.as<IntImm>() || e.as<FloatImm>() || e.as<VarRef>();
    if (e.defined() && !is_leaf) exprs_.push_back(std::move(const_cast<Expr&>(e)));
  }
  void take_from(const FunctionData& f) {
    for (const Definition& definition : f.definitions) {
      for (const Expr& e : definition.args) take(e);
      for (const Expr& e : definition.values) take(e);
    }
    for (const auto& [source, wrapper] : f.wrappers) {
      funcs_.push_back(std::move(const_cast<std::shared_ptr<FunctionData>&>(wrapper)));
    }
  }

  std::vector<Expr> exprs_;
  std::vector<std::shared_ptr<const FunctionData>> funcs_;
};

}  // namespace

ExprNode::~ExprNode() {
  Release release;
  release.take_from(*this);
  release.run();
}

Expr map_children(const Expr& e, Rewrite rewrite) {
  const Type type = e.type();
  const auto one = [&]<typename Op>(const Op& op, const Expr& child, auto&& rebuild) {
    Expr value = rewrite(child);
    return value.same_as(child) ? e : make_expr(type, Op(rebuild(op, std::move(value))));
  };
  const auto two = [&]<typename Op>(const Op& op, Expr Op::*first, Expr Op::*second) {
    Expr a = rewrite(op.*first);
    Expr b = rewrite(op.*second);
    if (a.same_as(op.*first) && b.same_as(op.*second)) return e;
    Op changed = op;
    changed.*first = std::move(a);
    changed.*second = std::move(b);
    return make_expr(type, std::move(changed));
  };
  const auto three = [&]<typename Op>(const Op& op, Expr Op::*first, Expr Op::*second, Expr Op::*third) {
    Expr a = rewrite(op.*first);
    Expr b = rewrite(op.*second);
    Expr c = rewrite(op.*third);
    if (a.same_as(op.*first) && b.same_as(op.*second) && c.same_as(op.*third)) return e;
    return make_expr(type, Op{std::move(a), std::move(b), std::move(c)});
  };
  return std::visit(
      Overloaded{
          [&](const IntImm&) { return e; },
          [&](const FloatImm&) { return e; },
          [&](const VarRef&) { return e; },
          [&](const ParamRef&) { return e; },
          [&](const RVarRef&) { return e; },
          [&](const ImageField&) { return e; },
          [&](const Cast& op) {
            return one(op, op.value, [](const Cast&, Expr v) { return Cast{std::move(v)}; });
          },
          [&](const Unary& op) {
            return one(op, op.a, [](const Unary& u, Expr v) { return Unary{u.op, std::move(v)}; });
          },
          [&](const Binary& op) { return two(op, &Binary::a, &Binary::b); },
          [&](const Compare& op) { return two(op, &Compare::a, &Compare::b); },
          [&](const Select& op) {
            return three(op, &Select::condition, &Select::if_true, &Select::if_false);
          },
          [&](const Fma& op) { return three(op, &Fma::a, &Fma::b, &Fma::c); },
          [&](const Strict& op) {
            return one(op, op.value, [](const Strict&, Expr v) { return Strict{std::move(v)}; });
          },
          [&](const Access& op) {
            std::vector<Expr> args;
            if (!map_list(op.args, rewrite, args)) return e;
            return make_expr(type, Access{op.name, op.function, op.image, op.value_index,
                                          std::move(args), op.where, op.is_self});
          },
          [&](const Let& op) { return two(op, &Let::value, &Let::body); },
          [&](const Load& op) {
            std::vector<Expr> index, logical;
            const bool index_changed = map_list(op.index, rewrite, index);
            const bool logical_changed = map_list(op.logical, rewrite, logical);
            if (!index_changed && !logical_changed) return e;
            if (!index_changed) index = op.index;
            if (!logical_changed) logical = op.logical;
            return make_expr(type, Load{op.buffer, std::move(index), std::move(logical), op.alignment,
                                        op.streamed, op.where});
          },
          [&](const Ramp& op) { return two(op, &Ramp::base, &Ramp::stride); },
          [&](const Broadcast& op) {
            return one(op, op.value, [](const Broadcast&, Expr v) { return Broadcast{std::move(v)}; });
          },
          [&](const Shuffle& op) {
            std::vector<Expr> vectors;
            if (!map_list(op.vectors, rewrite, vectors)) return e;
            return make_expr(type, Shuffle{std::move(vectors), op.lanes});
          },
          [&](const Reinterpret& op) {
            return one(op, op.value,
                       [](const Reinterpret&, Expr v) { return Reinterpret{std::move(v)}; });
          },
          [&](const WarpShuffle& op) {
            return one(op, op.value, [](const WarpShuffle& w, Expr v) {
              return WarpShuffle{std::move(v), w.delta};
            });
          },
          [&](const Print& op) {
            Expr value = rewrite(op.value);
            Expr condition = rewrite(op.condition);
            std::vector<Expr> operands;
            const bool operands_changed = map_list(op.operands, rewrite, operands);
            if (value.same_as(op.value) && condition.same_as(op.condition) && !operands_changed)
              return e;
            if (!operands_changed) operands = op.operands;
            return make_expr(
                type, Print{std::move(value), std::move(condition), std::move(operands), op.texts});
          },
      },
      e.node().op);
}

void walk(const Expr& e, FunctionRef<void(const Expr&)> visit) {
  VisitedNodes visited;
  std::vector<const Expr*> left{&e}, children;
  while (!left.empty()) {
    const Expr& at = *left.back();
    left.pop_back();
    if (!visited.enter(at)) continue;
    visit(at);
    children.clear();
    for_each_child(at, [&](const Expr& child) { children.push_back(&child); });
    left.insert(left.end(), children.rbegin(), children.rend());
  }
}

namespace {

bool uses_var(const Expr& e, const std::string& name, VisitedNodes& visited) {
  if (const auto* var = e.as<VarRef>()) return var->name == name;
  if (!visited.enter(e)) return false;
  if (const auto* let = e.as<Let>(); let != nullptr && let->name == name) {
    return uses_var(let->value, name, visited);
  }
  bool found = false;
  for_each_child(e, [&](const Expr& child) { found = found || uses_var(child, name, visited); });
  return found;
}

}  // namespace

Expr substitute(const Expr& e, const std::string& name, const Expr& value) {
  return Substitution([&](const std::string& other) { return other == name ? value : Expr(); })(e);
}

Expr substitute(const Expr& e, FunctionRef<Expr(const std::string&)> lookup) {
  return Substitution(lookup)(e);
}

bool uses_var(const Expr& e, const std::string& name) {
  VisitedNodes visited;
  return uses_var(e, name, visited);
}

}  // namespace mica
