#include "codegen/analysis/traffic/affine_form.h"

#include <algorithm>
#include <cstdlib>

namespace mica::analysis {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

Reading constant(std::int64_t value) { return {Form{value, {}}, {}}; }

Form times(const Form& a, std::int64_t factor) { return plus(Form{}, a, factor); }

// The loop that counts most in the form, among those with several iterations.
std::optional<std::size_t> widest(const Form& form, const Region& region) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < region.size(); ++i) {
    if (!form.varies(i, region)) continue;
    if (!found || std::abs(form.slope_at(i)) > std::abs(form.slope_at(*found))) found = i;
  }
  return found;
}

std::int64_t middle(const Span& span) { return span.lo + span.count() / 2; }

// Whether the form is at least 0 in the whole region; where it is so in a part of it only, the cut that
// parts most.
Reading at_least_0(const Form& form, const Region& region) {
  const auto [low, high] = range_of(form, region);
  if (low >= 0) return constant(1);
  if (high < 0) return constant(0);
  const std::size_t p = *widest(form, region);
  Form rest = form;
  rest.slope[p] = 0;
  const auto [rest_low, rest_high] = range_of(rest, region);
  const std::int64_t c = form.slope_at(p);
  // For c > 0 false below the first and true from the second on; the other way round for c < 0.
  const std::int64_t edges[2] = {c > 0 ? ceil_div(-rest_high, c) : floor_div(rest_low, -c) + 1,
                                 c > 0 ? ceil_div(-rest_low, c) : floor_div(rest_high, -c) + 1};
  for (const std::int64_t at : edges) {
    if (at > region[p].lo && at <= region[p].hi) return {{}, Cut{p, at}};
  }
  return {{}, Cut{p, middle(region[p])}};
}

Reading quotient(const Form& form, std::int64_t divisor, const Region& region, bool remainder) {
  if (divisor == 0) return constant(0);
  if (divisor < 0) return {};
  // form = divisor*whole + part, with the slopes of `part` in [0, divisor).
  Form whole, part;
  part.base = form.base;
  for (const std::int64_t slope : form.slope) {
    whole.slope.push_back(floor_div(slope, divisor));
    part.slope.push_back(slope - whole.slope.back() * divisor);
  }
  const auto [low, high] = range_of(part, region);
  const std::int64_t q = floor_div(low, divisor);
  if (q != floor_div(high, divisor)) {
    Form edge = part;
    edge.base -= divisor * (q + 1);
    return at_least_0(edge, region);
  }
  whole.base = q;
  return {remainder ? plus(form, whole, -divisor) : whole, {}};
}

}  // namespace

std::int64_t volume(const Region& region) {
  std::int64_t product = 1;
  for (const Span& span : region) product *= span.count();
  return product;
}

bool same_form(const Form& a, const Form& b) {
  if (a.base != b.base) return false;
  for (std::size_t i = 0; i < std::max(a.slope.size(), b.slope.size()); ++i) {
    if (a.slope_at(i) != b.slope_at(i)) return false;
  }
  return true;
}

Form plus(const Form& a, const Form& b, std::int64_t factor) {
  Form sum = a;
  sum.base += factor * b.base;
  if (sum.slope.size() < b.slope.size()) sum.slope.resize(b.slope.size(), 0);
  for (std::size_t i = 0; i < b.slope.size(); ++i) sum.slope[i] += factor * b.slope[i];
  return sum;
}

std::pair<std::int64_t, std::int64_t> range_of(const Form& form, const Region& region) {
  std::int64_t low = form.base, high = form.base;
  for (std::size_t i = 0; i < std::min(region.size(), form.slope.size()); ++i) {
    const std::int64_t a = form.slope[i] * region[i].lo, b = form.slope[i] * region[i].hi;
    low += std::min(a, b);
    high += std::max(a, b);
  }
  return {low, high};
}

std::optional<std::int64_t> constant_of(const Form& form, const Region& region) {
  const auto [low, high] = range_of(form, region);
  return low == high ? std::optional(low) : std::nullopt;
}

std::pair<Region, Region> cut(const Region& region, const Cut& where) {
  std::pair<Region, Region> parts{region, region};
  parts.first[where.position].hi = where.at - 1;
  parts.second[where.position].lo = where.at;
  return parts;
}

Cut halve(const Form& form, const Region& region) {
  const std::size_t p = *widest(form, region);
  return {p, middle(region[p])};
}

// ---- expressions -----------------------------------------------------------------------------------

std::optional<Form> FormReader::bind(const std::string& name, Form form) {
  const auto known = bound_.find(name);
  std::optional<Form> former;
  if (known != bound_.end()) former = known->second;
  bound_[name] = std::move(form);
  return former;
}
void FormReader::restore(const std::string& name, const std::optional<Form>& former) {
  if (former) {
    bound_[name] = *former;
  } else {
    bound_.erase(name);
  }
}

