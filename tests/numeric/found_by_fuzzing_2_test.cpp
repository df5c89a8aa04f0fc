// Programs and schedules that random search found to go wrong, made small: further ones.
#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "tests/support/check_schedules.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

TEST(FoundByFuzzing, ShufflesOfAFuncWithAnUpdateThatHasNoLoopAlongTheLanes) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 2}}, "r");
  Func rows("rows"), column("column");
  rows(x, y) = u(x - 1, y) + u(x, y);
  rows(r, y) = u(r, y) + u(r + 1, y);
  column(x, y) = u(x - 1, y) + u(x, y);
  column(3, y) = u(3, y) + u(4, y);
  column(x, y) += u(x, y) - u(x + 1, y);
  const Box box{{-3, 39}, {-2, 5}};
  for (Func& func : std::vector<Func>{rows, column}) {
    func.gpu_tile(x, y, 32, 2).shuffle(u, x);
    EXPECT_TRUE(matches_oracle({func}, box, {u}, gpu_targets()));
  }
}

TEST(FoundByFuzzing, CopiesForAFuncThatIsComputedEarlyAreWaitedForWhereItReadsThem) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f"), g("g");
  f(x, y) = u(x, y - 1) + u(x + 1, y);
  g(x, y) = f(x, y) - f(x + 1, y - 1);
  for (const int early : {1, 2, 3}) {
    for (const LoadPolicy load : {LoadPolicy::AsyncCopy, LoadPolicy::Bulk}) {
      g.clear_schedule();
      g.gpu_tile(x, 8).march(y).pipeline(f, early);
      f.compute_at(g, y).stage(u, MemoryType::Shared, load);
      EXPECT_TRUE(matches_oracle({g}, {{-3, 21}, {1, 9}}, {u}, gpu_targets())) << early;
    }
  }
}

TEST(FoundByFuzzing, LanesThatWalkAnotherDimensionThanTheFirstOrHaveTheirPointsWrittenOut) {
  const ImageParam u(Float(32), 2, "u");
  Func before("before"), next("next");
  before(x, y) = u(x, y) + 0.5F * u(x + 1, y);
  next(x, y) = before(x, y) - 0.3F * before(x - 1, y) + 0.2F * before(x + 1, y + 1) +
               0.7F * before(x, y - 2) - 0.9F * before(x - 2, y - 1);
  const Box box{{-3, 68}, {1, 71}};
  const auto memory = bind_demanded({next}, box, {u}, 1);
  const std::vector<AnyBuffer> expected = expected_values({next}, box);
  const auto expect_bits = [&](const char* loop) {
    before.compute_at(next, loop).store_in(MemoryType::Register);
    for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {next}, box, target));
    next.clear_schedule();
    before.clear_schedule();
  };
  next.gpu_tile(y, 32).vectorize(y, 2).march(x, 4);
  expect_bits("x.march");
  next.gpu_tile(y, 32).unroll(y, 2).march(x, 4);
  expect_bits("x.march");
  next.gpu_tile(x, 32).unroll(x, 2).march(y, 4);
  expect_bits("y.march");
  // A GPU asks for threads (tests/errors); on a host nobody is beside anybody.
  const Var outer("outer"), inner("inner");
  next.split(x, outer, inner, 8).gpu_blocks(outer).march(y);
  before.compute_at(next, y).store_in(MemoryType::Register);
  EXPECT_TRUE(run_matches(expected, {next}, box, Target::host()));
}

// A window of rows goes on from the points that it holds.
TEST(FoundByFuzzing, ARecurrenceAlongRowsInAWindowOnTheHost) {
  const Var yo("yo"), yi("yi");
  const ImageParam u(Float(32), 2, "u");
  Func sums("sums"), f("f");
  sums(x, y) = select(x == 1, u(x, y), 0.5F * sums(x - 1, y) + u(x, y));
  f(x, y) = sums(x + 1, y);
  sums.compute_at(f, "x").store_at(f, "yo");
  f.split(y, yo, yi, 2);
  EXPECT_TRUE(matches_oracle({f}, {{0, 14}, {0, 5}}, {u}, {Target::host()}));
}

