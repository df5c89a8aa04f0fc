// Sweeps that relax laplace(psi) = -w on a grid of spacing h. `mica bench cfd/` times them, too.
#pragma once

#include "schedules/mica.h"

namespace mica::examples {

/// What a sweep brings point (x, y) to, whose four neighbours sum to `neighbours`.
Expr relaxed(const ImageParam& w, double h, const Expr& x, const Expr& y, const Expr& neighbours);

/// `relaxation` of the way to the mean of the old neighbours plus h^2/4 w.
Func jacobi_sweep(const ImageParam& psi, const ImageParam& w, double relaxation, double h);
/// The same of the points of even x + y first, then of the others from their new neighbours.
Func red_black_sweep(const ImageParam& psi, const ImageParam& w, double relaxation, double h);

}  // namespace mica::examples
