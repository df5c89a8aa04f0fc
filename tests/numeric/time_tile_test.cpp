// Time tiles: several steps at once give the bits of single steps, on every target, for any number of
// steps.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/expect_error.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

// Rows that begin and end within lines of memory, and memory of the user's that holds nothing beside
// them.
TEST(TimeTile, RowsWithAndWithoutPadding) {
  for (const Target& target : gpu_targets()) {
    for (const bool padded : {true, false}) {
      const ImageParam u(Float(32), 3, "u"), c(Float(32), 3, "c");
      Func next("next");
      next(x, y, z) = u(x, y, z) + c(x, y, z) * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                                 u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
      next.gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 2).march(z, 6).scatter(z);
      Iteration plain({{u, next}}), tiled({{u, next}});
      tiled.time_tile(2);
      const std::vector<std::int64_t> inner{131, 9, 11}, halo{1, 1, 1};
      AnyBuffer coefficient = AnyBuffer::with_halo(Float(32), inner, halo);
      fill_random(coefficient, 5);
      std::vector<float> users(136 * 11 * 13);
      const auto field = [&] {
        AnyBuffer made = AnyBuffer::with_halo(Float(32), inner, halo);
        fill_random(made, 6);
        return made;
      };
      AnyBuffer single = field(), several = field();
      if (!padded) {
        // Vectors of 16 bytes may stand at the first point of the stepped box.
        several = AnyBuffer::wrap_host(Float(32), users.data() + 3,
                                       {{-1, 133, 1}, {-1, 11, 136}, {-1, 13, 136 * 11}});
        fill_random(several, 6);
      }
      ASSERT_TRUE(same_bits(single, several));
      const std::vector<float> before = users;
      plain.run({{u, single}, {c, coefficient}}, 5, {.target = target});
      tiled.run({{u, several}, {c, coefficient}}, 5, {.target = target});
      EXPECT_TRUE(same_bits(single, several)) << to_string(target);
      for (std::size_t i = 0; i < users.size() && !padded; i += 136) {
        EXPECT_EQ(before[i], users[i]) << "what lies between the rows is the user's";
      }
    }
  }
}

TEST(TimeTile, OneDimensionOfRadiusTwo) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 1, "u");
    Func next("next");
    next(x) = 0.4F * u(x) + 0.3F * u(x - 2) + 0.2F * u(x + 1);
    if (target.is_gpu()) next.gpu_tile(x, 32);
    Iteration plain({{u, next}}), tiled({{u, next}});
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {u}, {}, {{-3, 9001}}, 4, {4, 7}, target);
    const std::string notes = testing::internal::GetCapturedStderr();
    EXPECT_EQ(notes.empty(), !target.is_gpu()) << notes;
  }
}

TEST(TimeTile, AStarInTwoDimensionsWithFixedBoundaries) {
  const Target target = Target::host();
  const ImageParam u(Float(64), 2, "u");
  Func next("next");
  next(x, y) = 0.5 * u(x, y) + 0.125 * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));
  Iteration plain({{u, next}}), tiled({{u, next}});
  expect_same(plain, tiled, {u}, {}, {{0, 300}, {-2, 600}}, 3, {3, 8}, target);
  expect_same(plain, tiled, {u}, {}, {{0, 3}, {0, 3}}, 4, {9}, target);
  expect_same(plain, tiled, {u}, {}, {{0, 3}, {0, 70}}, 8, {8}, target);
}

TEST(TimeTile, ABoxInThreeDimensionsOfRadiusTwoThatIsNotLinear) {
  const Target target = Target::host();
  const ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = max(u(x, y, z), 0.25F * (u(x - 2, y + 1, z - 1) + u(x + 1, y - 2, z + 2)) +
                                      0.1F * u(x, y, z - 2) * u(x + 2, y, z));
  Iteration plain({{u, next}}), tiled({{u, next}});
  expect_same(plain, tiled, {u}, {}, {{0, 41}, {0, 37}, {0, 85}}, 3, {3, 7}, target);
}

