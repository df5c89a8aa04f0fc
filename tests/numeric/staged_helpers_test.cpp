// Directives that name a source see the taps of Funcs between, and change no bit.
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/passes/lowered.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// Divergence of fluxes with variable coefficients, written as one writes it; u is read by a Func of a
/// Func.
struct Diffusion {
  ImageParam u{Float(32), 3, "u"}, k{Float(32), 3, "k"};
  Func scaled{"scaled"}, fx{"fx"}, fy{"fy"}, fz{"fz"}, f{"f"};
  Diffusion() {
    scaled(x, y, z) = 2.0F * u(x, y, z) + 1.0F;
    fx(x, y, z) = (k(x, y, z) + k(x + 1, y, z)) * (scaled(x + 1, y, z) - scaled(x, y, z));
    fy(x, y, z) = (k(x, y, z) + k(x, y + 1, z)) * (scaled(x, y + 1, z) - scaled(x, y, z));
    fz(x, y, z) = (k(x, y, z) + k(x, y, z + 1)) * (scaled(x, y, z + 1) - scaled(x, y, z));
    f(x, y, z) = u(x, y, z) + 0.1F * (fx(x, y, z) - fx(x - 1, y, z) + fy(x, y, z) - fy(x, y - 1, z) +
                                      fz(x, y, z) - fz(x, y, z - 1));
  }
};

using Schedule = std::pair<std::string, std::function<void(Diffusion&)>>;

const std::vector<Schedule>& schedules() {
  static const std::vector<Schedule> all{
      {"none", [](Diffusion&) {}},
      {"stage", [](Diffusion& d) { d.f.gpu_tile(x, y, z, 16, 4, 2).stage(d.u, MemoryType::Shared); }},
      {"stage both",
       [](Diffusion& d) {
         d.f.gpu_tile(x, y, 16, 4).march(z, 3);
         d.f.stage(d.u, MemoryType::Shared, LoadPolicy::AsyncCopy).stage(d.k, MemoryType::Shared);
       }},
      {"window",
       [](Diffusion& d) {
         d.f.gpu_tile(x, y, 16, 4).march(z, 4).register_window(d.u, z).stage(d.u, MemoryType::Shared);
       }},
      {"window of a coefficient",
       [](Diffusion& d) { d.f.gpu_tile(x, y, 16, 4).march(z).register_window(d.k, z); }},
      {"shuffle", [](Diffusion& d) { d.f.gpu_tile(x, y, 32, 4).march(z, 4).shuffle(d.u, x); }}};
  return all;
}

TEST(StagedHelpers, KeepTheBits) {
  for (const auto& [name, schedule] : schedules()) {
    Diffusion d;
    schedule(d);
    const Box box{{0, 41}, {0, 13}, {0, 9}};
    const auto memory = bind_demanded({d.f}, box, {d.u, d.k}, 1);
    EXPECT_TRUE(check_all_targets(d.f, box)) << name;
  }
}

// No tap of the staged input is left to global memory.
TEST(StagedHelpers, AreServedByTheStage) {
  Diffusion d;
  d.f.gpu_tile(x, y, z, 16, 4, 2).stage(d.u, MemoryType::Shared);
  const std::string text = code(d.f, Backend::GpuEmulator, "simplify_loops");
  const std::size_t edges = text.find("else:");  // their blocks read what there is of u themselves
  ASSERT_NE(edges, std::string::npos);
  std::istringstream lines(text.substr(0, edges));
  for (std::string line; std::getline(lines, line);) {
    const bool computes = std::regex_search(line, std::regex("^ *f\\["));
    EXPECT_FALSE(computes && std::regex_search(line, std::regex("[^.a-z]u\\["))) << line;
  }
  EXPECT_NE(text.find("u.staged["), std::string::npos);
}

// Of a boundary condition the block holds the values, not the input's: the message says so.
TEST(StagedHelpers, MayBeReadWhereAnUpdateWrites) {
  const ImageParam u(Int(32), 1, "u");
  const auto memory = bind_random(u, {{0, 20}}, 1);
  Func bin("bin"), marks("marks");
  bin(x) = u(x) % 7 + u(x + 1) % 3;
  marks(x, y) = 0;
  marks(x, clamp(bin(x), 0, 9)) = u(x);
  marks.gpu_tile(x, y, 8, 2).stage(u, MemoryType::Shared);
  marks.update(0).gpu_tile(x, 8);
  EXPECT_TRUE(matches_oracle({marks}, {{0, 19}, {0, 10}}, Target::gpu_emulator()));
}

TEST(StagedHelpers, AreNoBoundaryConditions) {
  const ImageParam u(Float(32), 2, "u");
  const Func b = BoundaryConditions::repeat_edge(u);
  Func f("f"), g("g");
  f(x, y) = b(x - 1, y) + b(x + 1, y);
  f.gpu_tile(x, y, 16, 4).stage(u, MemoryType::Shared);
  EXPECT_TRUE(fails_with([&] { (void)lowered(f, Backend::GpuEmulator); },
                         {"u.staged", "stage the Func that clamps or repeats the indices of u"}));
  g(x, y) = b(x - 1, y) + b(x + 1, y);
  g.gpu_tile(x, y, 16, 4).stage(b, MemoryType::Shared);
  const auto memory = bind_random(u, {{0, 41}, {0, 13}}, 4);
  EXPECT_TRUE(check_all_targets(g, {{0, 41}, {0, 13}}));
}

