// Quotients by constants have the host's bits, of numbers of all sizes.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mica/mica.h>

#include "fuzz/compare_memory.h"
#include "tests/support/check_targets.h"
#include "tests/support/float_bits.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// Zeros, infinities, NaNs, small and large numbers and any bits.
template <typename Float>
void fill(Buffer<Float>& buffer) {
  using Limits = std::numeric_limits<Float>;
  std::mt19937_64 random(1);
  buffer.for_each([&](Float& value, const auto&) {
    const std::uint64_t bits = random();
    const int size = static_cast<int>(random() % (Limits::max_exponent + 60));
    const Float plain = 1 + static_cast<Float>(bits >> 11) * static_cast<Float>(0x1p-53);
    switch (random() % 8) {
      case 0: value = bits % 2 == 0 ? Float{0} : -Float{0}; break;
      case 1: value = std::ldexp(plain, -size); break;
      case 2: value = -std::ldexp(plain, size); break;
      case 3: value = bits % 64 == 0 ? Limits::infinity() : Limits::denorm_min() * (bits % 100); break;
      case 4: value = std::bit_cast<Float>(static_cast<BitsOf<Float>>(bits)); break;
      default: value = plain; break;
    }
  });
}

template <typename Float>
void compare_with_the_host(const std::string& type) {
  const std::int64_t kX = 260, kY = 37, kZ = 12;
  Buffer<Float> data(kX, kY, kZ);
  fill(data);
  ImageParam u(data.type(), 3, "u");
  u.set(data);
  const auto by = [&](double divisor) { return cast(data.type(), divisor); };
  struct Case {
    std::string name;
    Func on_host, on_gpu;
  };
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const auto& define, const auto& schedule) {
    Func plain(name), scheduled(name);
    define(plain);
    define(scheduled);
    schedule(scheduled);
    cases.push_back({name, plain, scheduled});
  };
  const auto thirds = [&](Func& f) { f(x, y, z) = u(x, y, z) / by(3) - u(x, y, z) / by(-0.1); };
  const auto both = [&](Func& f) {
    f(x, y, z) = select(u(x, y, z) / by(7) < by(0.5), u(x, y, z) / by(-12), u(x, y, z) / by(1e-6));
  };
  const auto window = [&](Func& f) {
    f(x, y, z) = (u(x, y, max(z - 1, 0)) / by(6) + u(x, y, z)) / by(1.1) + u(x, y, min(z + 1, 11));
  };
  const auto carried = [&](Func& f) { f(x, y, z) = (f(x, y, z - 1) + u(x, y, z)) / by(5); };
  add("points", thirds, [](Func& f) { f.gpu_tile(x, y, z, 32, 4, 1); });
  add("vectors", thirds, [](Func& f) { f.gpu_tile(x, y, z, 16, 4, 1).vectorize(x, 4).unroll(y, 2); });
  add("choices", both, [](Func& f) { f.gpu_tile(x, y, z, 32, 4, 1).unroll(y, 4); });
  add("march", window, [&](Func& f) { f.gpu_tile(x, y, 32, 4).march(z).register_window(u, z); });
  add("carried", carried, [](Func& f) { f.gpu_tile(x, y, 32, 4); });
  for (Case& c : cases) {
    Buffer<Float> want(kX, kY, kZ), got(kX, kY, kZ);
    compile(c.on_host, Target::host()).run(want);
    compile(c.on_gpu, Target::cuda()).run(got);
    EXPECT_EQ(differing_bits(want, got), "") << type << ", " << c.name;
  }
}

TEST(ConstantDivisionOnGpu, HasTheHostsBits) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  compare_with_the_host<float>("f32");
  compare_with_the_host<double>("f64");
}

}  // namespace
}  // namespace mica::test
