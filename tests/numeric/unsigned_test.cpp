// Unsigned integers of 32 and 64 bits as users compute with them: random numbers, hashes, packed pixels,
// counters; and what tells them from signed ones, above 2^31 and 2^63.
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/random_data.h"
#include "tests/passes/lowered.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

constexpr std::uint32_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMost64 = std::numeric_limits<std::uint64_t>::max();

const Var x("x");
const Var y("y");

using Schedule = std::function<void(Func&)>;

std::vector<Schedule> schedules_of_a_plane() {
  return {[](Func&) {}, [](Func& f) { f.vectorize(x, 8).parallel(y); },
          [](Func& f) { f.vectorize(x, 4).unroll(x, 2); }, [](Func& f) { f.gpu_tile(x, y, 16, 4); },
          [](Func& f) { f.gpu_tile(x, y, 8, 4).vectorize(x, 4); }};
}

/// The oracle's bits under every schedule on every target.
void expect_same(Func f, const Box& box, const std::vector<Schedule>& schedules) {
  const auto expected = expected_values({f}, box);
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    f.clear_schedule();
    schedules[i](f);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, {f}, box, target)) << "schedule " << i;
    }
  }
}

/// `value(i, j)` is what C++ computes at each point of 19 x 5 on every target.
template <typename T>
void expect_values(Func f, const std::function<T(std::uint32_t, std::uint32_t)>& value) {
  for (const Target& target : all_targets()) {
    Buffer<T> out(19, 5);
    f.realize(out, target);
    for (int j = 0; j < 5; ++j) {
      for (int i = 0; i < 19; ++i) {
        EXPECT_EQ(out(i, j), value(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)))
            << i << ", " << j << " on " << to_string(target);
      }
    }
  }
}

// ---- random numbers --------------------------------------------------------------------------------

template <typename Number>
Number permuted(const Number& seed) {
  const Number state = seed * 747796405u + 2891336453u;
  const Number word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
  return (word >> 22u) ^ word;
}

TEST(Unsigned, APermutedCongruentialField) {
  Func f("f");
  const Expr seed = cast<std::uint32_t>(x) + cast<std::uint32_t>(y) * 0x9e3779b9u;
  f(x, y) = permuted(seed);
  expect_values<std::uint32_t>(
      f, [](std::uint32_t i, std::uint32_t j) { return permuted(i + j * 0x9e3779b9u); });
  expect_same(f, {{-5, 37}, {-2, 9}}, schedules_of_a_plane());
}

