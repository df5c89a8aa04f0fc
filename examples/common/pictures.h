// Plots and PNG files as the examples call them.
#pragma once

#include "tools/pictures/plot.h"
#include "tools/pictures/png_image.h"

namespace mica::examples {
using namespace pictures;
}
