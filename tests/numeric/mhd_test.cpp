// Magnetohydrodynamics: the bits are the oracle's under every way to run it, and the values those of
// the equations, written here once more with exact derivatives.
#include "bench/mhd.h"

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "schedules/registry.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

using bench::Mhd;
using C = bench::MhdConstants;
using schedules::Parameters;

/// The inputs set to random values around the box of these extents.
template <typename T>
void bind(Mhd<T>& mhd, const std::vector<std::int64_t>& extents) {
  for (std::size_t i = 0; i < mhd.algorithm.inputs.size(); ++i) {
    AnyBuffer input = AnyBuffer::with_halo(type_of<T>(), extents, {3, 3, 3});
    fill_random(input, 200 + i);
    mhd.algorithm.inputs[i].set(input);
  }
}

/// The inputs' strides and the outputs' extents.
template <typename T>
CompileOptions baked(const Mhd<T>& mhd, const Box& box) {
  CompileOptions options;
  const AnyBuffer like =
      AnyBuffer::with_halo(type_of<T>(), {box[0].second, box[1].second, box[2].second}, {3, 3, 3});
  for (const ImageParam& input : mhd.algorithm.inputs) {
    for (const std::size_t d : {1, 2}) {
      options.bake[input.name() + ".stride." + std::to_string(d)] = like.dims()[d].stride;
    }
  }
  for (std::size_t d = 0; d < 3; ++d) {
    options.bake["next.0.extent." + std::to_string(d)] = box[d].second;
  }
  return options;
}

template <typename T>
void expect_oracles_bits(const std::vector<Parameters>& schedules) {
  Mhd<T> mhd;
  const Box box{{0, 11}, {0, 6}, {0, 9}};
  bind(mhd, {11, 6, 9});
  const std::vector<AnyBuffer> expected = expected_values({mhd.algorithm.output}, box);
  EXPECT_TRUE(run_matches(expected, {mhd.algorithm.output}, box, Target::host()));
  for (const Parameters& parameters : schedules) {
    schedules::apply(mhd.algorithm.output, "mhd/substep", parameters);
    std::string text;
    for (const auto& [name, value] : parameters) text += name + "=" + std::to_string(value) + " ";
    for (const Target& target : gpu_targets()) {
      EXPECT_TRUE(run_matches(expected, {mhd.algorithm.output}, box, target)) << text;
      EXPECT_TRUE(
          run_matches(expected, {mhd.algorithm.output}, box, target, Layout::Embedded, baked(mhd, box)))
          << "baked " << text;
    }
  }
}

const std::vector<Parameters> kSchedules = {
    {{"block_x", 4}, {"block_y", 2}, {"block_z", 2}},
    {{"block_x", 4}, {"block_y", 2}, {"chunk", 4}},
    {{"block_x", 4}, {"block_y", 3}, {"chunk", 4}, {"staged", 6}, {"load", 1}, {"ahead", 0}},
    {{"block_x", 4}, {"block_y", 3}, {"rows", 2}, {"vec", 2}, {"first", 11}, {"stream", 1}},
    {{"block_x", 8}, {"block_y", 2}, {"chunk", 5}, {"staged", 3}, {"windows", 1}},
};

TEST(Mhd, GivesTheOraclesBitsUnderEverySchedule) { expect_oracles_bits<float>(kSchedules); }
// What the type changes: vectors, registers and the bytes of what is staged.
TEST(Mhd, GivesTheOraclesBitsInDoublePrecision) {
  expect_oracles_bits<double>({kSchedules.at(3), kSchedules.at(4)});
}

TEST(Mhd, OfAUniformStateIsThatState) {
  Mhd<double> mhd;
  mhd.dt.set(1);
  std::vector<AnyBuffer> outputs;
  std::vector<AnyBuffer*> pointers;
  for (std::size_t i = 0; i < 16; ++i) {
    auto input = Buffer<double>::with_halo({5, 4, 3}, {3, 3, 3});
    input.fill(0.25 * static_cast<double>(i % 8) - 0.8);
    mhd.algorithm.inputs[i].set(input);
  }
  for (std::size_t i = 0; i < 8; ++i) outputs.push_back(Buffer<double>(5, 4, 3));
  for (AnyBuffer& output : outputs) pointers.push_back(&output);
  mhd.algorithm.output.realize(pointers, Target::host());
  for (std::size_t i = 0; i < 8; ++i) {
    const Buffer<double> output(outputs[i]);
    // What is left are roundings of second derivatives, some 1e-16/h^2.
    EXPECT_NEAR(output(2, 1, 2), 0.25 * static_cast<double>(i) - 0.8, 1e-9) << i;
  }
}

