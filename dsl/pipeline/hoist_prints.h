// Takes the prints of a definition out of its values, so that sums are rounded as they are without them,
// and no pass has to keep a value that only a print needs:
//
//   before  f(x) = print(a*b, "product") + c
//   after   f(x) = print_when(true, fma(a, b, c), a*b, "product")
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/expr/node_visit.h"

namespace mica {

/// Serves one definition, in the order of its arguments and values.
class PrintHoister {
 public:
  PrintHoister();
  PrintHoister(const PrintHoister&) = delete;
  PrintHoister& operator=(const PrintHoister&) = delete;

  /// `e` without prints, which the next `fixed` gets. A print that was met before is not met again.
  Expr without(const Expr& e);
  /// fix_rounding of `value` without prints, inside of all prints that were met and that no other value
  /// has got, the first innermost; what they print is rounded on its own. Operands of 16 bits become
  /// f32.
  Expr fixed(const Expr& value, const std::string& slowest,
             const std::function<bool(const std::string&)>& is_param);

 private:
  std::vector<Print> met_;  // their parts without prints
  NodeRewriter strip_;
};

}  // namespace mica
