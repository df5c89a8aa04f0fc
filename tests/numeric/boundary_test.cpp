// The five boundary conditions on every target, inside and far outside the image.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

struct Condition {
  std::string name;
  std::function<Func(const ImageParam&)> make;
};
void PrintTo(const Condition& c, std::ostream* out) { *out << c.name; }

std::vector<Condition> conditions() {
  using namespace BoundaryConditions;
  return {
      {"repeat_edge", [](const ImageParam& u) { return repeat_edge(u); }},
      {"constant_exterior",
       [](const ImageParam& u) { return constant_exterior(u, make_const(u.type(), std::int64_t{3})); }},
      {"repeat_image", [](const ImageParam& u) { return repeat_image(u); }},
      {"mirror_image", [](const ImageParam& u) { return mirror_image(u); }},
      {"mirror_interior", [](const ImageParam& u) { return mirror_interior(u); }}};
}

class Boundary : public ::testing::TestWithParam<Condition> {};

TEST_P(Boundary, OfA1dImageFarOutside) {
  const ImageParam u(Int(32), 1, "u");
  const auto memory = bind_random(u, {{-2, 7}}, 1);
  EXPECT_TRUE(check_all_targets(GetParam().make(u), {{-30, 61}}));
}

TEST_P(Boundary, OfA1dImageOfOneElement) {
  const ImageParam u(Float(64), 1, "u");
  const auto memory = bind_random(u, {{5, 1}}, 2);
  EXPECT_TRUE(check_all_targets(GetParam().make(u), {{0, 11}}));
}

TEST_P(Boundary, OfA2dStencil) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{-3, 29}, {4, 11}}, 3);
  Func b = GetParam().make(u);
  Func f("f");
  f(x, y) = b(x - 2, y) + b(x + 2, y) * 0.5F - b(x, y - 1) + b(x, y + 1) * b(x, y);
  EXPECT_TRUE(check_all_targets(f, {{-3, 29}, {4, 11}}));
  EXPECT_TRUE(check_all_targets(f, {{-5, 34}, {0, 19}}));
}

TEST_P(Boundary, UnderHostSchedulesAtTheEdgesAndInside) {
  const Var x("x");
  const Var y("y");
  const std::vector<std::function<void(Func&)>> schedules{
      [](Func&) {},
      [](Func& f) { f.serial("x"); },
      [](Func& f) { f.vectorize("x", 8); },
      [](Func& f) { f.vectorize("x", 4).unroll("x", 3).parallel("y", 70); },
      [](Func& f) { f.tile("x", "y", "xo", "yo", "xi", "yi", 24, 8).vectorize("xi", 8).parallel("yo"); },
      [](Func& f) { f.reorder("y", "x"); },
      [](Func& f) { f.vectorize("x", 16, TailStrategy::ShiftInwards).reorder("y", "x"); },
      [](Func& f) { f.fuse("x", "y", "t").parallel("t", 100); }};
  const std::vector<Box> boxes{{{0, 150}, {0, 90}},     // all of it
                               {{-9, 170}, {-4, 99}},   // more
                               {{20, 97}, {10, 70}},    // its inside
                               {{140, 80}, {-80, 83}},  // a corner
                               {{200, 70}, {5, 3}},     // outside
                               {{-1, 1}, {0, 1}}};
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const ImageParam u(Float(32), 2, "u");
    const auto memory = bind_random(u, {{0, 150}, {0, 90}}, 3);
    Func b = GetParam().make(u);
    Func f("f");
    f(x, y) = b(x - 2, y) + b(x + 1, y) * 0.5F - b(x, y - 1) + b(x, y + 3) * b(x, y) +
              select(x > 3 && y < 60, 1.5F, cast<float>(min(x, 77) + clamp(y, 2, 50)));
    schedules[i](f);
    CompiledOutputs compiled({f}, Target::host());
    for (const auto& box : boxes) {
      EXPECT_TRUE(compiled.match(expected_values({f}, box), box)) << i;
    }
  }
}

TEST_P(Boundary, InAReductionOnTheHost) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  const auto memory = bind_random(u, {{-7, 333}}, 8);
  Func b = GetParam().make(u);
  Func f("f");
  const RDom r({{-80, 161}});
  f(x) = 0.0F;
  f(x) += b(x + r) * 0.5F;
  EXPECT_TRUE(matches_oracle({f}, {{-20, 360}}, Target::host()));
  f.update().vectorize(x, 8);
  EXPECT_TRUE(matches_oracle({f}, {{-20, 360}}, Target::host()));
}

TEST_P(Boundary, OfA3dStencil) {
  const Var x("x");
  const Var y("y");
  const Var z("z");
  const ImageParam u(UInt(8), 3, "u");
  const auto memory = bind_random(u, {{0, 17}, {-1, 6}, {2, 5}}, 4);
  Func b = GetParam().make(u);
  Func f("f");
  f(x, y, z) = b(x - 1, y, z) + b(x + 1, y, z) + b(x, y - 1, z) + b(x, y + 1, z) + b(x, y, z - 1) +
               b(x, y, z + 1);
  EXPECT_TRUE(check_all_targets(f, {{-1, 19}, {-2, 8}, {1, 7}}));
}

