#include "codegen/iterate/places.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

#include "codegen/compile.h"
#include "dsl/expr/names.h"
#include "dsl/func/rdom.h"

namespace mica::iterate {
namespace {

constexpr int kMostInPlaces = 1 << 24;  // points: coordinates of the lists are i32

std::string text_of(const std::vector<std::int64_t>& at) {
  std::string text;
  for (const std::int64_t c : at) text += (text.empty() ? "(" : ", ") + std::to_string(c);
  return text + ")";
}

void check_places(const ImageParam& field, const std::vector<Place>& places, const AnyBuffer& values,
                  const char* what, const CallSite& at) {
  if (!field.type().is_float()) {
    throw UserError(std::string(what) + " work on fields of floating-point numbers, but " +
                        field.name() + " holds " + to_string(field.type()),
                    at);
  }
  if (places.empty() || places.size() > kMostInPlaces) {
    throw UserError(std::to_string(places.size()) + " places given for " + field.name() +
                        "; give 1 to " + std::to_string(kMostInPlaces),
                    at);
  }
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (places[k].empty()) {
      throw UserError("place " + std::to_string(k) + " has no grid point; give one at least", at);
    }
    for (const GridPoint& point : places[k]) {
      if (static_cast<int>(point.at.size()) == field.dimensions()) continue;
      throw UserError("a grid point of place " + std::to_string(k) + " has " +
                          counted(point.at.size(), "coordinate") + ", but " + field.name() + " has " +
                          counted(static_cast<std::size_t>(field.dimensions()), "dimension"),
                      at);
    }
  }
  const bool fits = values.defined() && values.type() == field.type() && values.dimensions() == 2 &&
                    values.min(0) == 0 && values.extent(0) == static_cast<std::int64_t>(places.size());
  if (fits) return;
  throw UserError("the values of " + counted(places.size(), "place") + " of " + field.name() +
                      " are (place, step) arrays of " + to_string(field.type()) + ", " +
                      std::to_string(places.size()) + " x steps, but the buffer given is " +
                      (values.defined() ? values.describe() : "undefined"),
                  at);
}

void check_point(const std::vector<std::int64_t>& point, const ImageParam& field,
                 const AnyBuffer& buffer, const SourceLocation& where) {
  for (int d = 0; d < buffer.dimensions(); ++d) {
    const std::int64_t c = point[static_cast<std::size_t>(d)];
    if (c >= buffer.min(d) && c < buffer.min(d) + buffer.extent(d)) continue;
    throw UserError("the grid point " + text_of(point) + " lies outside of " + field.name() + ", " +
                        buffer.describe() + ": in dimension " + std::to_string(d) + " it must be " +
                        std::to_string(buffer.min(d)) + " to " +
                        std::to_string(buffer.min(d) + buffer.extent(d) - 1),
                    where);
  }
}

void set_weight(AnyBuffer& buffer, std::int64_t j, std::int64_t k, double weight) {
  if (buffer.type() == Float(64)) {
    Buffer<double> typed(buffer);
    typed(j, k) = weight;
  } else {
    Buffer<float> typed(buffer);
    typed(j, k) = static_cast<float>(weight);
  }
}

AnyBuffer weights_of(Type type, std::int64_t most, std::int64_t count) {
  AnyBuffer weights(type == Float(64) ? Float(64) : Float(32), {most, count});
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t j = 0; j < most; ++j) set_weight(weights, j, k, 0);
  }
  return weights;
}

/// The coordinates that `list` names for point (j, k) or k, held inside of `field`.
std::vector<Expr> coordinates(const ImageParam& field, const ImageParam& list,
                              const std::vector<Expr>& which) {
  std::vector<Expr> at;
  for (int d = 0; d < field.dimensions(); ++d) {
    std::vector<Expr> args{Expr(d)};
    args.insert(args.end(), which.begin(), which.end());
    at.push_back(clamp(list(args), field.dim(d).min(), field.dim(d).max()));
  }
  return at;
}

/// Makes `box` the smallest that `point` is in, too.
void take_in(Ranges& box, const std::vector<std::int64_t>& point) {
  if (box.empty()) box.assign(point.size(), {0, 0});
  for (std::size_t d = 0; d < point.size(); ++d) {
    auto& [min, extent] = box[d];
    const std::int64_t end = extent == 0 ? point[d] + 1 : std::max(min + extent, point[d] + 1);
    min = extent == 0 ? point[d] : std::min(min, point[d]);
    extent = end - min;
  }
}

/// No box has all points.
bool is_in(const Ranges& box, const std::vector<std::int64_t>& point) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (point[d] < box[d].first || point[d] >= box[d].first + box[d].second) return false;
  }
  return true;
}

