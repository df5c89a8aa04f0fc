#include "examples/multigrid/kernels.h"

#include <vector>

#include "examples/multigrid/equation.h"

namespace mica::examples {

Kernels::Kernels(Coefficient coefficient, Smoother smoother, const Target& target) {
  Var vx("x"), vy("y"), vz("z");
  const Place at = {vx, vy, vz};
  const auto read = [](const ImageParam& field) -> Field {
    return [field](const Place& p) { return field(p[0], p[1], p[2]); };
  };
  const auto row_of = [&](const Field& field, const Place& p) {
    if (coefficient == Coefficient::Variable) return row_between(field, {read(x), read(y), read(z)}, p);
    return row_of_ones(field, {u.dim(0).max() - 1, u.dim(1).max() - 1, u.dim(2).max() - 1}, p);
  };
  const auto residual = [&](const Place& p) {
    return residual_of(row_of(read(u), p), per_h2, f(p[0], p[1], p[2]), u(p[0], p[1], p[2]));
  };
  const auto from_coarse = [&](const Shares& shares) {
    const auto last = [&](int d) { return 2 * coarse.dim(d).extent() - 5; };
    return between(read(coarse), {last(0), last(1), last(2)}, at, shares);
  };
  const auto spread = [&](Stage stage) {
    if (target.is_gpu()) stage.gpu_tile(vx, vy, vz, 32, 4, 2);
  };
  const auto compiled = [&](const char* name, const std::vector<Expr>& values) {
    Func func(name);
    func(vx, vy, vz) = Tuple(values);
    spread(func);
    return compile(func, target);
  };

  const Expr here = u(vx, vy, vz);
  if (smoother == Smoother::Chebyshev) {
    const Expr change = jacobi_of(row_of(read(u), at), h2, f(vx, vy, vz)) - here;
    first_step = compiled("first_step", {here + by_residual * change});
    next_step =
        compiled("next_step", {here + by_change * (here - before(vx, vy, vz)) + by_residual * change});
  } else {
    Func swept("swept");
    swept(vx, vy, vz) = here;
    const Row row = row_of([&](const Place& p) { return swept(p[0], p[1], p[2]); }, at);
    const Expr to = jacobi_of(row, h2, f(vx, vy, vz));
    swept(vx, vy, vz) = swept(vx, vy, vz) + relaxation * (to - swept(vx, vy, vz));
    swept.update().color((vx + vy + vz) % 2);
    spread(swept);
    spread(swept.update());
    sweep = compile(swept, target);
  }

  restrict_residual = compiled("restrict_residual", {mean_of_cells(residual, at), 0.0});
  restrict_right_side = compiled("restrict_right_side", {mean_of_cells(read(f), at), 0.0});
  correct = compiled("correct", {here + from_coarse(linear)});
  interpolate = compiled("interpolate", {from_coarse(quadratic)});

  RDom r({{0, u.width() - 2}, {0, u.width() - 2}, {0, u.width() - 2}});
  const Expr off = residual({r.x, r.y, r.z});
  Func total("squares");
  total() = sum(r, off * off);
  squares = compile(total, target);
}

}  // namespace mica::examples
