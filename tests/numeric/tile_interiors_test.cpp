// Boundary conditions under tiles: whole tiles inside have none, those at the edges are split again.
// Boxes of every kind beside a tile's: less than one, whole ones, a few points more, and such that lie
// elsewhere than what the condition keeps to.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_schedules.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

using namespace BoundaryConditions;

const Var x("x"), y("y"), z("z"), xo("xo"), yo("yo"), xi("xi"), yi("yi"), xm("xm"), t("t");

std::vector<Func> all_conditions(const ImageParam& u, const BoundaryRanges& list = {}) {
  return {repeat_edge(u, list), repeat_image(u, list), mirror_image(u, list), mirror_interior(u, list),
          constant_exterior(u, 3.0F, list)};
}

Func near_sum(const Func& b, int reach) {
  Func f("f");
  f(x, y) = b(x, y) + b(x - reach, y) + b(x + reach, y) + b(x, y - reach) * b(x, y + 1);
  return f;
}

std::vector<Directives> tilings() {
  return {
      [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 16, 4).vectorize(xi, 8); },
      [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 16, 4); },
      [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 16, 4).vectorize(xi, 8).parallel(yo); },
      [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 8, 4).vectorize(xi, 8).fuse(xo, yo, t).parallel(t); },
      [](Func& f) { f.split(x, xo, xi, 16).vectorize(xi, 4); },
      [](Func& f) { f.split(x, xo, xi, 16, TailStrategy::GuardWithIf).vectorize(xi, 4); },
      [](Func& f) { f.split(x, xo, xi, 16).split(xo, xm, xo, 2).vectorize(xi, 4); },
      [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 16, 4).reorder(yi, xi, yo, xo).vectorize(xi, 4); },
      [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 12, 3).unroll(yi, 3); },
      [](Func& f) { f.split(y, yo, yi, 4).vectorize(x, 4); },
  };
}

void check(Func f, const Box& box, const Target& target, const std::vector<Directives>& schedules) {
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    f.clear_schedule();
    schedules[i](f);
    EXPECT_TRUE(run_matches(expected, {f}, box, target)) << "schedule " << i;
  }
}

class TileInteriors : public ::testing::Test {
 protected:
  ImageParam u_{Float(32), 2, "u"};
};

TEST_F(TileInteriors, OfWholeTilesAndAFewPointsMore) {
  const auto memory = bind_random(u_, {{0, 67}, {0, 18}}, 3);
  for (const Func& b : all_conditions(u_)) {
    check(near_sum(b, 1), {{0, 67}, {0, 18}}, Target::host(), tilings());
  }
}

TEST_F(TileInteriors, OfBoxesElsewhereThanTheImage) {
  const auto memory = bind_random(u_, {{-3, 48}, {2, 12}}, 4);
  for (const Func& b : all_conditions(u_)) {
    check(near_sum(b, 3), {{-9, 64}, {-1, 17}}, Target::host(), tilings());
  }
}

TEST_F(TileInteriors, LoadNothingOutsideTheImage) {
  const auto memory = bind_random(u_, {{0, 50}, {0, 13}}, 5);
  for (const Func& b : {repeat_image(u_), mirror_interior(u_), constant_exterior(u_, 3.0F)}) {
    check(near_sum(b, 2), {{0, 50}, {0, 13}}, Target::host_checked(), tilings());
  }
}

// Rows written out inside of a vector, each of which sticks out at points of its own.
TEST_F(TileInteriors, OfRowsThatPlanesMove) {
  const auto memory = bind_random(u_, {{0, 70}, {0, 15}}, 13);
  for (const Func& b : all_conditions(u_)) {
    Func f("f");
    f(x, y) = b(x + y, y) - b(x - 1, y + 1) + b(x - y, y);
    check(f, {{0, 70}, {0, 15}}, Target::host_checked(),
          {[](Func& g) { g.split(y, yo, yi, 4).reorder(yi, x, yo).unroll(yi).vectorize(x, 8); }});
  }
}