template <typename Number>
Number split_mixed(Number z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

TEST(Unsigned, ASplitMixedFieldOf64BitsAndItsFractions) {
  Func f("f"), unit("unit");
  f(x, y) =
      split_mixed((cast<std::uint64_t>(x) * 1013 + cast<std::uint64_t>(y)) * 0x9e3779b97f4a7c15ull);
  expect_values<std::uint64_t>(f, [](std::uint32_t i, std::uint32_t j) {
    return split_mixed<std::uint64_t>((std::uint64_t{i} * 1013 + j) * 0x9e3779b97f4a7c15ull);
  });
  expect_same(f, {{-5, 37}, {-2, 9}}, schedules_of_a_plane());
  unit(x, y) = cast<double>(f(x, y) >> 11) * 0x1p-53;
  expect_same(unit, {{-5, 37}, {-2, 9}}, schedules_of_a_plane());
}

TEST(Unsigned, AStreamThatShiftsAndFlipsItsOwnLastNumber) {
  Param<std::uint32_t> seed("seed", 0xdeadbeefu);
  Func f("f");
  const Expr last = f(x, y - 1);
  const Expr a = last ^ (last << 13);
  const Expr b = a ^ (a >> 17);
  f(x, y) = select(y == 0, seed + cast<std::uint32_t>(x), b ^ (b << 5));
  expect_values<std::uint32_t>(f, [](std::uint32_t i, std::uint32_t j) {
    std::uint32_t s = 0xdeadbeefu + i;
    for (; j > 0; --j) {
      s ^= s << 13;
      s ^= s >> 17;
      s ^= s << 5;
    }
    return s;
  });
  expect_same(f, {{-3, 33}, {0, 7}},
              {[](Func&) {}, [](Func& g) { g.gpu_tile(x, 16); }, [](Func& g) { g.vectorize(x, 4); }});
}

// ---- hashes and pixels -----------------------------------------------------------------------------

template <typename T>
void check_hash(T basis, T prime) {
  const ImageParam u(UInt(8), 2, "u");
  const RDom r({{0, 23}});
  Func hash("hash");
  hash(x) = Expr(basis);
  hash(x) = (hash(x) ^ cast<T>(u(r, x))) * prime;
  const auto memory = bind_random(u, {{0, 23}, {0, 40}}, 3);
  expect_same(hash, {{0, 40}},
              {[](Func&) {}, [](Func& f) { f.update().vectorize(x, 8); },
               [](Func& f) { f.update().gpu_tile(x, 8); }});
  Buffer<std::uint8_t> bytes(23, 1);
  for (int i = 0; i < 23; ++i) bytes(i, 0) = static_cast<std::uint8_t>(37 * i + 200);
  T expected = basis;
  for (int i = 0; i < 23; ++i) expected = (expected ^ bytes(i, 0)) * prime;
  ImageParam input = u;
  input.set(bytes);
  hash.clear_schedule();
  Buffer<T> out(1);
  hash.realize(out, Target::host());
  EXPECT_EQ(out(0), expected);
}

TEST(Unsigned, AHashOverADomain) {
  check_hash<std::uint32_t>(0x811c9dc5u, 0x01000193u);
  check_hash<std::uint64_t>(0xcbf29ce484222325ull, 0x100000001b3ull);
}

TEST(Unsigned, PackedPixelsAreTakenApartAndPutTogether) {
  const ImageParam packed(UInt(32), 2, "packed");
  const Expr p = packed(x, y);
  const Expr red = p & 0xff, green = (p >> 8) & 0xff, blue = (p >> 16) & 0xff, alpha = p >> 24;
  const auto blended = [&](const Expr& channel) { return (channel * alpha + 127) / 255; };
  Func f("f");
  f(x, y) = blended(red) | (blended(green) << 8) | (blended(blue) << 16) | (alpha << 24);
  const auto memory = bind_random(packed, {{0, 40}, {0, 9}}, 4);
  expect_same(f, {{0, 40}, {0, 9}}, schedules_of_a_plane());
  Func channels("channels");
  channels(x, y) =
      Tuple(cast<std::uint8_t>(red), cast<std::uint8_t>(green), cast<std::uint8_t>(p >> 24));
  expect_same(channels, {{0, 40}, {0, 9}}, schedules_of_a_plane());
  Func lerped("lerped");
  const Expr other = packed(39 - x, y);
  lerped(x, y) = lerp(p, other, other ^ p);
  expect_same(lerped, {{0, 40}, {0, 9}}, schedules_of_a_plane());
}

// ---- counters --------------------------------------------------------------------------------------

template <typename T>
void check_histogram() {
  const int shift = type_of<T>().bits - 5;
  const ImageParam u(type_of<T>(), 2, "u");
  const RDom r({{0, 40}, {0, 21}});
  Func h("h");
  h(x) = cast<T>(0);
  h(cast<int>(u(r.x, r.y) >> shift)) += cast<T>(1);
  const auto memory = bind_random(u, {{0, 40}, {0, 21}}, 5);
  expect_same(h, {{0, 32}},
              {[](Func&) {}, [&](Func& f) { f.update().atomic().gpu_tile(r.x, r.y, 8, 4); },
               [&](Func& f) { f.update().atomic().parallel(r.y); }});
}

TEST(Unsigned, AHistogramOfTheUpperBits) {
  check_histogram<std::uint32_t>();
  check_histogram<std::uint64_t>();
}

template <typename T>
void check_reductions() {
  const ImageParam u(type_of<T>(), 2, "u");
  const RDom r({{0, 40}, {0, 9}});
  Func f("f");
  const Expr e = u(r.x, r.y);
  f() = Tuple(sum(r, e), product(r, e | 1), minimum(r, e), maximum(r, e), argmin(r, e)[0],
              argmax(r, e)[0], argmax(r, e)[2]);
  const auto check = [&](const Target& target) {
    CompiledOutputs compiled({f}, target);
    for (const Contents contents : {Contents::Ordinary, Contents::Special, Contents::Small}) {
      const auto memory = bind_random(u, {{0, 40}, {0, 9}}, 6, contents);
      EXPECT_TRUE(compiled.match(expected_values({f}, {{0, 1}}), {{0, 1}}));
    }
  };
  check(Target::host());
  schedule_plain_gpu(f);
  for (const Target& target : gpu_targets()) check(target);
  Func rows("rows");
  const RDom row({{0, 40}});
  rows(y) = Tuple(sum(row, u(row, y)), minimum(row, u(row, y)), maximum(row, u(row, y)));
  const auto memory = bind_random(u, {{0, 40}, {0, 9}}, 7, Contents::Special);
  EXPECT_TRUE(check_all_targets(rows, {{0, 9}}));
}

TEST(Unsigned, SumsAndExtremesOverADomain) {
  check_reductions<std::uint32_t>();
  check_reductions<std::uint64_t>();
}

// ---- what tells them from signed numbers -----------------------------------------------------------

/// Pairs of values of T around its ends and its middle.
template <typename T>
std::pair<Buffer<T>, Buffer<T>> edges() {
  const T half = T{1} << (sizeof(T) * 8 - 1);
  const std::vector<T> list = {
      0, 1, 2, 3, 7, 10, half - 1, half, half + 1, T(~T{0}) / 3, T(~T{0}) - 1, T(~T{0})};
  const auto n = static_cast<int>(list.size());
  Buffer<T> a(n, n), b(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      a(i, j) = list[static_cast<std::size_t>(i)];
      b(i, j) = list[static_cast<std::size_t>(j)];
    }
  }
  return {a, b};
}

