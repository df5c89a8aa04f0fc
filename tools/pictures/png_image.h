// PNG files as buffers of (x, y, channel), 1 channel (gray) or 3 (red, green, blue).
#pragma once

#include <cstdint>
#include <string>

#include "runtime/buffer/buffer.h"

namespace mica::pictures {

/// A picture of 8 or 16 bits a value.
struct Photo {
  Buffer<std::uint16_t> values;
  int white = 255;  ///< the brightest value: 255 of 8 bits, 65535 of 16

  [[nodiscard]] std::int64_t width() const { return values.extent(0); }
  [[nodiscard]] std::int64_t height() const { return values.extent(1); }
  [[nodiscard]] int channels() const { return static_cast<int>(values.extent(2)); }
  /// "192 x 320 pixels, 3 channels of 8 bits".
  [[nodiscard]] std::string describe() const;
};

/// Any PNG; palettes are resolved, opacity is dropped, 1 to 4 bits become 8. UserError naming the file
/// and its bytes if it cannot be opened, is no PNG, ends early, or has more than 2^28 pixels.
Photo read_photo(const std::string& path);
/// With the photo's bits. UserError naming the path on failure.
void write_photo(const std::string& path, const Photo& photo);

/// The same as 8-bit values; 16-bit ones keep their high byte.
Buffer<std::uint8_t> read_png(const std::string& path);
void write_png(const std::string& path, const Buffer<std::uint8_t>& image);

}  // namespace mica::pictures
