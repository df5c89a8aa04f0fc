#include "codegen/analysis/value_ranges.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {

/// What has been found, by node; the first Expr of an entry keeps the node alive.
struct RangeFinder::Known {
  template <typename T>
  using Of = NodeMap<std::pair<Expr, T>>;
  const Ranges& given;
  Of<Ranges::Range> of[3] = {};  // by From
  Of<bool> exact = {}, data = {};
};

namespace {

using Range = Ranges::Range;
using Known = RangeFinder::Known;
using Side = std::optional<std::int64_t>;

// What a range is derived from: the code, its sums taken for exact or not, or also a launch's limits.
enum class From : std::uint8_t { Code, ExactCode, Limits };

Range of_type(Type t) {
  if (t.is_bool()) return {0, 1};
  if (t.bits >= 64) return t.is_uint() ? Range{0, std::nullopt} : Range{};
  const std::int64_t span = std::int64_t{1} << t.bits;
  if (t.is_uint()) return {0, span - 1};
  return {-span / 2, span / 2 - 1};
}

Side sum(Side a, Side b) {
  std::int64_t r = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &r)) return std::nullopt;
  return r;
}
Side product(std::int64_t k, Side a) {
  std::int64_t r = 0;
  if (!a || __builtin_mul_overflow(k, *a, &r)) return std::nullopt;
  return r;
}

Range product(const Range& a, const Range& b) {
  Range r;
  if (!a.min || !a.max || !b.min || !b.max) return r;
  const Side corners[] = {product(*a.min, b.min), product(*a.min, b.max), product(*a.max, b.min),
                          product(*a.max, b.max)};
  r = {corners[0], corners[0]};
  for (const Side& corner : corners) {
    if (!corner || !r.min) return {};
    r = {std::min(*r.min, *corner), std::max(*r.max, *corner)};
  }
  return r;
}

Range range(const Expr& e, Known& ranges, From from);
bool exact(const Expr& e, Known& ranges);
bool stays(const Linear& form, Type type, Known& ranges);

// A pair k*floor((e + p)/a) - k*floor((e + q)/a) lies between k*floor((p - q)/a) and k*ceil((p - q)/a),
// whatever e is. Takes such pairs out of `form` and returns what they add.
Range take_floor_pairs(Linear& form, Known& ranges, From from) {
  Range total{0, 0};
  const auto is_exact = [&](const Expr& dividend) {
    return from == From::ExactCode || exact(dividend, ranges);
  };
  for (std::size_t i = 0; i < form.terms.size(); ++i) {
    const auto* up = form.terms[i].first.as<Binary>();
    const std::int64_t k = form.terms[i].second;
    if (k <= 0 || !up || up->op != BinaryOp::Div) continue;
    const auto* a = as_int(up->b);
    if (!a || *a <= 0) continue;
    for (std::size_t j = 0; j < form.terms.size(); ++j) {
      const auto* down = form.terms[j].first.as<Binary>();
      if (form.terms[j].second >= 0 || !down || down->op != BinaryOp::Div || !equal(up->b, down->b))
        continue;
      const auto gap = constant_difference(up->a, down->a);
      if (!gap || !is_exact(up->a) || !is_exact(down->a)) continue;
      const std::int64_t times = std::min(k, -form.terms[j].second);
      total.min = sum(total.min, product(times, floor_div(*gap, *a)));
      total.max = sum(total.max, product(-times, floor_div(-*gap, *a)));
      const Expr one = form.terms[i].first, other = form.terms[j].first;
      form.add_term(one, -times);
      form.add_term(other, times);
      const Range rest = take_floor_pairs(form, ranges, from);
      return {sum(total.min, rest.min), sum(total.max, rest.max)};
    }
  }
  return total;
}