template <typename T>
void check_edges() {
  const auto [first, second] = edges<T>();
  const Expr a = first(x, y), b = second(x, y);
  const int n = static_cast<int>(first.extent(0));
  Func f("f");
  f(x, y) = Tuple(a / b, a % b, min(a, b), max(a, b), clamp(a, 5, b), select(a < b, a - b, a + b), a * b,
                  a >> (b % 7), -a, ~b);
  Func constants("constants");
  constants(x, y) = Tuple(a / 3, a % 3, a / 8, a % 8, a / ~Expr(T{0}), a % ~Expr(T{0}), a / 1, a % 10);
  Func order("order");
  order(x, y) = Tuple(a<b, a <= b, a> b, a >= b, a == b, a<0, a >= 0, a> std::int64_t{1} << 30);
  for (const Target& target : all_targets()) {
    const Box box{{0, n}, {0, n}};
    EXPECT_TRUE(matches_oracle({f}, box, target));
    EXPECT_TRUE(matches_oracle({constants}, box, target));
    EXPECT_TRUE(matches_oracle({order}, box, target));
    Func plain("plain");
    plain(x, y) = Tuple(a / b, a % b, select(a < b, a, b));
    std::vector<Buffer<T>> out{Buffer<T>(n, n), Buffer<T>(n, n), Buffer<T>(n, n)};
    compile(plain, target).run(std::vector<AnyBuffer*>{&out[0], &out[1], &out[2]});
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        const T p = first(i, j), q = second(i, j);
        EXPECT_EQ(out[0](i, j), q == 0 ? 0 : p / q);
        EXPECT_EQ(out[1](i, j), q == 0 ? 0 : p % q);
        EXPECT_EQ(out[2](i, j), p < q ? p : q);
      }
    }
  }
}

TEST(Unsigned, DivisionRemainderAndOrderAboveTheMiddle) {
  check_edges<std::uint32_t>();
  check_edges<std::uint64_t>();
}

template <typename T>
void check_casts() {
  const auto [values, unused] = edges<T>();
  const int n = static_cast<int>(values.extent(0));
  const Expr a = values(x, 0);
  Func from("from");
  from(x) = Tuple(cast<float>(a), cast<double>(a), cast<float16>(a), cast<std::int32_t>(a),
                  cast<std::int64_t>(a), cast<std::uint8_t>(a), cast<bool>(a), cast<std::uint32_t>(a),
                  cast<std::uint64_t>(a));
  EXPECT_TRUE(check_all_targets(from, {{0, n}}));
  const ImageParam real(Float(32), 1, "real"), wide(Float(64), 1, "wide");
  const auto real_memory = bind_random(real, {{0, 200}}, 8, Contents::Special);
  const auto wide_memory = bind_random(wide, {{0, 200}}, 9, Contents::Special);
  Func to("to");
  to(x) = Tuple(cast<T>(real(x)), cast<T>(wide(x)), cast<T>(real(x) * 0x1p40F),
                cast<T>(wide(x) * 0x1p63), cast<T>(wide(x) * 0x1p64));
  EXPECT_TRUE(check_all_targets(to, {{0, 200}}));
  Func vectors("vectors");
  vectors(x) = Tuple(cast<T>(real(x) * 0x1p40F), cast<float>(cast<T>(wide(x) * 0x1p64)));
  vectors.vectorize(x, 8);
  EXPECT_TRUE(matches_oracle({vectors}, {{0, 200}}, Target::host()));
}