// What is computed inside of a loop that is written out, outside of the threads: it is filled again for
// each of that loop's points, and holds what one of them reads.
TEST(FoundByFuzzing, BoxesOfFuncsThatWrittenOutLoopsFillAgain) {
  const ImageParam u(Float(32), 2, "u");
  const Var bx("bx"), tx("tx"), yi("yi"), xi("xi");
  Func g("g"), f("f");
  g(x, y) = u(x, y) + 0.5F * u(x + 1, y);
  f(x, y) = g(x - 1, y) + g(x + 1, y - 1) * g(x, y + 1);
  const std::vector<Directives> schedules = {
      [&](Func&) {
        f.split(y, y, yi, 4).split(x, bx, tx, 32).reorder(tx, yi, bx, y).unroll(yi);
        f.gpu_blocks(bx, y).gpu_threads(tx);
        g.compute_at(f, yi).store_in(MemoryType::Shared);
      },
      [&](Func&) {
        f.split(y, y, yi, 4).split(x, bx, tx, 32).split(bx, bx, xi, 2).reorder(tx, xi, yi, bx, y);
        f.unroll(xi).unroll(yi).gpu_blocks(bx, y).gpu_threads(tx);
        g.compute_at(f, xi).store_in(MemoryType::Shared);
      },
      [&](Func&) {
        f.split(y, y, yi, 4).split(x, bx, tx, 32).split(bx, bx, xi, 2).reorder(tx, xi, yi, bx, y);
        f.unroll(xi).unroll(yi).gpu_blocks(bx, y).gpu_threads(tx);
        g.compute_at(f, yi).store_in(MemoryType::Shared);
      }};
  for (const Directives& schedule : schedules) {
    f.clear_schedule();
    g.clear_schedule();
    schedule(f);
    EXPECT_TRUE(matches_oracle({f}, {{-3, 70}, {1, 21}}, {u}, gpu_targets())) << to_string(f.schedule());
  }
}

// The field ends a plane before the coefficient: threads took rows of a plane that was never copied.
TEST(FoundByFuzzing, RowsOfACopyAreTakenWhileItHasPlanes) {
  const ImageParam u(Float(32), 3, "u"), c(Float(32), 3, "c");
  Func next("next");
  next(x, y, z) = (u(x + 1, y, z) - u(x, y, z)) + c(x, y, z + 1);
  const Box box{{0, 3}, {0, 2}, {0, 3}}, field{{0, 4}, {0, 2}, {0, 3}}, ahead{{0, 3}, {0, 2}, {1, 3}};
  AnyBuffer a = buffer_over(Float(32), field), weights = buffer_over(Float(32), ahead);
  fill_random(a, 1);
  fill_random(weights, 2);
  const AnyBuffer before = a.copy();
  Iteration plain({{u, next}});
  plain.over(box).run({{u, a}, {c, weights}}, 2, {.target = Target::host()});
  next.gpu_tile(y, x, 1, 4).march(z, 1).scatter(z);
  Iteration tiled({{u, next}});
  tiled.over(box).time_tile(2);
  for (const Target& target : gpu_targets()) {
    const AnyBuffer b = before.copy();
    tiled.run({{u, b}, {c, weights}}, 2, {.target = target});
    EXPECT_TRUE(same_bits(a, b)) << to_string(target);
  }
}

// A value that wraps around was taken for a coordinate, which does not, where its loop's ends were taken
// apart: x <= x + 2147483646 does not hold from 2 on.
TEST(FoundByFuzzing, ValuesBetweenTheEndsOfALoopWrapAround) {
  Func f("f");
  const Expr wraps = cast<float>(cast<int>(x) <= cast<int>(x + 2147483646));
  f(x, y) = select(1 <= cast<int>(x), wraps, f(x + 1, y));
  EXPECT_TRUE(matches_oracle({f}, {{0, 7}, {0, 1}}, {}, {Target::host()}));
}

