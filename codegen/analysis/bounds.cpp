#include "codegen/analysis/bounds.h"

#include <algorithm>
#include <set>

#include "codegen/analysis/simplify.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::analysis {
namespace {

Expr tidy(const Expr& e) { return passes::simplify(e); }

}  // namespace

void unite(Box& into, const Box& other) {
  if (other.empty()) return;
  if (into.empty()) {
    into = other;
    return;
  }
  internal_check(into.size() == other.size(), "boxes of one array have one dimensionality");
  for (std::size_t d = 0; d < into.size(); ++d) into[d] = unite(into[d], other[d]);
}

Expr extent_of(const Interval& interval) {
  Linear form = linearize(interval.max);
  form.add(linearize(interval.min), -1);
  form.constant += 1;
  // An extent that 32 bits do not hold is for the launch to see.
  return fits_in(form, Int(32)) ? tidy(to_expr(form)) : interval.max - interval.min + 1;
}

namespace {

/// A constant that the form never exceeds. Minima that are added are at most either side, and so are
/// maxima that are subtracted; `minima` of them are tried.
std::optional<std::int64_t> largest(const Linear& form, int minima, RangeFinder& finder) {
  std::optional<std::int64_t> result = finder.range_of(form, Integers::Exact).max;
  if (minima == 0) return result;
  for (const auto& [atom, factor] : form.terms) {
    const auto* op = atom.as<Binary>();
    if (op == nullptr || op->op != (factor > 0 ? BinaryOp::Min : BinaryOp::Max)) continue;
    for (const Expr& side : {op->a, op->b}) {
      Linear without = form;
      without.add_term(atom, -factor);
      without.add(linearize(side), factor);
      const std::optional<std::int64_t> bound = largest(without, minima - 1, finder);
      if (bound && (!result || *bound < *result)) result = bound;
    }
    break;  // the next one's turn comes in the calls above
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> constant_extent(const Interval& interval) {
  const Ranges none;
  RangeFinder finder(none);
  return constant_extent(interval, finder);
}

std::optional<std::int64_t> constant_extent(const Interval& interval, RangeFinder& finder) {
  constexpr int kMinima = 2;
  if (!interval.bounded()) return std::nullopt;
  Linear d = linearize(interval.max);
  d.add(linearize(interval.min), -1);
  d.constant += 1;
  return largest(d, kMinima, finder);
}

bool same(const Expr& a, const Expr& b) {
  auto d = constant_difference(a, b);
  return d && *d == 0;
}

void for_each_access(const Definition& definition, const std::function<void(const Access&)>& visit) {
  auto look = [&](const Expr& e) {
    walk(e, [&](const Expr& node) {
      if (const auto* access = node.as<Access>()) visit(*access);
    });
  };
  for (const auto& e : definition.values) look(e);
  for (const auto& e : definition.args) look(e);
}

Interval index_interval(const Definition& definition, const Expr& index, const Scope& scope) {
  SharedIntervals intervals(scope);
  return index_interval(definition, index, intervals);
}

Interval index_interval(const Definition& definition, const Expr& index, SharedIntervals& intervals) {
  const Interval all = intervals(index);
  if (!definition.domain || !all.bounded()) return all;
  const auto& dims = definition.domain->dims;
  Expr is_some;
  for (const auto& dim : dims) {
    if (dim.constant_extent() > 0) continue;
    const Expr here = dim.extent >= 1;
    is_some = is_some.defined() ? is_some && here : here;
  }
  const auto depends = [&](const auto& dim) { return uses_var(index, dim.name); };
  if (!is_some.defined() || std::none_of(dims.begin(), dims.end(), depends)) return all;
  const Expr none = make_const(Int(32), kLargestMin);
  return {select(is_some, all.min, none), select(is_some, all.max, 0 - none)};
}

Box accessed_box(const Definition& definition, const std::string& name, const Scope& scope) {
  Box box;
  SharedIntervals intervals(scope);
  for_each_access(definition, [&](const Access& access) {
    if (access.name != name) return;
    Box one;
    for (const auto& arg : access.args) one.push_back(index_interval(definition, arg, intervals));
    unite(box, one);
  });
  return box;
}

Box read_box(const Pipeline& pipeline, const std::map<std::string, Box>& required,
             const std::string& name) {
  Box box;
  for (const auto& func : pipeline.funcs) {
    const auto computed = required.find(func->name);
    if (func->name == name || computed == required.end()) continue;
    for (const Definition& definition : func->definitions) {
      unite(box, accessed_box(definition, name, definition_scope(*func, definition, computed->second)));
    }
  }
  return box;
}

Box computed_box(const FunctionData& func, const Definition& definition, const Box& box) {
  if (!definition.coloring) return box;
  Box result = box;
  const auto reach = reach_of_coloring(func, definition);
  for (std::size_t d = 0; d < box.size(); ++d) {
    result[d].min = tidy(box[d].min + make_const(Int(32), reach[d].first));
    result[d].max = tidy(box[d].max - make_const(Int(32), reach[d].second));
  }
  return result;
}

Scope definition_scope(const FunctionData& func, const Definition& definition, const Box& around) {
  const Box box = computed_box(func, definition, around);
  Scope scope;
  for (const auto& var : definition.pure_vars) {
    auto it = std::find(func.args.begin(), func.args.end(), var);
    internal_check(it != func.args.end(), "a pure variable of a definition is a dimension");
    scope[var] = box[static_cast<std::size_t>(it - func.args.begin())];
  }
  if (definition.domain) {
    for (const auto& dim : definition.domain->dims) {
      scope[dim.name] = {dim.min, dim.min + dim.count() - 1};
    }
  }
  return scope;
}

}  // namespace mica::analysis
