// What is known of the method, and whether it holds.
#pragma once

#include <vector>

#include "examples/common/pictures.h"
#include "examples/lbm/lattice.h"

namespace mica::examples {

/// Flow between two plates that a force drives (Poiseuille): u = g y (H - y) / (2 viscosity), with walls
/// halfway between cells. The scheme has that exactly.
struct Plates {
  std::vector<PlotPoint> computed, exact;  ///< u along x, height y
  double error = 0;                        ///< the largest difference, as a share of the largest u
};
Plates between_plates(Lattice& lattice);

/// Plates, to 1e-4; vortices in a periodic box (G. I. Taylor, A. E. Green, Proceedings of the Royal
/// Society A 158 (1937) 499-521), each plane of the axes in turn, which must decay by their viscosity
/// with an error of second order; and mass, in a closed box with a sphere in it, which only rounding may
/// change.
bool check_viscosity(const Plates& plates);
bool check_decay(Lattice& lattice);
bool check_mass(Lattice& lattice);

}  // namespace mica::examples
