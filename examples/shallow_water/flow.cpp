#include "examples/shallow_water/flow.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mica::examples {
namespace {

/// What a state, periodic in x and y, changes by in a unit of time, at one cell.
class Rates {
 public:
  Rates(Func state, const Plane& plane, Conserve conserve)
      : state_(std::move(state)),
        rdx_(1 / plane.dx()),
        rdy_(1 / plane.dy()),
        coriolis_(plane.coriolis),
        gravity_(plane.gravity),
        conserve_(conserve) {}

  /// Of u, v and h at cell (i, j).
  [[nodiscard]] std::vector<Expr> at(const Expr& i, const Expr& j) const {
    Expr turn_u, turn_v;  // q V on left faces, q U on lower faces
    if (conserve_ == Conserve::Energy) {
      turn_u =
          0.25 * (q(i, j) * (V(i - 1, j) + V(i, j)) + q(i, j + 1) * (V(i - 1, j + 1) + V(i, j + 1)));
      turn_v =
          0.25 * (q(i, j) * (U(i, j - 1) + U(i, j)) + q(i + 1, j) * (U(i + 1, j - 1) + U(i + 1, j)));
    } else {
      turn_u = 0.125 * (q(i, j) + q(i, j + 1)) * (V(i - 1, j) + V(i, j) + V(i - 1, j + 1) + V(i, j + 1));
      turn_v = 0.125 * (q(i, j) + q(i + 1, j)) * (U(i, j - 1) + U(i, j) + U(i + 1, j - 1) + U(i + 1, j));
    }
    return {turn_u - rdx_ * (bernoulli(i, j) - bernoulli(i - 1, j)),
            -turn_v - rdy_ * (bernoulli(i, j) - bernoulli(i, j - 1)),
            rdx_ * (U(i, j) - U(i + 1, j)) + rdy_ * (V(i, j) - V(i, j + 1))};
  }

 private:
  [[nodiscard]] Expr u(const Expr& i, const Expr& j) const { return state_(i, j)[0]; }
  [[nodiscard]] Expr v(const Expr& i, const Expr& j) const { return state_(i, j)[1]; }
  [[nodiscard]] Expr h(const Expr& i, const Expr& j) const { return state_(i, j)[2]; }
  /// The flow through the left and the lower face.
  [[nodiscard]] Expr U(const Expr& i, const Expr& j) const {
    return 0.5 * (h(i - 1, j) + h(i, j)) * u(i, j);
  }
  [[nodiscard]] Expr V(const Expr& i, const Expr& j) const {
    return 0.5 * (h(i, j - 1) + h(i, j)) * v(i, j);
  }
  /// Potential vorticity at the lower left corner.
  [[nodiscard]] Expr q(const Expr& i, const Expr& j) const {
    const Expr turning = coriolis_ + rdx_ * (v(i, j) - v(i - 1, j)) - rdy_ * (u(i, j) - u(i, j - 1));
    return 4.0 * turning / (h(i - 1, j - 1) + h(i, j - 1) + h(i - 1, j) + h(i, j));
  }
  [[nodiscard]] Expr bernoulli(const Expr& i, const Expr& j) const {
    const auto square = [](const Expr& e) { return e * e; };
    return gravity_ * h(i, j) +
           0.25 * (square(u(i, j)) + square(u(i + 1, j)) + square(v(i, j)) + square(v(i, j + 1)));
  }

  Func state_;
  double rdx_, rdy_, coriolis_, gravity_;
  Conserve conserve_;
};

/// A step by Shu and Osher: s1 = s + dt r(s), s2 = 3/4 s + 1/4 (s1 + dt r(s1)),
/// next = 1/3 s + 2/3 (s2 + dt r(s2)). Written as s + 2/3 (... - s), as no two doubles for 1/3 and 2/3
/// have the sum 1; and strict, as s + 2/3 s2 - 2/3 s would be rounded like 5/3 s, where nothing moves in
/// every step to the same side.
Func step_of(const ImageParam& u, const ImageParam& v, const ImageParam& h, const Param<double>& dt,
             const Plane& plane, Conserve conserve, const Target& target) {
  Var x("x"), y("y");
  const BoundaryRanges all = {{h.dim(0).min(), h.width()}, {h.dim(1).min(), h.height()}};
  Func before("before");
  before(x, y) = Tuple(u(x, y), v(x, y), h(x, y));
  const double shares[] = {1, 1.0 / 4, 2.0 / 3};
  Func now = before;
  for (const double share : shares) {
    const auto rates = Rates(BoundaryConditions::repeat_image(now, all), plane, conserve).at(x, y);
    std::vector<Expr> values;
    for (std::size_t k = 0; k < 3; ++k) {
      const Expr old = before(x, y)[static_cast<int>(k)];
      const Expr stepped = now(x, y)[static_cast<int>(k)] + dt * rates[k];
      values.push_back(share == 1 ? stepped : old + share * strict(stepped - old));
    }
    Func stage("stage");
    stage(x, y) = Tuple(values);
    stage.compute_root();
    if (target.is_gpu()) {
      stage.gpu_tile(x, y, 32, 8);
    } else {
      stage.vectorize(x, 8).parallel(y, 8);
    }
    now = stage;
  }
  return now;
}

}  // namespace

double Plane::wave_speed() const { return std::sqrt(gravity * depth); }

double time_step(const Plane& plane, double speed) {
  return 0.5 * std::min(plane.dx(), plane.dy()) / speed;
}

ShallowWater::ShallowWater(const Plane& plane, Conserve conserve, const Target& target)
    : target_(target),
      u_(Float(64), 2, "u"),
      v_(Float(64), 2, "v"),
      h_(Float(64), 2, "h"),
      next_(step_of(u_, v_, h_, dt_, plane, conserve, target)),
      flow_({{u_, next_, 0}, {v_, next_, 1}, {h_, next_, 2}}) {}

void ShallowWater::every(std::int64_t n, const std::function<void(const State&, std::int64_t)>& look) {
  flow_.every(n, [u = u_, v = v_, h = h_, look](const RunningIteration& running) {
    const auto field = [&](const ImageParam& f) { return Buffer<double>(running.field(f)); };
    look(State(field(u), field(v), field(h)), running.steps_done());
  });
}

void ShallowWater::run(State& state, std::int64_t steps, double dt) {
  flow_.run({{u_, state.u}, {v_, state.v}, {h_, state.h}}, steps,
            {.target = target_, .params = {{dt_, dt}}});
}

}  // namespace mica::examples
