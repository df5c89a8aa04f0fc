#include "examples/cavity/relaxation.h"

namespace mica::examples {

Expr relaxed(const ImageParam& w, double h, const Expr& x, const Expr& y, const Expr& neighbours) {
  return 0.25 * neighbours + 0.25 * h * h * w(x, y);
}

Func jacobi_sweep(const ImageParam& psi, const ImageParam& w, double relaxation, double h) {
  Var x("x"), y("y");
  Func swept("swept");
  const Expr to = relaxed(w, h, x, y, psi(x - 1, y) + psi(x + 1, y) + psi(x, y - 1) + psi(x, y + 1));
  swept(x, y) = (1 - relaxation) * psi(x, y) + relaxation * to;
  return swept;
}

Func red_black_sweep(const ImageParam& psi, const ImageParam& w, double relaxation, double h) {
  Var x("x"), y("y");
  Func swept("swept");
  swept(x, y) = psi(x, y);
  const Expr to =
      relaxed(w, h, x, y, swept(x - 1, y) + swept(x + 1, y) + swept(x, y - 1) + swept(x, y + 1));
  swept(x, y) = (1 - relaxation) * swept(x, y) + relaxation * to;
  swept.update().color((x + y) % 2);
  return swept;
}

}  // namespace mica::examples
