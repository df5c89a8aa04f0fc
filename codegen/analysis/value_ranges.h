// Which values an integer expression can take, as constants; and whether its arithmetic can leave its
// type.
//
// Integers wrap in Mica: a sum that leaves 32 bits continues at the other end. Rules that hold for
// unbounded integers only ((4*x + 2)/4 -> x, x + 1 > x) need a proof that nothing wraps. There are two:
//
//   Integers::Wrap    the range of every sum lies in its type. Symbols of a launch have the limits of
//                     dsl/expr/limits.h, loops the ranges of their extents, anything else that of its
//                     type.
//   Integers::Exact   coordinates and the bounds made of them: the launch evaluates in 64 bits which
//                     values they take, and refuses to run where one leaves 32 bits
//                     (codegen/passes/funcs/check_coordinates.h). What is read from memory it cannot
//                     know, nor the dividend of a remainder, which may wrap; there the rule is that of
//                     Wrap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/linear.h"
#include "dsl/expr/constant_math.h"

namespace mica::analysis {

/// Known constant ranges of variables, innermost last; an unknown side is empty.
class Ranges {
 public:
  struct Range {
    std::optional<std::int64_t> min, max;
  };
  /// `known` follows from the code alone, `limits` also from the limits of a launch's coordinates.
  void push(std::string name, Range known, Range limits);
  void push(std::string name, Range known) { push(std::move(name), known, known); }
  void pop() { entries_.pop_back(); }
  /// Of a name that was pushed; nothing is known of others.
  [[nodiscard]] Range find(const std::string& name) const;
  [[nodiscard]] Range find(const VarRef& var) const;
  /// Both sides of an i32 variable are known.
  [[nodiscard]] Range limits(const VarRef& var, Type type) const;

 private:
  struct Entry {
    std::string name;
    Range known, limits;
  };
  [[nodiscard]] const Entry* entry(const std::string& name) const;
  std::vector<Entry> entries_;
};

/// Constant bounds of a scalar integer expression, where the code alone tells them. Symbols that hold an
/// extent ("<buffer>.extent.<d>") are at least 0.
Ranges::Range range_of(const Expr& e, const Ranges& ranges, Integers integers = Integers::Exact);
/// The same of a form as a sum of unbounded integers.
Ranges::Range range_of(const Linear& form, const Ranges& ranges, Integers integers = Integers::Exact);
/// Bounds that hold within the limits of a launch; both sides are known of i32 and narrower types.
Ranges::Range limits_of(const Expr& e, const Ranges& ranges);
/// Pushes the range of a loop's variable, or of the value that a let binds.
void push_loop(Ranges& ranges, const std::string& variable, const Expr& min, const Expr& extent);
void push_let(Ranges& ranges, const std::string& name, const Expr& value);

/// True when no sum, product or shift in `e` leaves its type within the limits of a launch.
bool never_wraps(const Expr& e, const Ranges& ranges);

/// The same questions on many expressions under ranges that do not change meanwhile: what is found of a
/// node is kept.
class RangeFinder {
 public:
  explicit RangeFinder(const Ranges& ranges);
  ~RangeFinder();
  RangeFinder(const RangeFinder&) = delete;
  RangeFinder& operator=(const RangeFinder&) = delete;

  Ranges::Range range_of(const Expr& e, Integers integers);
  Ranges::Range range_of(const Linear& form, Integers integers);
  Ranges::Range limits_of(const Expr& e);
  Ranges::Range limits_of(const Linear& form);
  /// True when the form, as a sum of unbounded integers, is proven to lie in `type`.
  bool stays_in(const Linear& form, Type type);
  bool never_wraps(const Expr& e);
  /// True if the value depends on memory.
  bool reads_data(const Expr& e);

  struct Known;

 private:
  std::unique_ptr<Known> known_;
};

}  // namespace mica::analysis
