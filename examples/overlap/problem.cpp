#include "examples/overlap/problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace mica::examples {
namespace {

Func step_of(const ImageParam& u, int at_once, const Target& target) {
  Var x("x"), y("y");
  Func next("next");
  next(x, y) = 0.25 * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));
  if (target.is_gpu()) {
    // Each block is one warp, which walks a strip of rows with all levels of time in registers.
    next.gpu_tile(x, 32).vectorize(x, 2).march(y, 16 * at_once).scatter(y);
  } else {
    next.vectorize(x, 8).parallel(y, 8);
  }
  return next;
}

}  // namespace

Jacobi::Jacobi(const Target& target, int at_once) : steps({{u, step_of(u, at_once, target)}}) {
  steps.time_tile(at_once);
}

Mode::Mode(std::int64_t points, std::int64_t steps) : points_(points), wave_(points) {
  const double h = 1.0 / static_cast<double>(points + 1);
  const double angle =
      std::acos(std::pow(0.5, 1.0 / static_cast<double>(std::max<std::int64_t>(steps, 1))));
  const double fits = std::round(angle / (std::numbers::pi * h));
  half_waves_ = static_cast<int>(std::clamp(fits, 1.0, static_cast<double>(points)));
  wave_.for_each([&](double& value, const Coordinates& at) {
    value = std::sin(std::numbers::pi * half_waves_ * static_cast<double>(at[0] + 1) * h);
  });
}

double Mode::amplitude(std::int64_t steps) const {
  const double h = 1.0 / static_cast<double>(points_ + 1);
  return std::pow(std::cos(std::numbers::pi * half_waves_ * h), static_cast<double>(steps));
}

void Mode::put_into(Buffer<double>& u) const {
  Var x("x"), y("y");
  Func mode("mode");
  const Expr i = clamp(x, 0, static_cast<int>(points_ - 1)),
             j = clamp(y, 0, static_cast<int>(points_ - 1));
  mode(x, y) = select(x == i && y == j, wave_(i) * wave_(j), 0.0);
  mode.vectorize(x, 8).parallel(y, 8);
  compile(mode, Target::host()).run(u);
}

double Mode::difference(const Buffer<double>& u, double amplitude) const {
  Var y("y");
  Func squares("squares");
  const RDom r({{0, static_cast<int>(points_)}}, "r");
  const Expr off = u(r.x, y) - amplitude * wave_(r.x) * wave_(y);
  squares(y) = sum(r, off * off);
  squares.parallel(y, 8);
  Buffer<double> rows(points_);
  compile(squares, Target::host()).run(rows);
  double sum = 0;
  rows.for_each([&](const double& row, const Coordinates&) { sum += row; });
  // Of a single point nothing is left.
  return std::sqrt(sum) / static_cast<double>(points_) / std::max(amplitude, 1e-300);
}

bool same_bits(const Buffer<double>& a, const Buffer<double>& b) {
  const std::size_t row = static_cast<std::size_t>(a.extent(0)) * sizeof(double);
  for (std::int64_t y = 0; y < a.extent(1); ++y) {
    if (std::memcmp(a.data() + y * a.stride(1), b.data() + y * b.stride(1), row) != 0) return false;
  }
  return true;
}

}  // namespace mica::examples
