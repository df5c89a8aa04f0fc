// Boundary conditions: each is an inline Func that reads its source at coordinates inside a box.
#include "dsl/func/boundary.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/bent_index.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::BoundaryConditions {

namespace {

using boundary::Range;
using Ranges = std::vector<std::optional<Range>>;  // empty: no condition

/// What a condition is put on: an input, or a Func.
class Source {
 public:
  Source(const BoundarySource& source, const char* condition, const SourceLocation& where) {
    if (source.image()) {
      image_ = ImageParam(source.image());
      name_ = image_->name();
      types_ = {image_->type()};
      const auto& names = default_dimension_names();
      vars_.assign(names.begin(), names.begin() + image_->dimensions());
      box_ = source.image();
      return;
    }
    const FunctionData& func = *source.func();
    func_ = Func(source.func());
    name_ = func.name;
    if (!func.defined()) {
      throw UserError(fmt::format("{} of {}, which is not defined: write {}(...) = ... first", condition,
                                  name_, name_),
                      where);
    }
    types_ = func.types;
    vars_ = func.args;
    box_ = func.box_of;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string word() const { return image_ ? "input" : "source"; }
  [[nodiscard]] std::size_t dimensions() const { return vars_.size(); }
  [[nodiscard]] const std::vector<std::string>& vars() const { return vars_; }
  [[nodiscard]] const std::vector<Type>& types() const { return types_; }
  [[nodiscard]] const std::shared_ptr<const ImageData>& box() const { return box_; }
  /// The names of which that of a condition is made.
  [[nodiscard]] std::vector<std::string> made_of() const {
    return image_ ? std::vector{name_} : name_parts({func_->function(), nullptr});
  }
  [[nodiscard]] std::optional<Range> own_range(std::size_t d) const {
    if (!box_) return {};
    const auto dim = ImageParam(box_).dim(static_cast<int>(d));
    return Range{dim.min(), dim.extent()};
  }
  [[nodiscard]] std::vector<Expr> at(const std::vector<Expr>& args, CallSite where) const {
    if (image_) return {(*image_)(args, where)};
    const FuncRef ref = (*func_)(args, where);
    std::vector<Expr> values;
    for (int i = 0; i < ref.size(); ++i) values.push_back(ref[i]);
    return values;
  }

 private:
  std::optional<ImageParam> image_;
  std::optional<Func> func_;
  std::string name_;
  std::vector<Type> types_;
  std::vector<std::string> vars_;
  std::shared_ptr<const ImageData> box_;
};

/// The dimension that entry `i` of the list means.
std::size_t dimension_of(const Source& source, const BoundaryRange& entry, std::size_t i,
                         const std::string& what, const SourceLocation& where) {
  if (entry.along.empty()) return i;
  const auto found = std::find(source.vars().begin(), source.vars().end(), entry.along);
  if (found != source.vars().end()) return static_cast<std::size_t>(found - source.vars().begin());
  throw UserError(
      fmt::format("{}: {} is no dimension of {}{}, whose dimensions are {}", what, entry.along,
                  source.name(), did_you_mean(entry.along, source.vars()), joined(source.vars())),
      where);
}

Expr bound_of(const Expr& e, const char* which, std::size_t d, const std::string& what,
              const SourceLocation& where) {
  return launch_bound(e, fmt::format("{}: the {} of dimension {}", what, which, d),
                      "a range is {min, extent} or {} for each dimension, in constants, Params and "
                      "inputs' mins and extents, or {x} for the source's own range along x",
                      where);
}

/// The box: that of `list`, or the source's own if it is empty.
Ranges ranges_of(const Source& source, const BoundaryRanges& list, const char* condition,
                 const SourceLocation& where) {
  const std::string what = fmt::format("{} of {}", condition, source.name());
  if (list.size() > source.dimensions()) {
    throw UserError(fmt::format("{}: {} for a source of {}", what, counted(list.size(), "range"),
                                counted(source.dimensions(), "dimension")),
                    where);
  }
  Ranges ranges(source.dimensions());
  for (std::size_t d = 0; list.empty() && d < ranges.size(); ++d) {
    ranges[d] = source.own_range(d);
    if (ranges[d]) continue;
    throw UserError(
        fmt::format("{}: {} is a Func, which has no range of its own: write {{{{min, extent}}, "
                    "...}}, a range for each dimension",
                    what, source.name()),
        where);
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const BoundaryRange& entry = list[i];
    if (entry.along.empty() && !entry.min.defined() && !entry.extent.defined()) continue;
    const std::size_t d = dimension_of(source, entry, i, what, where);
    if (ranges[d]) {
      throw UserError(fmt::format("{}: dimension {} ({}) has two ranges", what, d, source.vars()[d]),
                      where);
    }
    if (entry.min.defined() || entry.extent.defined()) {
      // An extent below 1 leaves the edge at min.
      const Expr extent = bound_of(entry.extent, "extent", d, what, where);
      ranges[d] = Range{bound_of(entry.min, "min", d, what, where),
                        as_int(extent) ? (*as_int(extent) < 1 ? Expr(1) : extent) : max(extent, 1)};
    } else if (auto own = source.own_range(d)) {
      ranges[d] = std::move(own);
    } else {
      throw UserError(fmt::format("{}: {} is a Func, which has no range of its own along {}: write "
                                  "{{{}, min, extent}}",
                                  what, source.name(), entry.along, entry.along),
                      where);
    }
  }
  return ranges;
}

/// An undefined Func named "<source>.<kind>".
Func named_after(const Source& source, const char* kind, CallSite at) {
  Func f(source.name() + "." + kind, at);
  f.function()->made_of = source.made_of();
  f.function()->made_of.emplace_back(kind);
  f.function()->box_of = source.box();
  return f;
}

using Inside = std::function<Expr(const Expr& x, const Range& range)>;

/// The source at the coordinates that `inside` takes into the ranges.
std::vector<Expr> read_inside(const Source& source, const Ranges& ranges, const Inside& inside,
                              CallSite at) {
  std::vector<Expr> args;
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const Expr x = make_var(source.vars()[d]);
    args.push_back(ranges[d] ? inside(x, *ranges[d]) : x);
  }
  return source.at(args, at);
}

Func define(Func f, const Source& source, const std::vector<Expr>& values, CallSite at) {
  std::vector<Expr> vars;
  for (const auto& name : source.vars()) vars.push_back(make_var(name));
  if (values.size() == 1) {
    f(vars, at) = values[0];
  } else {
    f(vars, at) = Tuple(values);
  }
  return f;
}

Func reading_at(const BoundarySource& of, const BoundaryRanges& list, const char* kind, CallSite at,
                const Inside& inside) {
  const Source source(of, kind, at);
  const Ranges ranges = ranges_of(source, list, kind, at);
  return define(named_after(source, kind, at), source, read_inside(source, ranges, inside, at), at);
}

}  // namespace

