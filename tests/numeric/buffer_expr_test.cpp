// Buffers read as inputs, whole and in part, on every target.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

template <typename T>
Buffer<T> random_buffer(const std::vector<BufferDim>& dims, std::uint64_t seed,
                        Contents contents = Contents::Ordinary) {
  Buffer<T> buffer(dims);
  fill_random(buffer, seed, contents);
  return buffer;
}

TEST(BufferInAlgorithm, ATableIsLookedUpAtWhatAnotherBufferHolds) {
  const Var x("x"), y("y");
  const auto table = random_buffer<float>({{0, 10, 1}}, 1);
  const auto index = random_buffer<std::uint8_t>({{-2, 40, 1}, {0, 9, 40}}, 2, Contents::Small);
  Func f("f");
  f(x, y) = table(clamp(cast<int>(index(x, y)), 0, 9)) * 2.0F + table(9 - clamp(y, 0, 9)) * index(x, 0);
  EXPECT_TRUE(check_all_targets(f, {{-2, 40}, {0, 9}}));
}

TEST(BufferInAlgorithm, ViewsOfOneBufferAreInputsOfTheirOwn) {
  const Var x("x"), y("y");
  const auto u = random_buffer<float>({{-1, 35, 1}, {-1, 19, 40}, {0, 3, 800}}, 3);
  Func f("f");
  f(x, y) = u.sliced(2, 0)(x - 1, y) + u.sliced(2, 1)(x + 1, y) * u.sliced(2, 2)(x, y + 1) -
            u.sliced(2, 1).transposed(0, 1)(y - 1, x) + u.cropped({{0, 33}, {0, 17}, {1, 1}})(x, y, 1);
  EXPECT_TRUE(check_all_targets(f, {{0, 33}, {0, 17}}));
}

// Of the user's memory, from its last element on, read and written.
TEST(BufferInAlgorithm, ElementsThatRunBackward) {
  const Var x("x"), y("y");
  std::vector<int> memory(80), written(80);
  for (int i = 0; i < 80; ++i) memory[static_cast<std::size_t>(i)] = i;
  const Buffer<int> u(memory.data() + 79, std::vector<BufferDim>{{0, 10, -2}, {0, 4, -20}});
  EXPECT_EQ(u(9, 3), 1);
  Func f("f");
  f(x, y) = 3 * u(x, y) + x;
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Buffer<int> out(written.data() + 79, std::vector<BufferDim>{{0, 10, -2}, {0, 4, -20}});
    f.realize(out, target);
    out.for_each([](const int& value, const Coordinates& at) {
      EXPECT_EQ(value, 3 * (79 - 2 * at[0] - 20 * at[1]) + at[0]) << at[0] << ", " << at[1];
    });
    EXPECT_EQ(written[0], 0) << "between the elements";
    std::fill(written.begin(), written.end(), 0);
  }
}

TEST(BufferInAlgorithm, StagedTablesAndCoefficientsBesideAnInput) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  const auto memory = bind_random(u, {{-2, 44}, {-2, 14}, {0, 7}}, 4);
  const auto weights = random_buffer<float>({{-2, 5, 1}}, 5);
  const auto damping = random_buffer<float>({{0, 40, 1}, {0, 10, 40}, {0, 7, 400}}, 6);
  const ImageParam damped = damping.input("damping");
  Expr sum = 0.0F;
  for (int d = -2; d <= 2; ++d) sum = sum + weights(x * 0 + d) * (u(x + d, y, z) + u(x, y + d, z));
  Func f("f");
  f(x, y, z) = sum * damping(x, y, z);
  const Box box = {{0, 40}, {0, 10}, {0, 7}};
  EXPECT_TRUE(check_all_targets(f, box));
  const auto expected = expected_values({f}, box);
  f.clear_schedule();
  f.gpu_tile(x, y, 16, 4).march(z, 3).stage(u, MemoryType::Shared).register_window(damped, z);
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(run_matches(expected, {f}, box, target)) << to_string(target);
  }
}

}  // namespace
}  // namespace mica::test
