// Integer expressions as linear forms: c + sum of coefficient * atom. Index arithmetic is decided on
// these forms by adding and comparing integers, never by search.
//
// A form stands for the same bits as the expression, whether its arithmetic wraps or not: sums,
// differences and products with constants are the same modulo 2^32. What order two values have, and
// what a quotient is, depends on whether a sum has wrapped: codegen/analysis/value_ranges.h decides
// that.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/expr/expr.h"

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

/// The form of a scalar integer expression, with coefficients and constant of its type: those of a
/// wrapping sum, reduced to the type's own values.
Linear linearize(const Expr& e);
/// The form as an expression of `type` (i32 unless told): terms in order, the constant last.
/// Coefficients that the type does not hold are reduced to it.
Expr to_expr(const Linear& form, Type type = Int(32));
/// The form of an i32 worked out in 64 bits, where it does not wrap.
Expr to_wide_expr(const Linear& form);
/// Do all coefficients and the constant lie in the type?
bool fits_in(const Linear& form, Type type);
/// a - b, without wrapping, when it is a constant.
std::optional<std::int64_t> constant_difference(const Expr& a, const Expr& b);

}  // namespace mica::analysis
