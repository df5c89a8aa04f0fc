// Time tiles in two dimensions on a GPU: each warp marches along y with all levels in its registers, and
// gives the bits of single steps.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

/// A stencil of a radius, as a star or as a full box, with another weight on every side.
struct Stencil {
  Type type;
  int radius = 1;
  bool box = false, upwind = false;  ///< upwind: of rows, those up to the point's own

  [[nodiscard]] Func step(const ImageParam& u) const {
    Expr sum;
    int k = 0;
    for (int dy = -radius; dy <= (upwind ? 0 : radius); ++dy) {
      for (int dx = -radius; dx <= radius; ++dx) {
        if (!box && dx != 0 && dy != 0) continue;
        const Expr term = cast(type, Expr(0.04 + 0.003 * k++)) * u(x + dx, y + dy);
        sum = sum.defined() ? sum + term : term;
      }
    }
    Func next("next");
    next(x, y) = sum;
    return next;
  }
};

using Extents = std::pair<std::int64_t, std::int64_t>;

/// `steps` steps in tiles of `tile`, scheduled by schedule(step, field), against single steps without
/// directives on the host; without a note, that is, in one kernel.
template <typename Schedule>
void expect_steps(const Stencil& stencil, const Extents& extents, int tile, int steps,
                  const Schedule& schedule, const Extents& rim = {0, 0}) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(stencil.type, 2, "u");
    Func plain_step = stencil.step(u), tiled_step = stencil.step(u);
    schedule(tiled_step, u);
    Iteration plain({{u, plain_step}}), tiled({{u, tiled_step}});
    tiled.time_tile(tile);
    const Box box{{-3, extents.first}, {2, extents.second}};
    if (rim != Extents(0, 0)) {
      const std::vector<std::pair<std::int64_t, std::int64_t>> inner{
          {-3 + rim.first, extents.first - 2 * rim.first},
          {2 + rim.second, extents.second - 2 * rim.second}};
      plain.over(inner);
      tiled.over(inner);
    }
    AnyBuffer a = buffer_over(stencil.type, box);
    fill_random(a, 7);
    AnyBuffer b = a.copy();
    plain.run({{u, a}}, steps, {.target = Target::host()});
    testing::internal::CaptureStderr();
    tiled.run({{u, b}}, steps, {.target = target});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the levels are in one kernel";
    EXPECT_TRUE(same_bits(a, b)) << to_string(stencil.type) << " radius " << stencil.radius
                                 << (stencil.box ? " box " : " star ") << extents.first << " x "
                                 << extents.second << ", tiles of " << tile << " steps on "
                                 << to_string(target);
  }
}

TEST(TimeTileRows, OfStarsAndBoxes) {
  const std::vector<std::pair<Stencil, std::vector<int>>> cases{
      {{Float(32), 1, false}, {2, 8}}, {{Float(32), 1, true}, {3}},  {{Float(64), 1, false}, {3}},
      {{Float(64), 1, true}, {8}},     {{Float(32), 2, false}, {3}}, {{Float(64), 2, true}, {2}}};
  for (const auto& [stencil, tiles] : cases) {
    const int lanes = stencil.type.bytes() == 4 ? 4 : 2;
    for (const int tile : tiles) {
      expect_steps(stencil, {511, 61}, tile, tile + 1, [&](Func& next, const ImageParam&) {
        next.gpu_tile(x, 32).vectorize(x, lanes).march(y, 16).scatter(y);
      });
    }
  }
}

TEST(TimeTileRows, OfWideVectorsAndWholeColumns) {
  expect_steps({Float(32)}, {600, 50}, 3, 7, [](Func& next, const ImageParam&) {
    next.gpu_tile(x, 32).vectorize(x, 8).march(y).scatter(y);
  });
  expect_steps({Float(64), 2}, {300, 90}, 2, 5, [](Func& next, const ImageParam&) {
    next.gpu_tile(x, 32).vectorize(x, 4).march(y, 24).scatter(y, Partials::Centre);
  });
}

TEST(TimeTileRows, OfThreadsOfTwoPiecesOfMemory) {
  for (const std::int64_t columns : {3, 5, 122, 301}) {
    for (const int tile : {3, 6}) {
      expect_steps({Float(64)}, {columns, 37}, tile, 2 * tile, [](Func& next, const ImageParam&) {
        next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
      });
    }
  }
}

TEST(TimeTileRows, ThatKeepAllRowsOfASum) {
  expect_steps({Float(32), 2, true}, {400, 45}, 3, 7,
               [](Func& next, const ImageParam&) { next.gpu_tile(x, 32).vectorize(x, 4).march(y, 20); });
}

TEST(TimeTileRows, OfFewPoints) {
  const std::vector<std::pair<int, Extents>> cases{
      {2, {3, 3}}, {2, {3, 40}}, {2, {127, 2 + 16}}, {8, {140, 3}}, {4, {129, 1 + 2 * 16}}};
  for (const auto& [tile, extents] : cases) {
    expect_steps({Float(32)}, extents, tile, tile + 1, [](Func& next, const ImageParam&) {
      next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
    });
  }
}

// So many first steps of a strip are loops, of sums that are cut, of three rows kept and of two.
TEST(TimeTileRows, OfManyStepsAtOnce) {
  for (const std::int64_t rows : {1 + 2, 61}) {
    expect_steps({Float(32)}, {200, rows}, 12, 13, [](Func& next, const ImageParam&) {
      next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
    });
    expect_steps({Float(32)}, {200, rows}, 7, 8, [](Func& next, const ImageParam&) {
      next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16);
    });
    expect_steps(
        {.type = Float(32), .upwind = true}, {200, rows}, 10, 10,
        [](Func& next, const ImageParam&) { next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16); });
  }
}

