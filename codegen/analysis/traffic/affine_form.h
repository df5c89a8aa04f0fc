// Index arithmetic over whole ranges of loop iterations at once: in a region, a box of iterations, every
// value is an affine form of the iteration numbers, or the region must be cut.
//
//   x = 32*b + t,  b in [0, 15], t in [0, 31]:    x < 500   is true for b <= 14; the region is cut at
//                                                 b = 15, where it is cut again at t = 20
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr/expr.h"

namespace mica::analysis {

/// The iterations lo ... hi, both included, of loop number `loop`, counted from 0.
struct Span {
  int loop = 0;
  std::int64_t lo = 0, hi = 0;
  [[nodiscard]] std::int64_t count() const { return hi - lo + 1; }
};
/// The loops around a statement, outermost first, each with some of its iterations.
using Region = std::vector<Span>;
std::int64_t volume(const Region& region);

/// base + slope[0]*t0 + slope[1]*t1 + ..., where t<i> is the iteration of the region's i-th loop; slopes
/// that are missing are 0.
struct Form {
  std::int64_t base = 0;
  std::vector<std::int64_t> slope;
  [[nodiscard]] std::int64_t slope_at(std::size_t i) const { return i < slope.size() ? slope[i] : 0; }
  [[nodiscard]] bool varies(std::size_t i, const Region& region) const {
    return slope_at(i) != 0 && region[i].lo < region[i].hi;
  }
};
/// Equal for all iterations, even of loops that have one only.
bool same_form(const Form& a, const Form& b);
Form plus(const Form& a, const Form& b, std::int64_t factor = 1);
/// The smallest and the largest value in the region.
std::pair<std::int64_t, std::int64_t> range_of(const Form& form, const Region& region);
/// The form's one value, if it has one only.
std::optional<std::int64_t> constant_of(const Form& form, const Region& region);

/// Where a region falls apart: iterations below `at` of its loop `position`, and the others.
struct Cut {
  std::size_t position = 0;
  std::int64_t at = 0;
};
/// The two parts of a region.
std::pair<Region, Region> cut(const Region& region, const Cut& where);
/// A cut through the middle of the form's widest step; a form that varies.
Cut halve(const Form& form, const Region& region);

/// What an expression is in a region: a form, or else a cut after which to ask again; neither when its
/// value depends on data.
struct Reading {
  std::optional<Form> form;
  std::optional<Cut> cut;
};

using Symbols = std::map<std::string, std::int64_t>;

/// Names and what they stand for.
class FormReader {
 public:
  explicit FormReader(const Symbols& symbols) : symbols_(symbols) {}
  /// Integers and bools. An expression that has a form in a region has the same in all parts of it.
  Reading read(const Expr& e, const Region& region);
  /// Gives `name` a meaning; the former one is returned, for `restore`.
  std::optional<Form> bind(const std::string& name, Form form);
  void restore(const std::string& name, const std::optional<Form>& former);

 private:
  Reading binary(const Binary& op, const Region& region);
  Reading compare(const Compare& op, const Region& region);

  const Symbols& symbols_;
  std::map<std::string, Form> bound_;
};

}  // namespace mica::analysis
