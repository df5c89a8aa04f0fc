#include "examples/weather/steps.h"

namespace mica::examples {
namespace {

Func diffused(const ImageParam& u, const ImageParam& c, bool limited, const Target& target) {
  Var x("x"), y("y"), z("z");
  Func laplacian("laplacian"), along_x("along_x"), along_y("along_y"), next("next");
  laplacian(x, y, z) =
      u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) - 4.0 * u(x, y, z);
  const auto flux = [&](const Expr& i, const Expr& j) {
    const Expr change = laplacian(i, j, z) - laplacian(x, y, z);
    return limited ? select(change * (u(i, j, z) - u(x, y, z)) > 0.0, 0.0, change) : change;
  };
  along_x(x, y, z) = flux(x + 1, y);
  along_y(x, y, z) = flux(x, y + 1);
  next(x, y, z) = u(x, y, z) - c(x, y, z) * (along_x(x, y, z) - along_x(x - 1, y, z) + along_y(x, y, z) -
                                             along_y(x, y - 1, z));
  if (target.is_gpu()) {
    next.gpu_tile(x, y, z, 32, 8, 1);
  } else {
    next.vectorize(x, 8).parallel(z);
  }
  return next;
}

Func advected(const ImageParam& u, const ImageParam& w, const Param<double>& dt, const Target& target) {
  Var x("x"), y("y"), z("z");
  const Expr first = u.dim(2).min(), last = u.dim(2).max();
  const Func around = BoundaryConditions::repeat_edge(u, {{z}});

  // below n(z - 1), here n(z) and above n(z + 1) make what is known, with n the new u.
  Func flow("flow");
  flow(x, y, z) = select(z == first || z > last, 0.0, 0.25 * dt * w(x, y, z));
  const Expr below = -flow(x, y, z), above = flow(x, y, z + 1), here = 1.0 - below - above;
  const Expr old = around(x, y, z);
  const Expr known = old - below * (around(x, y, z - 1) - old) - above * (around(x, y, z + 1) - old);

  Func up("up"), next("next");
  const Expr pivot = 1.0 / (here - below * up(x, y, z - 1)[0]);
  up(x, y, z) = Tuple(select(z == first, above / here, above * pivot),
                      select(z == first, known / here, (known - below * up(x, y, z - 1)[1]) * pivot));
  next(x, y, z) = select(z == last, up(x, y, z)[1], up(x, y, z)[1] - up(x, y, z)[0] * next(x, y, z + 1));
  if (target.is_gpu()) {
    // A thread has a column: up, and back down.
    next.gpu_tile(x, y, 32, 4).unroll(z, 4);
    up.compute_at(next, "x.thread").unroll(z, 4);
  } else {
    // Both ways through the levels for a row along x, which stays in the cache.
    next.reorder(x, z, y).vectorize(x, 8).parallel(y);
    up.compute_at(next, y).reorder(x, z, y).vectorize(x, 8);
  }
  return next;
}

}  // namespace

Diffusion::Diffusion(bool limited, const Target& target)
    : target_(target),
      u_(Float(64), 3, "u"),
      coefficient_(Float(64), 3, "coefficient"),
      next_(diffused(u_, coefficient_, limited, target)),
      steps_({{u_, next_}}) {}

void Diffusion::run(Buffer<double>& u, const Buffer<double>& coefficient, std::int64_t steps) {
  steps_.run({{u_, u}, {coefficient_, coefficient}}, steps, {.target = target_});
}

Advection::Advection(const Target& target)
    : target_(target),
      u_(Float(64), 3, "u"),
      w_(Float(64), 3, "w"),
      next_(advected(u_, w_, dt_, target)),
      steps_({{u_, next_}}) {}

void Advection::run(Buffer<double>& u, const Buffer<double>& w, double dt, std::int64_t steps) {
  steps_.run({{u_, u}, {w_, w}}, steps, {.target = target_, .params = {{dt_, dt}}});
}

}  // namespace mica::examples
