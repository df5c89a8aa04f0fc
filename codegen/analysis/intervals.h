// Which indices an expression can take: interval arithmetic over all operators, with ends that the
// launch evaluates.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/analysis/value_ranges.h"

namespace mica::analysis {

/// min <= i <= max, both i32 expressions (i64 of an i64, a u32 or a u64) that stand for unbounded
/// integers: whoever evaluates them does so in 64 bits (runtime/run/evaluate.h), or has checked that
/// they lie in 32. An undefined side is unbounded (a data-dependent index, or one that leaves 32 bits
/// whatever the arguments are).
struct Interval {
  Expr min, max;
  [[nodiscard]] bool bounded() const { return min.defined() && max.defined(); }
  /// Both ends are one expression.
  [[nodiscard]] bool is_point() const { return bounded() && min.same_as(max); }
};
/// Intervals of variables in scope; variables that are not listed stand for themselves.
using Scope = std::map<std::string, Interval>;

/// The values that an integer expression can take when scope variables range over their intervals, if no
/// operand of SharedIntervals::operands leaves 32 bits.
Interval interval_of(const Expr& e, const Scope& scope);
/// True if nothing in the interval's ends can leave 32 bits within the limits of a launch.
bool stays_in_32_bits(const Interval& interval);
/// The smallest interval that holds both.
Interval unite(const Interval& a, const Interval& b);

/// interval_of of several expressions that share their parts: what it has found of a node it does not
/// look for again. The scope must outlive it.
class SharedIntervals {
 public:
  explicit SharedIntervals(const Scope& scope);
  ~SharedIntervals();
  SharedIntervals(const SharedIntervals&) = delete;
  SharedIntervals& operator=(const SharedIntervals&) = delete;
  Interval operator()(const Expr& e);
  /// The intervals of those sums in `e` from which its interval takes order or quotient, so that they
  /// must not wrap: operands of min, max, abs, divisions and divisors. Left out are those without a
  /// bound, those that are proven to stay in 32 bits, and what stands in an expression asked for before.
  /// `e` must outlive this.
  std::vector<Interval> operands(const Expr& e);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mica::analysis
