// More than 2^31 points on a GPU, checked on random subsets.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/gpu_facts.h"
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

}  // namespace
}  // namespace mica
