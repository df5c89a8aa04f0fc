// A photograph for those who have none at hand.
#pragma once

#include "examples/common/pictures.h"

namespace mica::examples {

/// Dark hills with faint structure below a bright sky with faint clouds, 8 bits.
Photo landscape(std::int64_t width, std::int64_t height);

}  // namespace mica::examples
