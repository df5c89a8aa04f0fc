#include "examples/wave2d/acoustic.h"

#include "examples/common/seismic.h"

namespace mica::examples {
namespace {

constexpr int kOrder = 8;
constexpr int kRadius = kOrder / 2;

Func step_of(const ImageParam& before, const ImageParam& now, const ImageParam& courant,
             const ImageParam& layer, const Expr& shot, const Target& target) {
  Var z("z"), x("x");
  const std::vector<double> w = central_difference_weights(2, kOrder);
  auto weight = [&](int k) { return static_cast<float>(w[static_cast<std::size_t>(k + kRadius)]); };
  Expr laplacian = 2.0F * weight(0) * now(z, x);
  for (int k = 1; k <= kRadius; ++k) {
    laplacian += weight(k) * (now(z - k, x) + now(z + k, x) + now(z, x - k) + now(z, x + k));
  }
  const Expr s = layer(z, x);
  Func next("next");
  next(z, x) =
      (2.0F * now(z, x) - (1.0F - s) * before(z, x) + courant(z, x) * laplacian + shot) / (1.0F + s);
  if (target.is_gpu()) {
    next.gpu_tile(z, x, 32, 8).vectorize(z, 4);
  } else {
    next.vectorize(z, 16).parallel(x, 16);
  }
  return next;
}

}  // namespace

Acoustic::Acoustic(const VelocityModel& model, const Source& source, const Target& target,
                   std::int64_t margin)
    : target_(target),
      margin_(margin),
      depth_(model.depth() + 2 * margin),
      distance_(model.distance() + 2 * margin),
      points_(depth_ * distance_),
      dt_(stable_time_step(model.spacing, model.fastest(), kOrder, 2)),
      now_(Float(32), 2, "now"),
      before_(Float(32), 2, "before"),
      courant_(Float(32), 2, "courant"),
      layer_(Float(32), 2, "layer"),
      next_(step_of(before_, now_, courant_, layer_, shot(source), target)),
      wave_({{before_, now_}, {now_, next_}}) {
  if (source.depth < 0 || source.depth >= model.depth() || source.distance < 0 ||
      source.distance >= model.distance()) {
    throw UserError("the source at depth " + std::to_string(source.depth) + ", distance " +
                    std::to_string(source.distance) + " is outside the model of " +
                    std::to_string(model.depth()) + " x " + std::to_string(model.distance()) +
                    " points; move it inside");
  }
  for (auto* field : {&pressure_, &pressure_before_}) {
    *field = Buffer<float>::with_halo({depth_, distance_}, {kRadius, kRadius});
    field->fill(0.0F);
  }
  auto padded = [&](const Buffer<float>& from) {
    auto to = Buffer<float>::with_halo({depth_, distance_}, {0, 0});
    to.for_each([&](float& v, const Coordinates& at) { v = from(at[0], at[1]); });
    return to;
  };
  courant_.set(padded(courant_squared(model, margin, dt_)));
  layer_.set(padded(absorbing_layer(model, margin, dt_)));
}

// f(t) at the source: Ricker's wavelet at the number of the step, nothing once it is over.
Expr Acoustic::shot(const Source& source) const {
  const Buffer<float> wavelet = ricker(source.frequency, dt_);
  const Var z("z"), x("x");
  const Expr here = z == static_cast<std::int32_t>(source.depth + margin_) &&
                    x == static_cast<std::int32_t>(source.distance + margin_);
  return select(here, wavelet(min(step(), static_cast<std::int32_t>(wavelet.extent(0)) - 1)), 0.0F);
}

void Acoustic::run(std::int64_t steps) {
  wave_.run({{before_, pressure_before_}, {now_, pressure_}}, steps,
            {.target = target_, .first_step = done_});
  done_ += steps;
}

void Acoustic::finish() const { device_for(target_)->synchronize(Stream{}); }

Buffer<float> Acoustic::wavefield() const {
  return pressure_.cropped({{margin_, depth_ - 2 * margin_}, {margin_, distance_ - 2 * margin_}}).copy();
}

}  // namespace mica::examples
