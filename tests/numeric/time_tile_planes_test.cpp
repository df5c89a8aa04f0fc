// Time tiles of three dimensions on a GPU whose step has no directives: they get a march of planes, and
// give the bits of single steps.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "codegen/iterate/level_marches.h"
#include "dsl/func/boundary.h"
#include "tests/support/check_targets.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// So many blocks that a GPU takes them; the emulator takes any number.
Box box_for(const Target& target) {
  if (target.backend == Backend::Cuda) return {{0, 264}, {0, 200}, {0, 350}};
  return {{-1, 75}, {0, 77}, {2, 9}};
}

/// A star of a radius, with another weight on every side.
template <typename Source>
Expr star(const Source& u, Type type, int radius) {
  Expr sum = cast(type, Expr(0.3)) * u(x, y, z);
  for (int k = 1; k <= radius; ++k) {
    const auto term = [&](double weight, const Expr& value) { sum = sum + cast(type, weight) * value; };
    term(0.04 / k, u(x - k, y, z));
    term(0.05 / k, u(x + k, y, z));
    term(0.06 / k, u(x, y - k, z));
    term(0.07 / k, u(x, y + k, z));
    term(0.08 / k, u(x, y, z - k));
    term(0.09 / k, u(x, y, z + k));
  }
  return sum;
}

using Replaced = std::vector<ImageParam>;
using Others = std::vector<RunInput>;

/// `tiled`, in tiles of so many steps, has the bits of `plain`; the levels of a tile are in one kernel.
void expect_tiles(
    const std::function<Iteration()>& make, const Replaced& fields, const std::vector<int>& tiles,
    const std::function<Others(const Box&)>& others = [](const Box&) { return Others(); }) {
  for (const Target& target : gpu_targets()) {
    for (const int tile : tiles) {
      Iteration plain = make(), tiled = make();
      const Box box = box_for(target);
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, fields, others(box), box, tile, {tile + 1}, target);
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << tile << " steps on " << to_string(target);
    }
  }
}

TEST(TimeTilePlanes, OfStars) {
  struct Case {
    Type type;
    int radius;
    std::vector<int> tiles;
  };
  for (const auto& [type, radius, tiles] :
       {Case{Float(32), 1, {2, 4}}, Case{Float(64), 1, {3}}, Case{Float(32), 2, {2}}}) {
    const ImageParam u(type, 3, "u");
    Func next("next");
    next(x, y, z) = star(u, type, radius);
    expect_tiles([&] { return Iteration({{u, next}}); }, {u}, tiles);
  }
}

TEST(TimeTilePlanes, OfABoxOf27Points) {
  const ImageParam u(Float(64), 3, "u");
  Func next("next");
  Expr sum = 0.02 * u(x, y, z);
  int k = 0;
  for (int dz = -1; dz <= 1; ++dz) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) sum = sum + (0.03 + 0.0005 * k++) * u(x + dx, y + dy, z + dz);
    }
  }
  next(x, y, z) = sum;
  expect_tiles([&] { return Iteration({{u, next}}); }, {u}, {2});
}

TEST(TimeTilePlanes, WithACoefficientField) {
  const ImageParam u(Float(32), 3, "u"), c(Float(32), 3, "c");
  Func next("next");
  next(x, y, z) = u(x, y, z) + 0.1F * c(x, y, z) * star(u, Float(32), 1);
  expect_tiles(
      [&] {
        return Iteration({{u, next}});
      },
      {u}, {3},
      [&](const Box& box) {
        return Others{{c, random_over(Float(32), box, 5)}};
      });
}

TEST(TimeTilePlanes, BetweenBoundaryConditions) {
  const ImageParam u(Float(32), 3, "u");
  for (const Func& around :
       {BoundaryConditions::repeat_edge(u), BoundaryConditions::mirror_interior(u),
        BoundaryConditions::constant_exterior(u, 0.5F), BoundaryConditions::repeat_image(u)}) {
    Func next("next");
    next(x, y, z) = star(around, Float(32), 1);
    expect_tiles([&] { return Iteration({{u, next}}); }, {u}, {3});
  }
}

TEST(TimeTilePlanes, OfSeveralValues) {
  const ImageParam u(Float(32), 3, "u"), v(Float(32), 3, "v");
  Func both("both");
  const Expr reaction = u(x, y, z) * v(x, y, z) * v(x, y, z);
  both(x, y, z) =
      Tuple(star(u, Float(32), 1) - 0.1F * reaction, star(v, Float(32), 1) + 0.1F * reaction);
  expect_tiles([&] { return Iteration({{u, both, 0}, {v, both, 1}}); }, {u, v}, {2});
}

TEST(TimeTilePlanes, OfALeapfrogStep) {
  const ImageParam before(Float(32), 3, "before"), now(Float(32), 3, "now");
  Func next("next");
  next(x, y, z) = 2.0F * star(now, Float(32), 1) - before(x, y, z);
  expect_tiles([&] { return Iteration({{before, now}, {now, next}}); }, {before, now}, {2});
}

