#include "dsl/pipeline/hoist_prints.h"

#include <utility>

#include "dsl/expr/rounding.h"
#include "dsl/expr/traverse.h"

namespace mica {

PrintHoister::PrintHoister()
    : strip_([this](const Expr& e) {
        const auto* print = e.as<Print>();
        if (print == nullptr) return Expr();
        met_.push_back(*print);
        return print->value;
      }) {}

Expr PrintHoister::without(const Expr& e) { return strip_(e); }

Expr PrintHoister::fixed(const Expr& value, const std::string& slowest,
                         const std::function<bool(const std::string&)>& is_param) {
  const auto rounded = [&](const Expr& e) { return fix_rounding(e, slowest, is_param); };
  Expr result = rounded(without(value));
  for (const Print& print : std::exchange(met_, {})) {
    Print whole{result, rounded(print.condition), {}, print.texts};
    for (const Expr& operand : print.operands) {
      Expr printed = rounded(operand);
      if (printed.type().is_half()) printed = make_expr(Float(32), Cast{std::move(printed)});
      whole.operands.push_back(std::move(printed));
    }
    result = make_expr(result.type(), std::move(whole));
  }
  return result;
}

}  // namespace mica
