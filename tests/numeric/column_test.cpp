// Recurrences computed inside a column's loop of another: once a column, in an array that its threads
// share out, and all in one kernel.
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/passes/lowered.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");
const Var z("z");

const Box kBox{{-2, 37}, {3, 6}, {-1, 11}};

/// A tridiagonal system in each column: elimination upwards, substitution downwards.
struct Columns {
  ImageParam a{Float(32), 3, "a"}, b{Float(32), 3, "b"};
  Func up{"up"}, down{"down"};
  std::vector<std::shared_ptr<void>> memory;
  Columns() {
    const Expr first = b.dim(2).min(), last = b.dim(2).max();
    const Expr w = 1.0F / (4.0F + a(x, y, z) * up(x, y, z - 1)[0]);
    up(x, y, z) = Tuple(select(z == first, a(x, y, z), a(x, y, z) * w),
                        select(z == first, b(x, y, z), (b(x, y, z) - up(x, y, z - 1)[1]) * w));
    down(x, y, z) =
        select(z == last, up(x, y, z)[1], up(x, y, z)[1] - up(x, y, z)[0] * down(x, y, z + 1));
    memory.push_back(bind_random(a, kBox, 1));
    memory.push_back(bind_random(b, kBox, 2));
  }
};

std::size_t kernels(const Func& f) { return lowered(f, Backend::Cuda).nests.size(); }

TEST(Column, TwoRecurrencesWalkAThreadsColumnInOneKernel) {
  Columns c;
  const auto expected = expected_values({c.down}, kBox);
  const std::vector<std::function<void(Func&, Func&)>> schedules = {
      [](Func& down, Func& up) {
        down.gpu_tile(x, y, 16, 2);
        up.compute_at(down, "x.thread");
      },
      [](Func& down, Func& up) {
        down.gpu_tile(x, y, 16, 2);
        up.compute_at(down, "x.thread").store_root();
      },
      [](Func& down, Func& up) {
        down.gpu_tile(x, y, 8, 2).vectorize(x, 4);
        up.compute_at(down, "x.thread");
      },
      [](Func& down, Func& up) {
        down.gpu_tile(x, y, 8, 2).vectorize(x, 4).unroll(y, 2);
        up.compute_at(down, "x.thread").vectorize(x, 4);
      },
      [](Func& down, Func& up) {
        down.gpu_tile(x, y, 16, 2).unroll(z, 4);
        up.compute_at(down, "x.thread").unroll(z, 4);
      },
      [](Func& down, Func& up) {
        down.split(x, "xo", "xi", 16).reorder("xi", z, "xo", y).reorder(z, "xi", "xo", y);
        down.gpu_blocks("xo", y).gpu_threads("xi");
        up.compute_at(down, "xi").reorder_storage(z, y, x);
      },
  };
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    c.down.clear_schedule();
    schedules[i](c.down, c.up);
    EXPECT_EQ(kernels(c.down), 1U) << "schedule " << i;
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, {c.down}, kBox, target)) << "schedule " << i;
    }
  }
}

TEST(Column, ThreeRecurrencesWalkOneAfterTheOther) {
  const ImageParam u(Float(64), 3, "u");
  Func rise("rise"), again("again"), fall("fall");
  rise(x, y, z) =
      select(z <= 0, u(x, y, z), u(x, y, z) - 0.5 * rise(x, y, z - 1) + 0.25 * rise(x, y, z - 3));
  again(x, y, z) =
      select(z <= 2, rise(x, y, z), rise(x, y, z) * rise(x, y, z - 2) - 0.5 * again(x, y, z - 1));
  const Expr last = u.dim(2).max();
  fall(x, y, z) = select(z >= last, again(x, y, z), again(x, y, z) - 0.5 * fall(x, y, z + 2));
  const auto memory = bind_random(u, {{-2, 37}, {3, 6}, {-5, 20}}, 4);
  const Box box{{-2, 37}, {3, 6}, {-1, 16}};
  const auto expected = expected_values({fall}, box);
  for (const bool vectors : {false, true}) {
    fall.clear_schedule();
    fall.gpu_tile(x, y, 8, 2);
    if (vectors) fall.vectorize(x, 2);
    rise.compute_at(fall, "x.thread");
    again.compute_at(fall, "x.thread");
    EXPECT_EQ(kernels(fall), 1U);
    for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {fall}, box, target));
  }
}