Range range(const Linear& whole, Known& ranges, From from) {
  Linear form = whole;
  Range result = take_floor_pairs(form, ranges, from);
  result.min = sum(result.min, form.constant);
  result.max = sum(result.max, form.constant);
  for (const auto& [atom, k] : form.terms) {
    const Range r = range(atom, ranges, from);
    result.min = sum(result.min, product(k, k > 0 ? r.min : r.max));
    result.max = sum(result.max, product(k, k > 0 ? r.max : r.min));
  }
  return result;
}

bool lies_in(const Range& r, Type type) {
  if (!r.min || !r.max) return false;
  // Differences of what lies in half of 64 bits do not overflow either.
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  if (type.bits >= 64) return *r.min >= (type.is_uint() ? 0 : -kHalf) && *r.max < kHalf;
  const Range all = of_type(type.element());
  return (!all.min || *r.min >= *all.min) && (!all.max || *r.max <= *all.max);
}

bool stays(const Linear& form, Type type, Known& ranges) {
  return lies_in(range(form, ranges, From::Limits), type);
}

bool is_sum(const Expr& e) {
  if (const auto* binary = e.as<Binary>()) {
    switch (binary->op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: return true;
      case BinaryOp::Mul: return as_int(binary->a) || as_int(binary->b);
      default: return false;
    }
  }
  const auto* unary = e.as<Unary>();
  return unary && unary->op == UnaryOp::Neg;
}

Side least(Side a, Side b) { return a && b ? Side(std::min(*a, *b)) : std::nullopt; }
Side greatest(Side a, Side b) { return a && b ? Side(std::max(*a, *b)) : std::nullopt; }
Side least_known(Side a, Side b) { return a && b ? Side(std::min(*a, *b)) : (a ? a : b); }
Side greatest_known(Side a, Side b) { return a && b ? Side(std::max(*a, *b)) : (a ? a : b); }

Range quotient(const Range& a, std::int64_t k) {
  // The least value by -1 wraps.
  const auto divided = [k](Side x) {
    return x && !(k == -1 && *x == std::numeric_limits<std::int64_t>::min()) ? Side(floor_div(*x, k))
                                                                             : std::nullopt;
  };
  if (k > 0) return {divided(a.min), divided(a.max)};
  return {divided(a.max), divided(a.min)};
}

// The greatest quotient of an unsigned number up to `most`, or of any u64, by `divisor` > 0.
Side unsigned_quotient(Side most, std::uint64_t divisor) {
  const std::uint64_t quotient =
      (most ? static_cast<std::uint64_t>(*most) : ~std::uint64_t{0}) / divisor;
  const bool fits = quotient <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return fits ? Side(static_cast<std::int64_t>(quotient)) : std::nullopt;
}

// What unsigned numbers have beside the rules of all integers.
Range unsigned_division(BinaryOp op, const Range& a, const Range& b) {
  const std::int64_t least_divisor = std::max<std::int64_t>(b.min.value_or(0), 1);
  Range r{0,
          unsigned_quotient(a.max, op == BinaryOp::Div ? static_cast<std::uint64_t>(least_divisor) : 1)};
  if (op == BinaryOp::Mod && b.max) r.max = least_known(r.max, std::max<std::int64_t>(*b.max - 1, 0));
  // What is less than every divisor stays as it is, or becomes 0.
  if (a.max && b.min && *a.max < *b.min) return op == BinaryOp::Mod ? a : Range{0, 0};
  if (op == BinaryOp::Div && b.max && *b.max > 0 && b.min == b.max) r.min = a.min.value_or(0) / *b.max;
  return r;
}

// Bits of two numbers that are not negative, joined or flipped.
Range joined_bits(const Range& a, const Range& b) {
  if (!a.min || !b.min || *a.min < 0 || *b.min < 0 || !a.max || !b.max) return {};
  const auto most = static_cast<std::uint64_t>(std::max(*a.max, *b.max));
  return {0, static_cast<std::int64_t>((std::uint64_t{1} << std::bit_width(most)) - 1)};
}

