// Time tiles of steps with boundary conditions: on a GPU levels stand in the registers of one march all
// the same, and have the bits of single steps.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "codegen/iterate/open_edges.h"
#include "dsl/func/boundary.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

using Condition = Func (*)(const ImageParam&);

Func clamped(const ImageParam& u) { return BoundaryConditions::repeat_edge(u); }
Func mirrored(const ImageParam& u) { return BoundaryConditions::mirror_image(u); }
Func mirrored_about_edge(const ImageParam& u) { return BoundaryConditions::mirror_interior(u); }
Func constant(const ImageParam& u) { return BoundaryConditions::constant_exterior(u, 0.5F); }

/// Do tiles have the bits of single steps? What they noted.
std::string notes_of(const std::vector<Replacement>& pairs, const std::vector<ImageParam>& fields,
                     const std::vector<RunInput>& others, const Box& box, int tile, int steps,
                     const Target& target) {
  Iteration plain(pairs), tiled(pairs);
  testing::internal::CaptureStderr();
  expect_same(plain, tiled, fields, others, box, tile, {steps}, target);
  return testing::internal::GetCapturedStderr();
}

TEST(TimeTileEdges, OfRowsWithEachCondition) {
  for (const Target& target : all_targets()) {
    for (const Condition condition : {clamped, mirrored, mirrored_about_edge, constant}) {
      const ImageParam u(Float(32), 2, "u");
      const Func b = condition(u);
      Func next("next");
      next(x, y) = 0.4F * u(x, y) + 0.1F * (b(x - 1, y) + b(x + 1, y)) + 0.2F * b(x, y - 1) -
                   0.3F * b(x + 1, y + 1);
      EXPECT_EQ(notes_of({{u, next}}, {u}, {}, {{-3, 150}, {2, 41}}, 3, 7, target), "");
    }
  }
}

// Mirrors are opened there, too, in two dimensions all.
TEST(TimeTileEdges, OnTheHost) {
  for (const Target& target : {Target::host(), Target::host_checked()}) {
    for (const Condition condition : {clamped, mirrored, mirrored_about_edge, constant}) {
      const ImageParam line(Float(64), 1, "line"), u(Float(32), 3, "u");
      const Func a = condition(line), b = condition(u);
      Func along("along"), next("next");
      along(x) = 0.5 * a(x) + 0.3 * a(x - 2) - 0.2 * a(x + 1);
      next(x, y, z) = 0.4F * b(x, y, z) + 0.1F * (b(x - 1, y, z) + b(x, y + 1, z)) -
                      0.2F * (b(x + 1, y, z + 1) + b(x, y, z - 1));
      for (const int tile : {2, 5}) {
        EXPECT_EQ(notes_of({{line, along}}, {line}, {}, {{-4, 5000}}, tile, 11, target), "");
        EXPECT_EQ(notes_of({{u, next}}, {u}, {}, {{0, 35}, {-1, 40}, {4, 9}}, tile, 11, target), "");
      }
    }
  }
}

TEST(TimeTileEdges, OfPlanesWhoseSumsWouldBeCut) {
  for (const Target& target : gpu_targets()) {
    for (const Condition condition : {clamped, mirrored, constant}) {
      const ImageParam u(Float(32), 3, "u");
      const Func b = condition(u);
      Func next("next");
      next(x, y, z) = 0.4F * b(x, y, z) + 0.1F * (b(x - 1, y, z) + b(x + 1, y, z) + b(x, y - 1, z) +
                                                  b(x, y + 1, z) + b(x, y, z - 1) + b(x, y, z + 1));
      next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 2).march(z, 8).scatter(z);
      EXPECT_EQ(notes_of({{u, next}}, {u}, {}, {{0, 70}, {-1, 11}, {4, 13}}, 2, 5, target), "");
    }
  }
}

TEST(TimeTileEdges, AlongOneDimensionOfThree) {
  for (const Target& target : gpu_targets()) {
    for (const Var& along : {x, y, z}) {
      const ImageParam u(Float(32), 3, "u");
      const Func b = BoundaryConditions::repeat_edge(u, {{along}});
      Func next("next");
      next(x, y, z) = 0.4F * b(x, y, z) + 0.1F * (b(x - 1, y, z) + b(x + 1, y, z)) -
                      0.2F * (b(x, y - 1, z) + b(x, y, z - 1) + b(x, y, z + 1));
      next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 2).march(z, 8).scatter(z);
      EXPECT_EQ(notes_of({{u, next}}, {u}, {}, {{0, 70}, {-1, 11}, {4, 13}}, 2, 5, target), "");
    }
  }
}

