#include "dsl/expr/rounding.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/expr/node_map.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

using IsParam = std::function<bool(const std::string&)>;

// (factor*v + offset) / divisor, up to the rounding of integer divisions.
struct Affine {
  std::int64_t factor = 0;
  std::int64_t offset = 0;
  std::int64_t divisor = 1;
};

std::optional<std::int64_t> exact_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

// The forms of integer expressions in one variable and constants; empty for any other expression. Each
// node is looked at once, since indices may be graphs that use their parts again and again.
class AffineFinder {
 public:
  explicit AffineFinder(const std::string& variable) : variable_(variable) {}

  std::optional<Affine> operator()(const Expr& e) {
    if (const auto* imm = e.as<IntImm>()) return Affine{0, imm->value, 1};
    if (e.as<VarRef>()) return uses_variable(e) ? std::optional(Affine{1, 0, 1}) : std::nullopt;
    if (const auto known = forms_.find(e.ptr().get()); known != forms_.end()) return known->second;
    return forms_.emplace(e.ptr().get(), form_of(e)).first->second;
  }

 private:
  std::optional<Affine> form_of(const Expr& e) {
    if (const auto* op = e.as<Unary>(); op != nullptr && op->op == UnaryOp::Neg) {
      return scaled((*this)(op->a), -1);
    }
    const auto* op = e.as<Binary>();
    if (op == nullptr) return std::nullopt;
    switch (op->op) {
      case BinaryOp::Add: return sum((*this)(op->a), (*this)(op->b));
      case BinaryOp::Sub: return sum((*this)(op->a), scaled((*this)(op->b), -1));
      case BinaryOp::Mul: {
        const std::int64_t* factor = as_int(op->a);
        const Expr& other = factor != nullptr ? op->b : op->a;
        if (factor == nullptr) factor = as_int(op->b);
        return factor != nullptr ? scaled((*this)(other), *factor) : std::nullopt;
      }
      case BinaryOp::Div: {
        const std::int64_t* divisor = as_int(op->b);
        if (divisor == nullptr || *divisor <= 0) return std::nullopt;
        const std::optional<Affine> a = (*this)(op->a);
        const auto all = a ? exact_product(a->divisor, *divisor) : std::nullopt;
        return all ? std::optional(Affine{a->factor, a->offset, *all}) : std::nullopt;
      }
      case BinaryOp::Min:
      case BinaryOp::Max: {
        if (!uses_variable(op->b)) return (*this)(op->a);
        if (!uses_variable(op->a)) return (*this)(op->b);
        return std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  // Forms of numbers beyond 64 bits are none.
  static std::optional<Affine> scaled(const std::optional<Affine>& a, std::int64_t by) {
    const auto factor = a ? exact_product(a->factor, by) : std::nullopt;
    const auto offset = a ? exact_product(a->offset, by) : std::nullopt;
    return factor && offset ? std::optional(Affine{*factor, *offset, a->divisor}) : std::nullopt;
  }
  static std::optional<Affine> sum(std::optional<Affine> a, std::optional<Affine> b) {
    if (!a || !b) return std::nullopt;
    if (a->divisor != b->divisor) {
      if (a->divisor != 1 && b->divisor != 1) return std::nullopt;
      std::optional<Affine>& whole = a->divisor == 1 ? a : b;
      const std::int64_t divisor = a->divisor == 1 ? b->divisor : a->divisor;
      whole = scaled(whole, divisor);
      if (!whole) return std::nullopt;
      whole->divisor = divisor;
    }
    Affine both{0, 0, a->divisor};
    const bool fits = !__builtin_add_overflow(a->factor, b->factor, &both.factor) &&
                      !__builtin_add_overflow(a->offset, b->offset, &both.offset);
    return fits ? std::optional(both) : std::nullopt;
  }

  bool uses_variable(const Expr& e) {
    if (const auto* var = e.as<VarRef>()) return var->name == variable_;
    if (const auto known = uses_.find(e.ptr().get()); known != uses_.end()) return known->second;
    bool uses = false;
    for_each_child(e, [&](const Expr& child) { uses = uses || uses_variable(child); });
    uses_.emplace(e.ptr().get(), uses);
    return uses;
  }

  const std::string& variable_;
  // By node, of expressions that outlive this.
  NodeMap<std::optional<Affine>> forms_;
  NodeMap<bool> uses_;
};

constexpr double kNoTap = -std::numeric_limits<double>::infinity();

// One term of a flattened sum: its factors as written (outer ones first), those made of constants and
// Params apart, and the largest offset of its taps in the slowest dimension.
struct Term {
  bool negative = false;
  std::vector<Expr> uniform;
  std::vector<Expr> varying;
  double offset = kNoTap;
  std::size_t written = 0;  // the term's place as written
};

Expr product(const std::vector<Expr>& factors, std::size_t first = 0) {
  Expr result = factors[first];
  for (std::size_t i = first + 1; i < factors.size(); ++i) {
    result = make_expr(result.type(), Binary{BinaryOp::Mul, result, factors[i]});
  }
  return result;
}

bool is_neg(const Expr& e) {
  const auto* op = e.as<Unary>();
  return op != nullptr && op->op == UnaryOp::Neg;
}
const Binary* as_binary(const Expr& e, BinaryOp op) {
  const auto* binary = e.as<Binary>();
  return binary != nullptr && binary->op == op ? binary : nullptr;
}

class RoundingFixer {
 public:
  RoundingFixer(const Expr& value, const std::string& slowest, const IsParam& is_param)
      : affine_(slowest), is_param_(is_param) {
    NodeSet met;
    visit_nodes({value}, [&](const Expr& e) {
      for_each_child(e, [&](const Expr& child) {
        if (!met.insert(child.ptr().get())) shared_.insert(child.ptr().get());
      });
    });
  }

  Expr fix(const Expr& e) {
    return fixed_(e, [&] { return fix_new(e); });
  }

 private:
  Expr fix_new(const Expr& e) {
    if (e.as<Strict>() != nullptr) return e;
    const auto* binary = e.as<Binary>();
    const bool may_be_sum =
        e.type().is_float() &&
        (is_neg(e) ||
         (binary != nullptr &&
          (binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub || binary->op == BinaryOp::Mul)));
    if (may_be_sum && !is_one_term(e)) {
      std::vector<Term> terms;
      whole_ = e.ptr().get();
      flatten(e, {}, terms);
      if (terms.size() > 1) return chain(std::move(terms));
    }
    return map_children(e, [this](const Expr& child) { return fix(child); });
  }

  // The factors of a product that vary, as gather_factors finds them: none, one, or several.
  struct Varying {
    bool several = false;
    Expr only = {};
  };
  static Varying both(const Varying& a, const Varying& b) {
    const bool several = a.several || b.several || (a.only.defined() && b.only.defined());
    return {several, several ? Expr() : (a.only.defined() ? a.only : b.only)};
  }
  Varying varying_of(const Expr& e) {
    const Binary* mul = as_binary(e, BinaryOp::Mul);
    if (shared_.count(e.ptr().get()) > 0 || (mul == nullptr && !is_neg(e))) {
      return is_uniform(e) ? Varying{} : Varying{false, e};
    }
    const auto known = varying_.find(e.ptr().get());
    if (known != varying_.end()) return known->second;
    const Varying found =
        mul != nullptr ? both(varying_of(mul->a), varying_of(mul->b)) : varying_of(e.as<Unary>()->a);
    varying_.emplace(e.ptr().get(), found);
    return found;
  }
  // A product through which no sum is opened. It is asked of each product inside a product.
  bool is_one_term(const Expr& e) {
    const Binary* mul = as_binary(e, BinaryOp::Mul);
    if (mul == nullptr) return false;
    const Varying found = both(varying_of(mul->a), varying_of(mul->b));
    if (!found.only.defined()) return true;
    const bool is_sum = as_binary(found.only, BinaryOp::Add) || as_binary(found.only, BinaryOp::Sub);
    return !is_sum || shared_.count(found.only.ptr().get()) > 0;
  }

  // A value that is used several times is computed once, in an order of its own: the sums and products
  // that use it are not opened through it.
  [[nodiscard]] bool is_closed(const Expr& e) const {
    return e.ptr().get() != whole_ && shared_.count(e.ptr().get()) > 0;
  }

  // Appends the terms of `e` times the sign and uniform factors of `outer`.
  void flatten(const Expr& e, const Term& outer, std::vector<Term>& terms) {
    if (is_closed(e)) {
      Term term = outer;
      (is_uniform(e) ? term.uniform : term.varying).push_back(e);
      terms.push_back(std::move(term));
      return;
    }
    if (is_neg(e)) {
      Term negated = outer;
      negated.negative = !outer.negative;
      flatten(e.as<Unary>()->a, negated, terms);
      return;
    }
    const Binary* add = as_binary(e, BinaryOp::Add);
    const Binary* sub = as_binary(e, BinaryOp::Sub);
    if (add != nullptr || sub != nullptr) {
      const Binary& op = add != nullptr ? *add : *sub;
      flatten(op.a, outer, terms);
      Term right = outer;
      right.negative = outer.negative != (sub != nullptr);
      flatten(op.b, right, terms);
      return;
    }
    Term term = outer;
    gather_factors(e, term);
    if (term.varying.size() == 1) {
      const Expr only = term.varying.front();
      if (is_closed(only)) {
        terms.push_back(std::move(term));
        return;
      }
      if (as_binary(only, BinaryOp::Add) != nullptr || as_binary(only, BinaryOp::Sub) != nullptr) {
        term.varying.clear();
        flatten(only, term, terms);
        return;
      }
    }
    terms.push_back(std::move(term));
  }

  // Splits a product into factors; minus signs inside it go to the term's sign, which is exact.
  void gather_factors(const Expr& e, Term& term) {
    if (is_closed(e)) {
      (is_uniform(e) ? term.uniform : term.varying).push_back(e);
    } else if (is_neg(e)) {
      term.negative = !term.negative;
      gather_factors(e.as<Unary>()->a, term);
    } else if (const Binary* mul = as_binary(e, BinaryOp::Mul)) {
      gather_factors(mul->a, term);
      gather_factors(mul->b, term);
    } else {
      (is_uniform(e) ? term.uniform : term.varying).push_back(e);
    }
  }

  bool is_uniform(const Expr& e) {
    if (e.as<IntImm>() != nullptr || e.as<FloatImm>() != nullptr || e.as<ParamRef>() != nullptr) {
      return true;
    }
    if (const auto* var = e.as<VarRef>()) return is_param_ && is_param_(var->name);
    const bool is_operation = e.as<Cast>() || e.as<Unary>() || e.as<Binary>() || e.as<Compare>() ||
                              e.as<Select>() || e.as<Fma>() || e.as<Strict>();
    if (!is_operation) return false;
    const auto known = uniform_.find(e.ptr().get());
    if (known != uniform_.end()) return known->second;
    bool uniform = true;
    for_each_child(e, [&](const Expr& child) { uniform = uniform && is_uniform(child); });
    uniform_.emplace(e.ptr().get(), uniform);
    return uniform;
  }

  // The largest offset in the slowest dimension of the taps in `e`. An update's own old value is no tap:
  // it is there before the first plane arrives.
  double largest_offset(const Expr& e) {
    const auto known = offsets_.find(e.ptr().get());
    if (known != offsets_.end()) return known->second;
    double largest = kNoTap;
    for_each_child(e, [&](const Expr& child) { largest = std::max(largest, largest_offset(child)); });
    if (const auto* access = e.as<Access>(); access != nullptr && !access->is_self) {
      for (const Expr& arg : access->args) {
        const std::optional<Affine> form = affine_(arg);
        if (!form || form->factor == 0) continue;
        const double offset = static_cast<double>(form->offset) / static_cast<double>(form->factor);
        largest = std::max(largest, offset);
      }
    }
    offsets_.emplace(e.ptr().get(), largest);
    return largest;
  }

  Expr chain(std::vector<Term> terms) {
    for (Term& term : terms) {
      if (term.negative && (term.uniform.size() + term.varying.size() > 1)) {
        // Before it is fixed, so that a minus sign goes into a factor that is itself a sum.
        Expr& first = term.uniform.empty() ? term.varying.front() : term.uniform.front();
        first = -first;
        made_.push_back(first);
        term.negative = false;
      }
      for (const Expr& factor : term.varying) {
        term.offset = std::max(term.offset, largest_offset(factor));
      }
      for (Expr& factor : term.uniform) factor = fix(factor);
      for (Expr& factor : term.varying) factor = fix(factor);
    }
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i].written = i;
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      return a.offset < b.offset || (a.offset == b.offset && a.written < b.written);
    });
    Expr sum;
    for (const Term& term : terms) sum = appended(std::move(sum), term);
    return sum;
  }

