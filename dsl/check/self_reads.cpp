#include "dsl/check/self_reads.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "dsl/check/tap_text.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/promote.h"
#include "dsl/expr/traverse.h"

namespace mica {

namespace {

using MaybeType = std::optional<Type>;

[[noreturn]] void refuse_undefined(const Access& access) {
  throw UserError(fmt::format("{} is read before it is defined: write {}(...) = ... first", access.name,
                              access.name),
                  access.where);
}

/// The types of the values of one definition.
class TypeDecider {
 public:
  TypeDecider(const FunctionData& f, std::vector<std::string> args, const SourceLocation& where)
      : f_(f), args_(std::move(args)), where_(where) {}

  std::vector<Expr> run(const std::vector<Expr>& values) {
    decided_.resize(values.size());
    // A value may get its type from another's, and from literals only where nothing else has one.
    for (const bool with_literals : {false, true}) {
      for (std::size_t round = 0; round < values.size(); ++round) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (!decided_[i]) decided_[i] = type_of_value(values[i], with_literals);
        }
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) require_decided(values[i], i);
    return with_types(values);
  }

 private:
  [[nodiscard]] std::string value_name(std::size_t i) const {
    return decided_.size() == 1 ? "the value of " + f_.name : fmt::format("value {} of {}", i, f_.name);
  }

  void require_decided(const Expr& value, std::size_t i) const {
    if (decided_[i]) return;
    throw UserError(
        fmt::format("nothing but {} itself decides the type of {}, {}: write cast<float>(...) "
                    "of the type that it shall have around a read of {}",
                    f_.name, value_name(i), brief(value), f_.name),
        where_);
  }

  static MaybeType joined_types(const MaybeType& a, const MaybeType& b) {
    if (!a || !b) return a ? a : b;
    if (a->is_bool() || b->is_bool()) return a;  // carrying it out reports a mistake
    return promoted_type(*a, *b);
  }

  /// The type that operands other than undecided reads give `value`.
  [[nodiscard]] MaybeType type_of_value(const Expr& value, bool with_literals) const {
    NodeMap<MaybeType> types;
    const auto of = [&](const Expr& e) { return types.at(e.ptr().get()); };
    NodeRewriter visit([&](const Expr& e) -> Expr {
      MaybeType type;
      if (const auto* access = e.as<Access>(); access != nullptr && e.type().is_undecided()) {
        const auto i = static_cast<std::size_t>(access->value_index);
        if (i < decided_.size()) type = decided_[i];
      } else if (!e.type().is_undecided()) {
        if (with_literals || !is_literal(e)) type = e.type();
      } else if (const auto* op = e.as<Binary>()) {
        const bool left_only = op->op == BinaryOp::Shl || op->op == BinaryOp::Shr;
        type = left_only ? of(op->a) : joined_types(of(op->a), of(op->b));
      } else if (const auto* choice = e.as<Select>()) {
        type = joined_types(of(choice->if_true), of(choice->if_false));
      } else {
        for_each_child(e, [&](const Expr& child) { type = joined_types(type, of(child)); });
      }
      types[e.ptr().get()] = type;
      return {};
    });
    visit(value);
    return of(value);
  }

  std::vector<Expr> with_types(const std::vector<Expr>& values) {
    NodeSet changed;
    std::vector<Expr> alive;
    NodeRewriter rewrite([&](const Expr& e) -> Expr {
      const auto* access = e.as<Access>();
      const bool own = access != nullptr && access->function.get() == &f_;
      bool anew = own;
      for_each_child(e, [&](const Expr& child) { anew = anew || changed.count(child.ptr().get()) > 0; });
      if (!anew) return {};
      // An operation that does not take the types is refused where the definition stands.
      const auto again = [&] { return carried_out(e); };
      const Expr result = own ? own_read(*access) : access != nullptr ? e : placed_at(where_, again);
      alive.push_back(result);
      changed.insert(result.ptr().get());
      return result;
    });
    std::vector<Expr> result;
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.push_back(converted_value(rewrite(values[i]), i));
    }
    return result;
  }

  Expr converted_value(const Expr& value, std::size_t i) const {
    const Expr matched = match_type(value, *decided_[i]);
    if (matched.defined()) return matched;
    throw UserError(fmt::format("{} is {}, but {} is read in it as {}, the type of its other operands: "
                                "write cast({}, ...) around what has another type",
                                value_name(i), to_string(value.type()), f_.name, to_string(*decided_[i]),
                                to_string(*decided_[i])),
                    where_);
  }