// Less than a tile, less than a vector, an image that is shorter than what a stencil reaches.
TEST_F(TileInteriors, OfAFewPoints) {
  for (const std::int64_t width : {1, 5, 16, 17}) {
    const auto memory = bind_random(u_, {{0, width}, {0, 3}}, 6);
    for (const Func& b : {mirror_image(u_), constant_exterior(u_, 3.0F)}) {
      check(near_sum(b, 2), {{0, width}, {0, 3}}, Target::host(), tilings());
    }
  }
}

TEST_F(TileInteriors, OfKnownExtents) {
  const auto memory = bind_random(u_, {{0, 96}, {0, 12}}, 7);
  const std::vector<Directives> known = {
      [](Func& f) {
        f.bound(x, 0, 96).bound(y, 0, 12).tile(x, y, xo, yo, xi, yi, 16, 4).vectorize(xi, 8);
      },
      [](Func& f) { f.bound(x, 0, 96).bound(y, 0, 12).tile(x, y, xo, yo, xi, yi, 16, 4); },
      [](Func& f) { f.bound(x, 0, 96).bound(y, 0, 12).vectorize(x, 4); },
      [](Func& f) { f.bound(x, 0, 96).split(x, xo, xi, 20).vectorize(xi, 4); },
  };
  for (const Func& b : all_conditions(u_)) {
    check(near_sum(b, 1), {{0, 96}, {0, 12}}, Target::host(), known);
    check(near_sum(b, 5), {{0, 96}, {0, 12}}, Target::host_checked(), known);
  }
}

TEST_F(TileInteriors, OfRangesThatAreConstantsAndParams) {
  Param<std::int32_t> width("width", 60), height("height", 11), small("small", 1);
  const auto memory = bind_random(u_, {{0, 70}, {0, 15}}, 8);
  const Expr most = u_.width();
  for (const BoundaryRanges& list :
       {BoundaryRanges{{0, 70}, {0, 15}}, BoundaryRanges{{3, width}, {0, height}},
        BoundaryRanges{{u_.dim(0).min(), most}, {2, small}}}) {
    for (const Func& b : all_conditions(u_, list)) {
      check(near_sum(b, 2), {{-2, 73}, {0, 14}}, Target::host(),
            {[](Func&) {}, tilings()[0], tilings()[1], tilings()[4]});
    }
  }
}

// A Func that is computed inside of a tile: its box follows the tile, and reads beyond it.
TEST_F(TileInteriors, OfAFuncThatIsComputedInside) {
  const std::vector<std::function<void(Func&, Func&)>> schedules = {
      [](Func& f, Func& g) {
        f.tile(x, y, xo, yo, xi, yi, 16, 4).vectorize(xi, 8).parallel(yo);
        g.compute_at(f, xo).vectorize(x, 8);
      },
      [](Func& f, Func& g) {
        f.tile(x, y, xo, yo, xi, yi, 16, 4).fuse(xo, yo, t).parallel(t);
        g.compute_at(f, t);
      },
      [](Func& f, Func& g) {
        f.tile(x, y, xo, yo, xi, yi, 16, 4).vectorize(xi, 4);
        g.compute_at(f, yo).vectorize(x, 4);
      },
      [](Func& f, Func& g) {
        f.tile(x, y, xo, yo, xi, yi, 16, 4, TailStrategy::ShiftInwards).vectorize(xi, 8);
        g.compute_at(f, xo).split(x, xm, x, 6).vectorize(x, 2);
      },
      [](Func& f, Func& g) {
        f.split(y, yo, yi, 4).vectorize(x, 8);
        g.store_at(f, yo).compute_at(f, yi).vectorize(x, 8);
      }};
  const Box box{{0, 67}, {0, 18}};
  const auto memory = bind_random(u_, box, 14);
  for (const Func& b : all_conditions(u_)) {
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      Func g("g"), f("f");
      g(x, y) = b(x - 2, y) + b(x + 1, y) * b(x, y - 1);
      f(x, y) = g(x, y - 1) + g(x + 1, y + 1) + b(x, y);
      schedules[i](f, g);
      EXPECT_TRUE(matches_oracle({f}, box, Target::host())) << b.name() << ", schedule " << i;
      EXPECT_TRUE(matches_oracle({f}, {{-3, 40}, {1, 9}}, Target::host_checked()))
          << b.name() << ", schedule " << i;
    }
  }
}

