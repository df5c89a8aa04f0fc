#include "tests/ported/programs.h"

namespace mica::test {

Ported vertical_advection(float dt) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
  const Expr first = u.dim(2).min(), last = u.dim(2).max();

  // Half of the velocities through the lower and the upper face of a cell of height 1.
  Func inside = BoundaryConditions::repeat_edge(u);
  Func below("below"), above("above");
  below(x, y, z) = select(z == first, 0.0F, 0.25F * (w(x, y, z) + w(x + 1, y, z)));
  above(x, y, z) = select(z == last, 0.0F, 0.25F * (w(x, y, z + 1) + w(x + 1, y, z + 1)));

  // -below*n(z - 1) + (1/dt + below - above)*n(z) + above*n(z + 1) = known, with n the new u: half of
  // the flux is that of the old values.
  const Expr lower = -0.5F * below(x, y, z), upper = 0.5F * above(x, y, z);
  const Expr centre = 1.0F / dt - lower - upper;
  const Expr here = inside(x, y, z);
  const Expr known =
      here / dt - lower * (inside(x, y, z - 1) - here) - upper * (inside(x, y, z + 1) - here);

  // Elimination upwards carries both the upper diagonal and the right-hand side.
  Func forward("forward"), next("next");
  const Expr pivot = 1.0F / (centre - lower * forward(x, y, z - 1)[0]);
  forward(x, y, z) =
      Tuple(select(z == first, upper / centre, upper * pivot),
            select(z == first, known / centre, (known - lower * forward(x, y, z - 1)[1]) * pivot));
  // Substitution downwards.
  next(x, y, z) = select(z == last, forward(x, y, z)[1],
                         forward(x, y, z)[1] - forward(x, y, z)[0] * next(x, y, z + 1));
  return {next, {u, w}, {forward}};
}

}  // namespace mica::test