/// A sum of waves with its derivatives.
struct Waves {
  struct Wave {
    double height = 0;
    std::array<double, 3> number{};
    double phase = 0;
  };
  std::vector<Wave> waves;
  double mean = 0;

  using Point = std::array<double, 3>;
  [[nodiscard]] double sum(const Point& at,
                           const std::function<double(const Wave&, double)>& term) const {
    double total = 0;
    for (const Wave& w : waves) {
      total +=
          w.height * term(w, w.number[0] * at[0] + w.number[1] * at[1] + w.number[2] * at[2] + w.phase);
    }
    return total;
  }
  [[nodiscard]] double value(const Point& at) const {
    return mean + sum(at, [](const Wave&, double a) { return std::sin(a); });
  }
  [[nodiscard]] double first(const Point& at, std::size_t i) const {
    return sum(at, [&](const Wave& w, double a) { return w.number[i] * std::cos(a); });
  }
  [[nodiscard]] double second(const Point& at, std::size_t i, std::size_t k) const {
    return sum(at, [&](const Wave& w, double a) { return -w.number[i] * w.number[k] * std::sin(a); });
  }
  [[nodiscard]] double lap(const Point& at) const {
    return second(at, 0, 0) + second(at, 1, 1) + second(at, 2, 2);
  }
};

using Fields = std::array<Waves, 8>;  // L, ux, uy, uz, s, Ax, Ay, Az
using Vec = std::array<double, 3>;

double dot(const Vec& a, const Vec& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vec cross(const Vec& a, const Vec& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// The time derivatives at a point, term by term as bench/mhd.h has them.
std::array<double, 8> exact_rates(const Fields& f, const Waves::Point& at) {
  const Waves &l = f[0], &s = f[4];
  const Waves* const u = &f[1];
  const Waves* const a = &f[5];
  Vec v, grad_l, grad_s, b, lap_a, current, lap_u, grad_div_u;
  std::array<Vec, 3> du, strain;
  for (std::size_t i = 0; i < 3; ++i) {
    v[i] = u[i].value(at);
    grad_l[i] = l.first(at, i);
    grad_s[i] = s.first(at, i);
    for (std::size_t k = 0; k < 3; ++k) du[i][k] = u[i].first(at, k);
    const std::size_t j = (i + 1) % 3, m = (i + 2) % 3;
    b[i] = a[m].first(at, j) - a[j].first(at, m);
    lap_a[i] = a[i].lap(at);
    lap_u[i] = u[i].lap(at);
    double grad_div_a = 0;
    grad_div_u[i] = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      grad_div_a += a[k].second(at, i, k);
      grad_div_u[i] += u[k].second(at, i, k);
    }
    current[i] = (grad_div_a - lap_a[i]) / C::kMu0;
  }
  const double div_u = du[0][0] + du[1][1] + du[2][2];
  double square = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      strain[i][k] = (du[i][k] + du[k][i]) / 2 - (i == k ? div_u / 3 : 0);
      square += strain[i][k] * strain[i][k];
    }
  }
  const double q = C::kGamma * s.value(at) / C::kCp + (C::kGamma - 1) * (l.value(at) - C::kL0);
  const double sound = C::kCs * C::kCs * std::exp(q), rho = std::exp(l.value(at));
  const double temperature = std::exp(C::kLnT0 + q);
  const Vec force = cross(current, b), drift = cross(v, b);
  std::array<double, 8> rates{};
  rates[0] = -dot(v, grad_l) - div_u;
  for (std::size_t i = 0; i < 3; ++i) {
    rates[1 + i] = -dot(v, du[i]) - sound * (grad_s[i] / C::kCp + grad_l[i]) + force[i] / rho +
                   C::kNu * (lap_u[i] + grad_div_u[i] / 3 + 2 * dot(strain[i], grad_l)) +
                   C::kZeta * grad_div_u[i];
    rates[5 + i] = drift[i] + C::kEta * lap_a[i];
  }
  double conduction = C::kGamma * s.lap(at) / C::kCp + (C::kGamma - 1) * l.lap(at);
  for (std::size_t i = 0; i < 3; ++i) {
    conduction += (C::kGamma * grad_s[i] / C::kCp + (C::kGamma - 1) * grad_l[i]) *
                  (C::kGamma * (grad_s[i] / C::kCp + grad_l[i]) - grad_l[i]);
  }
  rates[4] = -dot(v, grad_s) +
             (C::kEta * C::kMu0 * dot(current, current) + 2 * rho * C::kNu * square +
              C::kZeta * rho * div_u * div_u) /
                 (rho * temperature) +
             C::kK / rho * conduction;
  return rates;
}

