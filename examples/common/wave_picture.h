// Pressure over a velocity model, as the acoustic examples draw it.
#pragma once

#include "examples/common/pictures.h"
#include "runtime/buffer/buffer.h"

namespace mica::examples {

/// The 99.8th percentile of |p|: what is drawn in full colour. UserError when a pressure is no number.
double pressure_scale(const Buffer<float>& pressure);

/// A vertical section: dimension 0 is depth, dimension 1 distance, mins 0, of one shape.
struct Section {
  const Buffer<float>& velocity;  ///< m/s
  const Buffer<float>& pressure;
  double scale = 1;  ///< the pressure that is drawn in full colour
};

/// The section into axes whose y runs from the bottom up to depth 0.
void draw_section(Plot& plot, const Section& section);

/// Two colour bars, the pressure's in `frame` and the velocity's beside it, 130 pixels to the right.
void draw_bars(Page& page, const Frame& frame, const Buffer<float>& velocity, double scale);

/// The greatest of 1, 2, 5 times a power of ten that is not above `length`, and its words: "500 m".
double round_length(double km);
std::string in_km(double km);

}  // namespace mica::examples
