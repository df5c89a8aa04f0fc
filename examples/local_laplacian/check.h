// What is known of the filter, and whether it holds.
#pragma once

#include "examples/common/pictures.h"
#include "examples/local_laplacian/schedule.h"

namespace mica::examples {

/// alpha = 0 and beta = 1 give the photo back, value by value.
bool check_identity(Program& program, const Photo& photo);

/// One colour stays that colour, whatever alpha and beta are: pictures of the photo's size.
bool check_constant(Program& program, const Photo& photo);

/// Plain loops in f64 beside the program, 23 x 17 pixels and 3 levels, 8 and 16 bits: values may differ
/// by 1, where f32 rounds to the other side of a half.
bool check_loops(const Target& target);

/// The filter with linear interpolation between samples beside that with a sample for every coefficient,
/// which plain loops compute. The error is of second order in the distance of the samples, to 0.3.
bool check_order(const Target& target);

}  // namespace mica::examples
