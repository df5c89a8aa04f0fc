// A shot gather, and the wave over the model.
#pragma once

#include <string>

#include "examples/wave3d/acoustic.h"

namespace mica::examples {

/// Above, the vertical section through the source, `section`, over the velocities with source and
/// receivers; below, what the receivers recorded, time downwards. A PNG. UserErrors: a pressure that is
/// no number; the file cannot be written.
void draw_shot(const std::string& path, const VelocityVolume& model, const Shot& shot,
               const Buffer<float>& section, std::int64_t y, const Buffer<float>& gather, double dt);

}  // namespace mica::examples
