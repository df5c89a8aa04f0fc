// The wavefield drawn over the velocity model.
#pragma once

#include <string>

#include "examples/wave2d/model.h"

namespace mica::examples {

/// Pressure as red (positive) and blue (negative) over the model in gray, one pixel a point, depth
/// downwards, written as a PNG. The scale is the 99.8th percentile of |p|.
void draw_wavefield(const std::string& path, const VelocityModel& model, const Buffer<float>& pressure);

}  // namespace mica::examples