TEST_P(Boundary, ComputedAtRootBeforeItsReaders) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 21}, {0, 10}}, 5);
  Func b = GetParam().make(u);
  Func f("f");
  f(x, y) = b(x - 1, y) + b(x + 1, y) + b(x, y - 3);
  b.compute_root();
  EXPECT_TRUE(matches_oracle({f}, {{-2, 25}, {1, 12}}, Target::host()));
  schedule_plain_gpu(b);
  schedule_plain_gpu(f);
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(matches_oracle({f}, {{-2, 25}, {1, 12}}, target));
  }
}

/// The element of [min, min + extent) that a coordinate reads, found by walking from inside to it one
/// step at a time; empty for constant_exterior's value.
std::optional<std::int64_t> element_read(const std::string& condition, std::int64_t x, std::int64_t min,
                                         std::int64_t extent) {
  const std::int64_t last = min + extent - 1;
  std::int64_t at = min;
  std::int64_t direction = x < min ? -1 : 1;
  // The place beside `at` in `direction`, and whether the walk turns round there.
  const auto step = [&] {
    const std::int64_t next = at + direction;
    if (next >= min && next <= last) {
      at = next;
    } else if (condition == "repeat_image") {
      at = next < min ? last : min;
    } else if (condition == "mirror_image") {
      direction = -direction;  // the edge is read twice
    } else if (condition == "mirror_interior") {
      direction = -direction;
      if (extent > 1) at += direction;
    }
  };
  for (std::int64_t i = min; i != x; i += x < min ? -1 : 1) {
    if (condition == "constant_exterior" && (x < min || x > last)) return std::nullopt;
    step();
  }
  return at;
}

TEST_P(Boundary, ReadsTheElementThatItsDefinitionSays) {
  const ImageParam u(Int(32), 1, "u");
  for (const std::int64_t min : {-3, 0, 11}) {
    for (std::int64_t extent = 1; extent <= 7; ++extent) {
      Buffer<std::int32_t> image(std::vector<BufferDim>{{min, extent, 1}});
      for (std::int64_t i = 0; i < extent; ++i) image(min + i) = static_cast<std::int32_t>(100 + i);
      ImageParam(u).set(image);
      for (const bool on_gpu : {false, true}) {
        Func f = GetParam().make(u);
        if (on_gpu) schedule_plain_gpu(f);
        const Target target = on_gpu ? Target::gpu_emulator() : Target::host();
        Buffer<std::int32_t> out(std::vector<BufferDim>{{-25, 51, 1}});
        f.realize(out, target);
        for (std::int64_t x = -25; x < 26; ++x) {
          const auto element = element_read(GetParam().name, x, min, extent);
          ASSERT_EQ(out(x), element ? 100 + *element - min : 3)
              << to_string(target) << ": x = " << x << ", image from " << min << ", " << extent
              << " points";
        }
      }
    }
  }
}

// Blocks inside, at an edge, and so far outside that a coordinate is more than a period away.
TEST_P(Boundary, OfTilesOfManyPointsAThread) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  const auto check = [&](const Box& image, const Box& domain, int reach) {
    const auto memory = bind_random(u, image, 6);
    Func b = GetParam().make(u);
    Func f("f");
    f(x, y, z) = 0.1F * b(x - reach, y, z) + 0.2F * b(x + reach, y, z) + 0.3F * b(x, y - reach, z) +
                 0.4F * b(x, y + reach, z) + 0.5F * b(x, y, z - 1) + 0.6F * b(x, y, z + 1);
    f.gpu_tile(x, y, z, 32, 4, 1).vectorize(x, 4).unroll(z, 4);
    EXPECT_TRUE(check_all_targets(f, domain)) << reach;
  };
  check({{-1, 390}, {2, 12}, {0, 8}}, {{-1, 390}, {2, 12}, {0, 8}}, 1);  // blocks inside
  check({{0, 130}, {0, 5}, {0, 6}}, {{0, 130}, {0, 5}, {0, 6}}, 3);      // parts of blocks
  check({{0, 3}, {0, 1}, {0, 2}}, {{0, 3}, {0, 1}, {0, 2}}, 5);          // several periods away
  check({{0, 140}, {0, 9}, {0, 4}}, {{600, 140}, {-700, 9}, {3, 4}}, 1);
}

INSTANTIATE_TEST_SUITE_P(Conditions, Boundary, ::testing::ValuesIn(conditions()), case_name<Condition>);

TEST(Bounds, OfAnInputCanBeUsedInTheAlgorithm) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{-4, 20}, {3, 9}}, 6);
  Func f("f");
  const Expr from_left = x - u.dim(0).min();
  const Expr inside = x >= u.dim(0).min() && x <= u.dim(0).max() && y < u.dim(1).min() + u.height();
  f(x, y) =
      Tuple(select(inside,
                   u(clamp(x, u.dim(0).min(), u.dim(0).max()), clamp(y, u.dim(1).min(), u.dim(1).max())),
                   0.0F),
            from_left * u.width());
  EXPECT_TRUE(check_all_targets(f, {{-9, 31}, {3, 12}}));
}

}  // namespace
}  // namespace mica::test
