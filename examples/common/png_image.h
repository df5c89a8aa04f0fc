// PNG files as buffers.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/buffer/buffer.h"

namespace mica::examples {

/// Reads a PNG as 8-bit samples: dimensions (x, y, channel) with 1 (gray) or 3 (RGB) channels; alpha
/// is dropped, 16-bit samples keep their high byte, palettes are resolved.
/// UserError naming the path when it cannot be opened or is no PNG.
Buffer<std::uint8_t> read_png(const std::string& path);

/// Writes (x, y, channel) samples, 1 or 3 channels. UserError naming the path on failure.
void write_png(const std::string& path, const Buffer<std::uint8_t>& image);

}  // namespace mica::examples
