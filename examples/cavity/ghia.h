// Published velocities on the centre lines of the cavity.
#pragma once

#include <vector>

#include "examples/cavity/flow.h"
#include "examples/common/pictures.h"

namespace mica::examples {

/// u at heights y on x = 1/2 (Table I), or v at places x on y = 1/2 (Table II), as {place, velocity}, at
/// Reynolds numbers 100 and 1000; nothing for another. On a grid of 129 x 129 points. U. Ghia,
/// K. N. Ghia, C. T. Shin, "High-Re solutions for incompressible flow using the Navier-Stokes equations
/// and a multigrid method", Journal of Computational Physics 48 (1982) 387-411.
std::vector<PlotPoint> ghia(double reynolds, Line line);

/// What ghia may be off by. At Re = 1000 v beside the wall x = 1 is 0.0185 from `spectral`; at Re = 100
/// the least v of the table is 0.0085 from that of C. H. Marchi, R. Suero, L. K. Araki, Journal of the
/// Brazilian Society of Mechanical Sciences and Engineering 31 (2009) 186-198, and 0.01 is taken.
double error_of_ghia(double reynolds);

/// The same at Re = 1000 by a spectral method of 160 modes, nothing for another number: O. Botella,
/// R. Peyret, "Benchmark spectral results on the lid-driven cavity flow", Computers & Fluids 27 (1998)
/// 421-433.
std::vector<PlotPoint> spectral(double reynolds, Line line);

/// The largest |value - published|, with `values` on points of equal distance from 0 to 1 and cubic
/// interpolation between four of them.
double largest_deviation(const std::vector<double>& values, const std::vector<PlotPoint>& published);

}  // namespace mica::examples
