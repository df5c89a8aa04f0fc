// Reductions as expressions: written out term by term (dsl/func/written_out.h), as a Func, or cut into
// parts.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dsl/check/self_reads.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/rdom.h"
#include "dsl/func/written_out.h"

namespace mica {

namespace {

/// For each of `vars`, Vars or dimensions of a domain, the first place at which any of `accesses` is
/// read at an index of it.
std::vector<std::size_t> places_of(const std::vector<Expr>& vars,
                                   const std::vector<const Access*>& accesses) {
  const std::size_t last = kMaxDimensions;
  std::vector<std::size_t> places(vars.size(), last);
  for (std::size_t d = 0; d < last; ++d) {
    std::vector<Expr> indices;
    for (const Access* access : accesses) {
      if (d < access->args.size()) indices.push_back(access->args[d]);
    }
    visit_nodes(indices, [&](const Expr& e) {
      for (std::size_t i = 0; i < vars.size(); ++i) {
        if (places[i] == last && equal(vars[i], e)) places[i] = d;
      }
    });
  }
  return places;
}

/// A Func of all that a value depends on but for the domain: the Vars in it and dimensions of other
/// domains, which become Vars of the Func, in the order in which what the value reads has them, so that
/// its rows lie along those that are read: a(r, y) * b(x, r) makes one of x and y.
class ReductionFunc {
 public:
  ReductionFunc(const RDom& domain, const Expr& value, const char* name, CallSite at)
      : domain_(domain.data()), inner_(std::make_shared<RDomData>(*domain_)), func_(name, at), at_(at) {
    std::vector<Expr> roots{value};
    if (domain_->condition.defined()) roots.push_back(domain_->condition);
    find_outer(roots);
    if (outer_.size() > std::size_t{kMaxDimensions}) {
      throw UserError(fmt::format("{} over RDom {} of a value that depends on {}; at most {} are "
                                  "possible: make it a Func of its own",
                                  name, domain_->name, counted(outer_.size(), "Var"), kMaxDimensions),
                      at);
    }
    name_parameters();
    set_condition(*inner_, domain_->condition.defined() ? inside(domain_->condition) : Expr());
  }

  /// `e` of the Func's own Vars and domain.
  Expr inside(const Expr& e) {
    NodeRewriter rewrite([&](const Expr& node) -> Expr {
      const auto* rvar = node.as<RVarRef>();
      if (rvar && rvar->domain == domain_) return dimension(static_cast<std::size_t>(rvar->index));
      return parameter_of(node);
    });
    return rewrite(e);
  }
  [[nodiscard]] Expr dimension(std::size_t d) const {
    return make_expr(Int(32), RVarRef{inner_, static_cast<int>(d)});
  }
  /// Does the value depend on the domain only?
  [[nodiscard]] bool is_single() const { return outer_.empty(); }
  /// The Func at its own Vars, and where the reduction stands.
  [[nodiscard]] FuncRef own() const { return outer_.empty() ? func_(at_) : func_(parameters_, at_); }
  [[nodiscard]] FuncRef read() const { return outer_.empty() ? func_(at_) : func_(outer_, at_); }