/// Two waves a field, of numbers around `number`.
Fields waves_of(double number) {
  Fields fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto n = static_cast<double>(i);
    fields[i].mean = 0.1 * n - 0.3;
    fields[i].waves = {{0.3 + 0.02 * n, {number, -0.7 * number, 0.9 * number}, 0.4 * n},
                       {0.2 - 0.01 * n, {-0.5 * number, number, 0.6 * number}, 1.1 - 0.3 * n}};
  }
  return fields;
}

/// The largest difference of each rate from the exact one at some points.
std::array<double, 8> errors_of(double number) {
  const Fields fields = waves_of(number);
  Mhd<double> mhd;
  mhd.dt.set(1);
  mhd.set({0, 1});
  const std::int64_t n = 6;
  const auto place = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return Waves::Point{C::kStep * static_cast<double>(x), C::kStep * static_cast<double>(y),
                        C::kStep * static_cast<double>(z)};
  };
  std::vector<AnyBuffer> outputs;
  std::vector<AnyBuffer*> pointers;
  for (std::size_t i = 0; i < 16; ++i) {
    auto input = Buffer<double>::with_halo({n, n, n}, {3, 3, 3});
    input.fill(0);
    for (std::int64_t z = -3; z < n + 3; ++z) {
      for (std::int64_t y = -3; y < n + 3; ++y) {
        for (std::int64_t x = -3; x < n + 3; ++x) input(x, y, z) = fields[i % 8].value(place(x, y, z));
      }
    }
    mhd.algorithm.inputs[i].set(input);
  }
  for (std::size_t i = 0; i < 8; ++i) outputs.push_back(Buffer<double>(n, n, n));
  for (AnyBuffer& output : outputs) pointers.push_back(&output);
  mhd.algorithm.output.realize(pointers, Target::host());
  std::array<double, 8> errors{};
  for (std::int64_t i = 0; i < n; ++i) {
    const Waves::Point at = place(i, n - 1 - i, (2 * i) % n);
    const std::array<double, 8> exact = exact_rates(fields, at);
    for (std::size_t k = 0; k < 8; ++k) {
      const double rate = Buffer<double>(outputs[k])(i, n - 1 - i, (2 * i) % n) - fields[k].value(at);
      errors[k] = std::max(errors[k], std::abs(rate - exact[k]) / std::max(1.0, std::abs(exact[k])));
    }
  }
  return errors;
}

TEST(Mhd, HasTheRatesOfTheEquationsToTheSixthOrder) {
  const std::array<double, 8> coarse = errors_of(24), fine = errors_of(12);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_LT(coarse[i], 2e-3) << i;
    EXPECT_GT(coarse[i], 1e-8) << i;          // enough for its order to be seen
    EXPECT_LT(fine[i], coarse[i] / 24) << i;  // 64, less what rates grow by themselves
  }
}

TEST(Mhd, TakesTheSubstepsOfTheScheme) {
  // f' = 1 of a field without neighbours: three substeps add up to dt.
  double f = 0, before = 0, dt = 0.5;
  for (int i = 0; i < 3; ++i) {
    const bench::MhdSubstep substep = bench::mhd_substep(i);
    const double next = f + substep.share * (substep.change * (f - before) + dt * 1);
    before = f, f = next;
  }
  EXPECT_NEAR(f, dt, 1e-15);
}

}  // namespace
}  // namespace mica::test