// A plane was filled from a window that holds all points of a step, as if it held those of the threads
// alone: loops outside of the threads take the others one after the other.
TEST(FoundByFuzzing, PlanesBesideAWindowOfPointsOneAfterTheOther) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x - 1, y) - u(x, y);
  f.gpu_tile(x, 4).march(y).register_window(u, y).stage(u, MemoryType::Shared).serial("x.thread");
  EXPECT_TRUE(matches_oracle({f}, {{0, 8}, {0, 3}}, {u}, gpu_targets()));
}

// The loops of a color that has no point in the box were found to be empty in the middle of a pass that
// went on with them.
TEST(FoundByFuzzing, ColorsWithoutPoints) {
  Func f("f");
  f(x, y) = x + 3 * y;
  f(x, y) = f(x, y) * 2;
  f.update(0).color((x - y) % 4);
  f.bound(x, 20, 1).bound(y, -20, 3);
  const std::string outer = "yo", inner = "yi";
  f.update(0).split(y, outer, inner, 3, TailStrategy::GuardWithIf);
  f.update(0).reorder(inner, x).vectorize(inner, 2, TailStrategy::GuardWithIf);
  EXPECT_TRUE(matches_oracle({f}, {{20, 1}, {-20, 3}}, {}, {Target::host(), Target::host_checked()}));
}

// Rows that begin at one place for all blocks, whose number from the array's first element has a minus,
// were taken for unaligned where the plan had found them aligned.
TEST(FoundByFuzzing, BulkCopiesOfRowsThatBeginAtAFixedPlace) {
  const ImageParam u(Float(32), 1, "u");
  Func table("table"), f("f");
  table(x) = u(x & 15);
  f(x) = u(x) / (table(x) / u(x));
  table.compute_at(f, "x.block").stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  f.gpu_tile(x, 4);
  for (const std::int64_t first : {0, -4, -3}) {
    EXPECT_TRUE(matches_oracle({f}, {{first, 20}}, {u}, gpu_targets())) << first;
  }
}

// Of arrays of one shape the first one's min was compiled in, an odd number, and stood in the place of
// the output's, which the plan had taken to be aligned.
TEST(FoundByFuzzing, BulkCopiesWhereOneOfManyMinsIsCompiledIn) {
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = Tuple(u(x), 1.0F);
  f.gpu_tile(x, 4).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  CompileOptions options;
  options.bake = {{"u.min.0", 19}};
  Buffer<float> in({BufferDim{19, 8, 1}}), a({BufferDim{19, 8, 1}}), b({BufferDim{19, 8, 1}});
  in.for_each([](float& value, const auto& at) { value = static_cast<float>(at[0]); });
  u.set(in);
  compile(f, Target::gpu_emulator(), options).run({&a, &b});
  for (int i = 19; i < 27; ++i) {
    EXPECT_EQ(a(i), static_cast<float>(i));
    EXPECT_EQ(b(i), 1.0F);
  }
}

// An index that the reader has no dimension for was compared with what lies behind its dimensions in
// memory: seen where indices into vectors are checked, or a crash.
TEST(FoundByFuzzing, StagedInputsOfMoreDimensionsThanTheirReader) {
  const ImageParam u(Float(32), 4, "u"), v(Float(32), 3, "v");
  Func space("space"), plane("plane");
  space(x, y, z) = u(x, y, z, 0);
  plane(x, y) = v(x, y, 1) - v(x, y + 1, -1);
  space.gpu_tile(x, y, 32, 3).vectorize(x, 2).march(z).stage(u, MemoryType::Shared);
  plane.gpu_tile(x, 8).march(y).stage(v, MemoryType::Shared);
  EXPECT_TRUE(matches_oracle({space}, {{0, 9}, {0, 4}, {0, 3}}, {u}, gpu_targets()));
  EXPECT_TRUE(matches_oracle({plane}, {{0, 9}, {0, 4}}, {v}, gpu_targets()));
}

}  // namespace
}  // namespace mica::test