TEST(Column, OnTheHostIsComputedOnceAColumn) {
  Columns c;
  const auto expected = expected_values({c.down}, kBox);
  const std::vector<std::function<void(Func&, Func&)>> schedules = {
      [](Func& down, Func& up) {
        down.reorder(z, x, y);
        up.compute_at(down, x);
      },
      [](Func& down, Func& up) {
        down.reorder(z, x, y).parallel(y);
        up.compute_at(down, x).store_root();
      },
      [](Func& down, Func& up) {
        down.split(x, "xo", "xi", 8).reorder("xi", z, "xo", y).vectorize("xi").parallel(y);
        up.compute_at(down, "xo").vectorize(x, 8);
      },
  };
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    c.down.clear_schedule();
    schedules[i](c.down, c.up);
    EXPECT_TRUE(run_matches(expected, {c.down}, kBox, Target::host())) << "schedule " << i;
  }
}

// The threads' columns overlap: one array for all would be written by several.
TEST(Column, ThatOtherThreadsReadTooIsRefused) {
  const ImageParam u(Float(32), 2, "u");
  Func c("c"), f("f");
  c(x, y) = select(y == 0, u(x, y), u(x, y) + 0.5F * c(x, y - 1));
  f(x, y) = c(x - 1, y) + c(x + 1, y);
  f.reorder(y, x).gpu_tile(x, 16);
  c.compute_at(f, "x.thread");
  for (const bool stored : {false, true}) {
    if (stored) c.store_root();
    try {
      (void)lowered(f, Backend::Cuda);
      ADD_FAILURE() << "not refused";
    } catch (const UserError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(stored ? "would share the storage" : "compute_root c"), std::string::npos)
          << text;
      EXPECT_EQ(text.find("split y"), std::string::npos) << text;
    }
  }
}

TEST(Column, InRegistersIsRefusedWithAWayOut) {
  Columns c;
  c.down.gpu_tile(x, y, 16, 2);
  c.up.compute_at(c.down, "x.thread").store_in(MemoryType::Register);
  try {
    (void)lowered(c.down, Backend::Cuda);
    ADD_FAILURE() << "not refused";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("goes on from its start"), std::string::npos) << text;
    EXPECT_NE(text.find("without store_in"), std::string::npos) << text;
  }
}

TEST(Column, ComputesNoPointAgainWhoseValueItCarries) {
  const ImageParam u(Float(32), 2, "u");
  Func g("g"), f("f");
  g(x, y) = select(y <= -6, u(x, y), u(x, y) + 0.5F * g(x, y - 1));
  f(x, y) = select(y == -10, u(x, y), max(u(x, y), f(x, y - 1)) - g(x, y));
  g.compute_at(f, "x.thread").split(x, "xo", "xi", 5).unroll("xi", 3, TailStrategy::ShiftInwards);
  f.gpu_tile(x, 7).vectorize(x, 4);
  const Box box{{0, 29}, {-10, 15}};
  const auto memory = bind_random(u, box, 3);
  const auto expected = expected_values({f}, box);
  for (const Target& target : gpu_targets()) EXPECT_TRUE(run_matches(expected, {f}, box, target));
}

TEST(Column, OfAFuncThatIsNoRecurrenceIsKeptToo) {
  const ImageParam u(Int(32), 2, "u");
  Func g("g"), f("f");
  g(x, y) = u(x, y) * u(x, y);
  f(x, y) = f(x, y - 1) + g(x, y);
  f.gpu_tile(x, 16);
  g.compute_at(f, "x.thread");
  const Box box{{0, 37}, {0, 9}};
  const auto memory = bind_random(u, box, 3);
  const auto expected = expected_values({f}, box);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {f}, box, target));
}

}  // namespace
}  // namespace mica::test
