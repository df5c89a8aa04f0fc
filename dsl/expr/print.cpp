#include "dsl/expr/print.h"

namespace mica {
namespace {

void require_defined(const Expr& e, const CallSite& at) {
  if (!e.defined()) throw UserError("print takes an undefined Expr; give it a value first", at);
}

}  // namespace

Expr print_when(Operand condition, Operand value, const std::vector<PrintPart>& parts) {
  const CallSite at = value.where();
  require_defined(condition.expr(), condition.where());
  require_defined(value.expr(), at);
  const Type type = condition.expr().type();
  if (!type.is_bool() && !type.is_undecided()) {
    throw UserError("print_when takes a condition of type bool, not " + to_string(type) +
                        ": compare it, as in e != 0",
                    condition.where());
  }
  Print print{value.expr(), condition.take(), {value.expr()}, {"", ""}};
  for (const PrintPart& part : parts) {
    print.texts.back() += " " + part.text();
    if (!part.is_value()) continue;
    require_defined(part.value(), at);
    print.operands.push_back(part.value());
    print.texts.emplace_back();
  }
  const Type result = print.value.type();
  return make_expr(result, std::move(print));
}

}  // namespace mica