 private:
  void find_outer(const std::vector<Expr>& roots) {
    std::vector<const Access*> accesses;
    std::vector<Expr> met;
    visit_nodes(roots, [&](const Expr& e) {
      if (const auto* access = e.as<Access>()) accesses.push_back(access);
      const auto* rvar = e.as<RVarRef>();
      if (!e.as<VarRef>() && (!rvar || rvar->domain == domain_)) return;
      const auto same = [&](const Expr& other) { return equal(other, e); };
      if (std::none_of(met.begin(), met.end(), same)) met.push_back(e);
    });
    const std::vector<std::size_t> places = places_of(met, accesses);
    std::vector<std::size_t> order(met.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
    for (const std::size_t i : order) outer_.push_back(met[i]);
  }
  void name_parameters() {
    UniqueNames names;
    for (const Expr& e : outer_) {
      if (const auto* var = e.as<VarRef>()) names.reserve(var->name);
    }
    for (const auto& dim : domain_->dims) names.reserve(dim.name);
    for (const Expr& e : outer_) {
      const auto* rvar = e.as<RVarRef>();
      parameters_.push_back(
          rvar ? make_var(names.claim(rvar->domain->dims[static_cast<std::size_t>(rvar->index)].name))
               : e);
    }
  }
  [[nodiscard]] Expr parameter_of(const Expr& e) const {
    for (std::size_t i = 0; i < outer_.size(); ++i) {
      if (equal(outer_[i], e)) return parameters_[i];
    }
    return {};
  }

  std::shared_ptr<const RDomData> domain_;
  std::shared_ptr<RDomData> inner_;
  Func func_;
  CallSite at_;
  std::vector<Expr> outer_, parameters_;
};

// ---- what a whole domain has together ----------------------------------------------------------------

using Values = std::vector<Expr>;

/// How the values of two parts are put together, and what there is before the first.
struct Combination {
  const char* name;
  std::function<Values(const Values&, const Values&)> combine;
  Values start;
};

void define(FuncRef at, const Values& values) {
  if (values.size() == 1) {
    at = values.front();
  } else {
    at = Tuple(values);
  }
}

Values select_each(const Expr& condition, const Values& yes, const Values& no) {
  Values chosen;
  for (std::size_t i = 0; i < yes.size(); ++i) chosen.push_back(select(condition, yes[i], no[i]));
  return chosen;
}

constexpr int kLanes = 256;  // points along the first dimension that are neighbours' work
constexpr int kRows = 64;  // of the second dimension, or turns of the lanes if there is none, in a part
constexpr int kGroups = 32;  // into which parts are put together

Expr divided_up(const Expr& a, int by) { return (a + (by - 1)) / by; }

/// Cut so that neither a GPU nor a CPU has to wait for one term after the other, always alike:
///
///   parts(l, b, z, w)  over i and j < 64, one after the other: the points x = l + 256*i, y = j + 64*b;
///                      of a domain of one dimension, the points x = l + 256*(j + 64*b)
///   groups(l, g)       the parts number g, g + 32, g + 64, ... of lane l (b first, then z, w)
///   lanes(l)           groups(l, 0) + groups(l, 1) + ...
///   total()            lanes(0) + lanes(1) + ..., the value
class ParallelReduction {
 public:
  ParallelReduction(const RDomData& domain, Combination reduction, CallSite at)
      : domain_(domain), reduction_(std::move(reduction)), at_(at) {
    const std::size_t dimensions = domain.dims.size();
    const Expr points = domain.dims[0].count();
    counts_ = {dimensions == 1 ? divided_up(points, kLanes * kRows)
                               : divided_up(domain.dims[1].count(), kRows)};
    for (std::size_t d = 2; d < dimensions; ++d) counts_.push_back(domain.dims[d].count());
  }

  Values run(const Values& point) {
    const Func groups = make_groups(make_parts(point));
    Func lanes = func("lanes");
    const Var l("lane");
    define(lanes(l, at_), combined(kGroups, [&](int g) { return values_of(groups(l, g, at_)); }));
    Func total = func("total");
    define(total(at_), combined(kLanes, [&](int i) { return values_of(lanes(i, at_)); }));
    return values_of(total(at_));
  }

 private:
  [[nodiscard]] Func func(const char* what) const {
    Func f(std::string(reduction_.name) + "." + what, at_);
    f.function()->made_of = {reduction_.name, what};
    return f;
  }

  [[nodiscard]] Values values_of(const FuncRef& ref) const {
    if (reduction_.start.size() == 1) return {Expr(ref)};
    Values values;
    for (std::size_t i = 0; i < reduction_.start.size(); ++i) values.push_back(ref[static_cast<int>(i)]);
    return values;
  }

  template <typename Term>
  Values combined(int count, Term term) const {
    Values total = term(0);
    for (int i = 1; i < count; ++i) total = reduction_.combine(total, term(i));
    return total;
  }