// A Func made by `in` has a schedule of its own, and stays what it is.
TEST(StagedHelpers, AreNoWrappers) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y - 1) + u(x, y) * 2.0F + u(x + 1, y);
  u.in(f);
  f.gpu_tile(x, 16).march(y, 3).register_window(u, y);
  const auto memory = bind_demanded({f}, {{0, 41}, {0, 13}}, {u}, 5);
  EXPECT_TRUE(fails_with([&] { (void)lowered(f, Backend::GpuEmulator); }, {"f does not read u"}));
}

// A helper that others read, too, stays for them.
TEST(StagedHelpers, StayForOtherReaders) {
  Diffusion d;
  Func g("g");
  g(x, y, z) = d.fx(x, y, z) + d.f(x, y, z);
  d.f.compute_root().gpu_tile(x, y, 16, 4).march(z, 3).stage(d.u, MemoryType::Shared);
  g.gpu_tile(x, y, z, 16, 4, 1);
  const Box box{{0, 41}, {0, 13}, {0, 9}};
  const auto memory = bind_demanded({g}, box, {d.u, d.k}, 2);
  EXPECT_TRUE(check_all_targets(g, box));
}

// Helpers of helpers, each read twice: as many Funcs as there are, not as many paths.
TEST(StagedHelpers, MayShareTheirOwn) {
  TestPipeline chain = chain_read_twice(20);
  const ImageParam u = chain.inputs[0];
  Func f("f");
  f(x) = chain.output()(x) + u(x + 1);
  f.gpu_tile(x, 32).stage(u, MemoryType::Shared);
  const auto memory = bind_demanded({f}, {{0, 100}}, {u}, 3);
  EXPECT_TRUE(check_all_targets(f, {{0, 100}}));
}

/// `turns` Funcs, each a sum of what the one before is at `taps` points.
Func smoothed(const ImageParam& u, int turns, int taps) {
  Func f("turn");
  f(x) = u(x);
  for (int turn = 0; turn < turns; ++turn) {
    const Func inner = f;
    Expr sum = inner(x);
    for (int tap = 1; tap < taps; ++tap) sum = sum + inner(x + tap) * 0.25F;
    f = Func("turn");
    f(x) = sum;
  }
  return f;
}

// Different points of a helper read the next one at the same points: with 16 turns of three taps there
// are 43 million ways to u, and 33 taps of it. So it is with Funcs that are inlined.
TEST(StagedHelpers, AreOpenedOnceAPoint) {
  const ImageParam u(Float(32), 1, "u");
  for (const bool stages : {true, false}) {
    Func f = smoothed(u, 16, 3);
    f.gpu_tile(x, 32);
    if (stages) f.stage(u, MemoryType::Shared);
    const auto memory = bind_demanded({f}, {{0, 100}}, {u}, 3);
    EXPECT_TRUE(matches_oracle({f}, {{0, 100}}, Target::gpu_emulator())) << stages;
  }
}

// Coordinates of two Funcs inside one another become one: with every sign, with factors, mirrored, the
// same variable on both sides, constants that meet or leave nothing, and what is no such sum.
TEST(StagedHelpers, AtCoordinatesOfAnyForm) {
  const ImageParam u(Int(32), 2, "u");
  const Param<std::int32_t> p("p");
  Func inner("inner"), middle("middle"), f("f");
  inner(x, y) = u(x - 1, 5 - y) * 3 + u(2 * x + 1, y - 2);
  middle(x, y) = inner(x - 2, y + 1) - inner(7 - x, 3 - y) + inner(3 * x - 5, y - 1) +
                 inner(x + x - 4, y + p) * 5 + inner(y - (x - 3), x / 2 + 1);
  f(x, y) =
      middle(x + 1, y - 1) - middle(2 - x, 2 * y) * 7 + middle(x + 2 - x, y) + middle(9, y + p - 1);
  p.set(3);
  for (const bool whole : {true, false}) {
    Func g("g");
    g(x, y) = f(x, y) + f(x + 1, y + 1);
    g.gpu_tile(x, y, 8, 4);
    if (!whole) f.compute_root();
    const Box box{{-3, 21}, {2, 9}};
    const auto memory = bind_demanded({g}, box, {u}, 3);
    EXPECT_TRUE(check_all_targets(g, box));
  }
}

// 50 turns of 300 taps: what is too much is refused before it is made.
TEST(StagedHelpers, OfTooManyOperationsAreRefused) {
  const ImageParam u(Float(32), 1, "u");
  Func f = smoothed(u, 50, 300);
  f.gpu_tile(x, 32).stage(u, MemoryType::Shared);
  EXPECT_TRUE(fails_with([&] { (void)lowered(f, Backend::GpuEmulator); },
                         {"more than 262144 operations a point", "turn", "compute_root"}));
}

}  // namespace
}  // namespace mica::test
