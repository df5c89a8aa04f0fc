// Boundary conditions: each is an inline Func that reads its source at coordinates inside the box.
#include <fmt/format.h>

#include "dsl/func.h"
#include "dsl/node_visit.h"

namespace mica::BoundaryConditions {

namespace {

std::vector<Var> vars_of(const ImageParam& source) {
  std::vector<Var> vars;
  for (int d = 0; d < source.dimensions(); ++d) {
    vars.emplace_back(default_dimension_names()[static_cast<std::size_t>(d)]);
  }
  return vars;
}

/// An undefined Func named "<source>.<kind>".
Func named_after(const ImageParam& source, const char* kind, CallSite at) {
  Func f(source.name() + "." + kind, at);
  f.function()->made_of = {source.name(), kind};
  return f;
}

/// f(x, ...) = source(at(x, dim 0), ...), named "<source>.<kind>".
template <typename Inside>
Func reading_at(const ImageParam& source, const char* kind, CallSite at, Inside inside) {
  Func f = named_after(source, kind, at);
  const std::vector<Var> vars = vars_of(source);
  std::vector<Expr> args;
  for (int d = 0; d < source.dimensions(); ++d) {
    args.push_back(inside(Expr(vars[static_cast<std::size_t>(d)]), source.dim(d)));
  }
  f({vars.begin(), vars.end()}, at) = source(args, at);
  return f;
}

Expr clamped(const Expr& x, const ImageParam::Dimension& dim) { return clamp(x, dim.min(), dim.max()); }

}  // namespace

Func repeat_edge(const ImageParam& source, CallSite at) {
  return reading_at(source, "repeat_edge", at, clamped);
}

Func constant_exterior(const ImageParam& source, Expr value, CallSite at) {
  if (!value.defined()) {
    throw UserError(
        fmt::format("constant_exterior of {}: the value is an undefined Expr", source.name()), at);
  }
  const Expr outside = match_type(value, source.type());
  if (!outside.defined()) {
    throw UserError(fmt::format("constant_exterior of {}: the value is {}, the input {}: cast the value",
                                source.name(), to_string(value.type()), to_string(source.type())),
                    at);
  }
  Func f = named_after(source, "constant_exterior", at);
  const std::vector<Var> vars = vars_of(source);
  Expr is_inside;
  std::vector<Expr> args;
  for (int d = 0; d < source.dimensions(); ++d) {
    const Expr x = vars[static_cast<std::size_t>(d)];
    const Expr here = x >= source.dim(d).min() && x <= source.dim(d).max();
    is_inside = is_inside.defined() ? is_inside && here : here;
    args.push_back(clamped(x, source.dim(d)));
  }
  f({vars.begin(), vars.end()}, at) = select(is_inside, source(args, at), outside);
  return f;
}

Func repeat_image(const ImageParam& source, CallSite at) {
  return reading_at(source, "repeat_image", at, [](const Expr& x, const ImageParam::Dimension& dim) {
    return dim.min() + (x - dim.min()) % dim.extent();
  });
}

// Mirrored offsets lie inside by construction; the clamp changes no value, and lets the bounds of the
// access be read off.
Func mirror_image(const ImageParam& source, CallSite at) {
  // Offsets repeat with period 2*extent; the second half runs backwards.
  return reading_at(source, "mirror_image", at, [](const Expr& x, const ImageParam::Dimension& dim) {
    const Expr offset = (x - dim.min()) % (2 * dim.extent());
    return clamped(dim.min() + min(offset, 2 * dim.extent() - 1 - offset), dim);
  });
}

Func mirror_interior(const ImageParam& source, CallSite at) {
  // Period 2*extent - 2; an extent of 1 gives period 0, and a remainder by 0 is 0.
  return reading_at(source, "mirror_interior", at, [](const Expr& x, const ImageParam::Dimension& dim) {
    const Expr period = 2 * dim.extent() - 2;
    const Expr offset = (x - dim.min()) % period;
    return clamped(dim.min() + min(offset, period - offset), dim);
  });
}

}  // namespace mica::BoundaryConditions
