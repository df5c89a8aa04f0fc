// Reduction domains.
#include "dsl/func/rdom.h"

#include <algorithm>

#include <fmt/format.h>

#include "dsl/check/self_reads.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/schedule/loop_dims.h"

namespace mica {

namespace {

Expr bound_of(const Expr& e, const char* which, std::size_t d, const std::string& name,
              const SourceLocation& where) {
  return launch_bound(e, fmt::format("the {} of dimension {} of RDom {}", which, d, name),
                      "bounds are made of constants, Params and inputs' mins and extents, which a run "
                      "knows when it begins; leave points out by where(condition)",
                      where);
}

void check_constants(std::int64_t min, std::int64_t extent, std::size_t d, const std::string& name,
                     const SourceLocation& where) {
  if (extent < 1) {
    throw UserError(fmt::format("dimension {} of RDom {} is {{{}, {}}}, that is {{min, extent}}: the "
                                "extent must be at least 1",
                                d, name, min, extent),
                    where);
  }
  if (min < -kLargestMin || min > kLargestMin || extent > kLargestExtent) {
    throw UserError(
        fmt::format("dimension {} of RDom {} is {{{}, {}}}, that is {{min, extent}}: the min must lie "
                    "in -2^28..2^28, the extent be at most 2^30 - 1; move the domain to 0 and add the "
                    "offset to the coordinates, or cut it into several",
                    d, name, min, extent),
        where);
  }
}

std::shared_ptr<const RDomData> make_domain(const std::vector<std::pair<Expr, Expr>>& ranges,
                                            std::string name, const SourceLocation& where) {
  if (name.empty()) throw UserError("an RDom's name is empty", where);
  if (ranges.empty() || ranges.size() > std::size_t{kMaxDimensions}) {
    throw UserError(fmt::format("RDom {} has {}; legal are 1 to {}", name,
                                counted(ranges.size(), "dimension"), kMaxDimensions),
                    where);
  }
  auto data = std::make_shared<RDomData>();
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const auto& [min, extent] = ranges[d];
    const auto* min_value = min.defined() ? as_int(min) : nullptr;
    const auto* extent_value = extent.defined() ? as_int(extent) : nullptr;
    if (min_value || extent_value) {
      check_constants(min_value ? *min_value : 0, extent_value ? *extent_value : 1, d, name, where);
    }
    data->dims.push_back({name + "." + default_dimension_names()[d],
                          bound_of(min, "min", d, name, where),
                          bound_of(extent, "extent", d, name, where)});
  }
  data->name = std::move(name);
  data->where = where;
  return data;
}

std::vector<std::pair<Expr, Expr>> ranges_of(const ImageParam& input) {
  std::vector<std::pair<Expr, Expr>> ranges;
  for (int d = 0; d < input.dimensions(); ++d) {
    ranges.emplace_back(input.dim(d).min(), input.dim(d).extent());
  }
  return ranges;
}

RVar dimension_or_last(const std::shared_ptr<const RDomData>& data, std::size_t d) {
  return RVar(data, static_cast<int>(std::min(d, data->dims.size() - 1)));
}

}  // namespace

std::int64_t RDomData::Dim::constant_extent() const {
  const auto* value = as_int(extent);
  return value ? *value : 0;
}

Expr RDomData::Dim::count() const { return as_int(extent) ? extent : max(extent, 0); }

namespace {

/// `e` with `domain` in the place of what stands for it in references to its dimensions.
Expr with_domain(const Expr& e, const std::shared_ptr<const RDomData>& domain) {
  if (!e.defined()) return e;
  return NodeRewriter([&](const Expr& node) -> Expr {
    const auto* rvar = node.as<RVarRef>();
    if (rvar == nullptr || rvar->domain.get() != domain.get()) return {};
    return make_expr(node.type(), RVarRef{domain, rvar->index});
  })(e);
}

}  // namespace

Expr condition_of(const std::shared_ptr<const RDomData>& domain) {
  return with_domain(domain->condition, domain);
}

void set_condition(const RDomData& domain, const Expr& condition) {
  const std::shared_ptr<const RDomData> not_owned(std::shared_ptr<const void>(), &domain);
  domain.condition = with_domain(condition, not_owned);
}

RVar::RVar(std::shared_ptr<const RDomData> domain, int index, CallSite at)
    : domain_(std::move(domain)), index_(index) {
  if (domain_ == nullptr) throw UserError("a dimension of an RDom is made from a null pointer", at);
  const std::size_t dimensions = domain_->dims.size();
  if (index_ >= 0 && static_cast<std::size_t>(index_) < dimensions) return;
  throw UserError(fmt::format("dimension {} of RDom {}, which has {} (numbered from 0)", index_,
                              domain_->name, counted(dimensions, "dimension")),
                  at);
}

RDom::RDom(std::shared_ptr<const RDomData> data)
    : data_(std::move(data)),
      x(dimension_or_last(data_, 0)),
      y(dimension_or_last(data_, 1)),
      z(dimension_or_last(data_, 2)),
      w(dimension_or_last(data_, 3)) {}

RDom::RDom(std::initializer_list<std::pair<Expr, Expr>> ranges, std::string name, CallSite at)
    : RDom(make_domain(ranges, std::move(name), at)) {}

RDom::RDom(const ImageParam& input, std::string name, CallSite at)
    : RDom(make_domain(ranges_of(input), std::move(name), at)) {}

std::shared_ptr<const RDomData> RDom::points_of(const Func& func, std::string name, const CallSite& at) {
  const FunctionData& data = *func.function();
  if (data.definitions.empty()) {
    throw UserError(
        fmt::format("RDom {} over all points of {}, which has no definition yet", name, data.name), at);
  }
  std::vector<std::pair<Expr, Expr>> ranges;
  for (const std::string& arg : data.args) {
    const auto [min, extent] = bounded_range(data, arg);
    if (extent == 0) {
      throw UserError(
          fmt::format("RDom {} over all points of {}, which has no bound along {} (of a point or more): "
                      "without one its readers decide where it is computed; say {}.bound({}, min, "
                      "extent) before, or give the domain its own bounds",
                      name, data.name, arg, data.name, arg),
          at);
    }
    ranges.emplace_back(make_const(Int(32), min), make_const(Int(32), extent));
  }
  return make_domain(ranges, std::move(name), at);
}

RDom& RDom::where(const Expr& condition, CallSite at) {
  if (condition.defined()) require_defined_reads({condition});
  if (!condition.defined() || !condition.type().is_bool()) {
    throw UserError(
        fmt::format("where of RDom {}: the condition is {}; it must be a bool, such as "
                    "r.x < r.y",
                    data_->name, condition.defined() ? to_string(condition.type()) : "undefined"),
        at);
  }
  set_condition(*data_, data_->condition.defined() ? data_->condition && condition : condition);
  return *this;
}

RVar RDom::operator[](ElementIndex i) const {
  if (i.value() < 0 || i.value() >= dimensions()) {
    throw UserError(fmt::format("dimension {} of RDom {}, which has {} (numbered from 0)", i.value(),
                                data_->name, counted(data_->dims.size(), "dimension")),
                    i.where());
  }
  return RVar(data_, static_cast<int>(i.value()));
}

}  // namespace mica
