#include "bench/time_steps.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "dsl/func/boundary.h"

namespace mica::bench {
namespace {

const Var x("x"), y("y"), z("z");

constexpr const char* kPlaces = "-places";

Expr number(Type type, double value) { return cast(type, Expr(value)); }

/// What a field holds around its points.
enum class Around { Nothing, Edge, Constant };

/// A field of a step and how it is read.
struct Field {
  ImageParam memory;
  std::function<Expr(const std::vector<Expr>&)> at;
};

Field field(Type type, int dimensions, Around around) {
  const ImageParam u(type, dimensions, "u");
  const auto through = [&u](const Func& f) {
    return Field{u, [f](const std::vector<Expr>& at) { return Expr(f(at)); }};
  };
  if (around == Around::Edge) return through(BoundaryConditions::repeat_edge(u));
  if (around == Around::Constant) {
    return through(BoundaryConditions::constant_exterior(u, number(type, 0.25)));
  }
  return {u, [u](const std::vector<Expr>& at) { return Expr(u(at)); }};
}

/// The point and its neighbours up to `radius` along each axis, each with a weight of its own; they sum
/// to 1.
TimeStep star(Type type, int dimensions, int radius, Around around) {
  const Field u = field(type, dimensions, around);
  const std::vector<Var> vars{x, y, z};
  std::vector<Expr> at(vars.begin(), vars.begin() + dimensions);
  const int taps = 2 * dimensions * radius;
  Expr sum = number(type, 0.5) * u.at(at);
  int k = 0;
  for (int d = 0; d < dimensions; ++d) {
    for (int r = -radius; r <= radius; ++r) {
      if (r == 0) continue;
      std::vector<Expr> there = at;
      there[static_cast<std::size_t>(d)] = there[static_cast<std::size_t>(d)] + r;
      sum = sum + number(type, (0.5 + 0.01 * (k - 0.5 * (taps - 1))) / taps) * u.at(there);
      ++k;
    }
  }
  TimeStep step{Func("next"), {u.memory}};
  step.next(at) = sum;
  return step;
}

/// The point and all neighbours at distance 1 in every dimension, of four weights by distance.
TimeStep box(Type type, int dimensions, Around around) {
  const Field u = field(type, dimensions, around);
  const std::vector<Var> vars{x, y, z};
  std::vector<Expr> at(vars.begin(), vars.begin() + dimensions);
  const double weights[] = {0.4, 0.06, 0.015, 0.0075};
  Expr sum;
  std::vector<int> offset(static_cast<std::size_t>(dimensions), -1);
  for (;;) {
    std::vector<Expr> there = at;
    int away = 0;
    for (std::size_t d = 0; d < offset.size(); ++d) {
      there[d] = there[d] + offset[d];
      away += std::abs(offset[d]);
    }
    const Expr term = number(type, weights[away]) * u.at(there);
    sum = sum.defined() ? sum + term : term;
    std::size_t d = 0;
    while (d < offset.size() && ++offset[d] == 2) offset[d++] = -1;
    if (d == offset.size()) break;
  }
  TimeStep step{Func("next"), {u.memory}};
  step.next(at) = sum;
  return step;
}

/// Gray and Scott's two reacting fields on a periodic grid (Pearson 1993).
TimeStep gray_scott() {
  const ImageParam u(Float(32), 3, "u"), v(Float(32), 3, "v");
  const Func pu = BoundaryConditions::repeat_image(u), pv = BoundaryConditions::repeat_image(v);
  const auto laplacian = [](const Func& f) {
    return f(x - 1, y, z) + f(x + 1, y, z) + f(x, y - 1, z) + f(x, y + 1, z) + f(x, y, z - 1) +
           f(x, y, z + 1) - 6.0F * f(x, y, z);
  };
  const Expr a = u(x, y, z), b = v(x, y, z);
  const Expr reaction = a * b * b;
  TimeStep step{Func("both"), {u, v}};
  step.next(x, y, z) = Tuple(a + 0.1F * laplacian(pu) - reaction + 0.035F * (1.0F - a),
                             b + 0.05F * laplacian(pv) + reaction - 0.095F * b);
  return step;
}

/// Pressure in the middle of cells and velocities at their faces, a Func each: the new pressure is that
/// of the new velocities (J. Virieux, Geophysics 51 (1986) 889-901).
TimeStep staggered(int dimensions) {
  const std::vector<Var> vars{x, y, z};
  const std::vector<Expr> at(vars.begin(), vars.begin() + dimensions);
  const ImageParam p(Float(32), dimensions, "p");
  TimeStep step{Func("next"), {p}};
  Expr pressure = p(at);
  for (std::size_t d = 0; d < at.size(); ++d) {
    const std::string& along = vars[d].name();
    const ImageParam v(Float(32), dimensions, "v" + along);
    Func next("next_v" + along);
    std::vector<Expr> after = at, before = at;
    after[d] = after[d] + 1;
    before[d] = before[d] - 1;
    next(at) = v(at) - 0.2F * (p(after) - p(at));
    pressure = pressure - 0.2F * (next(at) - next(before));
    step.fields.push_back(v);
    step.others.push_back(next);
  }
  step.next(at) = pressure;
  return step;
}

/// "7pt-f32-repeat-edge": "7pt-f32" and what is read around its field.
std::pair<std::string, Around> around_of(const std::string& name) {
  for (const auto& [ending, around] : {std::pair<std::string, Around>{"-repeat-edge", Around::Edge},
                                       {"-constant-exterior", Around::Constant},
                                       {kPlaces, Around::Nothing}}) {
    const std::size_t plain = name.size() - std::min(name.size(), ending.size());
    if (name.substr(plain) == ending) return {name.substr(0, plain), around};
  }
  return {name, Around::Nothing};
}

}  // namespace

TimeStep make_time_step(const std::string& name) {
  const auto [plain, around] = around_of(name);
  if (plain == "7pt-f32") return star(Float(32), 3, 1, around);
  if (plain == "7pt-f64") return star(Float(64), 3, 1, around);
  if (plain == "13pt-f32") return star(Float(32), 3, 2, around);
  if (plain == "27pt-f64") return box(Float(64), 3, around);
  if (plain == "5pt-f32") return star(Float(32), 2, 1, around);
  if (plain == "5pt-f64") return star(Float(64), 2, 1, around);
  if (plain == "9pt-box-f64") return box(Float(64), 2, around);
  if (name == "staggered-2d-f32") return staggered(2);
  if (name == "staggered-3d-f32") return staggered(3);
  internal_check(name == "gray-scott-f32", "a time case without a step");
  return gray_scott();
}

Iteration iteration_of(const TimeStep& step) {
  std::vector<Replacement> pairs;
  const std::size_t own = step.own_fields();
  for (std::size_t f = 0; f < own; ++f) {
    pairs.emplace_back(step.fields[f], step.next, static_cast<int>(f));
  }
  for (std::size_t o = 0; o < step.others.size(); ++o) {
    pairs.emplace_back(step.fields[own + o], step.others[o]);
  }
  return Iteration(pairs);
}

bool has_edges(const std::string& name) { return around_of(name).second != Around::Nothing; }
bool has_places(const std::string& name) { return name.ends_with(kPlaces); }

}  // namespace mica::bench
