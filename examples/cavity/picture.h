// Stream lines of the cavity, and its centre lines beside those published.
#pragma once

#include <string>
#include <vector>

#include "examples/cavity/flow.h"

namespace mica::examples {

/// One flow, as it is drawn.
struct Flow {
  double reynolds = 0;
  Buffer<double> stream, vorticity;
};

/// Above, each flow's vorticity in colours and its stream lines; below, u on x = 1/2 and v on y = 1/2 of
/// all flows with the published values, as a PNG. UserError when it cannot be written.
void draw_flows(const std::string& path, const std::vector<Flow>& flows);

}  // namespace mica::examples
