// Vectors of taps that are no neighbours: strided, halved, interleaved; on the host they are loads of
// neighbours and shuffles, and never reach beyond what the lanes want. Where data say which, gathers.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "codegen/compile.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), c("c");

const std::vector<std::pair<std::string, std::function<Expr(const Expr&)>>>& indices() {
  static const std::vector<std::pair<std::string, std::function<Expr(const Expr&)>>> all{
      {"2x", [](const Expr& i) { return 2 * i; }},
      {"2x+1", [](const Expr& i) { return 2 * i + 1; }},
      {"3x-2", [](const Expr& i) { return 3 * i - 2; }},
      {"4x", [](const Expr& i) { return 4 * i; }},
      {"5x", [](const Expr& i) { return 5 * i; }},
      {"-x", [](const Expr& i) { return 0 - i; }},
      {"-2x", [](const Expr& i) { return 7 - 2 * i; }},
      {"x/2", [](const Expr& i) { return i / 2; }},
      {"(x+1)/2-3", [](const Expr& i) { return (i + 1) / 2 - 3; }},
      {"x/4", [](const Expr& i) { return i / 4; }},
      {"(2x+1)/4", [](const Expr& i) { return (2 * i + 1) / 4; }},
      {"2x/4", [](const Expr& i) { return 2 * i / 4; }},
      {"x/3", [](const Expr& i) { return i / 3; }},
      {"x/2+x", [](const Expr& i) { return i / 2 + i; }},
      {"2(x/2)", [](const Expr& i) { return 2 * (i / 2); }},
      {"(x/2)/2", [](const Expr& i) { return (i / 2) / 2; }}};
  return all;
}

class StridedVectors : public ::testing::TestWithParam<Type> {};

