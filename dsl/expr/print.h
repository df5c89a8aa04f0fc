// Lines that a program prints while it computes.
//
//   blur(x, y) = print_when(x == 3 && y == 7, (u(x - 1, y) + u(x, y) + u(x + 1, y)) / 3, "at", x, y);
//
// prints "0.25 at 3 7". The value is its first operand, and no bit of any value is another with a print
// than without.
//
// A print belongs to the definition in which it is written: it is evaluated once whenever a value of
// that definition is computed, after that value, for each point and each iteration over a domain, as
// often as the schedule computes the point; where the Func is inlined, wherever its value is used; and
// in points beyond the output that a schedule computes for its own sake. That the arm of a select or an
// index in which it is written is not the one chosen makes no difference: say so by `print_when`. Prints
// of one definition come in the order in which their values are needed. One Expr that is used twice is
// one print, and so may be prints with the same texts and operands. Points come in the order of the
// loops, those of parallel loops (of which a Func without directives may have one) and of GPU threads in
// any. A value that all lanes of a vector share is printed for all of them at once. A sum that `scatter`
// takes apart cannot be printed: UserError.
//
// A line is its parts with a space between them, then a line feed. Integers are decimal, a bool is 0 or
// 1, f64 has 17 significant digits and the other floats nine (printf's %.17g and %.9g). On the CPU and
// on the emulated GPU each line goes as a whole to stderr, or to the function that the run was given
// (RunOptions::print). What a kernel on a GPU prints goes to neither: the driver writes it to stdout
// when the program next waits for the device, and keeps the last MiB or so of what was printed until
// then.
//
// In what is no definition of a Func (bounds of domains, arguments of directives) a print is its value,
// and nothing is promised of its line.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/operators.h"

namespace mica {

/// A part of a line: a text as it is, or the value of an expression. Made implicitly.
class PrintPart {
 public:
  PrintPart(std::string text) : text_(std::move(text)) {}  // NOLINT: parts are written as they are
  PrintPart(const char* text) : text_(text) {}             // NOLINT
  template <typename E>
  requires(std::convertible_to<E&&, Expr> && !std::convertible_to<E&&, std::string> &&
           !std::same_as<std::remove_cvref_t<E>, PrintPart>) PrintPart(E&& value)  // NOLINT
      : value_(std::forward<E>(value)), is_value_(true) {}

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Expr& value() const { return value_; }
  [[nodiscard]] bool is_value() const { return is_value_; }

 private:
  std::string text_;
  Expr value_;
  bool is_value_ = false;
};

/// `value`, printed where `condition` holds, followed by `parts`. UserError for an undefined operand or
/// a condition that is no bool.
Expr print_when(Operand condition, Operand value, const std::vector<PrintPart>& parts);
template <typename... Parts>
requires(std::convertible_to<Parts, PrintPart>&&...) Expr
    print_when(Operand condition, Operand value, Parts&&... parts) {
  return print_when(std::move(condition), std::move(value),
                    std::vector<PrintPart>{PrintPart(std::forward<Parts>(parts))...});
}

/// `value`, printed, followed by `parts`. UserError for an undefined operand.
template <typename... Parts>
requires(std::convertible_to<Parts, PrintPart>&&...) Expr print(Operand value, Parts&&... parts) {
  const CallSite at = value.where();
  return print_when(Operand(Expr(true), at), std::move(value),
                    std::vector<PrintPart>{PrintPart(std::forward<Parts>(parts))...});
}

}  // namespace mica
