#include "dsl/expr/rounding.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/expr/match.h"
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
  std::size_t uniform = 0;  ///< the last of them, a place in Factors; 0: there are none
  std::vector<Expr> varying;
  double offset = kNoTap;
  std::size_t written = 0;  ///< the term's place as written
};

Expr multiplied(const Expr& a, const Expr& b) {
  return make_expr(a.type(), Binary{BinaryOp::Mul, a, b});
}
Expr product(const std::vector<Expr>& factors, std::size_t first = 0) {
  Expr result = factors[first];
  for (std::size_t i = first + 1; i < factors.size(); ++i) result = multiplied(result, factors[i]);
  return result;
}

// The uniform factors of all terms of a sum. Those of a sum inside a sum begin as that one's do:
//
//   c*(d*(e*u + v) + w)        c*d*e,  c*d,  c          each the one before times a factor
//
// so that the factors and products of a polynomial in Horner's form are as many as its degree.
class Factors {
 public:
  /// The place of `factor` behind the factor at `before` (0: as the first).
  std::size_t add(std::size_t before, const Expr& factor) {
    links_.push_back({before, first(before), count(before) + 1, factor, {}});
    if (before == 0) links_.back().first = links_.size();
    return links_.size();
  }
  [[nodiscard]] std::size_t count(std::size_t last) const { return last == 0 ? 0 : link(last).count; }
  enum Which : std::uint8_t { All, AllNegative, FromTheSecond, kProducts };
  /// The product, from the left, of the factors up to the one at `last`, each by `fixed`; of AllNegative
  /// the first one has another sign before that.
  template <typename Fixed>
  Expr product(std::size_t last, Which which, const Fixed& fixed) {
    const std::size_t shortest = which == FromTheSecond ? 2 : 1;
    std::vector<std::size_t> missing;
    while (!link(last).products[which].defined()) {
      missing.push_back(last);
      if (link(last).count == shortest) break;
      last = link(last).before;
    }
    Expr result = link(last).products[which];
    for (; !missing.empty(); missing.pop_back()) {
      const std::size_t at = missing.back();
      const Expr factor = link(at).factor;
      const bool first = link(at).count == shortest;
      const Expr own = fixed(first && which == AllNegative ? -factor : factor);
      result = first ? own : multiplied(result, own);
      link(at).products[which] = result;
    }
    return result;
  }
  [[nodiscard]] std::size_t first(std::size_t last) const { return last == 0 ? 0 : link(last).first; }

 private:
  struct Link {
    std::size_t before, first, count;
    Expr factor;
    Expr products[kProducts];
  };
  [[nodiscard]] const Link& link(std::size_t place) const { return links_[place - 1]; }
  Link& link(std::size_t place) { return links_[place - 1]; }
  std::deque<Link> links_;  // stay where they are
};