TEST(TimeTile, LeapfrogWithACoefficientAndTheNumberOfTheStep) {
  for (const Target& target : all_targets()) {
    const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now"), c(Float(32), 2, "c");
    const ImageParam wavelet(Float(32), 1, "wavelet");
    Func next("next");
    next(x, y) =
        2.0F * now(x, y) - before(x, y) +
        c(x, y) * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4.0F * now(x, y)) +
        select(x == 7 && y == 5, wavelet(step()), 0.0F);
    if (target.is_gpu()) next.gpu_tile(x, y, 32, 4);
    const Box box{{0, 45}, {0, 33}};
    const AnyBuffer speed = random_over(Float(32), box, 5);
    const AnyBuffer series = random_over(Float(32), {{0, 40}}, 6);
    Iteration plain({{before, now}, {now, next}}), tiled({{before, now}, {now, next}});
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {before, now}, {{c, speed}, {wavelet, series}}, box, 4, {4, 5, 11},
                target);
    testing::internal::GetCapturedStderr();
  }
}

// Threads hold their own points of it, too, which nobody reads.
TEST(TimeTile, ACoefficientThatIsReadOnOneSideOnly) {
  for (const Target& target : all_targets()) {
    for (const int away : {-1, 1, 2}) {
      const ImageParam u(Float(32), 2, "u"), c(Float(32), 2, "c");
      Func next("next");
      next(x, y) = u(x - 1, y) - u(x, y) * c(x + away, y);
      Iteration plain({{u, next}}), tiled({{u, next}});
      const AnyBuffer values = random_over(Float(32), {{-2, 49}, {0, 33}}, 5);
      expect_same(plain, tiled, {u}, {{c, values}}, {{0, 45}, {0, 33}}, 2, {2, 5}, target);
    }
  }
}

TEST(TimeTile, CoupledFieldsWithEveryBoundaryCondition) {
  for (const Target& target : all_targets()) {
    for (const auto& boundary : std::vector<std::function<Func(const ImageParam&)>>{
             [](const ImageParam& u) { return BoundaryConditions::repeat_image(u); },
             [](const ImageParam& u) { return BoundaryConditions::repeat_edge(u); },
             [](const ImageParam& u) { return BoundaryConditions::mirror_interior(u); },
             [](const ImageParam& u) { return BoundaryConditions::constant_exterior(u, 0.5F); }}) {
      const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
      const Func bu = boundary(u), bv = boundary(v);
      Func both("both");
      both(x, y) = Tuple(u(x, y) + 0.1F * (bu(x - 1, y) + bu(x, y + 1)) - v(x, y),
                         v(x, y) + 0.1F * (bv(x + 1, y) + bv(x, y - 1)) * u(x, y));
      if (target.is_gpu()) both.gpu_tile(x, y, 16, 4);
      Iteration plain({{u, both, 0}, {v, both, 1}}), tiled({{u, both, 0}, {v, both, 1}});
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, {u, v}, {}, {{0, 37}, {0, 29}}, 3, {3, 4}, target);
      testing::internal::GetCapturedStderr();
    }
  }
}

TEST(TimeTile, LevelsStandInTheRegistersOfAMarch) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Float(32), 3, "u");
    Func next("next");
    next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                                u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
    next.gpu_tile(x, y, 32, 2).vectorize(x, 4).unroll(y, 4).march(z, 8);
    Iteration plain({{u, next}}), tiled({{u, next}});
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {u}, {}, {{0, 140}, {0, 11}, {0, 13}}, 2, {2, 5}, target);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "no note: the levels are in one kernel";
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {u}, {}, {{0, 125}, {0, 9}, {0, 6}}, 3, {3}, target);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "no note: the levels are in one kernel";
  }
}