  // `sum` plus `term`; an undefined `sum` is opened by it.
  static Expr appended(Expr sum, const Term& term) {
    const auto [a, b] = factors_of(term);
    const Type type = a.type();
    if (b.defined()) {
      if (!sum.defined()) return make_expr(type, Binary{BinaryOp::Mul, a, b});
      return make_expr(type, Fma{a, b, std::move(sum)});
    }
    if (!sum.defined()) return term.negative ? -a : a;
    const BinaryOp op = term.negative ? BinaryOp::Sub : BinaryOp::Add;
    return make_expr(type, Binary{op, std::move(sum), a});
  }

  // The two factors of a product term; the second is undefined for a term of one factor.
  static std::pair<Expr, Expr> factors_of(const Term& term) {
    if (!term.uniform.empty() && !term.varying.empty()) {
      return {product(term.uniform), product(term.varying)};
    }
    const std::vector<Expr>& factors = term.uniform.empty() ? term.varying : term.uniform;
    return {factors.front(), factors.size() > 1 ? product(factors, 1) : Expr()};
  }

  AffineFinder affine_;  // in the slowest dimension
  const IsParam& is_param_;
  NodeSet shared_;                   // by several nodes of the value
  const ExprNode* whole_ = nullptr;  // the sum being opened
  RewriteMemo fixed_;
  std::vector<Expr> made_;  // keeps nodes whose address is a key below
  NodeMap<bool> uniform_;
  NodeMap<Varying> varying_;
  NodeMap<double> offsets_;
};

}  // namespace

Expr fix_rounding(const Expr& value, const std::string& slowest, const IsParam& is_param) {
  return RoundingFixer(value, slowest, is_param).fix(value);
}

}  // namespace mica
