// RDom: what is summed or iterated over, and reductions as expressions. Part of dsl/func/func.h.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "dsl/func/func.h"

namespace mica {

/// One dimension of an RDom.
class RVar {
 public:
  /// UserError for null or a dimension that the domain does not have.
  RVar(std::shared_ptr<const RDomData> domain, int index, CallSite at = CallSite::current());
  RVar(const RVar&) = default;
  RVar& operator=(const RVar&) = default;
  [[nodiscard]] const std::string& name() const {
    return domain_->dims[static_cast<std::size_t>(index_)].name;
  }
  operator Expr() const { return make_expr(Int(32), RVarRef{domain_, index_}); }  // NOLINT

 private:
  std::shared_ptr<const RDomData> domain_;
  int index_;
};

/// A box of integers to sum or iterate over: {{min, extent}, ...}. Bounds are i32 and known when a run
/// begins: constants, Params and inputs' mins and extents, as in RDom r({{1, u.width() - 2}}). A domain
/// that has an extent below 1 in a run has no points in it.
class RDom {
 public:
  /// UserError for an empty list, more than kMaxDimensions, bounds that depend on a Var, an RVar, a Func
  /// or the values of an input or are not i32; of constants, an extent below 1 or a min or extent beyond
  /// dsl/expr/limits.h.
  RDom(std::initializer_list<std::pair<Expr, Expr>> ranges, std::string name = "r",
       CallSite at = CallSite::current());
  /// All points of an input.
  explicit RDom(const ImageParam& input, std::string name = "r", CallSite at = CallSite::current());
  /// All points of a Func, each of whose dimensions has a bound(x, min, extent) by now. UserError where
  /// one has none: what such a Func is computed over its readers decide, and the schedule.
  template <std::same_as<Func> F>
  explicit RDom(const F& func, std::string name = "r", CallSite at = CallSite::current())
      : RDom(points_of(func, std::move(name), at)) {}
  RDom(const RDom&) = default;
  RDom& operator=(const RDom&) = default;
  /// Only the points at which `condition`, of its dimensions and whatever else, holds: later definitions
  /// with this domain (and its copies) do nothing at the others. Conditions add up. UserError if it is
  /// no bool, or reads a Func that has no definition by now.
  RDom& where(const Expr& condition, CallSite at = CallSite::current());
  [[nodiscard]] int dimensions() const { return static_cast<int>(data_->dims.size()); }
  [[nodiscard]] RVar operator[](ElementIndex i) const;
  operator Expr() const { return (*this)[0]; }  // NOLINT: a 1-D domain is its variable
  [[nodiscard]] const std::shared_ptr<const RDomData>& data() const { return data_; }

 private:
  explicit RDom(std::shared_ptr<const RDomData> data);
  static std::shared_ptr<const RDomData> points_of(const Func& func, std::string name,
                                                   const CallSite& at);
  std::shared_ptr<const RDomData> data_;

 public:
  RVar x, y, z, w;  // the first dimensions by name; those a domain lacks repeat its last
};

/// The sum of `value` over `domain`, in an order that no schedule changes:
/// - of constant domains of up to 256 points in up to 32 rows of what `value` reads, written out, as an
///   expression whose order is that of any sum (dsl/expr/rounding.h), if no more than 262,144 operations
///   depend on a point of the domain, all points together;
/// - else, where `value` depends on Vars, the value of a Func "sum" of them, with an update over the
///   domain: one term after the other, first dimension fastest, from 0. Its dimensions stand in the
///   order of those that `value` reads: of a(r, y) * b(x, r), x and y;
/// - else cut into parts for all threads of a machine, as dsl/func/reductions.cpp draws it: each part's
///   terms one after the other, then the parts.
/// UserErrors: an undefined Expr, a bool, more than kMaxDimensions Vars.
Expr sum(const RDom& domain, Expr value, CallSite at = CallSite::current());
Expr product(const RDom& domain, Expr value, CallSite at = CallSite::current());
/// The same with min / max as the operator; over no points, the largest / the lowest value of the type
/// (of floats, an infinity).
Expr minimum(const RDom& domain, Expr value, CallSite at = CallSite::current());
Expr maximum(const RDom& domain, Expr value, CallSite at = CallSite::current());
/// Where in `domain` `value` is least / greatest, the first of several, and what it is there:
/// argmin(r, e)[0] is the coordinate along r.x, the last element the value. A NaN is neither; over no
/// points, the domain's mins and minimum's / maximum's value. A Func "argmin" / "argmax" of the Vars in
/// `value`; where it depends on none, of a larger domain, cut into parts as a sum is. Errors as
/// of sum.
Tuple argmin(const RDom& domain, Expr value, CallSite at = CallSite::current());
Tuple argmax(const RDom& domain, Expr value, CallSite at = CallSite::current());

}  // namespace mica
