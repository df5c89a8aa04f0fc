#include "examples/mhd/fluid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

namespace mica::examples {
namespace {

const char* const kNames[] = {"log_density", "ux", "uy", "uz", "entropy", "ax", "ay", "az"};

std::vector<ImageParam> inputs(const std::string& suffix) {
  std::vector<ImageParam> all;
  for (const char* name : kNames) all.emplace_back(Float(64), 3, name + suffix);
  return all;
}

/// The largest that the differences make of a wave's factor i k and k^2, along one axis and times h and
/// h^2.
constexpr double kSteepest = 1.5861, kMostCurved = 2 * (49.0 / 36 + 3.0 / 2 + 3.0 / 20 + 1.0 / 90);
/// Runge-Kutta methods of third order with three substeps are stable for factors from -2.51 to 0 and up
/// to 1.73 i, and where shares of both add up to 1.
constexpr double kReal = 2.51, kImaginary = 1.73;

}  // namespace

State::State(std::int64_t points, const Properties& of) : n(points), properties(of) {
  for (int i = 0; i < kMhdFields; ++i) {
    for (auto* level : {&now, &before}) {
      level->emplace_back(n, n, n);
      level->back().fill(0);
    }
  }
}

double State::h() const { return 2 * std::numbers::pi / static_cast<double>(n); }

Func Mhd::around() const {
  const Var x("x"), y("y"), z("z");
  const Expr n = now_[0].width();  // of all of them
  std::vector<Expr> values;
  for (const ImageParam& field : now_) {
    values.push_back(BoundaryConditions::repeat_image(field, {{0, n}, {0, n}, {0, n}})(x, y, z));
  }
  Func around("around");
  around(x, y, z) = Tuple(values);
  around.compute_inline();
  return around;
}

MhdFields Mhd::fields_at(const Func& around, const VectorExpr& at) const {
  const auto field = [&](int i) { return Field(around, i, at, per_h_); };
  return {field(0), {field(1), field(2), field(3)}, field(4), {field(5), field(6), field(7)}};
}

Func Mhd::substep() const {
  const Var x("x"), y("y"), z("z");
  const Expr i = step() % kSubsteps;
  const auto of_substep = [&](double first, double second, double third) {
    return select(i == 0, first, select(i == 1, second, third));
  };
  const Expr share = of_substep(1.0 / 3, 15.0 / 16, 8.0 / 15);
  const Expr change = of_substep(0, -5.0 / 9 * 3, -153.0 / 128 * 16 / 15);  // a_i/b_(i-1)
  Func all = around();
  const std::vector<Expr> rate = rates(fields_at(all, {x, y, z}), coefficients_, {x, y, z});
  std::vector<Expr> values;
  for (std::size_t k = 0; k < kMhdFields; ++k) {
    const Expr now = now_[k](x, y, z), before = before_[k](x, y, z);
    values.push_back(now + share * (change * (now - before) + dt_ * rate[k]));
  }
  Func next("next");
  next(x, y, z) = Tuple(values);
  if (target_.is_gpu()) {
    // In memory with a border, so that none of some 300 taps has to be wrapped round.
    schedules::apply(next, "mhd/substep", {{"block_y", 4}});
    all.compute_root().gpu_tile(x, y, z, 32, 4, 1);
  }
  return next;
}

/// Of each row along x: the sums of mass and of the three energies, the largest that a step must not
/// exceed 1.73 of, times h, and the least density.
Func Mhd::sums() const {
  const Var y("y"), z("z");
  const RDom r({{0, now_[0].width()}});
  const MhdFields f = fields_at(around(), {r.x, y, z});
  const VectorExpr u = value(f.u), b = magnetic_field(f, coefficients_);
  const Expr density = exp(f.log_density.value()), sound = exp(log_heat(f));  // the square
  const Expr magnetic = dot(b, b);
  const Expr fastest = kSteepest * (abs(u[0]) + abs(u[1]) + abs(u[2])) +
                       sqrt(3 * kSteepest * kSteepest * sound + 3 * kMostCurved * magnetic / density);
  Func row("row");
  row(y, z) = Tuple(0.0, 0.0, 0.0, 0.0, 0.0, std::numeric_limits<double>::max());
  const auto old = [&](int i) { return row(y, z)[i]; };
  row(y, z) = Tuple(old(0) + density, old(1) + 0.5 * density * dot(u, u), old(2) + 0.5 * magnetic,
                    old(3) + density * sound / (kGamma * (kGamma - 1)), max(old(4), fastest),
                    min(old(5), density));
  if (target_.is_gpu()) {
    row.gpu_tile(y, z, 32, 4);
    row.update().gpu_tile(y, z, 32, 4);
  }
  return row;
}

Func Mhd::slice() const {
  const Var x("x"), y("y");
  Func vorticity("vorticity");
  vorticity(x, y) = curl(fields_at(around(), {x, y, z_}).u)[2];
  if (target_.is_gpu()) vorticity.gpu_tile(x, y, 32, 4);
  return vorticity;
}

std::vector<Replacement> Mhd::replacements() const {
  std::vector<Replacement> all;
  for (std::size_t i = 0; i < kMhdFields; ++i) {
    all.emplace_back(before_[i], now_[i]);
    all.emplace_back(now_[i], next_, static_cast<int>(i));
  }
  return all;
}

Mhd::Mhd(const Target& target)
    : target_(target),
      now_(inputs("")),
      before_(inputs("_before")),
      next_(substep()),
      flow_(replacements()),
      sums_(compile(sums(), target)),
      slice_(compile(slice(), target)) {}

void Mhd::take(const State& state) {
  for (std::size_t i = 0; i < kMhdFields; ++i) now_[i].set(state.now[i]);
  per_h_.set(1 / state.h());
  const Properties& of = state.properties;
  coefficients_.nu.set(of.viscosity);
  coefficients_.zeta.set(of.bulk_viscosity);
  coefficients_.eta.set(of.resistivity);
  coefficients_.conductivity.set(of.conductivity);
  for (std::size_t i = 0; i < 3; ++i) coefficients_.mean_field[i].set(of.mean_field[i]);
}

void Mhd::run(State& state, std::int64_t steps, double dt) {
  take(state);
  dt_.set(dt);
  std::vector<RunInput> fields;
  for (std::size_t i = 0; i < kMhdFields; ++i) {
    fields.emplace_back(now_[i], state.now[i]);
    fields.emplace_back(before_[i], state.before[i]);
  }
  flow_.run(fields, kSubsteps * steps, {.target = target_});
  device_for(target_)->synchronize(Stream{});
}

Totals Mhd::totals(const State& state) {
  take(state);
  std::vector<Buffer<double>> rows;
  std::vector<AnyBuffer*> outputs;
  for (int i = 0; i < 6; ++i) rows.emplace_back(state.n, state.n);
  for (Buffer<double>& row : rows) outputs.push_back(&row);
  sums_.run(outputs);
  const auto mean = [&](std::size_t i) {
    double sum = 0;
    std::as_const(rows[i]).for_each([&](const double& of_row, const Coordinates&) { sum += of_row; });
    return sum / static_cast<double>(state.n * state.n * state.n);
  };
  double fastest = 0, thinnest = std::numeric_limits<double>::max();
  std::as_const(rows[4]).for_each(
      [&](const double& v, const Coordinates&) { fastest = std::max(fastest, v); });
  std::as_const(rows[5]).for_each(
      [&](const double& v, const Coordinates&) { thinnest = std::min(thinnest, v); });
  const Properties& of = state.properties;
  const double spread = std::max(
      {4.0 / 3 * of.viscosity + of.bulk_viscosity, of.resistivity, kGamma * of.conductivity / thinnest});
  const double h = state.h();
  const double per_step = fastest / (h * kImaginary) + 3 * kMostCurved * spread / (h * h * kReal);
  return {mean(0), mean(1), mean(2), mean(3), 1 / per_step};
}

Buffer<double> Mhd::vorticity(const State& state, std::int64_t z) {
  take(state);
  z_.set(static_cast<std::int32_t>(z));
  Buffer<double> result(state.n, state.n);
  slice_.run(result);
  return result;
}

}  // namespace mica::examples
