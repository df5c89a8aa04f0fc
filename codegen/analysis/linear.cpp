#include "codegen/analysis/linear.h"

#include <algorithm>

#include "dsl/names.h"
#include "dsl/traverse.h"

namespace mica::analysis {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

void accumulate(const Expr& e, std::int64_t factor, Linear& form) {
  if (const auto* value = as_int(e)) {
    form.constant += factor * *value;
    return;
  }
  if (const auto* binary = e.as<Binary>()) {
    if (binary->op == BinaryOp::Add) {
      accumulate(binary->a, factor, form);
      accumulate(binary->b, factor, form);
      return;
    }
    if (binary->op == BinaryOp::Sub) {
      accumulate(binary->a, factor, form);
      accumulate(binary->b, -factor, form);
      return;
    }
    if (binary->op == BinaryOp::Mul) {
      if (const auto* k = as_int(binary->b)) return accumulate(binary->a, factor * *k, form);
      if (const auto* k = as_int(binary->a)) return accumulate(binary->b, factor * *k, form);
    }
  }
  if (const auto* unary = e.as<Unary>(); unary && unary->op == UnaryOp::Neg) {
    return accumulate(unary->a, -factor, form);
  }
  form.add_term(e, factor);
}

// A pair k*floor((e + p)/a) - k*floor((e + q)/a) lies between k*floor((p - q)/a) and k*ceil((p - q)/a),
// whatever e is. Takes such pairs out of `form` and returns what they add.
Ranges::Range take_floor_pairs(Linear& form) {
  Ranges::Range sum{std::int64_t{0}, std::int64_t{0}};
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
      if (!gap) continue;
      const std::int64_t times = std::min(k, -form.terms[j].second);
      sum.min = *sum.min + times * floor_div(*gap, *a);
      sum.max = *sum.max - times * floor_div(-*gap, *a);
      const Expr one = form.terms[i].first, other = form.terms[j].first;
      form.add_term(one, -times);
      form.add_term(other, times);
      const Ranges::Range rest = take_floor_pairs(form);
      return {*sum.min + *rest.min, *sum.max + *rest.max};
    }
  }
  return sum;
}

}  // namespace

void Linear::add_term(const Expr& atom, std::int64_t coefficient) {
  if (coefficient == 0) return;
  for (auto it = terms.begin(); it != terms.end(); ++it) {
    if (equal(it->first, atom)) {
      it->second += coefficient;
      if (it->second == 0) terms.erase(it);
      return;
    }
  }
  terms.emplace_back(atom, coefficient);
}

void Linear::add(const Linear& other, std::int64_t factor) {
  constant += factor * other.constant;
  for (const auto& [atom, coefficient] : other.terms) add_term(atom, factor * coefficient);
}

Linear Linear::scaled(std::int64_t factor) const {
  Linear result;
  result.add(*this, factor);
  return result;
}

std::int64_t Linear::coefficient(const std::string& name) const {
  for (const auto& [atom, coefficient] : terms) {
    if (const auto* var = atom.as<VarRef>(); var && var->name == name) return coefficient;
  }
  return 0;
}

std::int64_t Linear::take(const std::string& name) {
  for (auto it = terms.begin(); it != terms.end(); ++it) {
    if (const auto* var = it->first.as<VarRef>(); var && var->name == name) {
      std::int64_t coefficient = it->second;
      terms.erase(it);
      return coefficient;
    }
  }
  return 0;
}

Linear linearize(const Expr& e) {
  Linear form;
  accumulate(e, 1, form);
  return form;
}

