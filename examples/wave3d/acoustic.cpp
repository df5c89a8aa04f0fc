#include "examples/wave3d/acoustic.h"

#include <algorithm>
#include <cmath>

#include "examples/common/seismic.h"
#include "examples/wave3d/kaiser_sinc.h"

namespace mica::examples {
namespace {

constexpr int kOrder = 8, kRadius = kOrder / 2;

/// sigma dt/2 along one direction, margins included.
Buffer<float> layer_along(std::int64_t points, const Sponge& sponge, double dt) {
  Buffer<float> layer(points);
  for (std::int64_t i = 0; i < points; ++i) {
    layer(i) = static_cast<float>(sponge.damping(i, points) * dt / 2);
  }
  return layer;
}

Func step_of(const ImageParam& before, const ImageParam& now, const ImageParam& courant,
             const std::vector<Buffer<float>>& layers, const Target& target) {
  Var z("z"), x("x"), y("y");
  const Expr laplacian = laplacian25(
      Float(32), [&](Expr i, Expr j, Expr k) { return now(i, j, k); }, z, x, y);
  const Expr s = max(layers[0](z), max(layers[1](x), layers[2](y)));
  Func next("next");
  next(z, x, y) =
      (2.0F * now(z, x, y) - (1.0F - s) * before(z, x, y) + courant(z, x, y) * laplacian) / (1.0F + s);
  if (target.is_gpu()) {
    // Blocks of 128 x 8 points walk along y: the plane at y in shared memory, copied two steps ahead,
    // the other planes of a thread's own points in registers.
    next.gpu_tile(z, x, 32, 8).vectorize(z, 4).march(y, 64).register_window(now, y);
    next.stage(now, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(now, 2);
  } else {
    next.vectorize(z, 16).parallel(y, 4);
  }
  return next;
}

void check_inside(const std::string& what, const Position& at, const VelocityVolume& model) {
  const char* const names[] = {"depth", "x", "y"};
  for (std::size_t d = 0; d < 3; ++d) {
    const double last =
        static_cast<double>(model.velocity.extent(static_cast<int>(d)) - 1) * model.spacing;
    if (at[d] >= 0 && at[d] <= last) continue;
    throw UserError(what + " at " + names[d] + " " + std::to_string(at[d]) +
                    " m is outside of the model, which reaches from 0 to " + std::to_string(last) +
                    " m");
  }
}

}  // namespace

Expr laplacian25(const Type& type, const std::function<Expr(Expr, Expr, Expr)>& p, const Var& z,
                 const Var& x, const Var& y) {
  const std::vector<double> w = central_difference_weights(2, kOrder);
  const auto weight = [&](int k) {
    const double value = w[static_cast<std::size_t>(k + kRadius)];
    return type == Float(32) ? Expr(static_cast<float>(value)) : Expr(value);
  };
  Expr sum = (weight(0) + weight(0) + weight(0)) * p(z, x, y);
  for (int k = 1; k <= kRadius; ++k) {
    sum += weight(k) * (p(z - k, x, y) + p(z + k, x, y) + p(z, x - k, y) + p(z, x + k, y) +
                        p(z, x, y - k) + p(z, x, y + k));
  }
  return sum;
}

Acoustic3d::Acoustic3d(const VelocityVolume& model, const Shot& shot, std::int64_t steps,
                       std::int64_t margin, const Target& target, double share)
    : target_(target),
      margin_(margin),
      steps_(steps),
      extents_{model.velocity.extent(0) + 2 * margin, model.velocity.extent(1) + 2 * margin,
               model.velocity.extent(2) + 2 * margin},
      points_(extents_[0] * extents_[1] * extents_[2]),
      dt_(stable_time_step(model.spacing, model.fastest(), kOrder, 3) * share / 0.9),
      before_(Float(32), 3, "before"),
      now_(Float(32), 3, "now"),
      courant_(Float(32), 3, "courant"),
      next_([&] {
        const Sponge sponge{margin, model.spacing, model.fastest()};
        std::vector<Buffer<float>> layers;
        for (const std::int64_t n : extents_) layers.push_back(layer_along(n, sponge, dt_));
        return step_of(before_, now_, courant_, layers, target);
      }()),
      wave_({{before_, now_}, {now_, next_}}),
      gather_(static_cast<std::int64_t>(shot.receivers.size()), steps) {
  for (Buffer<float>* field : {&pressure_before_, &pressure_}) {
    *field = Buffer<float>::with_halo(extents_, {kRadius, kRadius, kRadius});
    field->fill(0);
  }
  const double h = model.spacing;
  const Buffer<float>& v = model.velocity;
  const float* speeds = v.data();
  courant_squared_ = Buffer<float>::with_halo(extents_, {0, 0, 0});
  courant_squared_.for_each([&](float& value, const Coordinates& at) {
    std::int64_t inside[3];  // the model's edges are continued
    for (int d = 0; d < 3; ++d) inside[d] = std::clamp<std::int64_t>(at[d] - margin, 0, v.extent(d) - 1);
    const float speed = speeds[inside[0] + v.extent(0) * (inside[1] + v.extent(1) * inside[2])];
    value = static_cast<float>(std::pow(speed * dt_ / h, 2));
  });
  courant_.set(courant_squared_);

  const auto place_of = [&](const Position& at) {
    std::array<double, 3> points{};
    for (std::size_t d = 0; d < 3; ++d) points[d] = at[d] / h + static_cast<double>(margin);
    return kaiser_sinc(points);
  };
  check_inside("the source", shot.source, model);
  Place source = place_of(shot.source);
  const Buffer<float>& courant = courant_squared_;
  for (GridPoint& point : source) point.weight *= courant(point.at[0], point.at[1], point.at[2]) / h;
  const Buffer<float> wavelet = ricker(shot.frequency, dt_);
  Buffer<float> series(1, wavelet.extent(0));
  std::copy_n(wavelet.data(), wavelet.extent(0), series.data());
  wave_.add_at(now_, {source}, series);

  std::vector<Place> places;
  for (std::size_t i = 0; i < shot.receivers.size(); ++i) {
    check_inside("receiver " + std::to_string(i), shot.receivers[i], model);
    places.push_back(place_of(shot.receivers[i]));
  }
  wave_.record(now_, places, gather_);
}

void Acoustic3d::run() {
  wave_.run({{before_, pressure_before_}, {now_, pressure_}}, steps_, {.target = target_});
  device_for(target_)->synchronize(Stream{});
}

Buffer<float> Acoustic3d::section(std::int64_t y) const {
  const std::int64_t m = margin_;
  return pressure_.sliced(2, y + m).cropped({{m, extents_[0] - 2 * m}, {m, extents_[1] - 2 * m}}).copy();
}

}  // namespace mica::examples