// Copies of 16 bytes begin between two vectors of 8: where a row ends with a line of memory, some of
// such a copy's elements lie in it.
TEST(TimeTile, RowsThatEndWithALine) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Float(32), 3, "u");
    Func next("next");
    next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                                u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
    next.gpu_tile(x, y, 32, 3).vectorize(x, 2).unroll(y, 2).march(z, 8);
    Iteration plain({{u, next}}), tiled({{u, next}});
    for (const std::int64_t points : {33, 65, 97}) {
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, {u}, {}, {{-1, points}, {0, 9}, {0, 10}}, 2, {2}, target);
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "no note: the levels are in one kernel";
    }
  }
}

TEST(TimeTile, LevelsAreSummedPlaneByPlane) {
  for (const Target& target : gpu_targets()) {
    for (const Partials partials : {Partials::EveryPlane, Partials::Centre}) {
      const ImageParam u(Float(32), 3, "u");
      Func next("next");
      next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * u(x - 1, y, z) + 0.11F * u(x + 1, y, z) +
                      0.12F * u(x, y - 1, z) + 0.13F * u(x, y + 1, z) + 0.14F * u(x, y, z - 1) +
                      0.15F * u(x, y, z + 1);
      next.gpu_tile(x, y, 32, 2).vectorize(x, 4).unroll(y, 4).march(z, 7).scatter(z, partials);
      Iteration plain({{u, next}}), tiled({{u, next}});
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, {u}, {}, {{0, 125}, {0, 11}, {0, 10}}, 3, {4}, target);
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "no note: the levels are in one kernel";
    }
  }
}

TEST(TimeTile, ABoxThatTheUserGave) {
  const ImageParam u(Float(32), 2, "u");
  Func next("next");
  next(x, y) = 0.5F * u(x, y) + 0.25F * (u(x - 1, y) + u(x, y + 2));
  Iteration plain({{u, next}}), tiled({{u, next}});
  plain.over({{5, 20}, {1, 9}});
  tiled.over({{5, 20}, {1, 9}});
  expect_same(plain, tiled, {u}, {}, {{0, 40}, {0, 30}}, 3, {7}, Target::host());
}

// Nothing bounds it, so a read beyond the input is refused as any other, in a frame too.
// Chunks at the ends of the march, in which blocks run the planes that lie inside without tests: boxes
// that leave a rim of several planes at either end, one of a single plane, and far reads along z.
TEST(TimeTile, PlanesAtTheEndsOfAMarch) {
  struct Case {
    int reach, chunk;
    Box over;
  };
  const std::vector<Case> cases{{1, 2, {{1, 132}, {1, 10}, {1, 25}}},
                                {1, 16, {{1, 132}, {1, 10}, {2, 24}}},
                                {2, 5, {{7, 110}, {3, 5}, {9, 11}}},
                                {2, 16, {{1, 132}, {1, 10}, {2, 1}}}};
  for (const Case& c : cases) {
    const ImageParam u(Float(32), 3, "u");
    Func next("next");
    next(x, y, z) = 0.5F * u(x, y, z) + 0.1F * u(x - 1, y, z) + 0.07F * u(x + 1, y, z) +
                    0.09F * u(x, y - 1, z) + 0.12F * u(x, y + 1, z) + 0.08F * u(x, y, z - c.reach) +
                    0.14F * u(x, y, z + c.reach);
    next.gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 2).march(z, c.chunk).scatter(z);
    Iteration plain({{u, next}}), tiled({{u, next}});
    plain.over(c.over);
    tiled.over(c.over);
    for (const Target& target : gpu_targets()) {
      expect_same(plain, tiled, {u}, {}, {{0, 134}, {0, 12}, {0, 27}}, 3, {7}, target);
    }
  }
}

TEST(TimeTile, ABoundaryConditionWithoutRangesKeepsNoBox) {
  const ImageParam u(Float(32), 3, "u");
  const Func copy = BoundaryConditions::repeat_edge(u, {{}, {}, {}});
  Func next("next");
  next(x, y, z) = copy(x, y, z) + copy(x, y, z - 1);
  next.gpu_tile(x, y, 32, 2).vectorize(x, 4).march(z, 4);
  Func(copy).compute_at(next, "z.march").store_in(MemoryType::Register);
  const Buffer<float> a(128, 8, 8);
  Buffer<float> b(128, 8, 8);
  EXPECT_THROW(next.realize(b, Target::gpu_emulator(), {.inputs = {{u, a}}}), UserError);
}

