#include <string>

#include "tests/ported/programs.h"

namespace mica::test {
namespace {

using namespace BoundaryConditions;

const Var x("x"), y("y");

/// One grid of n * n points, `spacing` of the finest apart.
class Grid {
 public:
  Grid(Expr n, float spacing, int level)
      : n_(std::move(n)), square_(spacing * spacing), suffix_(std::to_string(level)) {}

  /// f of [0, n) again and again.
  [[nodiscard]] Func periodic(const Func& f) const { return repeat_image(f, {{0, n_}, {0, n_}}); }

  [[nodiscard]] Func smoothed(const Func& start, const Func& rhs, int sweeps) const {
    Func p("smooth" + suffix_);
    p(x, y) = start(x, y);
    for (int i = 0; i < sweeps; ++i) {
      p(x, y) = 0.25F * (p(x - 1, y) + p(x + 1, y) + p(x, y - 1) + p(x, y + 1) - square_ * rhs(x, y));
      p.update(i).color((x + y) % 2);
    }
    return periodic(p);
  }
  [[nodiscard]] Func residual(const Func& p, const Func& rhs) const {
    Func r("residual" + suffix_);
    r(x, y) = rhs(x, y) - (1.0F / square_) *
                              (p(x - 1, y) + p(x + 1, y) + p(x, y - 1) + p(x, y + 1) - 4.0F * p(x, y));
    return r;
  }

 private:
  Expr n_;
  float square_;
  std::string suffix_;
};

/// The mean of the four points that a point of the next grid covers.
Func restricted(const Func& fine) {
  Func coarse("restricted");
  coarse(x, y) = 0.25F * (fine(2 * x, 2 * y) + fine(2 * x + 1, 2 * y) + fine(2 * x, 2 * y + 1) +
                          fine(2 * x + 1, 2 * y + 1));
  return coarse;
}

/// `fine` plus what the next grid says, linear between its points.
Func corrected(const Func& fine, const Func& coarse) {
  const Expr i = x / 2, j = y / 2, beside_i = i + 2 * (x % 2) - 1, beside_j = j + 2 * (y % 2) - 1;
  Func better("corrected");
  better(x, y) = fine(x, y) + 0.5625F * coarse(i, j) +
                 0.1875F * (coarse(beside_i, j) + coarse(i, beside_j)) +
                 0.0625F * coarse(beside_i, beside_j);
  return better;
}

Func v_cycle(const Func& guess, const Func& rhs, const Expr& n, int level, int levels, int sweeps) {
  const Grid grid(n, static_cast<float>(1 << level), level);
  if (level + 1 == levels) return grid.smoothed(guess, rhs, 2 * sweeps);
  const Func before = grid.smoothed(guess, rhs, sweeps);
  const Func left = restricted(grid.residual(before, rhs));
  const Grid next(n / 2, static_cast<float>(2 << level), level + 1);
  Func zero("zero");
  zero(x, y) = 0.0F;
  const Func error = v_cycle(zero, next.periodic(left), n / 2, level + 1, levels, sweeps);
  return grid.smoothed(corrected(before, error), rhs, sweeps);
}

}  // namespace

Ported red_black_v_cycle(int levels, int sweeps) {
  const ImageParam u(Float(32), 2, "u"), f(Float(32), 2, "f");
  const Func better = v_cycle(repeat_image(u), repeat_image(f), u.width(), 0, levels, sweeps);
  Func out("v_cycle");
  out(x, y) = better(x, y);
  return {out, {u, f}};
}

}  // namespace mica::test
