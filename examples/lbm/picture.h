// The flow drawn.
#pragma once

#include <string>
#include <vector>

#include "examples/common/pictures.h"
#include "examples/lbm/check.h"

namespace mica::examples {

/// The obstacle's flow at the end of a run.
struct Drawn {
  Fields fields;
  const Setup& setup;
  double diameter = 0;
  std::string title;
  /// Behind the obstacle: time in diameters over inflow, momentum along y as a share of the inflow's.
  std::vector<PlotPoint> wake;
};

/// The magnitude of the velocity in the middle plane across z, what happens behind the obstacle, and the
/// flow between plates beside the exact one. UserError when it cannot be written.
void draw(const std::string& path, const Drawn& drawn, const Plates& plates);

}  // namespace mica::examples
