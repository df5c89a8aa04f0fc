#include "examples/wave2d/picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "examples/common/png_image.h"

namespace mica::examples {

void draw_wavefield(const std::string& path, const VelocityModel& model, const Buffer<float>& pressure) {
  std::vector<float> magnitudes;
  pressure.for_each([&](const float& p, const Coordinates&) {
    if (!std::isfinite(p)) throw UserError("the pressure has grown beyond the largest number");
    magnitudes.push_back(std::abs(p));
  });
  auto rank =
      magnitudes.begin() + static_cast<std::ptrdiff_t>(0.998 * static_cast<double>(magnitudes.size()));
  std::nth_element(magnitudes.begin(), rank, magnitudes.end());
  const double scale = *rank > 0 ? 1.0 / *rank : 0.0;

  const double slowest = model.slowest(), span = std::max(model.fastest() - slowest, 1.0);
  Buffer<std::uint8_t> image(model.distance(), model.depth(), 3);
  std::uint8_t* pixel = image.data();
  const std::int64_t plane = model.distance() * model.depth();
  const float* v = model.velocity.data();
  pressure.for_each([&](const float& p, const Coordinates& at) {
    const std::int64_t z = at[0] - pressure.min(0), x = at[1] - pressure.min(1);
    const double ground = 235.0 - 170.0 * (v[z + x * model.depth()] - slowest) / span;
    const double s = std::clamp(p * scale, -1.0, 1.0);
    const double opacity = std::pow(std::abs(s), 0.6);
    const double colour[3] = {s > 0 ? 215.0 : 25.0, s > 0 ? 35.0 : 80.0, s > 0 ? 30.0 : 215.0};
    for (int c = 0; c < 3; ++c) {
      pixel[c * plane + z * model.distance() + x] =
          static_cast<std::uint8_t>(ground + opacity * (colour[c] - ground) + 0.5);
    }
  });
  write_png(path, image);
}

}  // namespace mica::examples
