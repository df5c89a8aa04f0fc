// Integer expressions as linear forms: c + sum of coefficient * atom. Index arithmetic is decided on
// these forms by adding and comparing integers, never by search.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/expr.h"

namespace mica::analysis {

/// constant + sum of terms; an atom is any expression that is not a sum, a difference or a product
/// with a constant. Terms have distinct atoms and coefficients that are not zero, in order of first
/// appearance.
struct Linear {
  std::vector<std::pair<Expr, std::int64_t>> terms;
  std::int64_t constant = 0;

  [[nodiscard]] bool is_constant() const { return terms.empty(); }
  void add(const Linear& other, std::int64_t factor = 1);
  void add_term(const Expr& atom, std::int64_t coefficient);
  [[nodiscard]] Linear scaled(std::int64_t factor) const;
  /// The coefficient of the variable `name`; the terms in which it is buried deeper do not count.
  [[nodiscard]] std::int64_t coefficient(const std::string& name) const;
  /// Removes and returns the coefficient of the variable `name`.
  std::int64_t take(const std::string& name);
};

/// The form of a scalar integer expression.
Linear linearize(const Expr& e);
/// The form as an expression of `type` (i32 unless told): terms in order, the constant last.
Expr to_expr(const Linear& form, Type type = Int(32));
/// a - b when it is a constant.
std::optional<std::int64_t> constant_difference(const Expr& a, const Expr& b);

/// Known constant ranges of variables, innermost last; an unknown side is empty.
class Ranges {
 public:
  struct Range {
    std::optional<std::int64_t> min, max;
  };
  void push(std::string name, Range range) { entries_.emplace_back(std::move(name), range); }
  void pop() { entries_.pop_back(); }
  [[nodiscard]] Range find(const std::string& name) const;

 private:
  std::vector<std::pair<std::string, Range>> entries_;
};
/// Constant bounds of a scalar integer expression, where they are known. Symbols that hold an
/// extent ("<buffer>.extent.<d>") are at least 0.
Ranges::Range range_of(const Expr& e, const Ranges& ranges);
Ranges::Range range_of(const Linear& form, const Ranges& ranges);

}  // namespace mica::analysis
