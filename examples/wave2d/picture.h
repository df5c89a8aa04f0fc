// The wavefield drawn over the velocity model.
#pragma once

#include <string>

#include "examples/wave2d/model.h"

namespace mica::examples {

/// Pressure as red (positive) and blue (negative) over the model in gray, depth downwards, with axes in
/// km, a colour bar of each and a bar of length, written as a PNG. The scale of the pressure is the
/// 99.8th percentile of |p|. UserErrors: a pressure that is no number; the file cannot be written.
void draw_wavefield(const std::string& path, const VelocityModel& model, const Buffer<float>& pressure,
                    const std::string& title);

}  // namespace mica::examples