// Where the step has its fluxes computed is no place in a tile: they come along with their levels.
TEST(TimeTile, FluxesThatHaveAPlaceOfTheirOwn) {
  using Places = std::function<void(Func & flux, Func & next)>;
  const std::vector<Places> on_host{
      [](Func& flux, Func&) { flux.compute_root().parallel(y); },
      [](Func& flux, Func& next) {
        next.split(y, "yo", "yi", 16).parallel("yo").vectorize(x, 8);
        flux.compute_at(next, "yo").vectorize(x, 8);
      },
      [](Func& flux, Func& next) { flux.compute_at(next, y).store_root(); },
  };
  const std::vector<Places> on_gpu{
      [](Func& flux, Func& next) {
        next.gpu_tile(x, y, 32, 4);
        flux.compute_root().gpu_tile(x, y, 32, 4);
      },
      [](Func& flux, Func& next) {
        next.gpu_tile(x, y, 32, 4);
        flux.compute_at(next, "x.block").store_in(MemoryType::Shared);
      },
      [](Func& flux, Func& next) {
        next.gpu_tile(x, 32).vectorize(x, 4).march(y, 40);
        flux.compute_at(next, "y.march").store_in(MemoryType::Register);
      },
  };
  for (const Target& target : all_targets()) {
    for (const Places& place : target.is_gpu() ? on_gpu : on_host) {
      const ImageParam u(Float(32), 2, "u");
      Func flux("flux"), next("next");
      flux(x, y) = Tuple(u(x + 1, y) * abs(u(x, y)) - u(x, y), u(x, y + 1) - u(x, y));
      next(x, y) =
          u(x, y) + 0.1F * (flux(x, y)[0] - flux(x - 1, y)[0] + flux(x, y)[1] - flux(x, y - 1)[1]);
      place(flux, next);
      const Schedule before = flux.schedule();
      Iteration plain({{u, next}}), tiled({{u, next}});
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, {u}, {}, {{0, 96}, {-1, 61}}, 3, {3, 8}, target);
      const std::string notes = testing::internal::GetCapturedStderr();
      EXPECT_TRUE(target.is_gpu() || notes.empty()) << notes;
      EXPECT_EQ(before, flux.schedule()) << "directives of the user's";
    }
  }
}

// A sum at the root, of constant extent, over points around the step's own.
TEST(TimeTile, SumsThatAStepReads) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const RDom r({{-1, 3}});
    Func around("around"), next("next");
    around(x, y) = 0.0F;
    around(x, y) += u(x + r.x, y - r.x);
    next(x, y) = 0.5F * u(x, y) + 0.1F * around(x, y);
    if (target.is_gpu()) {
      next.gpu_tile(x, y, 32, 4);
      around.compute_root().gpu_tile(x, y, 32, 4);
      around.update().gpu_tile(x, y, 32, 4);
    }
    Iteration plain({{u, next}}), tiled({{u, next}});
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {u}, {}, {{0, 90}, {0, 41}}, 3, {3, 7}, target);
    testing::internal::GetCapturedStderr();
  }
}

