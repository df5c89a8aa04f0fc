// Funcs that read themselves behind or ahead along a dimension, on every target and under schedules of
// every kind that is legal for them.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_schedules.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");
const Var z("z");

const Box kBox{{-2, 37}, {3, 6}, {-1, 11}};

/// c(z) from c(z - 1), as in forward elimination, over kBox.
Func forward(const ImageParam& a, const ImageParam& b) {
  Func c("c");
  c(x, y, z) = select(z == -1, b(x, y, z), b(x, y, z) - a(x, y, z) * c(x, y, z - 1));
  return c;
}

TEST(Recurrence, ForwardAlongTheSlowestDimension) {
  const ImageParam a(Float(32), 3, "a"), b(Float(32), 3, "b");
  Func c = forward(a, b);
  const auto memory_a = bind_random(a, kBox, 1), memory_b = bind_random(b, kBox, 2);
  check_schedules(c, kBox,
                  {
                      [](Func&) {},
                      [](Func& f) { f.reorder(z, x, y); },
                      [](Func& f) { f.reorder(y, z, x); },
                      [](Func& f) { f.vectorize(x, 8).parallel(y); },
                      [](Func& f) { f.split(z, "zo", "zi", 4).reorder("zi", x, "zo", y); },
                      [](Func& f) { f.unroll(z, 3).reorder("z.unroll", z, x, y); },
                      [](Func& f) { f.gpu_tile(x, y, 16, 2); },
                      [](Func& f) { f.gpu_tile(x, y, 8, 2).vectorize(x, 4); },
                      [](Func& f) { f.gpu_tile(x, y, 8, 2).vectorize(x, 4).unroll(y, 2); },
                      [](Func& f) { f.gpu_tile(x, y, 16, 2).unroll(z, 4); },
                      [](Func& f) { f.gpu_tile(x, y, 8, 2).vectorize(x, 4).unroll(z, 5); },
                      [](Func& f) { f.gpu_tile(x, y, 16, 2).split(z, "zo", "zi", 4); },
                      [](Func& f) { f.fuse(x, y, "xy").gpu_tile("xy", 32); },
                      [](Func& f) {
                        f.split(x, "xo", "xi", 16).reorder("xi", z, "xo", y);
                        f.gpu_blocks("xo", y).gpu_threads("xi");
                      },
                  });
}

// Found by fuzzing: loops over a piece of the dimension inside of other rows' go on from stored points.
TEST(Recurrence, InPiecesInsideOfOtherRows) {
  const ImageParam u(Float(32), 3, "u");
  Func f("f"), g("g");
  f(x, y, z) = u(x, y, z) - f(x - 1, y, z);
  g(x, y, z) = u(x, y, z) - g(x + 1, y, z) * 0.5F;
  const auto memory = bind_random(u, kBox, 1);
  for (const Func& func : {f, g}) {
    check_schedules(
        func, kBox,
        {[](Func& h) { h.split(x, "xo", "xi", 4).reorder("xi", y, "xo", z).gpu_single_thread(); },
         [](Func& h) { h.gpu_tile(z, 1).split(x, "xo", "xi", 2).reorder("xi", "z.thread", "xo", y); },
         [](Func& h) { h.gpu_tile(z, 2).split(x, "xo", "xi", 4).reorder("xi", "xo", "z.thread", y); },
         [](Func& h) { h.split(x, "xo", "xi", 4).reorder("xi", y, "xo", z); }});
  }
}

TEST(Recurrence, BackwardFromTheLastPoint) {
  const ImageParam a(Float(64), 3, "a"), b(Float(64), 3, "b");
  Func d("d");
  const Expr last = a.dim(2).max();
  d(x, y, z) = select(z == last, b(x, y, z), b(x, y, z) - a(x, y, z) * d(x, y, z + 1));
  const auto memory_a = bind_random(a, kBox, 3), memory_b = bind_random(b, kBox, 4);
  check_schedules(d, kBox,
                  {
                      [](Func&) {},
                      [](Func& f) { f.reorder(z, x, y).parallel(y); },
                      [](Func& f) { f.split(z, "zo", "zi", 3).vectorize(x, 4); },
                      [](Func& f) { f.gpu_tile(x, y, 16, 2); },
                      [](Func& f) { f.gpu_tile(x, y, 16, 2).split(z, "zo", "zi", 3).unroll("zi"); },
                  });
}

TEST(Recurrence, AlongEachDimensionWithTwoDistances) {
  const ImageParam u(Int(32), 3, "u");
  const auto memory = bind_random(u, kBox, 5);
  for (int along = 0; along < 3; ++along) {
    for (const int sign : {-1, 1}) {
      Func f("f");
      const auto at = [&](int distance) {
        return f(Expr(x) + (along == 0 ? distance : 0), Expr(y) + (along == 1 ? distance : 0),
                 Expr(z) + (along == 2 ? distance : 0));
      };
      f(x, y, z) = u(x, y, z) + 3 * at(sign) - at(3 * sign);
      check_schedules(f, kBox,
                      {[](Func&) {},
                       [&](Func& g) {
                         if (along == 0) g.gpu_tile(y, z, 2, 4);
                         if (along == 1) g.gpu_tile(x, z, 8, 2);
                         if (along == 2) g.gpu_tile(x, y, 8, 2);
                       }});
    }
  }
}

