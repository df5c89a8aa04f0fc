#include "examples/local_laplacian/landscape.h"

#include <algorithm>
#include <cmath>

namespace mica::examples {

Photo landscape(std::int64_t width, std::int64_t height) {
  Photo photo{Buffer<std::uint16_t>(width, height, 3), 255};
  photo.values.for_each([&](std::uint16_t& value, const Coordinates& at) {
    const double size = 768.0 / static_cast<double>(width);  // of a pixel
    const double u = static_cast<double>(at[0]) * size, v = static_cast<double>(at[1]) * size;
    const double high = v / (static_cast<double>(height) * size);  // 0 above, 1 below
    const double ridge = 0.55 + 0.12 * std::sin(u / 90) + 0.05 * std::sin(u / 31 + 1);
    const double clouds = std::sin(u / 60 + std::sin(v / 20)) * std::sin(v / 17 + std::sin(u / 45));
    const double fields =
        std::sin(u / 7 + v / 4) * std::sin(v / 9 - u / 23) + 0.5 * std::sin(u * v / 500);
    const double sky[] = {0.60 + 0.35 * high, 0.70 + 0.2 * high, 0.90};
    const double hills[] = {0.14, 0.17, 0.10};
    const double light = high < ridge ? sky[at[2]] + 0.05 * clouds : hills[at[2]] * (1 + 0.3 * fields);
    value = static_cast<std::uint16_t>(std::lround(255 * std::clamp(light, 0.0, 1.0)));
  });
  return photo;
}

}  // namespace mica::examples
