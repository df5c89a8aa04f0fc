#include "codegen/analysis/linear.h"

#include <algorithm>
#include <utility>

#include "dsl/expr/node_map.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

// Sums and products modulo 2^64, which forms of narrower types are reduced from.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Adds `e` times a factor to forms; in a long one a sum that is used several times is taken apart once.
class Accumulator {
 public:
  void add(const Expr& e, std::int64_t factor, Linear& form) {
    if (const auto* value = as_int(e)) {
      form.constant = plus(form.constant, times(factor, *value));
      return;
    }
    if (!is_sum(e)) return form.add_term(e, factor);
    if (e.ptr().use_count() <= 1) return open(e, factor, form);
    if (unnoted_ > 0) {
      --unnoted_;
      return open(e, factor, form);
    }
    const auto found = shared_.find(e.ptr().get());
    if (found != shared_.end()) return form.add(found->second, factor);
    Linear own;
    open(e, 1, own);
    form.add(own, factor);
    shared_.emplace(e.ptr().get(), std::move(own));
  }

 private:
  static bool is_sum(const Expr& e) {
    if (const auto* op = e.as<Binary>()) {
      const bool is_multiple = op->op == BinaryOp::Mul && (as_int(op->a) || as_int(op->b));
      return op->op == BinaryOp::Add || op->op == BinaryOp::Sub || is_multiple;
    }
    const auto* unary = e.as<Unary>();
    return unary && unary->op == UnaryOp::Neg;
  }

  void open(const Expr& e, std::int64_t factor, Linear& form) {
    const auto* op = e.as<Binary>();
    if (op == nullptr) return add(e.as<Unary>()->a, times(-1, factor), form);
    if (op->op == BinaryOp::Mul) {
      const auto* right = as_int(op->b);
      const std::int64_t k = right ? *right : *as_int(op->a);
      return add(right ? op->a : op->b, times(factor, k), form);
    }
    add(op->a, factor, form);
    add(op->b, op->op == BinaryOp::Sub ? times(-1, factor) : factor, form);
  }

  int unnoted_ = 32;        // so many are cheaper to take apart again than to remember
  NodeMap<Linear> shared_;  // nodes of the expression at hand
};

void reduce(Linear& form, Type type) {
  if (fits_in(form, type)) return;
  form.constant = wrap_to_type(type, form.constant);
  for (auto& term : form.terms) term.second = wrap_to_type(type, term.second);
  std::erase_if(form.terms, [](const auto& term) { return term.second == 0; });
}

}  // namespace

void Linear::add_term(const Expr& atom, std::int64_t coefficient) {
  if (coefficient == 0) return;
  for (auto it = terms.begin(); it != terms.end(); ++it) {
    if (equal(it->first, atom)) {
      it->second = plus(it->second, coefficient);
      if (it->second == 0) terms.erase(it);
      return;
    }
  }
  terms.emplace_back(atom, coefficient);
}

void Linear::add(const Linear& other, std::int64_t factor) {
  constant = plus(constant, times(factor, other.constant));
  for (const auto& [atom, coefficient] : other.terms) add_term(atom, times(factor, coefficient));
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
  Accumulator().add(e, 1, form);
  reduce(form, e.type().element());
  return form;
}

bool fits_in(const Linear& form, Type type) {
  const Type element = type.element();
  const auto fits = [&](std::int64_t value) { return wrap_to_type(element, value) == value; };
  return fits(form.constant) && std::all_of(form.terms.begin(), form.terms.end(),
                                            [&](const auto& term) { return fits(term.second); });
}

Expr to_wide_expr(const Linear& form) {
  Expr sum = make_const(Int(64), form.constant);
  for (const auto& [atom, k] : form.terms) sum = sum + cast(Int(64), atom) * make_const(Int(64), k);
  return sum;
}

Expr to_expr(const Linear& whole, Type type) {
  Linear form = whole;
  reduce(form, type);
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
    // The least value of the type is its own magnitude, modulo the type.
    const std::int64_t magnitude = coefficient < 0 ? times(-1, coefficient) : coefficient;
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
  if (form.constant < 0) append(make_const(type, times(-1, form.constant)), true);
  return result;
}

std::optional<std::int64_t> constant_difference(const Expr& a, const Expr& b) {
  Linear form = linearize(a);
  form.add(linearize(b), -1);
  if (!form.is_constant()) return std::nullopt;
  return form.constant;
}

}  // namespace mica::analysis