// Dense arrays of exactly what is read: the address sanitizer sees a load beyond.
TEST_P(StridedVectors, HaveTheValuesOfTheirTaps) {
  for (const auto& [name, index] : indices()) {
    for (const int lanes : {2, 4, 8, 16, 32}) {
      const ImageParam u(GetParam(), 2, "u");
      Func f("f");
      f(x, y) = u(index(x), y);
      f.vectorize(x, lanes);
      CompiledOutputs compiled({f}, Target::host());
      // First points of each remainder by 4: vectors are made of up to four parts.
      for (const Box& box : {Box{{0, 3 * lanes + 1}, {0, 2}}, Box{{-lanes - 1, 2 * lanes}, {0, 1}},
                             Box{{-lanes - 2, lanes}, {0, 1}}}) {
        const auto memory = bind_demanded({f}, box, {u}, 1, Contents::Ordinary, Layout::Dense);
        EXPECT_TRUE(compiled.match(expected_values({f}, box), box)) << name << " by " << lanes;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StridedVectors,
                         ::testing::Values(UInt(8), Float(32), Float(64), Bool(), Float(16)),
                         [](const auto& type) { return to_string(type.param); });

// Taps that share their loads, of dense arrays of exactly what is read, some of them in lanes only where
// a condition lets them.
TEST_P(StridedVectors, SideBySideHaveTheirValues) {
  struct Case {
    int stride;
    std::vector<int> taps;
  };
  for (const auto& [stride, taps] :
       {Case{2, {0, 1}}, Case{2, {1, 0, 3}}, Case{2, {-3, -2, -1, 0}}, Case{3, {2, 0, 1}},
        Case{3, {0, 2}}, Case{4, {3, 0, 1, 2}}, Case{4, {0, 5, 2, 3}}}) {
    for (const int lanes : {2, 8, 16}) {
      const ImageParam u(GetParam(), 2, "u");
      Func f("f"), g("g");
      Expr all = u(stride * x + taps[0], y);
      for (std::size_t i = 1; i < taps.size(); ++i) {
        const Expr tap = u(stride * x + taps[i], y);
        all = GetParam().is_bool() ? all != tap : all + tap;
      }
      f(x, y) = all;
      g(x, y) = select(x > 3, u(stride * x + taps[0], y), u(stride * x + taps[1], y));
      f.vectorize(x, lanes);
      g.vectorize(x, lanes);
      const Box box{{-lanes - 1, 2 * lanes + 3}, {0, 2}};
      const auto memory = bind_demanded({f}, box, {u}, 1, Contents::Ordinary, Layout::Dense);
      EXPECT_TRUE(matches_oracle({f}, box, Target::host())) << stride << " by " << lanes;
      if (lanes != 8) continue;
      EXPECT_TRUE(matches_oracle({f}, box, Target::host_checked())) << stride;
      EXPECT_TRUE(matches_oracle({g}, box, Target::host())) << stride;
    }
  }
}

// Streamed stores, whose rows start where the processor can do them, and where it cannot.
TEST_P(StridedVectors, OfStoresThatPassByTheCachesHaveTheirValues) {
  for (const int lanes : {4, 16, 64}) {
    const ImageParam u(GetParam(), 2, "u");
    Func f("f");
    f(x, y) = u(2 * x + 1, y);
    f.vectorize(x, lanes).stream_stores();
    for (const int points : {lanes, 2 * lanes, 3 * lanes + 1}) {
      const Box box{{0, points}, {0, 3}};
      const auto memory = bind_demanded({f}, box, {u}, 1, Contents::Ordinary, Layout::Dense);
      EXPECT_TRUE(matches_oracle({f}, box, Target::host())) << points << " by " << lanes;
    }
  }
}

// The last element of the input is the last before memory that nobody may read.
TEST(StridedVectorsAtTheEndOfMemory, ReadNothingBehindIt) {
  constexpr std::size_t kPage = 4096;
  auto* pages = static_cast<std::byte*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  const std::shared_ptr<void> unmapped(pages, [](void* at) { munmap(at, 2 * kPage); });
  ASSERT_EQ(mprotect(pages + kPage, kPage, PROT_NONE), 0);
  for (const int stride : {1, 2, 3, 4, 5}) {
    for (const int lanes : {4, 8, 16}) {
      const std::int64_t points = 2 * lanes, count = stride * (points - 1) + 1;
      auto* data = reinterpret_cast<std::int32_t*>(pages + kPage) - count;
      for (std::int64_t i = 0; i < count; ++i) data[i] = static_cast<std::int32_t>(i);
      ImageParam u(Int(32), 1, "u");
      u.set(Buffer<std::int32_t>(data, std::vector<std::int64_t>{count}));
      Func f("f");
      f(x) = u(stride * x);
      f.vectorize(x, lanes);
      Buffer<std::int32_t> out(points);
      f.realize(out, Target::host());
      for (std::int64_t i = 0; i < points; ++i) EXPECT_EQ(out(i), stride * i) << stride << " " << lanes;
    }
  }
}

class GatheredVectors : public ::testing::TestWithParam<Type> {};

TEST_P(GatheredVectors, HaveTheElementsThatOtherElementsName) {
  constexpr std::int64_t kFirst = -3, kCount = 44;
  for (const int lanes : {2, 4, 8, 16, 32}) {
    const ImageParam u(GetParam(), 2, "u"), at(Int(32), 2, "at");
    Func f("f");
    f(x, y) = u(clamp(at(x, y) % 64 - 10, kFirst, kFirst + kCount - 1), y);
    f.vectorize(x, lanes);
    const Box box{{-2, 3 * lanes + 1}, {0, 3}};
    const auto places = bind_random(at, box, 1);
    for (const Layout layout : {Layout::Dense, Layout::Embedded}) {
      const auto memory = bind_random(u, {{kFirst, kCount}, {0, 3}}, 2, Contents::Ordinary, layout);
      EXPECT_TRUE(matches_oracle({f}, box, Target::host())) << lanes;
    }
  }
}

TEST_P(GatheredVectors, AreReadFromOtherFuncs) {
  if (GetParam().is_bool()) GTEST_SKIP() << "no sums";
  const ImageParam at(Int(32), 1, "at");
  Func g("g"), f("f");
  g(x) = cast(GetParam(), x);
  f(x) = g(clamp(at(x) % 40, 0, 31)) + g(x % 7);
  g.compute_root();
  f.vectorize(x, 16);
  const auto places = bind_random(at, {{0, 50}}, 3);
  EXPECT_TRUE(matches_oracle({f}, {{0, 50}}, Target::host()));
}

INSTANTIATE_TEST_SUITE_P(Types, GatheredVectors,
                         ::testing::Values(UInt(8), Int(32), Int(64), Float(32), Float(64), Bool(),
                                           Float(16)),
                         [](const auto& type) { return to_string(type.param); });

template <typename T>
void check_channels(int channels, int lanes, bool unrolled) {
  constexpr std::int64_t kWidth = 53, kHeight = 5;
  const auto interleaved = [&] {
    const std::int64_t n = channels;
    return std::vector<BufferDim>{{0, kWidth, n}, {0, kHeight, n * kWidth}, {0, n, 1}};
  };
  const ImageParam u(type_of<T>(), 3, "u");
  Func f("f");
  f(x, y, c) = u(x, y, c) + u(x, y, 0) * u(x, y, channels - 1);
  f.vectorize(x, lanes);
  if (unrolled) f.reorder(c, x, y).bound(c, 0, channels).unroll(c);
  AnyBuffer in(type_of<T>(), interleaved()), out(type_of<T>(), interleaved());
  AnyBuffer planar(type_of<T>(), std::vector<std::int64_t>{kWidth, kHeight, channels});
  fill_random(in, 1);
  ImageParam(u).set(in);
  Executable executable = compile(f, Target::host());
  executable.run(out);
  executable.run(planar);
  const auto expected = interpret(f, {{0, kWidth}, {0, kHeight}, {0, channels}});
  const Buffer<T> a(out), b(planar), e(expected[0]);
  e.for_each([&](const T& value, const Coordinates& at) {
    EXPECT_EQ(a(at[0], at[1], at[2]), value) << at[0] << " " << at[1] << " " << at[2];
    EXPECT_EQ(b(at[0], at[1], at[2]), value) << at[0] << " " << at[1] << " " << at[2];
  });
}

TEST(InterleavedChannels, AreReadAndWrittenTogether) {
  for (const int channels : {1, 2, 3, 4, 5}) {
    for (const int lanes : {4, 8, 32}) {
      for (const bool unrolled : {false, true}) {
        check_channels<std::uint8_t>(channels, lanes, unrolled);
        check_channels<std::int32_t>(channels, lanes, unrolled);
        check_channels<std::int64_t>(channels, lanes, unrolled);
      }
    }
  }
}

// Each channel of a pixel in the place of what it was made of.
TEST(InterleavedChannels, MayBeUpdatedInPlace) {
  const ImageParam u(Int(32), 3, "u");
  Func f("f");
  f(x, y, c) = u(x, y, c) * 3 + c;
  f.reorder(c, x, y).bound(c, 0, 3).unroll(c).vectorize(x, 8);
  Buffer<std::int32_t> image(std::vector<BufferDim>{{0, 37, 3}, {0, 4, 3 * 37}, {0, 3, 1}});
  fill_random(image, 1);
  const Buffer<std::int32_t> before = image.copy();
  ImageParam(u).set(image);
  compile(f, Target::host()).run(image);
  before.for_each([&](const std::int32_t& value, const Coordinates& at) {
    const auto next = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) * 3U +
                                                static_cast<std::uint32_t>(at[2]));
    EXPECT_EQ(image(at[0], at[1], at[2]), next);
  });
}

// A store that reads what another of its pixel has written keeps its turn.
TEST(InterleavedChannels, OfUpdatesKeepTheirOrder) {
  const ImageParam u(Int(32), 2, "u");
  Func f("f");
  f(x, y, c) = u(x, y) + c;
  f(x, y, 1) = f(x, y, 0) * 2;
  f(x, y, 2) = f(x, y, 1) + f(x, y, 0);
  f.bound(c, 0, 3);
  const auto memory = bind_random(u, {{0, 40}, {0, 3}}, 1);
  Buffer<std::int32_t> out(std::vector<BufferDim>{{0, 40, 3}, {0, 3, 120}, {0, 3, 1}});
  compile(f, Target::host()).run(out);
  const auto expected = interpret(f, {{0, 40}, {0, 3}, {0, 3}});
  const Buffer<std::int32_t> e(expected[0]);
  e.for_each([&](const std::int32_t& value, const Coordinates& at) {
    EXPECT_EQ(out(at[0], at[1], at[2]), value);
  });
}

// To the nearest integer that there is; NaN to 0.
TEST(SaturatingVectors, AreThoseOfTheOracle) {
  for (const Type from : {Float(32), Float(64), Float(16)}) {
    for (const Type to : {Int(8), UInt(8), Int(16), UInt(16), Int(32), Int(64)}) {
      const ImageParam u(from, 1, "u");
      Func f("f");
      f(x) = cast(to, u(x));
      f.vectorize(x, 16);
      for (const Contents contents : {Contents::Ordinary, Contents::Special}) {
        const auto memory = bind_random(u, {{0, 4000}}, 2, contents);
        EXPECT_TRUE(matches_oracle({f}, {{0, 4000}}, Target::host()))
            << to_string(from) << " to " << to_string(to);
      }
      for (const double edge : {127.5, 255.9, -0.9, -1.0, 32768.0, 65536.0, 2147483647.0, 2147483648.0,
                                -2147483648.0, -2147483649.0, 9.3e18, -9.3e18, 1e30, -1e30}) {
        Func g("g");
        g(x) = cast(to, u(x) * 0 + cast(from, Expr(edge)));
        g.vectorize(x, 8);
        const auto memory = bind_random(u, {{0, 16}}, 3);
        EXPECT_TRUE(matches_oracle({g}, {{0, 16}}, Target::host())) << edge << " to " << to_string(to);
      }
    }
  }
}

}  // namespace
}  // namespace mica::test