TEST(Recurrence, OfATupleWhoseValuesReadEachOther) {
  const ImageParam a(Float(32), 3, "a"), b(Float(32), 3, "b");
  Func cd("cd");
  const Expr w = cast<float>(1) / (4.0F + a(x, y, z) * cd(x, y, z - 1)[0]);
  cd(x, y, z) = Tuple(select(z == -1, a(x, y, z), a(x, y, z) * w),
                      select(z == -1, b(x, y, z), (b(x, y, z) - cd(x, y, z - 1)[1]) * w));
  const auto memory_a = bind_random(a, kBox, 6), memory_b = bind_random(b, kBox, 7);
  check_schedules(cd, kBox,
                  {
                      [](Func&) {},
                      [](Func& f) { f.gpu_tile(x, y, 16, 2); },
                      [](Func& f) { f.gpu_tile(x, y, 8, 2).vectorize(x, 2); },
                  });
}

TEST(Recurrence, IsComputedFromItsStartToWhatIsRead) {
  const ImageParam u(Float(32), 2, "u");
  Func c("c"), out("out");
  c(x, y) = select(y <= 2, u(x, 0), u(x, 1) + 0.5F * c(x, y - 1));
  out(x, y) = c(x - 1, y + 3) + c(x + 1, y);
  const auto memory = bind_random(u, {{-1, 42}, {0, 2}}, 8);
  for (const std::int64_t first : {-9, 0, 2, 20}) {
    const Box box{{0, 40}, {first, 9}};
    const auto expected = expected_values({out}, box);
    for (const int schedule : {0, 1, 2, 3}) {
      out.clear_schedule();
      if (schedule == 1) c.gpu_tile(x, 16);
      if (schedule == 2) c.compute_at(out, y);
      if (schedule == 3) out.split(x, "xo", "xi", 8), c.compute_at(out, "xo");
      for (const Target& target : all_targets()) {
        EXPECT_TRUE(run_matches(expected, {out}, box, target)) << first << ", schedule " << schedule;
      }
    }
  }
}

TEST(Recurrence, OfBoundsAndParamsStartsWhereTheyStand) {
  const ImageParam u(Int(64), 2, "u");
  Param<int> first("first");
  first.set(4);
  Func c("c"), out("out");
  c(x, y) = select(y > first && x > 3, c(x, y - 2) + u(x, y), u(x, y));
  out(x, y) = c(x, y);
  const Box box{{0, 40}, {0, 19}};
  const auto memory = bind_random(u, box, 9);
  EXPECT_TRUE(check_all_targets(out, box));
  EXPECT_TRUE(check_all_targets(c, box));
}

TEST(Recurrence, InOneDimension) {
  const ImageParam u(Int(32), 1, "u");
  Func f("f");
  f(x) = f(x - 1) + u(x);
  const Box box{{5, 33}};
  const auto memory = bind_random(u, box, 10);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, box, target));
}

// Blocks at the edge compute what they need point by point, where that is no recurrence.
TEST(Recurrence, IsComputedInsideThreadsAlsoAtTheEdge) {
  for (const char* loop : {"x.thread", "x.block"}) {
    Func c("c"), f("f");
    c(x) = select(Expr(x) == 1, 1.0F, c(x + 1) + 1.0F);
    f(x) = c(0) * cast<float>(x);
    c.compute_at(f, loop).store_in(MemoryType::Stack);
    f.gpu_tile(x, 4);
    for (const std::int64_t n : {1, 4, 7}) {
      const auto expected = expected_values({f}, {{0, n}});
      const bool in_thread = std::string(loop) == "x.thread";
      if (in_thread) {
        EXPECT_TRUE(run_matches(expected, {f}, {{0, n}}, Target::gpu_emulator())) << n;
      } else {
        EXPECT_FALSE(run_matches(expected, {f}, {{0, n}}, Target::gpu_emulator())) << "refused";
      }
    }
  }
}

TEST(Recurrence, IsStoredInAnyOrder) {
  const ImageParam a(Float(32), 3, "a"), b(Float(32), 3, "b");
  for (int order = 0; order < 3; ++order) {
    Func c = forward(a, b), d("d");
    d(x, y, z) = select(x == 2, b(x, y, z), b(x, y, z) - 0.5F * d(x - 3, y, z));
    if (order == 0) c.compute_root().reorder_storage(z, y, x);
    if (order == 1) c.compute_root().reorder_storage(y, z);
    if (order == 2) c.compute_root();
    d.compute_root().reorder_storage(y, x);
    Func both("both");
    both(x, y, z) = c(x, y, z) + d(x, y, z);
    const auto memory_a = bind_random(a, kBox, 1), memory_b = bind_random(b, kBox, 2);
    EXPECT_TRUE(check_all_targets(both, kBox)) << order;
  }
}

TEST(Recurrence, WithUpdatesAfterIt) {
  const ImageParam u(Int(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y) + f(x, y - 1);
  f(x, y) += 2 * f(x, y);
  const Box box{{0, 33}, {1, 12}};
  const auto memory = bind_random(u, box, 11);
  EXPECT_TRUE(check_all_targets(f, box));
}

}  // namespace
}  // namespace mica::test