TEST(TimeTilePlanes, OfFuncsThatReadEachOther) {
  const ImageParam p(Float(32), 3, "p"), v(Float(32), 3, "v"), w(Float(32), 3, "w");
  Func vn("vn"), wn("wn"), pn("pn");
  vn(x, y, z) = v(x, y, z) - 0.4F * (p(x + 1, y, z) - p(x, y, z));
  wn(x, y, z) = w(x, y, z) - 0.4F * (p(x, y, z + 1) - p(x, y, z));
  pn(x, y, z) = p(x, y, z) - 0.4F * (vn(x, y, z) - vn(x - 1, y, z) + wn(x, y, z) - wn(x, y, z - 1));
  expect_tiles([&] { return Iteration({{v, vn}, {w, wn}, {p, pn}}); }, {v, w, p}, {2});
}

/// Points of a thread of the best march.
int points_of(const Iteration& iteration, int levels) {
  const std::vector<iterate::Marching> marches =
      iterate::marches_of_planes(*iteration.state(), levels, false);
  if (marches.empty()) return 0;
  int points = 1;
  for (const Directive& directive : marches.front().loops) {
    if (const auto* vectors = std::get_if<directive::Vectorize>(&directive.op)) points *= vectors->width;
    if (const auto* rows = std::get_if<directive::Unroll>(&directive.op)) points *= rows->factor;
  }
  return points;
}

// A coefficient stands in registers as long as levels read it. Velocities that are read along one axis
// take fewer than fields whose neighbours are all read.
TEST(TimeTilePlanes, HaveAsManyPointsAsThreadsHold) {
  const ImageParam u(Float(32), 3, "u"), c(Float(32), 3, "c");
  Func heat("heat"), other("other");
  heat(x, y, z) = star(u, Float(32), 1);
  other(x, y, z) = u(x, y, z) + c(x, y, z) * star(u, Float(32), 1);
  EXPECT_LT(points_of(Iteration({{u, other}}), 3), points_of(Iteration({{u, heat}}), 3));

  std::vector<ImageParam> f;
  for (int i = 0; i < 4; ++i) f.emplace_back(Float(32), 3, "f" + std::to_string(i));
  Func flow("flow"), faces("faces");
  flow(x, y, z) = Tuple(star(f[0], Float(32), 1), star(f[1], Float(32), 1), star(f[2], Float(32), 1),
                        star(f[3], Float(32), 1));
  const Expr p = f[0](x, y, z);
  faces(x, y, z) = Tuple(p - 0.2F * (f[1](x, y, z) - f[1](x - 1, y, z) + f[2](x, y, z) -
                                     f[2](x, y - 1, z) + f[3](x, y, z) - f[3](x, y, z - 1)),
                         f[1](x, y, z) - 0.2F * (f[0](x + 1, y, z) - p),
                         f[2](x, y, z) - 0.2F * (f[0](x, y + 1, z) - p),
                         f[3](x, y, z) - 0.2F * (f[0](x, y, z + 1) - p));
  const auto iterated = [&](const Func& next) {
    return Iteration({{f[0], next, 0}, {f[1], next, 1}, {f[2], next, 2}, {f[3], next, 3}});
  };
  EXPECT_GT(points_of(iterated(flow), 2), 0);
  EXPECT_LT(points_of(iterated(flow), 2), points_of(iterated(faces), 2));
}

// What the step says itself counts, and so does a grid of few blocks.
TEST(TimeTilePlanes, AreNotForEveryStep) {
  const ImageParam u(Float(32), 3, "u");
  Func far("far"), next("next");
  far(x, y, z) = star(u, Float(32), 3);
  Iteration plain({{u, far}}), tiled({{u, far}});
  testing::internal::CaptureStderr();
  expect_same(plain, tiled, {u}, {}, {{0, 40}, {0, 30}, {0, 20}}, 2, {3}, Target::gpu_emulator());
  const std::string note = testing::internal::GetCapturedStderr();
  EXPECT_NE(note.find("give it gpu_tile and march"), std::string::npos) << note;

  next(x, y, z) = star(u, Float(32), 1);
  Iteration heat({{u, next}});
  const auto why = [&](std::int64_t n) {
    return iterate::why_too_few(*heat.state(), {{1, n}, {1, n}, {1, n}}, 132);
  };
  heat.time_tile(2);
  EXPECT_NE(why(254).find("84 blocks"), std::string::npos) << why(254);
  EXPECT_NE(why(254).find("132 multiprocessors"), std::string::npos);
  EXPECT_EQ(why(510), "");
  heat.time_tile(3);  // gains more, and may leave more multiprocessors idle
  EXPECT_EQ(why(254), "");
  EXPECT_NE(why(200).find("41 blocks"), std::string::npos) << why(200);
  next.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_EQ(why(30), "") << "the user's own blocks";
}

}  // namespace
}  // namespace mica::test
