// What is known of the two steps, and whether it holds.
#pragma once

#include <vector>

#include "examples/common/pictures.h"
#include "schedules/mica.h"

namespace mica::examples {

/// Three steps of limited diffusion on `grid` points beside plain loops that round as the algorithm
/// does: the bits must be equal.
bool check_bits(const Coordinates& grid, const Target& target);

/// A step multiplies a wave in x and y by 1 - c K^2, K the Laplacian's factor, 4 sin^2(k/2) + 4
/// sin^2(l/2), limited or not, since its fluxes run down the gradient: to 1e-13.
bool check_damping(const Target& target);

/// How well `next` solves the system of a step of Advection from u: the largest residual of an equation
/// as a share of the sum of its terms' magnitudes. An elimination without growth leaves a few roundings.
double residual(const Buffer<double>& u, const Buffer<double>& next, const Buffer<double>& w, double dt);

/// A smooth layer that rises with one velocity beside the same layer moved: profiles of level height and
/// u.
struct Rise {
  std::vector<PlotPoint> start, computed, exact;
  double error = 0;  ///< the largest difference between the last two
};
Rise rise(std::int64_t levels, const Target& target);

/// The error of `rise` with levels and steps halved once: of second order, to 0.15.
bool check_order(const Target& target);

/// A block of u = 1 in u = 0 after steps of diffusion: values along x through its middle.
std::vector<PlotPoint> step_after(std::int64_t steps, bool limited, const Target& target);

}  // namespace mica::examples