// Vectors whose end is moved to that of a row: of a tile of its own.
TEST_F(TileInteriors, OfTilesThatAreMoved) {
  const auto memory = bind_random(u_, {{0, 70}, {0, 15}}, 9);
  for (const Func& b : all_conditions(u_)) {
    check(near_sum(b, 1), {{0, 70}, {0, 15}}, Target::host(),
          {[](Func& f) { f.split(x, xo, xi, 16, TailStrategy::ShiftInwards).vectorize(xi, 8); },
           [](Func& f) {
             f.tile(x, y, xo, yo, xi, yi, 16, 4, TailStrategy::ShiftInwards).vectorize(xi, 4);
           },
           [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 16, 4, TailStrategy::ShiftInwards); }});
  }
}

TEST(TileInteriorsOfThreeDimensions, HaveTheOraclesBits) {
  const ImageParam u(Float(32), 3, "u");
  const auto memory = bind_random(u, {{0, 35}, {0, 9}, {0, 7}}, 10);
  const Var zo("zo"), zi("zi");
  for (const Func& b :
       {repeat_edge(repeat_image(u, {{x}})), mirror_image(u), constant_exterior(u, 1.0F)}) {
    Func f("f");
    f(x, y, z) = b(x - 1, y, z) + b(x + 1, y + 1, z) * b(x, y - 1, z - 1) + b(x, y, z + 1);
    check(f, {{0, 35}, {0, 9}, {0, 7}}, Target::host(),
          {[&](Func& g) {
             g.tile(x, y, xo, yo, xi, yi, 16, 4).split(z, zo, zi, 2).reorder(xi, yi, zi, xo, yo, zo);
           },
           [&](Func& g) {
             g.tile(x, y, xo, yo, xi, yi, 16, 4).vectorize(xi, 8).fuse(yo, z, t).parallel(t);
           },
           [&](Func& g) {
             g.tile(x, y, xo, yo, xi, yi, 8, 4)
                 .split(z, zo, zi, 2)
                 .vectorize(xi, 4)
                 .reorder(xi, yi, zi, xo, yo, zo);
           }});
  }
}

// Planes together in vectors, strips of rows and blocks of planes in one loop: the schedule of a star
// that has none, and loops that were fused of three.
TEST(PlaneInteriors, HaveTheOraclesBits) {
  const ImageParam u(Float(32), 3, "u");
  const Var zo("zo"), zi("zi"), all("all");
  const std::vector<Directives> schedules = {
      [](Func&) {}, [&](Func& g) { g.vectorize(x, 16).fuse(y, z, t).parallel(t); },
      [&](Func& g) {
        g.split(z, zo, zi, 3).reorder(zi, x, y, zo).unroll(zi).vectorize(x, 8).parallel(zo);
      },
      [&](Func& g) { g.tile(x, y, xo, yo, xi, yi, 8, 4).fuse(xo, yo, t).fuse(t, z, all).parallel(all); },
      [&](Func& g) {
        g.tile(x, y, xo, yo, xi, yi, 8, 4).vectorize(xi, 8).fuse(xo, yo, t).fuse(t, z, all);
      }};
  const Box box{{0, 35}, {0, 70}, {0, 9}}, wider{{-2, 40}, {0, 70}, {-1, 12}},
      few{{0, 3}, {0, 2}, {0, 1}};
  const auto memory = bind_random(u, box, 11);
  for (const Func& b : all_conditions(u)) {
    Func f("f");
    f(x, y, z) = b(x - 1, y, z) + b(x + 1, y, z) * b(x, y - 1, z) + b(x, y + 2, z) + b(x, y, z - 1) -
                 b(x, y, z + 1) * b(x, y, z);
    check(f, box, Target::host(), schedules);
    check(f, few, Target::host(), {schedules[0]});
    check(f, wider, Target::host_checked(), {schedules[0]});
  }
  const auto one = bind_random(u, few, 12);
  for (const Func& b : all_conditions(u)) {
    Func f("f");
    f(x, y, z) = b(x - 1, y, z) + b(x + 1, y, z) * b(x, y - 1, z + 1);
    check(f, few, Target::host_checked(), {schedules[0]});
  }
}

}  // namespace
}  // namespace mica::test