// The remainder has the divisor's sign and is nearer to 0; by 0 it is 0.
Range remainder(const Range& a, const Range& b) {
  Range r;
  if (b.min) r.min = *b.min >= 0 ? 0 : *b.min + 1;
  if (b.max) r.max = *b.max <= 0 ? 0 : *b.max - 1;
  // What is less than every divisor stays as it is.
  if (a.min && a.max && b.min && *a.min >= 0 && *a.max < *b.min) return a;
  return r;
}

Range of_binary(const Binary& op, Type type, Known& ranges, From from) {
  const auto a = [&] { return range(op.a, ranges, from); };
  const auto b = [&] { return range(op.b, ranges, from); };
  switch (op.op) {
    case BinaryOp::Min: {
      const Range x = a(), y = b();
      return {least(x.min, y.min), least_known(x.max, y.max)};
    }
    case BinaryOp::Max: {
      const Range x = a(), y = b();
      return {greatest_known(x.min, y.min), greatest(x.max, y.max)};
    }
    case BinaryOp::Div: {
      const auto* k = as_int(op.b);
      if (type.is_uint() && !(k && *k == 0)) return unsigned_division(op.op, a(), b());
      if (!k || *k == 0) return k ? Range{0, 0} : Range{};
      const Range q = quotient(a(), *k);
      // Only the least value by -1 leaves the type, and wraps to itself.
      const Range all = of_type(type);
      return *k == -1 && (!q.max || (all.max && *q.max > *all.max)) ? Range{} : q;
    }
    case BinaryOp::Mod: return type.is_uint() ? unsigned_division(op.op, a(), b()) : remainder(a(), b());
    case BinaryOp::BitAnd: {
      // One operand that is not negative clears the sign.
      const Range x = a(), y = b();
      Range r;
      for (const Range& side : {x, y}) {
        if (!side.min || *side.min < 0) continue;
        r.min = 0;
        r.max = least_known(r.max, side.max);
      }
      return r;
    }
    case BinaryOp::Shr: {
      const auto* k = as_int(op.b);
      if (!k || *k < 0 || *k >= type.bits) return {};
      const Range x = a();
      const Side most = type.is_uint() ? unsigned_quotient(x.max, std::uint64_t{1} << *k)
                                       : (x.max ? Side(*x.max >> *k) : std::nullopt);
      return {x.min ? Side(*x.min >> *k) : std::nullopt, most};
    }
    case BinaryOp::Shl: {
      const auto* k = as_int(op.b);
      if (!type.is_uint() || !k || *k < 0 || *k >= type.bits || *k > 62) return {};
      const Range x = a();
      const Range r{product(std::int64_t{1} << *k, x.min), product(std::int64_t{1} << *k, x.max)};
      return lies_in(r, type) ? r : Range{};
    }
    case BinaryOp::BitOr:
    case BinaryOp::BitXor: return type.is_uint() ? joined_bits(a(), b()) : Range{};
    default: return {};
  }
}

// The same sum modulo the unsigned type, its factors and constant as near to 0 as can be: x - 1 rather
// than x + 255.
Linear with_nearest_factors(Linear form, Type type) {
  form.constant = wrap_to_type(Int(type.bits), form.constant);
  for (auto& term : form.terms) term.second = wrap_to_type(Int(type.bits), term.second);
  return form;
}