TEST(TimeTileEdges, OfTwoPointsOnEitherSide) {
  for (const Target& target : gpu_targets()) {
    for (const Condition condition : {clamped, mirrored, mirrored_about_edge}) {
      const ImageParam u(Float(64), 2, "u");
      const Func b = condition(u);
      Func next("next");
      next(x, y) = 0.4 * b(x, y) + 0.1 * (b(x - 2, y) - b(x + 2, y + 1)) + 0.2 * b(x + 1, y - 2) +
                   0.05 * b(x - 1, y + 2);
      EXPECT_EQ(notes_of({{u, next}}, {u}, {}, {{0, 131}, {0, 37}}, 2, 5, target), "");
    }
  }
}

TEST(TimeTileEdges, OfALeapfrogStepWithACoefficientOfItsOwnCondition) {
  for (const Target& target : gpu_targets()) {
    const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now"), c(Float(32), 2, "c");
    const Func b = mirrored(now), speed = clamped(c);
    Func next("next");
    next(x, y) =
        2.0F * now(x, y) - before(x, y) +
        0.1F * (speed(x + 1, y) + cast<float>(step())) * (b(x - 1, y) + b(x, y + 1) - 2.0F * now(x, y));
    const Box box{{0, 100}, {0, 30}};
    EXPECT_EQ(notes_of({{before, now}, {now, next}}, {before, now},
                       {{c, random_over(Float(32), box, 3)}}, box, 2, 5, target),
              "");
  }
}

TEST(TimeTileEdges, ThroughFuncsBetween) {
  for (const Target& target : gpu_targets()) {
    for (const bool at_root : {false, true}) {
      const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
      const Func bu = clamped(u), bv = constant(v);
      Func flux("flux"), both("both");
      flux(x, y) = 0.3F * bu(x + 1, y) - 0.2F * bu(x, y) + bv(x, y + 1);
      both(x, y) = Tuple(u(x, y) + 0.1F * (flux(x, y) - flux(x - 1, y)), v(x, y) - 0.1F * bu(x, y - 1));
      if (at_root) {
        flux.compute_root().gpu_tile(x, y, 32, 4);
        both.gpu_tile(x, y, 32, 4);
      }
      const std::string notes =
          notes_of({{u, both, 0}, {v, both, 1}}, {u, v}, {}, {{0, 90}, {0, 33}}, 2, 5, target);
      EXPECT_EQ(notes.empty(), !at_root) << notes;
    }
  }
}

TEST(TimeTileEdges, OfFieldsOfFewPoints) {
  for (const Target& target : gpu_targets()) {
    for (const std::int64_t n : {1, 2, 3}) {
      for (const Condition condition : {clamped, mirrored, mirrored_about_edge}) {
        const ImageParam u(Int(32), 2, "u");
        const Func b = condition(u);
        Func next("next");
        next(x, y) = b(x - 2, y) + 3 * b(x + 1, y) - b(x, y + 1);
        const std::string notes = notes_of({{u, next}}, {u}, {}, {{0, n}, {0, 5}}, 2, 5, target);
        const std::int64_t least = condition(u).name().ends_with("repeat_edge")    ? 1
                                   : condition(u).name().ends_with("mirror_image") ? 2
                                                                                   : 3;
        const std::string range = "keep to 0 ... " + std::to_string(n - 1) + " of dimension 0";
        EXPECT_EQ(notes.find(range) != std::string::npos, n < least) << b.name() << ": " << notes;
      }
    }
  }
}

TEST(TimeTileEdges, OfACoefficientThatHoldsFewerPoints) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Float(32), 2, "u"), c(Float(32), 2, "c");
    const Func b = clamped(u), speed = clamped(c);
    Func next("next");
    next(x, y) = 0.5F * u(x, y) + speed(x - 1, y) * b(x + 1, y);
    const std::string notes =
        notes_of({{u, next}}, {u}, {{c, random_over(Float(32), {{4, 30}, {0, 20}}, 3)}},
                 {{0, 40}, {0, 20}}, 2, 4, target);
    EXPECT_NE(notes.find("keep to 4 ... 33 of dimension 0, and the step computes 0 ... 39"),
              std::string::npos)
        << notes;
  }
}