  [[nodiscard]] Func make_parts(const Values& point) const {
    static constexpr const char* kNames[] = {"lane", "part", "plane", "volume", "d4", "d5"};
    static_assert(std::size(kNames) == kMaxDimensions);
    std::vector<Expr> vars;
    for (std::size_t d = 0; d <= counts_.size(); ++d) vars.push_back(make_var(kNames[d]));
    const bool line = domain_.dims.size() == 1;
    // No turns of an empty domain, so that nothing of it is read.
    const bool known = domain_.dims[0].constant_extent() > 0;
    const Expr any = known ? Expr(1) : min(domain_.dims[0].count(), 1);
    const RDom r({{0, line ? any : divided_up(domain_.dims[0].count(), kLanes)}, {0, kRows}}, "turn",
                 at_);
    std::vector<Expr> offset{vars[0] + kLanes * (line ? r.y + kRows * vars[1] : Expr(r.x))};
    if (!line) offset.push_back(r.y + kRows * vars[1]);
    offset.insert(offset.end(), vars.begin() + 2, vars.end());
    Expr is_inside = offset[0] < domain_.dims[0].extent;
    if (!line) is_inside = is_inside && offset[1] < domain_.dims[1].extent;
    NodeRewriter at_point([&](const Expr& e) -> Expr {
      const auto* rvar = e.as<RVarRef>();
      if (!rvar || rvar->domain.get() != &domain_) return {};
      const auto d = static_cast<std::size_t>(rvar->index);
      const auto& dim = domain_.dims[d];
      return dim.min + (d < 2 ? min(offset[d], dim.extent - 1) : offset[d]);
    });
    if (domain_.condition.defined()) is_inside = is_inside && at_point(domain_.condition);
    Func parts = func("parts");
    define(parts(vars, at_), reduction_.start);
    const Values before = values_of(parts(vars, at_));
    Values here;
    for (const Expr& value : point) here.push_back(at_point(value));
    define(parts(vars, at_), select_each(is_inside, reduction_.combine(before, here), before));
    return parts;
  }

  [[nodiscard]] Func make_groups(const Func& parts) const {
    Expr count = 1;
    for (const auto& extent : counts_) count = count * extent;
    const RDom turn({{0, divided_up(count, kGroups)}}, "turn", at_);
    const Var l("lane"), g("group");
    const Expr number = g + kGroups * turn;
    std::vector<Expr> args{l};
    Expr rest = min(number, count - 1);
    for (std::size_t d = 0; d + 1 < counts_.size(); ++d) {
      args.push_back(rest % counts_[d]);
      rest = rest / counts_[d];
    }
    args.push_back(min(rest, counts_.back() - 1));
    Func groups = func("groups");
    define(groups(l, g, at_), reduction_.start);
    const Values before = values_of(groups(l, g, at_));
    define(groups(l, g, at_),
           select_each(number < count, reduction_.combine(before, values_of(parts(args, at_))), before));
    return groups;
  }