TEST(Unsigned, ConversionsSaturateFromFloatsAndKeepTheBitsOfIntegers) {
  check_casts<std::uint32_t>();
  check_casts<std::uint64_t>();
  Func f("f");
  const Param<double> p("p");
  f(x) = Tuple(cast<std::uint64_t>(p), cast<std::uint32_t>(p), cast<float>(cast<std::uint64_t>(p)));
  for (const auto& [value, wide, narrow] :
       {std::tuple(18446744073709549568.0, 18446744073709549568ull, kMost32),
        std::tuple(18446744073709551616.0, ~0ull, kMost32),
        std::tuple(4294967295.5, 4294967295ull, kMost32),
        std::tuple(9223372036854775808.0, 1ull << 63, kMost32), std::tuple(-1.0, 0ull, 0u)}) {
    p.set(value);
    for (const Target& target : all_targets()) {
      Buffer<std::uint64_t> a(1);
      Buffer<std::uint32_t> b(1);
      Buffer<float> c(1);
      compile(f, target).run(std::vector<AnyBuffer*>{&a, &b, &c});
      EXPECT_EQ(a(0), wide) << value;
      EXPECT_EQ(b(0), narrow) << value;
      EXPECT_EQ(c(0), static_cast<float>(static_cast<std::uint64_t>(wide))) << value;
    }
  }
}

// ---- constants and Params --------------------------------------------------------------------------

TEST(Unsigned, ConstantsAndParamsAreExactToTheLastBit) {
  const Param<std::uint32_t> p("p", kMost32);
  const Param<std::uint64_t> q("q", kMost64);
  Func f("f"), g("g");
  f(x) = Tuple(p, Expr(0xffffffffu) - cast<std::uint32_t>(x), p / 3, min(p, 0xfffffff0u));
  g(x) = Tuple(q, Expr(0xffffffffffffffffull) - cast<std::uint64_t>(x), q / 3, max(q, 1) % 1000);
  for (const Target& target : all_targets()) {
    std::vector<Buffer<std::uint32_t>> a(4, Buffer<std::uint32_t>(3));
    std::vector<Buffer<std::uint64_t>> b(4, Buffer<std::uint64_t>(3));
    for (auto& buffer : a) buffer = Buffer<std::uint32_t>(3);
    for (auto& buffer : b) buffer = Buffer<std::uint64_t>(3);
    compile(f, target).run(std::vector<AnyBuffer*>{&a[0], &a[1], &a[2], &a[3]});
    compile(g, target).run(std::vector<AnyBuffer*>{&b[0], &b[1], &b[2], &b[3]});
    EXPECT_EQ(a[0](1), kMost32);
    EXPECT_EQ(a[1](2), kMost32 - 2);
    EXPECT_EQ(a[2](0), kMost32 / 3);
    EXPECT_EQ(a[3](0), 0xfffffff0u);
    EXPECT_EQ(b[0](1), kMost64);
    EXPECT_EQ(b[1](2), kMost64 - 2);
    EXPECT_EQ(b[2](0), kMost64 / 3);
    EXPECT_EQ(b[3](0), kMost64 % 1000);
    EXPECT_TRUE(matches_oracle({f}, {{-2, 9}}, target));
    EXPECT_TRUE(matches_oracle({g}, {{-2, 9}}, target));
  }
}

TEST(Unsigned, ARunDecidesByAParamAboveTheMiddle) {
  const Param<std::uint64_t> q("q");
  Func f("f");
  f(x) = cast<std::uint64_t>(x) + q;
  f.specialize(q > std::uint64_t{1} << 63).vectorize(x, 4);
  f.specialize(q / 2 == 3).unroll(x, 2);
  for (const std::uint64_t value :
       {kMost64, std::uint64_t{1} << 63, std::uint64_t{7}, std::uint64_t{0}}) {
    q.set(value);
    for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{-2, 19}}, target));
  }
}

TEST(Unsigned, AKernelOfTheGpuStagesAndMarches) {
  for (const Type type : {UInt(32), UInt(64)}) {
    const ImageParam u(type, 3, "u");
    const Var z("z");
    Func f("f");
    f(x, y, z) =
        (u(x - 1, y, z) ^ u(x + 1, y, z)) + (u(x, y - 1, z) / 3) + max(u(x, y, z - 1), u(x, y, z + 1));
    const Box box{{0, 40}, {0, 9}, {0, 11}};
    const auto memory = bind_random(u, {{-1, 42}, {-1, 11}, {-1, 13}}, 10);
    f.gpu_tile(x, y, 8, 4)
        .march(z, 4)
        .stage(u, MemoryType::Shared)
        .register_window(u, z)
        .vectorize(x, 2);
    for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, box, target));
  }
}

}  // namespace
}  // namespace mica::test
