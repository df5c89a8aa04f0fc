// Pipelines of several outputs as text and data, tiles with names of their own, and boundary sources.
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace mica {
namespace {

using test::fails_with;

const Var x("x"), y("y"), z("z"), xo("xo"), yo("yo"), zo("zo"), xi("xi"), yi("yi"), zi("zi");

class Outputs : public ::testing::Test {
 protected:
  Outputs() {
    shared(x, y) = u(x, y) * 2.0F;
    a(x, y) = shared(x, y) + 1.0F;
    b(x, y) = shared(x, y - 1) + a(x, y);
  }
  ImageParam u{Float(32), 2, "u"};
  Func shared{"shared"}, a{"a"}, b{"b"};
};

TEST_F(Outputs, LoopNestsOfAllAreOneText) {
  shared.compute_root();
  const std::string text = print_loop_nest({a, b}, Target::host());
  for (const char* part : {"produce shared:", "produce a:", "produce b:"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(print_loop_nest({a}, Target::host()), a.print_loop_nest(Target::host()));
  EXPECT_NE(code_after_pass({a, b}, Target::host(), "simplify_loops").find("b["), std::string::npos);
}

TEST_F(Outputs, PtxOfAllIsOneModule) {
  a.gpu_tile(x, y, 32, 4);
  b.gpu_tile(x, y, 32, 4);
  const std::string ptx = compile_to_ptx({a, b});
  std::size_t entries = 0;
  for (auto at = ptx.find(".entry"); at != std::string::npos; at = ptx.find(".entry", at + 1)) ++entries;
  EXPECT_EQ(entries, 2U);
  a.clear_schedule();
  b.clear_schedule();
}

TEST_F(Outputs, TheScheduleOfAllGoesThroughAFile) {
  shared.compute_root().vectorize(x, 8);
  a.parallel(y);
  b.split(x, xo, xi, 4).unroll(xi);
  const Schedule schedule = schedule_of({a, b});
  EXPECT_EQ(schedule.stages.size(), 3U);
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "both.json";
  save_schedule(schedule, path);
  a.clear_schedule();
  b.clear_schedule();
  EXPECT_TRUE(schedule_of({a, b}).stages.empty());
  apply_schedule({a, b}, load_schedule(path));
  EXPECT_EQ(schedule_of({a, b}), schedule);
}

TEST_F(Outputs, AScheduleThatDoesNotFitChangesNoneOfThem) {
  a.parallel(y);
  const Schedule before = schedule_of({a, b});
  Schedule wrong = before;
  wrong.stages.push_back({"c", 0, {}});
  EXPECT_TRUE(fails_with([&] { apply_schedule({a, b}, wrong); }, {"no Func c"}));
  EXPECT_EQ(schedule_of({a, b}), before);
  EXPECT_TRUE(fails_with([&] { (void)schedule_of({a, a}); }, {"a"}));
  EXPECT_TRUE(fails_with([] { (void)schedule_of({}); }, {"output"}));
}

// ---- gpu_tile with names of loops
// ------------------------------------------------------------------------

TEST(NamedTiles, AreSplitsBlocksAndThreads) {
  const auto same = [](int dimensions, const std::function<void(Func&)>& tiled,
                       const std::function<void(Func&)>& written) {
    Func f("f"), g("f");
    std::vector<Expr> vars{x, y, z};
    vars.resize(static_cast<std::size_t>(dimensions));
    f(vars) = x + 1;
    g(vars) = x + 1;
    tiled(f);
    written(g);
    EXPECT_EQ(to_string(f.schedule()), to_string(g.schedule()));
    EXPECT_NE(compile_to_ptx(f).find(".entry"), std::string::npos);
  };
  same(
      1, [](Func& f) { f.gpu_tile(x, xi, 32); },
      [](Func& f) { f.split(x, x, xi, 32).gpu_blocks(x).gpu_threads(xi); });
  same(
      1, [](Func& f) { f.gpu_tile(x, xo, xi, 32); },
      [](Func& f) { f.split(x, xo, xi, 32).gpu_blocks(xo).gpu_threads(xi); });
  same(
      2, [](Func& f) { f.gpu_tile(x, y, xi, yi, 32, 4); },
      [](Func& f) { f.tile(x, y, x, y, xi, yi, 32, 4).gpu_blocks(x, y).gpu_threads(xi, yi); });
  same(
      2, [](Func& f) { f.gpu_tile(x, y, xo, yo, xi, yi, 32, 4); },
      [](Func& f) { f.tile(x, y, xo, yo, xi, yi, 32, 4).gpu_blocks(xo, yo).gpu_threads(xi, yi); });
  same(
      3, [](Func& f) { f.gpu_tile(x, y, z, xi, yi, zi, 16, 4, 2); },
      [](Func& f) {
        f.split(x, x, xi, 16).split(y, y, yi, 4).split(z, z, zi, 2);
        f.reorder(xi, yi, zi, x, y, z).gpu_blocks(x, y, z).gpu_threads(xi, yi, zi);
      });
  same(
      3, [](Func& f) { f.gpu_tile(x, y, z, xo, yo, zo, xi, yi, zi, 16, 4, 2); },
      [](Func& f) {
        f.split(x, xo, xi, 16).split(y, yo, yi, 4).split(z, zo, zi, 2);
        f.reorder(xi, yi, zi, xo, yo, zo).gpu_blocks(xo, yo, zo).gpu_threads(xi, yi, zi);
      });
}

TEST(NamedTiles, OfAnUpdateAndAReturnedStage) {
  Func f("f");
  f(x, y) = 0;
  f(x, y) += x;
  f.gpu_tile(x, y, xi, yi, 8, 8);
  f.update().gpu_tile(x, y, xo, yo, xi, yi, 8, 8).launch_bounds(2);
  EXPECT_NE(f.print_loop_nest(Target::gpu_emulator()).find("gpu_thread f.yi"), std::string::npos);
}

// ---- boundary conditions -----------------------------------------------------------------------------

TEST(BoundarySources, AreInputsAndFuncs) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y);
  namespace b = BoundaryConditions;
  const BoundarySource input = u, func = f;
  EXPECT_EQ(b::repeat_edge(input).name(), "u.repeat_edge");
  EXPECT_EQ(b::mirror_image(func, {{0, 4}, {0, 4}}).name(), "f.mirror_image");
  // A Func made of conditions on an input has that input's range.
  EXPECT_EQ(b::repeat_image(b::repeat_edge(u, {{x}})).name(), "u.repeat_edge.repeat_image");
  EXPECT_FAILS(b::repeat_edge(f), "f is a Func, which has no range of its own", "{{min, extent}, ...}");
  EXPECT_FAILS(b::constant_exterior(f, 0), "f is a Func, which has no range of its own");
}

}  // namespace
}  // namespace mica