bool is_neg(const Expr& e) {
  const auto* op = e.as<Unary>();
  return op != nullptr && op->op == UnaryOp::Neg;
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
      Sum sum;
      whole_ = e.ptr().get();
      flatten(e, {}, sum);
      if (sum.terms.size() > 1) return chain(sum);
    }
    return map_children(e, [this](const Expr& child) { return fix(child); });
  }

  // A sum that is being opened.
  struct Sum {
    std::vector<Term> terms;
    Factors factors;
  };

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
  void flatten(const Expr& e, const Term& outer, Sum& sum) {
    if (is_closed(e)) {
      Term term = outer;
      add_factor(e, term, sum);
      sum.terms.push_back(std::move(term));
      return;
    }
    if (is_neg(e)) {
      Term negated = outer;
      negated.negative = !outer.negative;
      flatten(e.as<Unary>()->a, negated, sum);
      return;
    }
    const Binary* add = as_binary(e, BinaryOp::Add);
    const Binary* sub = as_binary(e, BinaryOp::Sub);
    if (add != nullptr || sub != nullptr) {
      const Binary& op = add != nullptr ? *add : *sub;
      flatten(op.a, outer, sum);
      Term right = outer;
      right.negative = outer.negative != (sub != nullptr);
      flatten(op.b, right, sum);
      return;
    }
    Term term = outer;
    gather_factors(e, term, sum);
    if (term.varying.size() == 1) {
      const Expr only = term.varying.front();
      if (is_closed(only)) {
        sum.terms.push_back(std::move(term));
        return;
      }
      if (as_binary(only, BinaryOp::Add) != nullptr || as_binary(only, BinaryOp::Sub) != nullptr) {
        term.varying.clear();
        flatten(only, term, sum);
        return;
      }
    }
    sum.terms.push_back(std::move(term));
  }

  void add_factor(const Expr& e, Term& term, Sum& sum) {
    if (is_uniform(e)) {
      term.uniform = sum.factors.add(term.uniform, e);
    } else {
      term.varying.push_back(e);
    }
  }

  // Splits a product into factors; minus signs inside it go to the term's sign, which is exact.
  void gather_factors(const Expr& e, Term& term, Sum& sum) {
    const Binary* mul = as_binary(e, BinaryOp::Mul);
    if (!is_closed(e) && is_neg(e)) {
      term.negative = !term.negative;
      gather_factors(e.as<Unary>()->a, term, sum);
    } else if (!is_closed(e) && mul != nullptr) {
      gather_factors(mul->a, term, sum);
      gather_factors(mul->b, term, sum);
    } else {
      add_factor(e, term, sum);
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

  Expr chain(Sum& sum) {
    std::vector<Term>& terms = sum.terms;
    for (Term& term : terms) {
      if (term.negative && term.uniform == 0 && term.varying.size() > 1) {
        // Before it is fixed, so that a minus sign goes into a factor that is itself a sum.
        term.varying.front() = kept(-term.varying.front());
        term.negative = false;
      }
      for (const Expr& factor : term.varying) {
        term.offset = std::max(term.offset, largest_offset(factor));
      }
      for (Expr& factor : term.varying) factor = fix(factor);
    }
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i].written = i;
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      return a.offset < b.offset || (a.offset == b.offset && a.written < b.written);
    });
    Expr chained;
    for (const Term& term : terms) chained = appended(std::move(chained), term, sum.factors);
    return chained;
  }

  // `sum` plus `term`; an undefined `sum` is opened by it.
  Expr appended(Expr sum, const Term& term, Factors& factors) {
    const auto [a, b] = factors_of(term, factors);
    const Type type = a.type();
    if (b.defined()) {
      if (!sum.defined()) return make_expr(type, Binary{BinaryOp::Mul, a, b});
      return make_expr(type, Fma{a, b, std::move(sum)});
    }
    if (!sum.defined()) return term.negative ? -a : a;
    const BinaryOp op = term.negative ? BinaryOp::Sub : BinaryOp::Add;
    return make_expr(type, Binary{op, std::move(sum), a});
  }

  // The two factors of a product term, with its sign; the second is undefined for a term of one factor,
  // which has none.
  std::pair<Expr, Expr> factors_of(const Term& term, Factors& factors) {
    if (term.uniform == 0) {
      return {term.varying.front(), term.varying.size() > 1 ? product(term.varying, 1) : Expr()};
    }
    const auto fixed = [this](const Expr& factor) { return fix(kept(factor)); };
    const bool single = term.varying.empty() && factors.count(term.uniform) == 1;
    const Factors::Which which = term.negative && !single ? Factors::AllNegative : Factors::All;
    if (!term.varying.empty()) {
      return {factors.product(term.uniform, which, fixed), product(term.varying)};
    }
    const Expr first = factors.product(factors.first(term.uniform), which, fixed);
    return {first, single ? Expr() : factors.product(term.uniform, Factors::FromTheSecond, fixed)};
  }

  // Its address may be a key below.
  Expr kept(const Expr& e) {
    made_.push_back(e);
    return e;
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