// The second block's frame ends two points beyond those that are stepped. The last of its own is made of
// the nearer of them.
TEST(TimeTileRows, OfAFrameThatSticksOutByTwoPoints) {
  expect_steps({Float(32)}, {1 + 120 + 122 + 1, 130}, 4, 4, [](Func& next, const ImageParam&) {
    next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
  });
}

TEST(TimeTileRows, OfStepsWithoutAMarch) {
  expect_steps({Float(32)}, {530, 150}, 4, 9,
               [](Func& next, const ImageParam&) { next.gpu_tile(x, y, 32, 4); });
  expect_steps({Float(64), 1, true}, {300, 100}, 3, 3, [](Func&, const ImageParam&) {});
}

// In shared memory where the step stages them, in registers where it has a window of them.
TEST(TimeTileRows, AskedForAsFarAheadAndWhereTheStepSays) {
  for (const bool staged : {false, true}) {
    for (const int ahead : {1, 5}) {
      const auto schedule = [&](Func& next, const ImageParam& u) {
        next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
        if (staged) {
          next.stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
        } else {
          next.register_window(u, y);
        }
        next.pipeline(u, ahead);
      };
      expect_steps({Float(32)}, {400, 61}, 3, 7, schedule);
      const ImageParam u(Float(32), 2, "u");
      Func next = Stencil{Float(32)}.step(u);
      schedule(next, u);
      Iteration heat({{u, next}});
      heat.time_tile(3);
      const std::string loops = heat.print_loop_nest(Target::gpu_emulator());
      const Func levels = heat.steps_at_once(Target::gpu_emulator());
      EXPECT_TRUE(loops.ends_with(levels.print_loop_nest(Target::gpu_emulator())));
      const std::size_t tile = loops.find("3 steps at once:");
      ASSERT_NE(tile, std::string::npos) << loops;
      const std::string ring = staged ? "Shared f32 u.staged[" + std::to_string(ahead + 1) + "]"
                                      : "Register f32 u·held[" + std::to_string(ahead) + "]";
      EXPECT_NE(loops.find(ring, tile), std::string::npos) << loops;
    }
  }
}

// Nothing is read beside a thread's own points, so that nothing but the fields' box needs a frame.
TEST(TimeTileRows, OfColumnsAlone) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const auto made = [&] {
      Func next("next");
      next(x, y) = 0.5F * u(x, y) + 0.25F * u(x, y - 1) + 0.125F * u(x, y + 2);
      return next;
    };
    Func plain_step = made(), tiled_step = made();
    tiled_step.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
    Iteration plain({{u, plain_step}}), tiled({{u, tiled_step}});
    tiled.time_tile(3);
    const Box box{{4, 119}, {-4, 92}};
    AnyBuffer a = buffer_over(Float(32), box);
    fill_random(a, 5);
    const AnyBuffer b = a.copy();
    plain.run({{u, a}}, 6, {.target = Target::host()});
    testing::internal::CaptureStderr();
    tiled.run({{u, b}}, 6, {.target = target});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the levels are in one kernel";
    EXPECT_TRUE(same_bits(a, b));
  }
}

TEST(TimeTileRows, OverABoxInsideOfTheField) {
  expect_steps({Float(32)}, {517, 90}, 4, 9,
               [](Func& next, const ImageParam&) {
                 next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
               },
               {7, 21});
}

TEST(TimeTileRows, OfLeapfrogWithACoefficientAndTheNumberOfTheStep) {
  for (const Target& target : gpu_targets()) {
    const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now"), c(Float(32), 2, "c");
    const ImageParam wavelet(Float(32), 1, "wavelet");
    const auto made = [&] {
      Func next("next");
      next(x, y) =
          2.0F * now(x, y) - before(x, y) +
          c(x, y) * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4.0F * now(x, y)) +
          select(x == 7 && y == 5, wavelet(step()), 0.0F);
      return next;
    };
    Func plain_step = made(), tiled_step = made();
    tiled_step.gpu_tile(x, 32).vectorize(x, 4).march(y, 16);
    Iteration plain({{before, now}, {now, plain_step}}), tiled({{before, now}, {now, tiled_step}});
    tiled.time_tile(3);
    const Box box{{0, 391}, {0, 55}};
    std::vector<AnyBuffer> fields;
    for (int i = 0; i < 3; ++i) {
      fields.push_back(buffer_over(Float(32), box));
      fill_random(fields.back(), 3 + static_cast<std::uint64_t>(i));
    }
    AnyBuffer series = buffer_over(Float(32), {{0, 40}});
    fill_random(series, 9);
    const AnyBuffer a = fields[0].copy(), b = fields[1].copy();
    plain.run({{before, fields[0]}, {now, fields[1]}, {c, fields[2]}, {wavelet, series}}, 8,
              {.target = Target::host()});
    testing::internal::CaptureStderr();
    tiled.run({{before, a}, {now, b}, {c, fields[2]}, {wavelet, series}}, 8, {.target = target});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the levels are in one kernel";
    EXPECT_TRUE(same_bits(fields[0], a));
    EXPECT_TRUE(same_bits(fields[1], b));
  }
}

TEST(TimeTileRows, AreShownAsTheyRun) {
  const ImageParam u(Float(32), 2, "u");
  Func next = Stencil{Float(32)}.step(u);
  next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y);
  Iteration heat({{u, next}});
  heat.time_tile(2);
  const std::string loops = heat.print_loop_nest(Target::gpu_emulator());
  EXPECT_NE(loops.find("2 steps at once:"), std::string::npos) << loops;
  EXPECT_NE(loops.find("march"), std::string::npos) << loops;
}

}  // namespace
}  // namespace mica::test
