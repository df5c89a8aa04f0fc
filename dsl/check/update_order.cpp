#include "dsl/check/update_order.h"

#include <algorithm>

#include <fmt/format.h>

#include "dsl/check/self_reads.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/node_visit.h"
#include "dsl/pipeline/march_taps.h"

namespace mica {

namespace {

/// Is `e` dimension `d` plus a constant? A pipeline has made variables of the user's RVars.
bool stands_alone(const Expr& e, const RDomData& domain, std::size_t d) {
  NodeRewriter named([&](const Expr& node) {
    const auto* rvar = node.as<RVarRef>();
    if (rvar == nullptr) return Expr();
    return make_var(rvar->domain->dims[static_cast<std::size_t>(rvar->index)].name);
  });
  return offset_from(named(e), domain.dims[d].name).has_value();
}

bool same_point(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

bool read_themselves(const std::vector<Expr>& exprs) {
  bool found = false;
  for_each_own_read(exprs, [&](const Access&) { found = true; });
  return found;
}

bool is_own(const Expr& e, int element, const std::vector<Expr>& point) {
  const auto* access = e.as<Access>();
  return access != nullptr && access->is_self && access->value_index == element &&
         same_point(access->args, point);
}

bool in_any_order(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Min || op == BinaryOp::Max ||
         op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor;
}

/// `value` as f op operand; false, with the reason in `why`, if it is not.
bool take_apart(const FunctionData& f, const Definition& update, std::size_t element, AtomicValue& made,
                std::string& why) {
  Expr value = update.values[element];
  const int own = static_cast<int>(element);
  const Type type = f.types[element];
  if (!is_atomic_type(type)) {
    const char* reason =
        type.is_float()
            ? "floats round: their sum depends on the order of its terms, which a schedule "
              "must not change. Leave the loops over the domain serial, add up integers, or "
              "use sum(r, ...), whose parts have a fixed order"
            : "atomic operations are of i32, u32, i64 and u64: cast its values to one of them";
    why = fmt::format("{} holds {}, and {}", f.name, to_string(type), reason);
    return false;
  }
  if (const auto* chosen = value.as<Select>(); chosen && is_own(chosen->if_false, own, update.args)) {
    made.condition = chosen->condition;
    value = chosen->if_true;
  }
  const auto* op = value.as<Binary>();
  if (op != nullptr && in_any_order(op->op)) {
    made.op = op->op;
    if (is_own(op->a, own, update.args)) {
      made.operand = op->b;
    } else if (op->op != BinaryOp::Sub && is_own(op->b, own, update.args)) {
      made.operand = op->a;
    }
  }
  if (!made.operand.defined()) {
    why = fmt::format(
        "its value is not {}(...) combined with something by +, -, min, max, &, | or ^, "
        "the operations whose result no order changes: leave the loops over the domain "
        "serial",
        f.name);
    return false;
  }
  std::vector<Expr> combined = update.args;
  combined.push_back(made.operand);
  if (made.condition.defined()) combined.push_back(made.condition);
  if (!read_themselves(combined)) return true;
  why = fmt::format(
      "what is combined, or where, depends on values of {} itself, which other iterations "
      "change: leave the loops over the domain serial",
      f.name);
  return false;
}

}  // namespace

std::vector<std::string> order_obstacles(const FunctionData& f, const Definition& update) {
  std::vector<std::string> obstacles;
  if (!update.domain) return obstacles;
  const Access* other = nullptr;  // the first read elsewhere than at the point that is written
  for_each_own_read(update, [&](const Access& access) {
    if (other == nullptr && !same_point(access.args, update.args)) other = &access;
  });
  for (std::size_t d = 0; d < update.domain->dims.size(); ++d) {
    if (other != nullptr) {
      obstacles.push_back(fmt::format("reads {}, which another iteration may write", tap_text(*other)));
      continue;
    }
    const bool alone =
        update.is_distinct || std::any_of(update.args.begin(), update.args.end(), [&](const Expr& arg) {
          return stands_alone(arg, *update.domain, d);
        });
    obstacles.push_back(alone ? ""
                              : fmt::format("stands alone in no place of {}(...) on the left, so that "
                                            "several iterations may write one point",
                                            f.name));
  }
  return obstacles;
}

std::vector<AtomicValue> atomic_values(const FunctionData& f, const Definition& update,
                                       std::string& why) {
  if (!update.domain) {
    why = "there are no iterations over a reduction domain to put in any order: remove this";
    return {};
  }
  std::vector<AtomicValue> values(update.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!take_apart(f, update, i, values[i], why)) return {};
  }
  return values;
}

bool is_atomic_type(Type type) {
  return type.is_scalar() && type.is_integer() && (type.bits == 32 || type.bits == 64);
}

bool is_atomic(const Definition& definition) {
  return std::any_of(definition.directives.begin(), definition.directives.end(),
                     [](const Directive& d) { return std::holds_alternative<directive::Atomic>(d.op); });
}

}  // namespace mica
