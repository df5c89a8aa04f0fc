#include "examples/cavity/flow.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

#include "examples/cavity/relaxation.h"
#include "examples/common/larger.h"

namespace mica::examples {
namespace {

double best_relaxation(Method method, std::int64_t intervals) {
  if (method == Method::Jacobi) return 1;
  return 2 / (1 + std::sin(std::numbers::pi / static_cast<double>(intervals)));
}

Func sweep_of(const ImageParam& psi, const ImageParam& w, Method method, double relaxation, double h,
              const Target& target) {
  const bool jacobi = method == Method::Jacobi;
  Func swept = jacobi ? jacobi_sweep(psi, w, relaxation, h) : red_black_sweep(psi, w, relaxation, h);
  if (target.is_gpu()) schedules::apply(swept, jacobi ? "cfd/jacobi" : "cfd/red-black");
  return swept;
}

Func residual_of(const ImageParam& psi, const ImageParam& w, double h) {
  RDom r({{1, psi.width() - 2}, {1, psi.height() - 2}});
  const Expr x = r.x, y = r.y;
  const Expr to = relaxed(w, h, x, y, psi(x - 1, y) + psi(x + 1, y) + psi(x, y - 1) + psi(x, y + 1));
  Func residual("residual");
  residual() = maximum(r, 4 / (h * h) * abs(to - psi(x, y)));  // |laplace(psi) + w|
  return residual;
}

Func transport_of(const ImageParam& psi, const ImageParam& w, std::int64_t intervals, double reynolds,
                  double dt, const Target& target) {
  Var x("x"), y("y");
  const double h = 1.0 / static_cast<double>(intervals);
  const auto last = static_cast<std::int32_t>(intervals);
  Func p = BoundaryConditions::repeat_edge(psi), v = BoundaryConditions::repeat_edge(w);
  // 4 h^2 times the divergence of (u, v) w, from the values beside the point.
  const auto u_w = [&](const Expr& i) { return (p(i, y + 1) - p(i, y - 1)) * v(i, y); };
  const auto v_w = [&](const Expr& j) { return (p(x - 1, j) - p(x + 1, j)) * v(x, j); };
  const Expr convected = u_w(x + 1) - u_w(x - 1) + v_w(y + 1) - v_w(y - 1);
  const Expr diffused = v(x + 1, y) + v(x - 1, y) + v(x, y + 1) + v(x, y - 1) - 4.0 * v(x, y);
  const Expr inside = v(x, y) - dt / (4 * h * h) * convected + dt / (reynolds * h * h) * diffused;
  const auto wall = [&](const Expr& one, const Expr& two, double speed) {
    return 0.5 / (h * h) * two - 4 / (h * h) * one - 3 * speed / h;
  };
  const Expr beside = select(x == last, wall(p(x - 1, y), p(x - 2, y), 0), x == 0,
                             wall(p(x + 1, y), p(x + 2, y), 0), inside);
  Func next("next");
  next(x, y) = select(y == last, wall(p(x, y - 1), p(x, y - 2), 1), y == 0,
                      wall(p(x, y + 1), p(x, y + 2), 0), beside);
  if (target.is_gpu()) next.gpu_tile(x, y, 32, 8);
  return next;
}

}  // namespace

Poisson::Poisson(Method method, double relaxation, std::int64_t intervals, const Target& target)
    : target_(target),
      psi_(Float(64), 2, "psi"),
      w_(Float(64), 2, "w"),
      residual_(residual_of(psi_, w_, 1.0 / static_cast<double>(intervals))),
      swept_(sweep_of(psi_, w_, method, relaxation, 1.0 / static_cast<double>(intervals), target)),
      sweeps_({{psi_, swept_}}) {}

IterationResult Poisson::solve(Buffer<double>& psi, const Buffer<double>& w, double tolerance,
                               std::int64_t check_every, std::int64_t most) {
  const IterationResult result = sweeps_.run_until({{psi_, psi}, {w_, w}}, residual_() < tolerance_,
                                                   {.check_every = check_every,
                                                    .max_steps = most,
                                                    .target = target_,
                                                    .params = {{tolerance_, tolerance}}});
  if (result.converged) return result;
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "%.3g, and should be below %.3g", result.value, tolerance);
  throw UserError("after " + std::to_string(most) + " sweeps the residual of the stream function is " +
                  numbers + ": give a larger tolerance");
}

Cavity::Cavity(std::int64_t intervals, double reynolds, Method method, const Target& target)
    : intervals_(intervals),
      reynolds_(reynolds),
      dt_(0.8 * std::min(reynolds / (4.0 * static_cast<double>(intervals * intervals)), 2 / reynolds)),
      target_(target),
      psi_(Float(64), 2, "psi"),
      w_(Float(64), 2, "w"),
      next_(transport_of(psi_, w_, intervals, reynolds, dt_, target)),
      transport_({{w_, next_}}),
      poisson_(method, best_relaxation(method, intervals), intervals, target),
      psi_now_(intervals + 1, intervals + 1),
      w_now_(intervals + 1, intervals + 1) {
  psi_now_.fill(0);
  w_now_.fill(0);
}

March Cavity::march(double steady, double tolerance, double longest) {
  constexpr std::int64_t kBetweenLooks = 100, kBetweenChecks = 10, kMostSweeps = 1000000;
  March march;
  while (!march.steady && march.time < longest) {
    const Buffer<double> before = psi_now_.copy();
    for (std::int64_t i = 0; i < kBetweenLooks; ++i) {
      transport_.run({{w_, w_now_}, {psi_, psi_now_}}, 1, {.target = target_});
      march.sweeps += poisson_.solve(psi_now_, w_now_, tolerance, kBetweenChecks, kMostSweeps).steps;
    }
    march.steps += kBetweenLooks;
    march.time = static_cast<double>(march.steps) * dt_;
    const double *now = std::as_const(psi_now_).data(), *then = before.data();
    march.change = 0;
    for (std::int64_t i = 0; i < psi_now_.elements(); ++i) {
      march.change = larger(march.change, std::abs(now[i] - then[i]));
    }
    march.change /= static_cast<double>(kBetweenLooks) * dt_;
    march.steady = march.change < steady;
  }
  return march;
}

std::vector<double> centre_line(const Buffer<double>& stream, Line line) {
  const std::int64_t n = stream.extent(0) - 1, middle = n / 2;
  const double* psi = stream.data();
  const auto at = [&](std::int64_t i) {
    return line == Line::U ? psi[middle + i * (n + 1)] : -psi[i + middle * (n + 1)];
  };
  std::vector<double> values(static_cast<std::size_t>(n + 1), 0.0);
  for (std::int64_t i = 1; i < n; ++i) {
    values[static_cast<std::size_t>(i)] = (at(i + 1) - at(i - 1)) * static_cast<double>(n) / 2;
  }
  if (line == Line::U) values.back() = 1;
  return values;
}

}  // namespace mica::examples
