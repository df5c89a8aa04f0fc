// Codes of other people's fields, written as a new user would write them: the algorithm alone, with no
// thought of how Mica computes it.
#pragma once

#include <string>
#include <vector>

#include "dsl/func/func.h"

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

/// Half a step of Maxwell's equations on the grid of Yee (1966), spacing and speed of light 1, with
/// convolutional perfectly matched layers (Roden and Gedney 2000): the magnetic field from the electric
/// one by differences ahead, or the electric from the magnetic by differences behind, which a source
/// adds to. Outside of the arrays fields are 0.
struct YeeHalf {
  std::vector<Func> outputs;         ///< the memories of six derivatives, then the field's x, y, z
  std::vector<ImageParam> changing;  ///< what the outputs replace, in their order
  std::vector<ImageParam> driving;   ///< the other field's x, y, z
  std::vector<Func> around;          ///< the same, and 0 outside
  /// Along each axis the factors of a memory and of what it takes up.
  std::vector<ImageParam> decay, gain;
  Param<float> dt{"dt", 0.5F}, pulse{"pulse"};
  /// Where `pulse` is added to the electric field's z.
  std::vector<Param<int>> source{Param<int>("sx"), Param<int>("sy"), Param<int>("sz")};
};
YeeHalf yee_half(bool magnetic);

/// A V-cycle of multigrid for Poisson's equation, u(x-1) + u(x+1) + u(y-1) + u(y+1) - 4 u = f, on a
/// square that is periodic in both directions and whose size is a multiple of 2^levels: `levels` grids,
/// each half of the one before, with `sweeps` of Gauss and Seidel in red-black order before and after
/// (at once on the coarsest). Inputs are u, the guess, and f, whose mean is 0; the output is the better
/// u.
Ported red_black_v_cycle(int levels, int sweeps);

}  // namespace mica::test
