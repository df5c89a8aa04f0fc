#include "examples/common/side_by_side.h"

namespace mica::examples {

Buffer<std::uint8_t> side_by_side(const Photo& before, const Photo& after) {
  constexpr std::int64_t kGap = 8;
  const std::int64_t width = before.width();
  Buffer<std::uint8_t> both(2 * width + kGap, before.height(), before.channels());
  const Buffer<std::uint16_t>&left = before.values, &right = after.values;
  both.for_each([&](std::uint8_t& value, const Coordinates& at) {
    const std::int64_t x = at[0] < width ? at[0] : at[0] - width - kGap;
    const int v = x < 0 ? before.white : (at[0] < width ? left : right)(x, at[1], at[2]);
    value = static_cast<std::uint8_t>((v * 255 + before.white / 2) / before.white);
  });
  return both;
}

}  // namespace mica::examples