Func repeat_edge(const BoundarySource& source, const BoundaryRanges& ranges, CallSite at) {
  return reading_at(source, ranges, "repeat_edge", at, boundary::clamped);
}

Func repeat_image(const BoundarySource& source, const BoundaryRanges& ranges, CallSite at) {
  return reading_at(source, ranges, "repeat_image", at, boundary::wrapped);
}

Func mirror_image(const BoundarySource& source, const BoundaryRanges& ranges, CallSite at) {
  return reading_at(source, ranges, "mirror_image", at, boundary::mirrored);
}

Func mirror_interior(const BoundarySource& source, const BoundaryRanges& ranges, CallSite at) {
  return reading_at(source, ranges, "mirror_interior", at, boundary::mirrored_about_edge);
}

Func constant_exterior(const BoundarySource& of, Expr value, const BoundaryRanges& list, CallSite at) {
  const Source source(of, "constant_exterior", at);
  const Ranges ranges = ranges_of(source, list, "constant_exterior", at);
  if (!value.defined()) {
    throw UserError(
        fmt::format("constant_exterior of {}: the value is an undefined Expr", source.name()), at);
  }
  Expr is_inside;
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    if (!ranges[d]) continue;
    const Expr x = make_var(source.vars()[d]);
    const Expr here = x >= ranges[d]->min && x <= ranges[d]->max();
    is_inside = is_inside.defined() ? is_inside && here : here;
  }
  std::vector<Expr> values;
  const std::vector<Expr> inside = read_inside(source, ranges, boundary::clamped, at);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const Type type = source.types()[i];
    const Expr outside = match_type(value, type);
    if (!outside.defined()) {
      throw UserError(
          fmt::format("constant_exterior of {}: the value is {}, the {} {}: cast the value",
                      source.name(), to_string(value.type()),
                      inside.size() > 1 ? fmt::format("element {}", i) : source.word(), to_string(type)),
          at);
    }
    values.push_back(is_inside.defined() ? select(is_inside, inside[i], outside) : inside[i]);
  }
  return define(named_after(source, "constant_exterior", at), source, values, at);
}

}  // namespace mica::BoundaryConditions