/// The step nearest to `number` for which the (place, step) array `values` has a column.
Expr within(const ImageParam& values, const Expr& number) {
  return clamp(number, values.dim(1).min(), values.dim(1).max());
}

}  // namespace

Sources::Sources(const ImageParam& field, const std::vector<Place>& places, const AnyBuffer& series,
                 const CallSite& at)
    : field_(field),
      series_(series),
      where_(at),
      at_input_(Int(32), 2, "points"),
      from_input_(Int(32), 2, "from"),
      weights_input_(field.type() == Float(64) ? Float(64) : Float(32), 2, "weights"),
      series_input_(field.type(), 2, "series") {
  check_places(field, places, series, "sources", at);
  std::map<std::vector<std::int64_t>, std::vector<std::pair<std::int64_t, double>>> by_point;
  for (std::size_t k = 0; k < places.size(); ++k) {
    for (const GridPoint& point : places[k]) {
      by_point[point.at].emplace_back(static_cast<std::int64_t>(k), point.weight);
    }
  }
  std::size_t most = 0;
  for (const auto& [point, parts] : by_point) most = std::max(most, parts.size());
  const auto count = static_cast<std::int64_t>(by_point.size());
  Buffer<std::int32_t> points(field.dimensions(), count);
  Buffer<std::int32_t> from(static_cast<std::int64_t>(most), count);
  from.fill(0);
  weights_ = weights_of(field.type(), static_cast<std::int64_t>(most), count);
  std::int64_t q = 0;
  for (const auto& [point, parts] : by_point) {
    points_.push_back(point);
    take_in(box_, point);
    for (std::size_t d = 0; d < point.size(); ++d) {
      points(static_cast<std::int64_t>(d), q) = static_cast<std::int32_t>(point[d]);
    }
    for (std::size_t j = 0; j < parts.size(); ++j) {
      from(static_cast<std::int64_t>(j), q) = static_cast<std::int32_t>(parts[j].first);
      set_weight(weights_, static_cast<std::int64_t>(j), q, parts[j].second);
    }
    ++q;
  }
  at_ = points;
  from_ = from;
}

std::optional<Sources> Sources::those_in(const Ranges& box) const {
  std::vector<std::size_t> kept;
  for (std::size_t q = 0; q < points_.size(); ++q) {
    if (is_in(box, points_[q])) kept.push_back(q);
  }
  if (kept.empty()) return std::nullopt;
  if (kept.size() == points_.size()) return *this;
  const auto columns = [&](const AnyBuffer& list) {
    AnyBuffer part(list.type(), {list.extent(0), static_cast<std::int64_t>(kept.size())});
    const auto bytes = static_cast<std::size_t>(list.extent(0) * list.type().bytes());
    const auto* from = static_cast<const std::byte*>(list.host_data());
    auto* to = static_cast<std::byte*>(part.host_data_for_write());
    for (const std::size_t q : kept) {
      std::memcpy(to, from + q * bytes, bytes);
      to += bytes;
    }
    return part;
  };
  Sources some = *this;
  some.points_.clear();
  some.box_.clear();
  for (const std::size_t q : kept) {
    some.points_.push_back(points_[q]);
    take_in(some.box_, points_[q]);
  }
  some.at_ = columns(at_);
  some.from_ = columns(from_);
  some.weights_ = columns(weights_);
  return some;
}

void Sources::check_inside(const AnyBuffer& buffer, const Ranges& computed) const {
  for (const auto& point : points_) {
    check_point(point, field_, buffer, where_);
    if (is_in(computed, point)) continue;
    throw UserError("add_at adds to " + field_.name() + " at " + text_of(point) +
                        ", where it keeps its values: a step computes " + text_of(computed) +
                        "; add to a point of these, or give larger buffers",
                    where_);
  }
}

Executable Sources::compile_for(const Target& target) const {
  const ImageParam& u = field_;
  const Expr now = within(series_input_, step());
  const auto with_part = [&](const Expr& amount, const Expr& j, const Expr& k) {
    const Expr weight = weights_input_(j, k);
    const Expr source = clamp(from_input_(j, k), 0, series_input_.dim(0).max());
    return select(weight == cast(weight.type(), 0), amount,
                  fma(cast(field_.type(), weight), series_input_(source, now), amount));
  };
  // Few parts are summed where they are added, which saves launches.
  constexpr std::int64_t kFewParts = 4;
  const Var k("k");
  Func amount("amount");
  Expr sum_of_parts = cast(field_.type(), 0);
  if (weights_.extent(0) <= kFewParts) {
    for (std::int64_t j = 0; j < weights_.extent(0); ++j) {
      sum_of_parts = with_part(sum_of_parts, static_cast<std::int32_t>(j), k);
    }
    amount(k) = sum_of_parts;
  } else {
    const RDom j({{0, weights_input_.dim(0).extent()}}, "j");
    amount(k) = sum_of_parts;
    amount(k) = with_part(amount(k), j, k);
    amount.compute_root();
  }

  std::vector<Var> vars;
  std::vector<Expr> at;
  for (int d = 0; d < u.dimensions(); ++d) {
    vars.emplace_back("d" + std::to_string(d));
    at.emplace_back(vars.back());
  }
  const RDom q({{0, at_input_.dim(1).extent()}}, "q");
  Func sum(u.name());
  sum(at) = u(at);
  const std::vector<Expr> point = coordinates(u, at_input_, {Expr(q)});
  sum(point) = select(step() == now, sum(point) + amount(q), sum(point));
  sum.function()->definitions.back().is_distinct = true;
  return compile(sum, target);
}