Reading FormReader::read(const Expr& e, const Region& region) {
  if (const auto* value = as_int(e)) return constant(*value);
  if (const auto* var = e.as<VarRef>()) {
    if (const auto known = bound_.find(var->name); known != bound_.end()) return {known->second, {}};
    const auto symbol = symbols_.find(var->name);
    return symbol == symbols_.end() ? Reading{} : constant(symbol->second);
  }
  if (const auto* cast = e.as<Cast>()) {
    // Of indices, whose values fit both types; wide unsigned ones are made to wrap.
    const auto is_other = [](Type type) { return type.is_float() || type.is_wide_uint(); };
    return is_other(e.type()) || is_other(cast->value.type()) ? Reading{} : read(cast->value, region);
  }
  if (const auto* op = e.as<Unary>()) {
    if (op->op != UnaryOp::Neg && op->op != UnaryOp::Not) return {};
    Reading a = read(op->a, region);
    if (a.form) a.form = op->op == UnaryOp::Neg ? times(*a.form, -1) : plus(Form{1, {}}, *a.form, -1);
    return a;
  }
  if (const auto* op = e.as<Binary>()) return binary(*op, region);
  if (const auto* op = e.as<Compare>()) return compare(*op, region);
  if (const auto* select = e.as<Select>()) {
    const Reading condition = read(select->condition, region);
    if (!condition.form) return condition;
    const auto which = constant_of(*condition.form, region);
    if (!which) return {{}, halve(*condition.form, region)};
    return read(*which ? select->if_true : select->if_false, region);
  }
  if (const auto* let = e.as<Let>()) {
    Reading value = read(let->value, region);
    if (!value.form) return value;
    const auto former = bind(let->name, *value.form);
    Reading body = read(let->body, region);
    restore(let->name, former);
    return body;
  }
  return {};
}

Reading FormReader::binary(const Binary& op, const Region& region) {
  Reading a = read(op.a, region);
  if (a.cut) return a;
  const bool both = op.op == BinaryOp::And, either = op.op == BinaryOp::Or;
  if ((both || either) && a.form) {
    const auto known = constant_of(*a.form, region);
    if (!known) return {{}, halve(*a.form, region)};
    return (*known != 0) == both ? read(op.b, region) : constant(*known);
  }
  const Reading b = read(op.b, region);
  if (b.cut || both || either) {
    // Beside something that depends on data, the other side may still decide.
    const auto known = b.form ? constant_of(*b.form, region) : std::nullopt;
    return b.cut || (known && (*known != 0) == either) ? b : Reading{};
  }
  if (!a.form || !b.form) return {};
  const auto left = constant_of(*a.form, region), right = constant_of(*b.form, region);
  switch (op.op) {
    case BinaryOp::Add: return {plus(*a.form, *b.form), {}};
    case BinaryOp::Sub: return {plus(*a.form, *b.form, -1), {}};
    case BinaryOp::Mul:
      if (right) return {times(*a.form, *right), {}};
      if (left) return {times(*b.form, *left), {}};
      return {{}, halve(*a.form, region)};
    case BinaryOp::Div:
    case BinaryOp::Mod:
      if (!right) return {{}, halve(*b.form, region)};
      return quotient(*a.form, *right, region, op.op == BinaryOp::Mod);
    case BinaryOp::Min:
    case BinaryOp::Max: {
      const Reading first = at_least_0(plus(*b.form, *a.form, -1), region);  // a <= b
      if (first.cut) return first;
      return {(first.form->base != 0) == (op.op == BinaryOp::Min) ? a.form : b.form, {}};
    }
    default: return {};
  }
}

Reading FormReader::compare(const Compare& op, const Region& region) {
  const Reading a = read(op.a, region);
  if (!a.form) return a;
  const Reading b = read(op.b, region);
  if (!b.form) return b;
  const Form up = plus(*b.form, *a.form, -1), down = plus(*a.form, *b.form, -1);
  const Form one{1, {}};
  auto opposite = [](Reading r) {
    if (r.form) r.form->base = 1 - r.form->base;
    return r;
  };
  switch (op.op) {
    case CompareOp::Le: return at_least_0(up, region);
    case CompareOp::Ge: return at_least_0(down, region);
    case CompareOp::Lt: return at_least_0(plus(up, one, -1), region);
    case CompareOp::Gt: return at_least_0(plus(down, one, -1), region);
    case CompareOp::Eq:
    case CompareOp::Ne: {
      Reading equal = at_least_0(up, region);
      if (equal.form && equal.form->base != 0) equal = at_least_0(down, region);
      return op.op == CompareOp::Eq ? equal : opposite(equal);
    }
  }
  return {};
}

}  // namespace mica::analysis
