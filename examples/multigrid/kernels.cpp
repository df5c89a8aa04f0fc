#include "examples/multigrid/kernels.h"

#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace mica::examples {
namespace {

using Place = std::array<Expr, 3>;
using Field = std::function<Expr(const Place&)>;

Place beside(const Place& at, std::size_t d, int step) {
  Place other = at;
  other[d] = at[d] + step;
  return other;
}

/// h^2 A u = diagonal u - neighbours.
struct Row {
  Expr diagonal, neighbours;
};

Row row_of(const Kernels& k, Coefficient coefficient, const Field& u, const Place& at) {
  const ImageParam* faces[] = {&k.x, &k.y, &k.z};
  Row row{0.0, 0.0};
  for (std::size_t d = 0; d < 3; ++d) {
    const Expr below = u(beside(at, d, -1)), above = u(beside(at, d, 1));
    if (coefficient == Coefficient::Constant) {
      const Expr last = k.u.dim(static_cast<int>(d)).max() - 1;
      row.diagonal = row.diagonal + select(at[d] == 0, 2.0, 1.0) + select(at[d] == last, 2.0, 1.0);
      row.neighbours = row.neighbours + below + above;
    } else {
      const auto face = [&](const Place& p) { return (*faces[d])(p[0], p[1], p[2]); };
      const Expr lower = face(at), upper = face(beside(at, d, 1));
      row.diagonal = row.diagonal + lower + upper;
      row.neighbours = row.neighbours + lower * below + upper * above;
    }
  }
  return row;
}

/// The mean of a field over the 8 cells that cell `at` of the coarser grid covers.
Expr mean_of_cells(const Field& fine, const Place& at) {
  Expr total = 0.0;
  for (int k = 0; k < 8; ++k) {
    total = total + fine({2 * at[0] + k % 2, 2 * at[1] + k / 2 % 2, 2 * at[2] + k / 4});
  }
  return 0.125 * total;
}

/// A coarse cell along one dimension, and its weight.
struct Share {
  Expr at, weight;
};

/// A quarter of a coarse cell from its middle, towards the nearer neighbour. Beside a wall: through 0 on
/// the wall.
std::vector<Share> linear(const Expr& i, const Expr& last) {
  const Expr near = i / 2;
  return {{near, select(i == 0 || i == last, 0.5, 0.75)}, {near + 2 * (i % 2) - 1, 0.25}};
}
std::vector<Share> quadratic(const Expr& i, const Expr& last) {
  const Expr near = i / 2, side = 2 * (i % 2) - 1;
  const Expr at_wall = i == 0 || i == last, next_to_it = i == 1 || i == last - 1;
  // Beyond a wall fields are 0, whatever their weight.
  return {{near, select(at_wall, 5.0 / 8, select(next_to_it, 9.0 / 8, 15.0 / 16))},
          {near + side, select(next_to_it, 1.0 / 8, 5.0 / 32)},
          {near - side, select(at_wall, -1.0 / 24, -3.0 / 32)}};
}

/// Between the coarse cells along x, then y, then z.
Expr between(const ImageParam& coarse, const Place& at,
             std::vector<Share> (*shares)(const Expr&, const Expr&)) {
  const auto along = [&](std::size_t d) {
    return shares(at[d], 2 * coarse.dim(static_cast<int>(d)).extent() - 5);
  };
  const std::vector<Share> x = along(0), y = along(1), z = along(2);
  Expr value = 0.0;
  for (const Share& c : z) {
    Expr plane = 0.0;
    for (const Share& b : y) {
      Expr row = 0.0;
      for (const Share& a : x) row = row + a.weight * coarse(a.at, b.at, c.at);
      plane = plane + b.weight * row;
    }
    value = value + c.weight * plane;
  }
  return value;
}

}  // namespace

Kernels::Kernels(Coefficient coefficient, Smoother smoother, const Target& target) {
  Var vx("x"), vy("y"), vz("z");
  const Place at = {vx, vy, vz};
  const auto read = [](const ImageParam& field) -> Field {
    return [field](const Place& p) { return field(p[0], p[1], p[2]); };
  };
  const auto residual = [&](const Place& p) {
    const Row row = row_of(*this, coefficient, read(u), p);
    return f(p[0], p[1], p[2]) - per_h2 * (row.diagonal * u(p[0], p[1], p[2]) - row.neighbours);
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
    const Row row = row_of(*this, coefficient, read(u), at);
    const Expr change = (h2 * f(vx, vy, vz) + row.neighbours) / row.diagonal - here;
    first_step = compiled("first_step", {here + by_residual * change});
    next_step =
        compiled("next_step", {here + by_change * (here - before(vx, vy, vz)) + by_residual * change});
  } else {
    Func swept("swept");
    swept(vx, vy, vz) = here;
    const Row row = row_of(
        *this, coefficient, [&](const Place& p) { return swept(p[0], p[1], p[2]); }, at);
    const Expr to = (h2 * f(vx, vy, vz) + row.neighbours) / row.diagonal;
    swept(vx, vy, vz) = swept(vx, vy, vz) + relaxation * (to - swept(vx, vy, vz));
    swept.update().color((vx + vy + vz) % 2);
    spread(swept);
    spread(swept.update());
    sweep = compile(swept, target);
  }

  restrict_residual = compiled("restrict_residual", {mean_of_cells(residual, at), 0.0});
  restrict_right_side = compiled("restrict_right_side", {mean_of_cells(read(f), at), 0.0});
  correct = compiled("correct", {here + between(coarse, at, linear)});
  interpolate = compiled("interpolate", {between(coarse, at, quadratic)});

  RDom r({{0, u.width() - 2}, {0, u.width() - 2}, {0, u.width() - 2}});
  const Expr off = residual({r.x, r.y, r.z});
  Func total("squares");
  total() = sum(r, off * off);
  squares = compile(total, target);
}

}  // namespace mica::examples
