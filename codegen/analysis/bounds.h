// Regions as boxes: which indices an expression can take, and which box of a Func or input a box of
// its consumer reads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/value_ranges.h"
#include "dsl/function.h"

namespace mica::analysis {

/// min <= i <= max, both i32 expressions that stand for unbounded integers: whoever evaluates them does so
/// in 64 bits (runtime/evaluate.h), or has checked that they lie in 32. An undefined side is unbounded (a
/// data-dependent index, or one that leaves 32 bits whatever the arguments are).
struct Interval {
  Expr min, max;
  [[nodiscard]] bool bounded() const { return min.defined() && max.defined(); }
};
/// One interval a dimension; empty: nothing is needed yet.
using Box = std::vector<Interval>;

/// Intervals of variables in scope; variables that are not listed stand for themselves.
using Scope = std::map<std::string, Interval>;

/// The values that an integer expression can take when scope variables range over their intervals, if no
/// operand of operands_of leaves 32 bits.
Interval interval_of(const Expr& e, const Scope& scope);
/// The intervals of those sums in `e` from which interval_of takes order or quotient, so that they must
/// not wrap: operands of min, max, abs, divisions and divisors. Those without a bound are left out.
std::vector<Interval> operands_of(const Expr& e, const Scope& scope);
/// True if nothing in the interval's ends can leave 32 bits within the limits of a launch.
bool stays_in_32_bits(const Interval& interval);
/// The smallest box that holds both.
Interval unite(const Interval& a, const Interval& b);
void unite(Box& into, const Box& other);
/// max - min + 1, simplified.
Expr extent_of(const Interval& interval);
/// A constant that the extent never exceeds: exact when the ends differ by a constant, with
/// floor((e + k)/a) - floor((e + j)/a) and min(e + k, c) - e counted at their largest.
std::optional<std::int64_t> constant_extent(const Interval& interval);
/// True when a and b are provably the same expression.
bool same(const Expr& a, const Expr& b);

/// Calls visit(access) on each Access in a definition's values and left-hand side arguments.
void for_each_access(const Definition& definition, const std::function<void(const Access&)>& visit);
/// The box of callee `name` that `definition` reads with its variables in `scope`; empty if none.
Box accessed_box(const Definition& definition, const std::string& name, const Scope& scope);
/// Intervals of a definition's variables: its pure Vars over `box` (a box of the Func), its
/// reduction variables over their domain.
Scope definition_scope(const FunctionData& func, const Definition& definition, const Box& box);

}  // namespace mica::analysis
