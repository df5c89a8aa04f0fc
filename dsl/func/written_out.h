// Reductions over few points as one expression, term by term. A part of dsl/func/reductions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "dsl/expr/expr.h"
#include "dsl/func/rdom.h"

namespace mica {

/// How values are put together, and what there is before the first.
struct Reduction {
  const char* name;
  std::function<Expr(const Expr&, const Expr&)> combine;
  std::function<Expr(Type)> start;
};

/// The points of the domain, or nothing if they are no constant, or more than are written out: 256 in 32
/// rows of what the value reads, along dimensions at which nothing is read as at a place in a row.
std::optional<std::int64_t> few_points(const RDomData& domain, const Expr& value);

/// value(p0) op value(p1) op ..., first dimension fastest; undefined where the domain has too many
/// points, or all terms together too many operations. Points at which the domain's condition is known
/// not to hold are left out.
Expr written_out(const RDomData& domain, const Expr& value, const Reduction& reduction);

}  // namespace mica
