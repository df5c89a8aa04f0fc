#include "dsl/schedule/loop_dims.h"

#include <algorithm>

#include <fmt/format.h>

#include "dsl/check/update_order.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/pipeline/recurrence.h"
#include "dsl/schedule/directive_fields.h"
#include "dsl/schedule/loop_expander.h"

namespace mica {

bool has_loop_directives(const Definition& definition) {
  return std::any_of(definition.directives.begin(), definition.directives.end(), acts_on_loops);
}

bool acts_on_loops(const Directive& directive) {
  return directive::traits_of(directive).acts == directive::ActsOn::Loops;
}

LoopNestSpec LoopExpander::run() {
  add_initial_loops();
  absorbed_.assign(directives_.size(), false);
  for (current_ = 0; current_ < directives_.size(); ++current_) {
    if (!absorbed_[current_]) std::visit(*this, directives_[current_].op);
  }
  add_single_loops();
  return std::move(spec_);
}

void LoopExpander::operator()(const directive::Split& d) {
  if (!is_loop(d.old_var) || !is_factor(d.factor, "factor") || !is_unmarked(d.old_var)) return;
  if (d.outer == d.inner) {
    report(fmt::format("outer and inner loop are both named {}: give them two names", d.outer));
    return;
  }
  if (!is_free(d.outer, d.old_var) || !is_free(d.inner, d.old_var)) return;
  split(d.old_var, d.outer, d.inner, d.factor, d.tail);
}

void LoopExpander::operator()(const directive::Fuse& d) {
  if (!is_loop(d.inner) || !is_loop(d.outer)) return;
  if (d.fused != d.inner && d.fused != d.outer && !is_free(d.fused, "")) return;
  if (!is_unmarked(d.inner) || !is_unmarked(d.outer)) return;
  const std::size_t inner = *find(d.inner);
  const std::size_t outer = *find(d.outer);
  if (outer != inner + 1) {
    report(
        fmt::format("loop {} is not directly around {}; the loops are {} (innermost first): "
                    "reorder them first",
                    d.outer, d.inner, loop_list()));
    return;
  }
  if (dims()[inner].recurs != dims()[outer].recurs) {
    report(fmt::format("{} {}, one iteration after the other, and {} does not: they cannot be fused",
                       dims()[inner].recurs ? d.inner : d.outer, recurrence_text(),
                       dims()[inner].recurs ? d.outer : d.inner));
    return;
  }
  if (dims()[inner].is_rvar != dims()[outer].is_rvar) {
    report(fmt::format("{} belongs to a reduction domain and {} does not: they cannot be fused",
                       dims()[inner].is_rvar ? d.inner : d.outer,
                       dims()[inner].is_rvar ? d.outer : d.inner));
    return;
  }
  LoopDim fused = dims()[inner];
  fused.any_order = fused.any_order && dims()[outer].any_order;
  fused.name = d.fused;
  // Neither extent is beyond 2^31.
  fused.extent *= dims()[outer].extent;
  if (fused.extent > kLargestExtent) {
    report(fmt::format("the fused loop {} has {} iterations ({} x {}); legal are at most {}", d.fused,
                       fused.extent, dims()[outer].extent, dims()[inner].extent, kLargestExtent));
    return;
  }
  scales_[d.fused] = 1;
  fused.where = where();
  dims()[inner] = fused;
  dims().erase(dims().begin() + static_cast<std::ptrdiff_t>(outer));
  used_.insert(d.fused);
  spec_.steps.push_back({SplitStep::Fuse, d.fused, d.outer, d.inner, 0, TailStrategy::GuardWithIf});
}

void LoopExpander::operator()(const directive::Reorder& d) {
  std::vector<std::size_t> places;
  for (const auto& name : d.vars) {
    if (!is_loop(name)) return;
    const std::size_t place = *find(name);
    if (std::find(places.begin(), places.end(), place) != places.end()) {
      report(fmt::format("loop {} is named twice", name));
      return;
    }
    places.push_back(place);
  }
  std::vector<std::size_t> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  std::vector<LoopDim> next = dims();
  for (std::size_t i = 0; i < places.size(); ++i) next[sorted[i]] = dims()[places[i]];
  if (reduction_order(next) != reduction_order(dims()) && recurrence_of(f_) && definition_ == 0) {
    report(
        fmt::format("this changes the order of the loops {} to {}, and {} {}, one iteration after the "
                    "other: keep them in that order, with any other loops between them",
                    joined(reduction_order(dims())), joined(reduction_order(next)),
                    reduction_order(dims()).front(), recurrence_text()));
    return;
  }
  if (reduction_order(next) != reduction_order(dims())) {
    report(
        fmt::format("this changes the order of the reduction loops {} to {}, and with it the "
                    "order of the sum: a schedule must not change results; updates such as f(i) += e of "
                    "integers may have it with atomic()",
                    joined(reduction_order(dims())), joined(reduction_order(next))));
    return;
  }
  dims() = std::move(next);
}

void LoopExpander::operator()(const directive::MarkLoop& d) { mark(d.var, d.kind); }

void LoopExpander::operator()(const directive::Vectorize& d) {
  if (d.width == 0) {
    mark(d.var, LoopKind::Vectorized);
    return;
  }
  if (!is_loop(d.var) || !is_width(d.width) || !is_free(d.var + ".vec", "")) return;
  split_and_mark(d.var, d.var + ".vec", d.width, d.tail, LoopKind::Vectorized);
}

void LoopExpander::operator()(const directive::Unroll& d) {
  if (d.factor == 0) {
    mark(d.var, LoopKind::Unrolled);
    return;
  }
  if (!is_loop(d.var) || !is_unroll(d.factor) || !is_free(d.var + ".unroll", "")) return;
  split_and_mark(d.var, d.var + ".unroll", d.factor, d.tail, LoopKind::Unrolled);
}

void LoopExpander::report(const std::string& what) {
  findings_.push_back(
      {definition_name(f_, definition_) + to_string(directives_[current_]) + ": " + what, where()});
}

void LoopExpander::add_initial_loops() {
  const auto& definition = f_.definitions.at(static_cast<std::size_t>(definition_));
  if (definition.domain) {
    std::string why;
    const bool any = is_atomic(definition) && !atomic_values(f_, definition, why).empty();
    const std::vector<std::string> obstacles = order_obstacles(f_, definition);
    for (std::size_t d = 0; d < obstacles.size(); ++d) {
      const auto& dim = definition.domain->dims[d];
      dims().push_back({dim.name, LoopKind::Serial, true, dim.constant_extent(), definition.where});
      dims().back().any_order = any || obstacles[d].empty();
    }
  }
  for (const auto& var : definition.pure_vars) {
    // Loops over points of one color have other extents than the dimensions.
    const std::int64_t extent = definition.coloring ? 0 : bounded_range(f_, var).second;
    dims().push_back({var, LoopKind::Serial, false, extent, definition.where});
    const auto& recurrence = definition.recurrence;
    dims().back().recurs = recurrence && f_.args[recurrence->dim] == var;
  }
  for (const auto& dim : dims()) used_.insert(dim.name);
}

std::optional<std::size_t> LoopExpander::find(const std::string& name) const {
  for (std::size_t i = 0; i < spec_.dims.size(); ++i) {
    if (spec_.dims[i].name == name) return i;
  }
  return std::nullopt;
}

std::string LoopExpander::loop_list() const {
  std::vector<std::string> names;
  for (const auto& dim : spec_.dims) names.push_back(dim.name);
  return joined(names);
}

// ---- changes ---------------------------------------------------------------------------------------

void LoopExpander::add_step(const std::string& old_var, const std::string& outer,
                            const std::string& inner, int factor, TailStrategy tail) {
  if (tail == TailStrategy::Auto) tail = TailStrategy::GuardWithIf;
  spec_.steps.push_back({SplitStep::Split, old_var, outer, inner, factor, tail});
  const std::int64_t scale = scales_.try_emplace(old_var, 1).first->second;
  scales_[outer] = scale * factor;
  scales_[inner] = scale;
  used_.insert(outer);
  used_.insert(inner);
}

bool LoopExpander::split(const std::string& old_var, const std::string& outer, const std::string& inner,
                         int factor, TailStrategy tail) {
  if (!may_use_tail(old_var, tail) || !has_room(old_var, factor)) return false;
  const std::size_t place = *find(old_var);
  LoopDim in = dims()[place];
  in.where = where();
  LoopDim out = in;
  in.name = inner;
  in.extent = factor;
  out.name = outer;
  out.extent = (out.extent + factor - 1) / factor;
  dims()[place] = out;
  dims().insert(dims().begin() + static_cast<std::ptrdiff_t>(place), in);
  add_step(old_var, outer, inner, factor, tail);
  return true;
}

void LoopExpander::mark(const std::string& name, LoopKind kind) {
  if (!is_loop(name)) return;
  LoopDim& dim = dims()[*find(name)];
  if (kind == LoopKind::March) {
    report(
        fmt::format("a loop is marched by march({}), which says how many planes a block walks", name));
    return;
  }
  if (dim.kind == LoopKind::March) {
    is_not_marched(name);
    return;
  }
  if (!may_run_as(*find(name), kind)) return;
  if (dim.kind != LoopKind::Serial && dim.kind != kind && kind != LoopKind::Serial) {
    report(fmt::format("loop {} is already {}; serial({}) would take that back", name,
                       to_string(dim.kind), name));
    return;
  }
  if (dim.extent > 0 && kind == LoopKind::Vectorized && !is_width(dim.extent)) return;
  if (dim.extent > 0 && kind == LoopKind::Unrolled && !is_unroll(dim.extent)) return;
  dim.kind = kind;
  dim.where = where();
}

void LoopExpander::split_and_mark(const std::string& v, const std::string& inner, int factor,
                                  TailStrategy tail, LoopKind kind) {
  const std::size_t place = *find(v);
  if (!may_run_as(place, kind)) return;
  if (dims()[place].kind == LoopKind::March) {
    is_not_marched(v);
    return;
  }
  if (dims()[place].kind == LoopKind::Vectorized) {
    report(fmt::format("loop {} is already Vectorized", v));
    return;
  }
  const SourceLocation outer_where = dims()[place].where;
  if (!split(v, v, inner, factor, tail)) return;
  dims()[place].kind = kind;
  dims()[place + 1].where = outer_where;
}

LoopNestSpec expand_loops(const FunctionData& f, int definition, Diagnostics& findings) {
  return LoopExpander(f, definition, findings).run();
}

std::string definition_name(const FunctionData& f, int definition) {
  return definition == 0 ? f.name : fmt::format("{}.update({})", f.name, definition - 1);
}

std::pair<std::int64_t, std::int64_t> bounded_range(const FunctionData& f, const std::string& var) {
  std::pair<std::int64_t, std::int64_t> range{0, 0};
  for (const auto& directive : f.definitions.at(0).directives) {
    const auto* bound = std::get_if<directive::Bound>(&directive.op);
    if (!bound || bound->var != var || bound->extent < 1 || bound->extent > kLargestExtent) continue;
    range = {bound->min, bound->extent};
  }
  return range;
}

}  // namespace mica