TEST(TimeTileEdges, OfRangesOfTheUsers) {
  for (const Target& target : gpu_targets()) {
    for (const int first : {0, -1, 2}) {
      const ImageParam u(Float(32), 2, "u");
      Param<std::int32_t> n("n");
      n.set(100);
      const Func b = BoundaryConditions::mirror_image(
          BoundaryConditions::repeat_edge(u, {{x, first, n}}), {{y, 0, 30}});
      Func next("next");
      next(x, y) = 0.5F * b(x, y) + 0.2F * (b(x - 1, y) + b(x, y + 1) - b(x + 2, y));
      AnyBuffer single = random_over(Float(32), {{-2, 110}, {0, 30}}, 2), several = single.copy();
      Iteration plain({{u, next}}), tiled({{u, next}});
      for (Iteration* steps : {&plain, &tiled}) steps->over({{0, 99}, {0, 30}});
      tiled.time_tile(3);
      plain.run({{u, single}}, 7, {.target = Target::host()});
      testing::internal::CaptureStderr();
      tiled.run({{u, several}}, 7, {.target = target});
      const std::string notes = testing::internal::GetCapturedStderr();
      EXPECT_EQ(notes.empty(), first <= 0) << notes;
      EXPECT_TRUE(same_bits(single, several)) << to_string(target);
    }
  }
}

TEST(TimeTileEdges, OfARangeThatChangesWithTime) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Float(32), 2, "u");
    Func next("next");
    next(x, y) = 0.5F * u(x, y) + 0.25F * u(clamp(x - 1, 0, step() + 60), y);
    notes_of({{u, next}}, {u}, {}, {{0, 70}, {0, 20}}, 3, 7, target);
  }
}

TEST(TimeTileEdges, WhereTheStepComputesAPartOfTheField) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Func b = mirrored_about_edge(u);
    Func next("next");
    next(x, y) = 0.5F * u(x, y) + 0.2F * (b(x - 1, y) + b(x, y + 1));
    AnyBuffer single = random_over(Float(32), {{0, 140}, {0, 30}}, 2), several = single.copy();
    Iteration plain({{u, next}}), tiled({{u, next}});
    plain.over({{0, 120}, {3, 27}});
    tiled.over({{0, 120}, {3, 27}});
    tiled.time_tile(3);
    plain.run({{u, single}}, 7, {.target = Target::host()});
    testing::internal::CaptureStderr();
    tiled.run({{u, several}}, 7, {.target = target});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(same_bits(single, several)) << to_string(target);
  }
}

TEST(OpenEdges, SayWhatTheyTakeForGranted) {
  const ImageParam u(Float(32), 2, "u");
  const auto edges = [&](const Expr& value) {
    Func next("next");
    next(x, y) = value;
    std::string text;
    if (const auto opened = iterate::open_edges(next)) {
      for (const iterate::OpenedEdge& edge : opened->edges) {
        text += std::to_string(edge.dimension) + ":" + std::to_string(edge.least) + " ";
      }
    }
    return text;
  };
  EXPECT_EQ(edges(u(x - 1, y)), "") << "nothing is bent";
  EXPECT_EQ(edges(clamped(u)(x - 3, y)), "0:1 1:1 ");
  EXPECT_EQ(edges(mirrored(u)(x - 3, y + 1)), "0:3 1:1 ");
  EXPECT_EQ(edges(mirrored_about_edge(u)(x - 3, y) + clamped(u)(x, y - 9)), "") << "too far";
  EXPECT_EQ(edges(u(clamp(x - 1, u.dim(0).min(), u.dim(0).max()), y)), "0:1 ") << "by hand";
  EXPECT_EQ(edges(u(clamp(x - 1, 0, 7), y)), "0:1 ") << "another range";
  EXPECT_EQ(edges(u(clamp(step(), 0, 7), y)), "") << "no coordinate";
  EXPECT_EQ(edges(u(clamp(x - 1, 0, step()), y)), "") << "a range that changes with time";
  Expr deep = clamped(u)(x - 1, y);
  for (int i = 0; i < 20000; ++i) deep = max(deep * 0.5F, deep + 0.1F * static_cast<float>(i % 10));
  EXPECT_EQ(edges(deep), "0:1 1:1 ") << "deep, with shared parts";
  EXPECT_EQ(edges(clamped(u)(2 * x, y)), "");
  EXPECT_EQ(edges(clamped(u)(y, x)), "0:1 1:1 ");
  Expr box;
  for (int i = -8; i <= 8; ++i) {
    for (int j = -8; j <= 8; ++j) {
      const Expr term = clamped(u)(x + i, y + j);
      box = box.defined() ? box + term : term;
    }
  }
  EXPECT_EQ(edges(box), "") << "too many reads";
}

}  // namespace
}  // namespace mica::test