// Before what the type alone says.
Range unclipped(const Expr& e, Known& ranges, From from) {
  const bool is_uint = e.type().is_uint();
  if (const auto* value = as_int(e)) {
    if (is_uint && *value < 0) return {std::numeric_limits<std::int64_t>::max(), std::nullopt};
    return {*value, *value};
  }
  if (const auto* var = e.as<VarRef>()) {
    return from == From::Limits ? ranges.given.limits(*var, e.type()) : ranges.given.find(*var);
  }
  if (is_sum(e)) {
    const auto of_form = [&](const Linear& form) {
      const Range ideal = range(form, ranges, from);
      if (from == From::ExactCode && e.type().is_index()) return ideal;
      const bool exact = from == From::Limits ? lies_in(ideal, e.type()) : stays(form, e.type(), ranges);
      return exact ? ideal : Range{};
    };
    const Linear form = linearize(e);
    const Range plain = of_form(form);
    return !is_uint || plain.max ? plain : of_form(with_nearest_factors(form, e.type().element()));
  }
  if (const auto* binary = e.as<Binary>()) return of_binary(*binary, e.type(), ranges, from);
  if (const auto* unary = e.as<Unary>(); unary && unary->op == UnaryOp::Abs) {
    const Range a = range(unary->a, ranges, from);
    const Range all = of_type(e.type());
    // The magnitude of the least value wraps to itself.
    if (!a.min || !a.max ||
        (all.min ? *a.min == *all.min : *a.min == std::numeric_limits<std::int64_t>::min()))
      return {};
    return {*a.min <= 0 && *a.max >= 0 ? 0 : std::min(std::abs(*a.min), std::abs(*a.max)),
            std::max(std::abs(*a.min), std::abs(*a.max))};
  }
  if (const auto* select = e.as<Select>()) {
    const Range a = range(select->if_true, ranges, from), b = range(select->if_false, ranges, from);
    return {least(a.min, b.min), greatest(a.max, b.max)};
  }
  if (const auto* cast = e.as<Cast>()) {
    if (cast->value.type().is_float()) return {};
    // What other types than an index's are made of is no coordinate, and may wrap.
    const bool leaves = from == From::ExactCode && !e.type().is_index();
    const Range a = range(cast->value, ranges, leaves ? From::Code : from);
    return lies_in(a, e.type()) ? a : Range{};
  }
  return {};
}

Range range(const Expr& e, Known& ranges, From from) {
  const Type type = e.type().element();
  if (type.is_float()) return {};
  const bool is_leaf = e.as<IntImm>() != nullptr || e.as<VarRef>() != nullptr;
  auto& known = ranges.of[static_cast<std::size_t>(from)];
  if (const auto found = known.find(e.ptr().get()); !is_leaf && found != known.end()) {
    return found->second.second;
  }
  Range r = unclipped(e, ranges, from);
  // i32 and i64 keep open sides: "no constant bound" is an answer that passes ask for.
  if (from == From::Limits || !type.is_index()) {
    const Range all = of_type(type);
    r.min = greatest_known(r.min, all.min);
    r.max = least_known(r.max, all.max);
  }
  if (!is_leaf) known.emplace(e.ptr().get(), std::pair(e, r));
  return r;
}

bool is_exact(const Expr& e, Known& ranges) {
  const auto all_exact = [&](const Expr& of) {
    bool result = true;
    for_each_child(of, [&](const Expr& child) {
      if (child.type().is_integer()) result = result && exact(child, ranges);
    });
    return result;
  };
  if (const auto* op = e.as<Binary>()) {
    if (op->op == BinaryOp::Shl) return as_int(op->a) && as_int(op->b);
    const bool of_variables = op->op == BinaryOp::Mul && !as_int(op->a) && !as_int(op->b);
    if (of_variables) {
      const Range all = product(range(op->a, ranges, From::Limits), range(op->b, ranges, From::Limits));
      return lies_in(all, e.type()) && all_exact(e);
    }
  }
  if (const auto* cast = e.as<Cast>(); cast && cast->value.type().is_integer() && !e.type().is_float()) {
    return lies_in(range(cast->value, ranges, From::Limits), e.type()) && all_exact(e);
  }
  if (!is_sum(e)) return all_exact(e);
  const Linear form = linearize(e);
  return stays(form, e.type(), ranges) &&
         std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const auto& term) { return exact(term.first, ranges); });
}

bool exact(const Expr& e, Known& ranges) {
  if (e.as<IntImm>() || e.as<VarRef>()) return true;
  if (const auto found = ranges.exact.find(e.ptr().get()); found != ranges.exact.end()) {
    return found->second.second;
  }
  const bool result = is_exact(e, ranges);
  ranges.exact.emplace(e.ptr().get(), std::pair(e, result));
  return result;
}

