#include "examples/wave2d/acoustic.h"

#include <cmath>
#include <numbers>

namespace mica::examples {
namespace {

constexpr int kOrder = 8;
constexpr int kRadius = kOrder / 2;

}  // namespace

double stable_time_step(const VelocityModel& model) {
  double sum = 0;
  for (double w : central_difference_weights(2, kOrder)) sum += std::abs(w);
  return 0.9 * 2.0 * model.spacing / (model.fastest() * std::sqrt(2.0 * sum));
}

double resolved_frequency(const VelocityModel& model) {
  return model.slowest() / (5.0 * model.spacing * 2.5);
}

Acoustic::Acoustic(const VelocityModel& model, const Source& source, const Target& target,
                   std::int64_t margin)
    : source_(source),
      margin_(margin),
      depth_(model.depth() + 2 * margin),
      distance_(model.distance() + 2 * margin),
      points_(depth_ * distance_),
      dt_(stable_time_step(model)),
      now_(Float(32), 2, "now"),
      before_(Float(32), 2, "before"),
      courant_(Float(32), 2, "courant"),
      layer_(Float(32), 2, "layer"),
      amplitude_("amplitude"),
      source_z_("source_z"),
      source_x_("source_x"),
      next_("next") {
  if (source.depth < 0 || source.depth >= model.depth() || source.distance < 0 ||
      source.distance >= model.distance()) {
    throw UserError("the source at depth " + std::to_string(source.depth) + ", distance " +
                    std::to_string(source.distance) + " is outside the model of " +
                    std::to_string(model.depth()) + " x " + std::to_string(model.distance()) +
                    " points; move it inside");
  }
  Var z("z"), x("x");
  const std::vector<double> w = central_difference_weights(2, kOrder);
  auto weight = [&](int k) { return static_cast<float>(w[static_cast<std::size_t>(k + kRadius)]); };
  Expr laplacian = 2.0F * weight(0) * now_(z, x);
  for (int k = 1; k <= kRadius; ++k) {
    laplacian += weight(k) * (now_(z - k, x) + now_(z + k, x) + now_(z, x - k) + now_(z, x + k));
  }
  Expr s = layer_(z, x);
  Expr shot = select(z == source_z_ && x == source_x_, amplitude_, 0.0F);
  next_(z, x) =
      (2.0F * now_(z, x) - (1.0F - s) * before_(z, x) + courant_(z, x) * laplacian + shot) / (1.0F + s);

  if (target.is_gpu()) {
    next_.gpu_tile(z, x, 32, 8).vectorize(z, 4);
  } else {
    next_.vectorize(z, 16).parallel(x, 16);
  }
  step_ = compile(next_, target);

  source_z_.set(static_cast<std::int32_t>(source.depth + margin));
  source_x_.set(static_cast<std::int32_t>(source.distance + margin));
  for (auto& field : fields_) {
    field = Buffer<float>::with_halo({depth_, distance_}, {kRadius, kRadius});
    field.fill(0.0F);
  }
  auto padded = [&](const Buffer<float>& from) {
    auto to = Buffer<float>::with_halo({depth_, distance_}, {0, 0});
    to.for_each([&](float& v, const Coordinates& at) { v = from(at[0], at[1]); });
    return to;
  };
  courant_.set(padded(courant_squared(model, margin, dt_)));
  layer_.set(padded(absorbing_layer(model, margin, dt_)));
}

// N. Ricker's wavelet (1 - 2a) exp(-a), a = (pi f (t - t0))^2, with its start at 1e-3 of the peak.
float Acoustic::ricker(std::int64_t step) const {
  const double t = static_cast<double>(step) * dt_ - 1.2 / source_.frequency;
  const double a = std::pow(std::numbers::pi * source_.frequency * t, 2);
  if (!(a < 700)) return 0;  // and where a is beyond the largest number
  return static_cast<float>((1.0 - 2.0 * a) * std::exp(-a));
}

void Acoustic::run(std::int64_t steps, const std::function<void(std::int64_t)>& report) {
  for (std::int64_t i = 0; i < steps; ++i, ++done_) {
    const Buffer<float>& before = fields_[done_ % 3];
    const Buffer<float>& now = fields_[(done_ + 1) % 3];
    Buffer<float> next = fields_[(done_ + 2) % 3].cropped({{0, depth_}, {0, distance_}});
    amplitude_.set(ricker(done_));
    before_.set(before);
    now_.set(now);
    step_.run(next);
    if (report && (i % 32 == 31 || i + 1 == steps)) report(i + 1);
  }
}

void Acoustic::finish() { step_.synchronize(); }

Buffer<float> Acoustic::wavefield() const {
  const Buffer<float>& now = fields_[(done_ + 1) % 3];
  return now.cropped({{margin_, depth_ - 2 * margin_}, {margin_, distance_ - 2 * margin_}}).copy();
}

}  // namespace mica::examples
