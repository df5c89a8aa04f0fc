// Codes of other people's fields, written as a new user would write them: the algorithm alone, with no
// thought of how Mica computes it.
#pragma once

#include <string>
#include <vector>

#include "dsl/func.h"

namespace mica::test {

/// An algorithm, its inputs, and what the caller may schedule.
struct Ported {
  Func output;
  std::vector<ImageParam> inputs;
  std::vector<Func> others = {};
};

/// A time step of the lattice Boltzmann method with 19 velocities: populations stream from the
/// neighbours, then relax towards equilibrium in the time tau (BGK; Qian, d'Humieres and Lallemand
/// 1992). The input is f(x, y, z, i), the output a Tuple of the 19 populations.
Ported d3q19(float tau);
/// The velocities of d3q19, in its order, and their weights.
const std::vector<std::vector<int>>& d3q19_velocities();
double d3q19_weight(int i);

/// Edge-preserving smoothing by a grid over position and intensity (Chen, Paris and Durand 2007): cells
/// of `cell` pixels and of `step` of intensity, values in [0, 1]. The input is an image, the output
/// another of its size.
Ported bilateral_grid(int cell, float step);

/// Detail enhanced by local Laplacian filters (Paris, Hasinoff and Kautz 2011; Aubry et al. 2014):
/// `levels` of a pyramid, `steps` remapped copies of the image, u16 RGB in and out.
Ported local_laplacian(int levels, int steps, float alpha, float beta);

/// Corners by Harris and Stephens (1988) of a grey image, 3 x 3 boxes.
Ported harris();
/// An image minus its blur by a Gaussian of 7 x 7, added to it; (x, y, channel).
Ported unsharp();

/// `count` sweeps that each average the four neighbours, one Func after another.
Ported sweeps(int count);

/// The rates of change by magnetohydrodynamics along x: piecewise parabolic reconstruction
/// of eight fields (Colella and Woodward 1984) and the flux of Rusanov (1961). The input is (x, y,
/// field).
Ported mhd_sweep();

/// A step of advection along z, implicit in time by the rule of Crank and Nicolson: a tridiagonal system
/// in each column, solved by the algorithm of Thomas (1949). The inputs are u, the advected field, and
/// w, the velocity at the faces between cells (one more along x and z); `others` has the elimination.
Ported vertical_advection(float dt);

}  // namespace mica::test