bool data(const Expr& e, Known& ranges) {
  if (e.as<Load>() || e.as<Access>()) return true;
  const bool shared = e.ptr().use_count() > 1;
  if (const auto found = ranges.data.find(e.ptr().get()); shared && found != ranges.data.end()) {
    return found->second.second;
  }
  bool result = false;
  for_each_child(e, [&](const Expr& child) { result = result || data(child, ranges); });
  if (shared) ranges.data.emplace(e.ptr().get(), std::pair(e, result));
  return result;
}

From from_code(Integers integers) { return integers == Integers::Exact ? From::ExactCode : From::Code; }

}  // namespace

void Ranges::push(std::string name, Range known, Range limits) {
  limits.min = greatest_known(limits.min, known.min);
  limits.max = least_known(limits.max, known.max);
  entries_.push_back({std::move(name), known, limits});
}

const Ranges::Entry* Ranges::entry(const std::string& name) const {
  const auto it = std::find_if(entries_.rbegin(), entries_.rend(),
                               [&](const Entry& entry) { return entry.name == name; });
  return it == entries_.rend() ? nullptr : &*it;
}

Ranges::Range Ranges::find(const std::string& name) const {
  const Entry* found = entry(name);
  return found ? found->known : Range{};
}

Ranges::Range Ranges::find(const VarRef& var) const {
  if (const Entry* found = entry(var.name)) return found->known;
  return var.field == BufferField::Extent ? Range{0, std::nullopt} : Range{};
}

Ranges::Range Ranges::limits(const VarRef& var, Type type) const {
  if (const Entry* found = entry(var.name)) return found->limits;
  if (var.field == BufferField::Extent) return {0, kLargestExtent};
  if (var.field == BufferField::Min) return {-kLargestMin, kLargestMin};
  return of_type(type.element());
}

RangeFinder::RangeFinder(const Ranges& ranges) : known_(new Known{ranges}) {}
RangeFinder::~RangeFinder() = default;
Ranges::Range RangeFinder::range_of(const Expr& e, Integers integers) {
  return range(e, *known_, from_code(integers));
}
Ranges::Range RangeFinder::range_of(const Linear& form, Integers integers) {
  return range(form, *known_, from_code(integers));
}
Ranges::Range RangeFinder::limits_of(const Expr& e) { return range(e, *known_, From::Limits); }
Ranges::Range RangeFinder::limits_of(const Linear& form) { return range(form, *known_, From::Limits); }
bool RangeFinder::stays_in(const Linear& form, Type type) { return stays(form, type, *known_); }
bool RangeFinder::never_wraps(const Expr& e) { return exact(e, *known_); }
bool RangeFinder::reads_data(const Expr& e) { return data(e, *known_); }

Ranges::Range range_of(const Expr& e, const Ranges& ranges, Integers integers) {
  return RangeFinder(ranges).range_of(e, integers);
}
Ranges::Range range_of(const Linear& form, const Ranges& ranges, Integers integers) {
  return RangeFinder(ranges).range_of(form, integers);
}
Ranges::Range limits_of(const Expr& e, const Ranges& ranges) { return RangeFinder(ranges).limits_of(e); }

void push_loop(Ranges& ranges, const std::string& variable, const Expr& min, const Expr& extent) {
  Linear last = linearize(min);
  last.add(linearize(extent));
  last.constant -= 1;
  ranges.push(variable, {range_of(min, ranges).min, range_of(last, ranges).max},
              {limits_of(min, ranges).min, RangeFinder(ranges).limits_of(last).max});
}

void push_let(Ranges& ranges, const std::string& name, const Expr& value) {
  ranges.push(name, range_of(value, ranges, Integers::Wrap), limits_of(value, ranges));
}

bool never_wraps(const Expr& e, const Ranges& ranges) { return RangeFinder(ranges).never_wraps(e); }

}  // namespace mica::analysis