// What the fields have no part in is computed once, where the user has it, and not again in each tile.
TEST(TimeTile, ATableThatAllStepsShare) {
  for (const Target& target : all_targets()) {
    for (const bool whole : {false, true}) {
      const ImageParam u(Float(32), 2, "u"), c(Float(32), 1, "c");
      const Func around = whole ? BoundaryConditions::repeat_edge(u) : Func();
      const auto read = [&](const Expr& i, const Expr& j) -> Expr {
        return whole ? Expr(around(i, j)) : Expr(u(i, j));
      };
      Func table("table"), total("total"), next("next");
      const RDom r({{0, 61}});
      table(x) = exp(-c(x) * c(x));
      total() = 0.0F;
      total() += c(r.x);
      next(x, y) = 0.5F * u(x, y) + table(y) * (read(x - 1, y) + read(x, y + 1)) + 0.01F * total();
      table.compute_root();
      if (target.is_gpu()) {
        next.gpu_tile(x, y, 32, 4);
        table.gpu_tile(x, 32);
      } else {
        table.vectorize(x, 8);
      }
      const Schedule before = table.schedule();
      Iteration plain({{u, next}}), tiled({{u, next}});
      const std::vector<RunInput> inputs{{c, random_over(Float(32), {{0, 61}}, 4)}};
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, {u}, inputs, {{0, 96}, {0, 61}}, 3, {3, 7}, target);
      testing::internal::GetCapturedStderr();
      EXPECT_EQ(before, table.schedule());
      const std::string loops = print_loop_nest({tiled.steps_at_once(target)}, target);
      int produced = 0;
      for (auto at = loops.find("produce table"); at != std::string::npos;
           at = loops.find("produce table", at + 1)) {
        ++produced;
      }
      EXPECT_EQ(produced, 1) << "a table for each step:\n" << loops;
    }
  }
}

// A tile does not hold what each of its points would need of all of a field. On a GPU steps are then
// computed one after the other.
TEST(TimeTile, AMeanOfTheWholeField) {
  const auto steps = [](const Target& target, const CallSite& at) {
    const ImageParam u(Float(32), 2, "u");
    const RDom r({{0, 24}, {0, 18}});
    Func mean("mean"), next("next");
    mean() = 0.0F;
    mean() += u(r.x, r.y) * (1.0F / 432);
    next(x, y) = 0.5F * u(x, y) + 0.25F * (u(x - 1, y) + u(x, y + 1)) - 0.1F * mean();
    if (target.is_gpu()) next.gpu_tile(x, y, 8, 4);
    Iteration plain({{u, next}}), tiled({{u, next}});
    tiled.time_tile(2, at);
    if (!target.is_gpu()) {
      AnyBuffer field = random_over(Float(32), {{0, 24}, {0, 18}}, 4);
      tiled.run({{u, field}}, 4, {.target = target});
      return;
    }
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {u}, {}, {{0, 24}, {0, 18}}, 2, {2, 5}, target);
    EXPECT_NE(testing::internal::GetCapturedStderr(), "") << "that it is not tiled is said";
  };
  EXPECT_TRUE(fails_with([&] { steps(Target::host(), CallSite::current()); },
                         {"mean", "needs the fields away from its own points", "leave time_tile out"}));
  steps(Target::gpu_emulator(), CallSite::current());
}

// A sum of many points is made of Funcs, whose points have nothing to do with the step's. Taken for some
// that follow it, they were computed in each tile, and 8,192 of their values were written out for each
// point of the step: a minute was not enough to compile that.
TEST(TimeTile, ASumOfTheWholeFieldAsAnExpression) {
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    const ImageParam u(Float(32), 2, "u");
    const Param<std::int32_t> first("first", 3), points("points", 7);
    const RDom line({{first, points}}, "line"), box({{0, 40}, {0, 30}}, "box");
    for (const Expr& sum : {maximum(line, u(line, line)), mica::sum(box, u(box.x, box.y))}) {
      Func next("next");
      next(x, y) = 0.5F * u(x, y) + 0.25F * (u(x - 1, y) + u(x, y + 1)) - 0.001F * sum;
      if (target.is_gpu()) next.gpu_tile(x, y, 8, 4);
      Iteration plain({{u, next}}), tiled({{u, next}});
      tiled.time_tile(2);
      AnyBuffer field = random_over(Float(32), {{0, 40}, {0, 30}}, 4);
      if (!target.is_gpu()) {
        EXPECT_TRUE(fails_with(
            [&] {
              tiled.run({{u, field}}, 4, {.target = target});
            },
            {"needs the fields away from its own points", "leave time_tile out"}));
        continue;
      }
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, {u}, {}, {{0, 40}, {0, 30}}, 2, {2, 5}, target);
      EXPECT_NE(testing::internal::GetCapturedStderr(), "") << "that it is not tiled is said";
    }
  }
}