Expr to_expr(const Linear& form, Type type) {
  Expr result;
  auto append = [&](const Expr& term, bool negative) {
    if (!result.defined()) {
      result = negative ? make_expr(type, Unary{UnaryOp::Neg, term}) : term;
    } else {
      result = make_expr(type, Binary{negative ? BinaryOp::Sub : BinaryOp::Add, result, term});
    }
  };
  // A positive term leads where there is one, so that no negation is needed.
  std::size_t lead = 0;
  while (lead < form.terms.size() && form.terms[lead].second < 0) ++lead;
  if (lead == form.terms.size()) lead = 0;
  auto emit = [&](std::size_t i) {
    const auto& [atom, coefficient] = form.terms[i];
    std::int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    Expr term = magnitude == 1
                    ? atom
                    : make_expr(type, Binary{BinaryOp::Mul, atom, make_const(type, magnitude)});
    append(term, coefficient < 0);
  };
  if (!form.terms.empty()) emit(lead);
  for (std::size_t i = 0; i < form.terms.size(); ++i) {
    if (i != lead) emit(i);
  }
  if (!result.defined()) return make_const(type, form.constant);
  if (form.constant > 0) append(make_const(type, form.constant), false);
  if (form.constant < 0) append(make_const(type, -form.constant), true);
  return result;
}

std::optional<std::int64_t> constant_difference(const Expr& a, const Expr& b) {
  Linear form;
  accumulate(a, 1, form);
  accumulate(b, -1, form);
  if (!form.is_constant()) return std::nullopt;
  return form.constant;
}

Ranges::Range Ranges::find(const std::string& name) const {
  for (auto it = entries_.rbegin(); it != entries_.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  if (is_array_symbol(name, "extent")) return {std::int64_t{0}, std::nullopt};
  return {};
}

Ranges::Range range_of(const Linear& whole, const Ranges& ranges) {
  Linear form = whole;
  Ranges::Range result = take_floor_pairs(form);
  result.min = *result.min + form.constant;
  result.max = *result.max + form.constant;
  for (const auto& [atom, k] : form.terms) {
    Ranges::Range r = range_of(atom, ranges);
    const auto& low = k > 0 ? r.min : r.max;
    const auto& high = k > 0 ? r.max : r.min;
    if (result.min) result.min = low ? std::optional(*result.min + k * *low) : std::nullopt;
    if (result.max) result.max = high ? std::optional(*result.max + k * *high) : std::nullopt;
  }
  return result;
}

Ranges::Range range_of(const Expr& e, const Ranges& ranges) {
  using Range = Ranges::Range;
  if (const auto* value = as_int(e)) return {*value, *value};
  if (const auto* var = e.as<VarRef>()) return ranges.find(var->name);
  if (const auto* binary = e.as<Binary>()) {
    switch (binary->op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: return range_of(linearize(e), ranges);
      case BinaryOp::Mul:
        if (as_int(binary->a) || as_int(binary->b)) return range_of(linearize(e), ranges);
        break;
      case BinaryOp::Min: {
        Range a = range_of(binary->a, ranges), b = range_of(binary->b, ranges), r;
        if (a.min && b.min) r.min = std::min(*a.min, *b.min);
        if (a.max || b.max)
          r.max = std::min(a.max.value_or(*(b.max ? b.max : a.max)),
                           b.max.value_or(*(a.max ? a.max : b.max)));
        return r;
      }
      case BinaryOp::Max: {
        Range a = range_of(binary->a, ranges), b = range_of(binary->b, ranges), r;
        if (a.max && b.max) r.max = std::max(*a.max, *b.max);
        if (a.min || b.min)
          r.min = std::max(a.min.value_or(*(b.min ? b.min : a.min)),
                           b.min.value_or(*(a.min ? a.min : b.min)));
        return r;
      }
      case BinaryOp::Div:
        if (const auto* k = as_int(binary->b); k && *k > 0) {
          Range a = range_of(binary->a, ranges), r;
          if (a.min) r.min = floor_div(*a.min, *k);
          if (a.max) r.max = floor_div(*a.max, *k);
          return r;
        }
        break;
      case BinaryOp::Mod:
        if (const auto* k = as_int(binary->b); k && *k > 0) return {std::int64_t{0}, *k - 1};
        break;
      default: break;
    }
  }
  if (const auto* select = e.as<Select>()) {
    Range a = range_of(select->if_true, ranges), b = range_of(select->if_false, ranges), r;
    if (a.min && b.min) r.min = std::min(*a.min, *b.min);
    if (a.max && b.max) r.max = std::max(*a.max, *b.max);
    return r;
  }
  return {};
}

}  // namespace mica::analysis
