// More than 2^31 points on a GPU, checked on random subsets.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/gpu_facts.h"
#include "schedules/mica.h"
#include "tests/support/check_targets.h"

namespace mica {
namespace {

std::uint8_t sample(std::int64_t x, std::int64_t y) {
  return static_cast<std::uint8_t>((x * 31 + y * 17) ^ (x >> 7) ^ (y >> 5));
}

// Fills and sums in place on the device, so that only the checked rows come back to the host.
TEST(LargeGrid, TwoDimensionsOfMoreThanTwoToThe31PointsAreRight) {
  if (const std::string why = test::why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const Target target = Target::cuda();
  constexpr std::int64_t kSide = 65536;
  if (gpu_facts(target).total_memory < 3 * kSide * kSide)
    GTEST_SKIP() << "needs 12 GiB of device memory";

  Var x("x"), y("y");
  Func fill("fill");
  Expr v = (x * 31 + y * 17) ^ (x >> 7) ^ (y >> 5);
  fill(x, y) = cast<std::uint8_t>(v);
  fill.gpu_tile(x, y, 64, 8);
  Buffer<std::uint8_t> in(kSide, kSide), out(kSide - 2, kSide - 2);
  fill.realize(in, target);

  ImageParam u(UInt(8), 2, "u");
  Func next("next");
  next(x, y) = u(x, y + 1) + u(x + 2, y + 1) + u(x + 1, y) + u(x + 1, y + 2);
  next.gpu_tile(x, y, 64, 8);
  u.set(in);
  next.realize(out, target);

  // Some rows, through a small kernel that gathers them.
  ImageParam all(UInt(8), 2, "all");
  Param<std::int32_t> row("row");
  Func pick("pick");
  pick(x) = all(x, clamp(row, 0, all.dim(1).max()));
  all.set(out);
  Executable gather = compile(pick, target);
  for (std::int32_t r : {0, 1, 7, 32766, 32767, 32768, 40000, 65000, 65532, 65533}) {
    row.set(r);
    Buffer<std::uint8_t> line(kSide - 2);
    gather.run(line);
    const std::uint8_t* values = static_cast<const Buffer<std::uint8_t>&>(line).data();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < kSide - 2; ++i) {
      const auto expected = static_cast<std::uint8_t>(sample(i, r + 1) + sample(i + 2, r + 1) +
                                                      sample(i + 1, r) + sample(i + 1, r + 2));
      wrong += values[i] != expected;
    }
    EXPECT_EQ(wrong, 0) << "row " << r;
  }
}

float sample(std::int64_t x, std::int64_t y, std::int64_t z) {
  return static_cast<float>((x * 31 + y * 17 + z * 13) & 1023);
}

// A march with a window and planes in shared memory: 1300 planes of more than 2^20 points.
TEST(LargeGrid, ThreeDimensionsOfMoreThanTwoToThe31PointsAreRight) {
  if (const std::string why = test::why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const Target target = Target::cuda();
  constexpr std::int64_t kSide = 1300;
  constexpr std::int64_t kBytes = kSide * kSide * kSide * 4;
  if (gpu_facts(target).total_memory < 5 * kBytes / 2) GTEST_SKIP() << "needs 22 GB of device memory";

  Var x("x"), y("y"), z("z");
  Func fill("fill");
  fill(x, y, z) = cast<float>((x * 31 + y * 17 + z * 13) & 1023);
  fill.gpu_tile(x, y, 32, 8).gpu_blocks(z);
  Buffer<float> in(kSide, kSide, kSide);
  Buffer<float> out(std::vector<BufferDim>{
      {1, kSide - 2, 1}, {1, kSide - 2, kSide - 2}, {1, kSide - 2, (kSide - 2) * (kSide - 2)}});
  fill.realize(in, target);

  ImageParam u(Float(32), 3, "u");
  Func next("next");
  const auto at = [&](int dx, int dy, int dz) { return u(x + dx, y + dy, z + dz); };
  next(x, y, z) = 2.0F * at(0, 0, 0) - (at(-1, 0, 0) + at(1, 0, 0)) * 3.0F + at(0, -1, 0) - at(0, 1, 0) +
                  (at(0, 0, -1) - at(0, 0, 1)) * 5.0F;
  next.gpu_tile(x, y, 32, 8).march(z, 64).register_window(u, z).stage(u, MemoryType::Shared);
  u.set(in);
  next.realize(out, target);

  ImageParam all(Float(32), 3, "all");
  Param<std::int32_t> row("row"), plane("plane");
  Func pick("pick");
  pick(x) = all(x + 1, clamp(row, 1, all.dim(1).max()), clamp(plane, 1, all.dim(2).max()));
  all.set(out);
  Executable gather = compile(pick, target);
  std::mt19937 random(11);
  for (int i = 0; i < 400; ++i) {
    // The corners, then anywhere.
    const auto r = static_cast<std::int32_t>(1 + (i < 4 ? i % 2 * (kSide - 3) : random() % (kSide - 2)));
    const auto p = static_cast<std::int32_t>(1 + (i < 4 ? i / 2 * (kSide - 3) : random() % (kSide - 2)));
    row.set(r);
    plane.set(p);
    Buffer<float> line(kSide - 2);
    gather.run(line);
    const float* values = static_cast<const Buffer<float>&>(line).data();
    std::int64_t wrong = 0;
    for (std::int64_t k = 0; k < kSide - 2; ++k) {
      const auto s = [&](int dx, int dy, int dz) { return sample(k + 1 + dx, r + dy, p + dz); };
      // Integers far below 2^24: exact in any order.
      const float expected = 2 * s(0, 0, 0) - 3 * (s(-1, 0, 0) + s(1, 0, 0)) + s(0, -1, 0) - s(0, 1, 0) +
                             5 * (s(0, 0, -1) - s(0, 0, 1));
      wrong += values[k] != expected;
    }
    EXPECT_EQ(wrong, 0) << "row " << r << " of plane " << p;
  }
}

}  // namespace
}  // namespace mica