  const RDomData& domain_;
  Combination reduction_;
  CallSite at_;
  std::vector<Expr> counts_;  // of parts along each of their dimensions but the lanes
};

void check_value(const Expr& value, const char* what, CallSite at) {
  if (!value.defined()) throw UserError(fmt::format("{} of an undefined Expr", what), at);
  if (value.type().is_bool()) {
    throw UserError(fmt::format("{} of a bool: cast it, or write select(condition, 1, 0)", what), at);
  }
}

Expr reduce_here(const RDom& domain, const Expr& value, CallSite at, const Reduction& reduction) {
  check_value(value, reduction.name, at);
  if (const Expr terms = written_out(*domain.data(), value, reduction); terms.defined()) return terms;
  ReductionFunc func(domain, value, reduction.name, at);
  if (func.is_single()) {
    const Combination each{reduction.name,
                           [&](const Values& a, const Values& b) {
                             return Values{reduction.combine(a.front(), b.front())};
                           },
                           {reduction.start(value.type())}};
    return ParallelReduction(*domain.data(), each, at).run({value}).front();
  }
  func.own() = reduction.start(value.type());
  func.own() = reduction.combine(func.own(), func.inside(value));
  return func.read();
}

Expr reduce(const RDom& domain, const Expr& value, CallSite at, const Reduction& reduction) {
  return placed_at(at, [&] { return reduce_here(domain, value, at, reduction); });
}

/// The largest or the lowest value of a type: of floats, an infinity.
Expr extreme(Type type, bool largest) {
  if (type.is_float()) {
    const double infinity = std::numeric_limits<double>::infinity();
    return make_const(type, largest ? infinity : -infinity);
  }
  return make_const(type, largest ? highest_of(type) : lowest_of(type));
}

/// Of two points, coordinates and value, the better one; of two that are as good, that which comes first
/// in the domain, whose last dimension is the slowest.
Values better_point(const Values& a, const Values& b, bool largest) {
  Expr earlier = make_const(Bool(), 0);
  for (std::size_t d = 0; d + 1 < a.size(); ++d) earlier = b[d] < a[d] || (b[d] == a[d] && earlier);
  const Expr better = largest ? b.back() > a.back() : b.back() < a.back();
  return select_each(better || (b.back() == a.back() && earlier), b, a);
}

/// The coordinates and the value of the first point at which `better(value, the best so far)`.
Tuple best_point(const RDom& domain, const Expr& value, const char* name, bool largest, CallSite at) {
  check_value(value, name, at);
  ReductionFunc func(domain, value, name, at);
  const std::size_t dimensions = domain.data()->dims.size();
  std::vector<Expr> start;
  for (const auto& dim : domain.data()->dims) start.push_back(dim.min);
  start.push_back(extreme(value.type(), !largest));
  if (func.is_single() && !few_points(*domain.data(), value)) {
    const Combination better{
        name, [=](const Values& a, const Values& b) { return better_point(a, b, largest); }, start};
    Values point;
    for (std::size_t d = 0; d < dimensions; ++d) {
      point.push_back(make_expr(Int(32), RVarRef{domain.data(), static_cast<int>(d)}));
    }
    point.push_back(value);
    return Tuple(ParallelReduction(*domain.data(), better, at).run(point));
  }
  func.own() = Tuple(start);
  const Expr here = func.inside(value), best = func.own()[static_cast<int>(dimensions)];
  const Expr better = largest ? here > best : here < best;
  std::vector<Expr> next;
  for (std::size_t d = 0; d < dimensions; ++d) {
    next.push_back(select(better, func.dimension(d), func.own()[static_cast<int>(d)]));
  }
  next.push_back(select(better, here, best));
  func.own() = Tuple(next);
  std::vector<Expr> result;
  for (std::size_t i = 0; i <= dimensions; ++i) result.push_back(func.read()[static_cast<int>(i)]);
  return Tuple(result);
}

}  // namespace

Expr sum(const RDom& domain, Expr value, CallSite at) {
  return reduce(domain, value, at,
                {"sum", [](const Expr& a, const Expr& b) { return a + b; },
                 [](Type type) { return make_const(type, 0); }});
}

Expr product(const RDom& domain, Expr value, CallSite at) {
  return reduce(domain, value, at,
                {"product", [](const Expr& a, const Expr& b) { return a * b; },
                 [](Type type) { return make_const(type, 1); }});
}

Expr minimum(const RDom& domain, Expr value, CallSite at) {
  return reduce(domain, value, at,
                {"minimum", [](const Expr& a, const Expr& b) { return min(a, b); },
                 [](Type type) { return extreme(type, true); }});
}

Expr maximum(const RDom& domain, Expr value, CallSite at) {
  return reduce(domain, value, at,
                {"maximum", [](const Expr& a, const Expr& b) { return max(a, b); },
                 [](Type type) { return extreme(type, false); }});
}

Tuple argmin(const RDom& domain, Expr value, CallSite at) {
  return best_point(domain, value, "argmin", false, at);
}

Tuple argmax(const RDom& domain, Expr value, CallSite at) {
  return best_point(domain, value, "argmax", true, at);
}

}  // namespace mica