// What follows the number of the step alone needs nothing of the fields, wherever it is read.
TEST(TimeTile, AmplitudesOfAStepThatAreComputedAhead) {
  const ImageParam u(Float(32), 2, "u");
  Func wave("wave"), amplitude("amplitude"), next("next");
  wave(x) = cast<float>(x + step());
  amplitude() = cast<float>(step()) * 0.25F;
  wave.compute_root();
  amplitude.compute_root();
  next(x, y) = 0.5F * u(x, y) + 0.25F * (u(x - 1, y) + u(x, y + 1)) + wave(x) * amplitude();
  Iteration plain({{u, next}}), tiled({{u, next}});
  tiled.time_tile(2);
  expect_same(plain, tiled, {u}, {}, {{0, 40}, {0, 30}}, 2, {2, 5}, Target::host());
}

// A Func that follows its own point, and is read at another one.
TEST(TimeTile, AHelperReadAtAFixedPoint) {
  const ImageParam u(Float(32), 2, "u");
  Func half("half"), through("through"), next("next");
  half(x, y) = 0.5F * u(x, y);
  half.compute_root();
  through(x, y) = half(x, y) + 1.0F;
  next(x, y) = u(x, y) + through(0, 0);
  Iteration steps({{u, next}});
  steps.time_tile(2);
  AnyBuffer field = random_over(Float(32), {{0, 24}, {0, 18}}, 4);
  EXPECT_TRUE(fails_with(
      [&] {
        steps.run({{u, field}}, 4, {.target = Target::host()});
      },
      {"half", "needs the fields away from its own points"}));
}

TEST(TimeTile, CallbacksAndChecksSeeWholeSteps) {
  const ImageParam u(Float(32), 1, "u");
  Func next("next");
  next(x) = 0.5F * (u(x - 1) + u(x + 1));
  const AnyBuffer a = random_over(Float(32), {{0, 50}}, 3), b = a.copy();
  Iteration plain({{u, next}}), tiled({{u, next}});
  std::vector<AnyBuffer> seen;
  const auto look = [&, u](const RunningIteration& now) { seen.push_back(now.field(u).copy()); };
  plain.every(7, look).run({{u, a}}, 16, {.target = Target::host()});
  tiled.time_tile(3).every(7, look).run({{u, b}}, 16, {.target = Target::host()});
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_TRUE(same_bits(seen[0], seen[2]));
  EXPECT_TRUE(same_bits(seen[1], seen[3]));
  EXPECT_TRUE(same_bits(a, b));
}

TEST(TimeTile, WhatItCannotDoIsSaid) {
  const ImageParam u(Float(32), 1, "u"), v(Float(32), 1, "v");
  Func next("next"), other("other"), updated("updated");
  next(x) = 0.5F * (u(x - 1) + u(x + 1));
  updated(x) = u(x);
  updated(3) += 1.0F;
  const Buffer<float> a(40), b(40);
  const IterationOptions host{.target = Target::host()};
  Iteration heat({{u, next}});
  EXPECT_FAILS(heat.time_tile(0), "0 steps", "1 or more");
  heat.time_tile(8);
  EXPECT_THROW(heat.run({{u, a}}, 5, host), UserError);
  Iteration with_update({{u, updated}});
  with_update.time_tile(2);
  EXPECT_THROW(with_update.run({{u, a}}, 4, host), UserError);
  other(x) = v(x) + next(x);
  other(3) += 1.0F;
  Iteration second_with_update({{u, next}, {v, other}});
  second_with_update.time_tile(2);
  EXPECT_THROW(second_with_update.run({{u, a}, {v, b}}, 4, host), UserError);
}

}  // namespace
}  // namespace mica::test