  Expr own_read(const Access& access) const {
    if (access.args.size() != args_.size()) {
      throw UserError(fmt::format("{} is read with {} in its own definition, but it has {}: {}", f_.name,
                                  counted(access.args.size(), "argument"),
                                  counted(args_.size(), "dimension"), joined(args_)),
                      access.where);
    }
    const auto element = static_cast<std::size_t>(std::max(access.value_index, 0));
    if (element >= decided_.size()) {
      throw UserError(fmt::format("element {} of {}, which has {}", access.value_index, f_.name,
                                  counted(decided_.size(), "value")),
                      access.where);
    }
    if (access.value_index < 0 && decided_.size() > 1) {
      throw UserError(fmt::format("{} has {}: name one of them, {}(...)[0]", f_.name,
                                  counted(decided_.size(), "value"), f_.name),
                      access.where);
    }
    Access self = access;
    self.function = nullptr;
    self.is_self = true;
    self.value_index = static_cast<int>(element);
    return make_expr(*decided_[element], std::move(self));
  }

  const FunctionData& f_;
  std::vector<std::string> args_;
  const SourceLocation& where_;
  std::vector<MaybeType> decided_;
};

}  // namespace

void for_each_own_read(const std::vector<Expr>& exprs, FunctionRef<void(const Access&)> visit) {
  visit_nodes(exprs, [&](const Expr& e) {
    const auto* access = e.as<Access>();
    if (access != nullptr && access->is_self) visit(*access);
  });
}

void for_each_own_read(const Definition& definition, FunctionRef<void(const Access&)> visit) {
  std::vector<Expr> all = definition.args;
  all.insert(all.end(), definition.values.begin(), definition.values.end());
  for_each_own_read(all, visit);
}

Expr carried_out(const Expr& e) {
  if (const auto* op = e.as<Binary>()) {
    switch (op->op) {
      case BinaryOp::Add: return op->a + op->b;
      case BinaryOp::Sub: return op->a - op->b;
      case BinaryOp::Mul: return op->a * op->b;
      case BinaryOp::Div: return op->a / op->b;
      case BinaryOp::Mod: return op->a % op->b;
      case BinaryOp::Min: return min(op->a, op->b);
      case BinaryOp::Max: return max(op->a, op->b);
      case BinaryOp::Pow: return pow(op->a, op->b);
      case BinaryOp::Atan2: return atan2(op->a, op->b);
      case BinaryOp::Fmod: return fmod(op->a, op->b);
      case BinaryOp::And: return op->a && op->b;
      case BinaryOp::Or: return op->a || op->b;
      case BinaryOp::BitAnd: return op->a & op->b;
      case BinaryOp::BitOr: return op->a | op->b;
      case BinaryOp::BitXor: return op->a ^ op->b;
      case BinaryOp::Shl: return op->a << op->b;
      case BinaryOp::Shr: return op->a >> op->b;
    }
  }
  if (const auto* op = e.as<Compare>()) {
    switch (op->op) {
      case CompareOp::Eq: return op->a == op->b;
      case CompareOp::Ne: return op->a != op->b;
      case CompareOp::Lt: return op->a < op->b;
      case CompareOp::Le: return op->a <= op->b;
      case CompareOp::Gt: return op->a > op->b;
      case CompareOp::Ge: return op->a >= op->b;
    }
  }
  if (const auto* op = e.as<Unary>()) {
    switch (op->op) {
      case UnaryOp::Neg: return -op->a;
      case UnaryOp::Not: return !op->a;
      case UnaryOp::BitNot: return ~op->a;
      case UnaryOp::Abs: return abs(op->a);
      case UnaryOp::Sqrt: return sqrt(op->a);
      case UnaryOp::Floor: return floor(op->a);
      case UnaryOp::Ceil: return ceil(op->a);
      case UnaryOp::Round: return round(op->a);
      case UnaryOp::Exp: return exp(op->a);
      case UnaryOp::Log: return log(op->a);
      case UnaryOp::Sin: return sin(op->a);
      case UnaryOp::Cos: return cos(op->a);
      case UnaryOp::Tanh: return tanh(op->a);
    }
  }
  if (const auto* op = e.as<Select>()) return select(op->condition, op->if_true, op->if_false);
  if (const auto* op = e.as<Fma>()) return fma(op->a, op->b, op->c);
  if (const auto* op = e.as<Cast>()) return cast(e.type(), op->value);
  if (const auto* op = e.as<Strict>()) return strict(op->value);
  if (const auto* op = e.as<Print>()) return make_expr(op->value.type(), *op);
  return e;
}

std::vector<Expr> with_decided_types(const FunctionData& f, const std::vector<std::string>& args,
                                     const std::vector<Expr>& values, const SourceLocation& where) {
  bool reads_itself = false;
  visit_nodes(values, [&](const Expr& e) {
    const auto* access = e.as<Access>();
    if (access == nullptr || access->function == nullptr || !e.type().is_undecided()) return;
    if (access->function.get() != &f) refuse_undefined(*access);
    reads_itself = true;
  });
  if (!reads_itself) return values;
  return TypeDecider(f, args, where).run(values);
}

void require_defined_reads(const std::vector<Expr>& exprs) {
  visit_nodes(exprs, [](const Expr& e) {
    const auto* access = e.as<Access>();
    if (access != nullptr && e.type().is_undecided()) refuse_undefined(*access);
  });
}

}  // namespace mica
