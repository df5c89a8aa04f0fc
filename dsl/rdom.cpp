// Reduction domains, and reductions over them written out term by term.
#include <fmt/format.h>

#include "dsl/func.h"
#include "dsl/limits.h"
#include "dsl/names.h"
#include "dsl/node_visit.h"

namespace mica {

namespace {

constexpr std::int64_t kMaxTerms = 4096;
constexpr std::size_t kMaxDomainDimensions = 4;

std::shared_ptr<const RDomData> make_domain(
    const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges, std::string name,
    const SourceLocation& where) {
  if (name.empty()) throw UserError("an RDom's name is empty", where);
  if (ranges.empty() || ranges.size() > kMaxDomainDimensions) {
    throw UserError(fmt::format("RDom {} has {}; legal are 1 to {}", name,
                                counted(ranges.size(), "dimension"), kMaxDomainDimensions),
                    where);
  }
  auto data = std::make_shared<RDomData>();
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const auto [min, extent] = ranges[d];
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
    data->dims.push_back({name + "." + default_dimension_names()[d], min, extent});
  }
  data->name = std::move(name);
  data->where = where;
  return data;
}

RVar dimension_or_last(const std::shared_ptr<const RDomData>& data, std::size_t d) {
  return RVar(data, static_cast<int>(std::min(d, data->dims.size() - 1)));
}

/// value(p0) op value(p1) op ... over the points of the domain, first dimension fastest.
template <typename Combine>
Expr reduce(const RDomData& domain, const Expr& value, const char* what, const SourceLocation& where,
            Combine combine) {
  if (!value.defined()) throw UserError(fmt::format("{} of an undefined Expr", what), where);
  std::int64_t terms = 1;
  for (const auto& dim : domain.dims) {
    terms = dim.extent > kMaxTerms ? kMaxTerms + 1 : terms * dim.extent;
    if (terms > kMaxTerms) {
      throw UserError(fmt::format("{} over {} has more than {} terms: use an update definition, such "
                                  "as f(x) += ..., which is a loop",
                                  what, domain.name, kMaxTerms),
                      where);
    }
  }
  Expr total;
  std::vector<std::int64_t> at(domain.dims.size(), 0);
  for (std::int64_t term = 0; term < terms; ++term) {
    NodeRewriter substitute_point([&](const Expr& e) -> Expr {
      const auto* rvar = e.as<RVarRef>();
      if (!rvar || rvar->domain.get() != &domain) return {};
      const auto d = static_cast<std::size_t>(rvar->index);
      return make_const(Int(32), domain.dims[d].min + at[d]);
    });
    Expr next = substitute_point(value);
    total = total.defined() ? combine(total, next) : next;
    for (std::size_t d = 0; d < at.size() && ++at[d] == domain.dims[d].extent; ++d) at[d] = 0;
  }
  return total;
}

}  // namespace

RVar::RVar(std::shared_ptr<const RDomData> domain, int index, CallSite at)
    : domain_(std::move(domain)), index_(index) {
  if (domain_ == nullptr) throw UserError("a dimension of an RDom is made from a null pointer", at);
  const std::size_t dimensions = domain_->dims.size();
  if (index_ >= 0 && static_cast<std::size_t>(index_) < dimensions) return;
  throw UserError(fmt::format("dimension {} of RDom {}, which has {} (numbered from 0)", index_,
                              domain_->name, counted(dimensions, "dimension")),
                  at);
}

RDom::RDom(std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges, std::string name,
           CallSite at)
    : data_(make_domain(ranges, std::move(name), at)),
      x(dimension_or_last(data_, 0)),
      y(dimension_or_last(data_, 1)),
      z(dimension_or_last(data_, 2)),
      w(dimension_or_last(data_, 3)) {}

RVar RDom::operator[](int i) const {
  if (i < 0 || i >= dimensions()) {
    throw UserError(fmt::format("dimension {} of RDom {}, which has {} (numbered from 0)", i,
                                data_->name, counted(data_->dims.size(), "dimension")));
  }
  return RVar(data_, i);
}

Expr sum(const RDom& domain, Expr value, CallSite at) {
  return reduce(*domain.data(), value, "sum", at, [](const Expr& a, const Expr& b) { return a + b; });
}

Expr minimum(const RDom& domain, Expr value, CallSite at) {
  return reduce(*domain.data(), value, "minimum", at,
                [](const Expr& a, const Expr& b) { return min(a, b); });
}

Expr maximum(const RDom& domain, Expr value, CallSite at) {
  return reduce(*domain.data(), value, "maximum", at,
                [](const Expr& a, const Expr& b) { return max(a, b); });
}

}  // namespace mica