PreparedRun Sources::prepare(Executable run, AnyBuffer buffer) const {
  return run.prepare(buffer, {.inputs = {{field_, buffer},
                                         {at_input_, at_},
                                         {from_input_, from_},
                                         {weights_input_, weights_},
                                         {series_input_, series_}}});
}

Receivers::Receivers(const ImageParam& field, const std::vector<Place>& places, const AnyBuffer& values,
                     const CallSite& at)
    : field_(field),
      values_(values),
      where_(at),
      places_(places),
      at_input_(Int(32), 3, "points"),
      weights_input_(field.type() == Float(64) ? Float(64) : Float(32), 2, "weights"),
      values_input_(field.type(), 2, "values") {
  check_places(field, places, values, "receivers", at);
  std::size_t most = 0;
  for (const Place& place : places) most = std::max(most, place.size());
  const auto count = static_cast<std::int64_t>(places.size());
  Buffer<std::int32_t> points(field.dimensions(), static_cast<std::int64_t>(most), count);
  points.fill(0);
  weights_ = weights_of(field.type(), static_cast<std::int64_t>(most), count);
  for (std::int64_t k = 0; k < count; ++k) {
    const Place& place = places[static_cast<std::size_t>(k)];
    for (std::size_t j = 0; j < place.size(); ++j) {
      take_in(box_, place[j].at);
      for (int d = 0; d < field.dimensions(); ++d) {
        points(d, static_cast<std::int64_t>(j), k) =
            static_cast<std::int32_t>(place[j].at[static_cast<std::size_t>(d)]);
      }
      set_weight(weights_, static_cast<std::int64_t>(j), k, place[j].weight);
    }
  }
  at_ = points;
}

void Receivers::check_inside(const AnyBuffer& buffer) const {
  for (const Place& place : places_) {
    for (const GridPoint& point : place) check_point(point.at, field_, buffer, where_);
  }
}

void Receivers::check(std::int64_t first_step, std::int64_t steps) const {
  const std::int64_t last = values_.min(1) + values_.extent(1) - 1;
  if (steps < 1 || (first_step >= values_.min(1) && first_step + steps - 1 <= last)) return;
  throw UserError(
      "steps " + std::to_string(first_step) + " to " + std::to_string(first_step + steps - 1) +
          " are to be recorded, but the buffer for " + field_.name() + " holds steps " +
          std::to_string(values_.min(1)) + " to " + std::to_string(last) + ": give it an extent of " +
          std::to_string(first_step + steps - values_.min(1)) + " in dimension 1",
      where_);
}

Executable Receivers::compile_for(const Target& target) const {
  const Var k("k");
  const RDom j({{1, weights_input_.dim(0).extent() - 1}}, "j");
  const auto weight_of = [&](const Expr& which) {
    return cast(field_.type(), weights_input_(which, k));
  };
  const auto at = [&](const Expr& which) {
    return field_(coordinates(field_, at_input_, {which, Expr(k)}));
  };
  Func value("value");
  value(k) = weight_of(Expr(0)) * at(Expr(0));
  const Expr weight = weights_input_(j, k);
  value(k) =
      select(weight == cast(weight.type(), 0), value(k), fma(weight_of(Expr(j)), at(Expr(j)), value(k)));

  // In place: all other columns stay as they are.
  const Var n("n");
  Func columns("values");
  columns(k, n) = values_input_(k, n);
  columns(k, within(values_input_, step())) = value(k);
  if (target.is_gpu()) {
    columns.update().gpu_tile(k, 32);
    value.compute_at(columns, "k.thread");
  } else {
    value.compute_root();
  }
  return compile(columns, target);
}

PreparedRun Receivers::prepare(Executable run, const AnyBuffer& buffer) const {
  AnyBuffer values = values_;
  return run.prepare(
      values,
      {.inputs = {
           {field_, buffer}, {at_input_, at_}, {weights_input_, weights_}, {values_input_, values_}}});
}

}  // namespace mica::iterate
