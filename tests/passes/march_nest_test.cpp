// The code that marches become: what is kept, in which order a step runs, and where threads wait.
#include <algorithm>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "tests/passes/march_code.h"

namespace mica::test {
namespace {

// ---- what is kept ------------------------------------------------------------------------------------

TEST(MarchNest, TheMarchStandsInsideAllBlocksAroundTheThreads) {
  const std::string text = March::star().text();
  EXPECT_EQ(text,
            "produce next:\n"
            "  gpu_block next.z.block in [0, (next.extent.2 + 31)/32)\n"
            "    gpu_block next.y.block in [0, (next.extent.1 + 3)/4)\n"
            "      gpu_block next.x.block in [0, (next.extent.0 + 15)/16)\n"
            "        let next.z.march.planes = min(32, next.extent.2 - next.z.block*32)\n"
            "        march next.z.march in [0, next.z.march.planes)\n"
            "          gpu_thread next.y.thread in [0, 4)\n"
            "            gpu_thread next.x.thread in [0, 16)\n"
            "              if next.x.block*16 + next.x.thread < next.extent.0 && "
            "next.y.block*4 + next.y.thread < next.extent.1\n"
            "                next[..] = ...\n");
}

TEST(MarchNest, WithoutAChunkABlockWalksTheWholeColumn) {
  March m = March::star();
  m.next.clear_schedule();
  m.next.gpu_tile(x, y, 16, 4).march(z);
  const std::string text = m.text();
  EXPECT_EQ(count(text, "z.block"), 0) << text;
  EXPECT_EQ(count(text, "march next.z in [0, next.extent.2)"), 1) << text;
}

TEST(MarchNest, OrderBlocksIsTheOrderOfTheGridsAxes) {
  March m = March::star();
  m.next.order_blocks("z.block");
  const std::string text = m.text();
  EXPECT_LT(text.find("gpu_block next.y.block"), text.find("gpu_block next.x.block")) << text;
  EXPECT_LT(text.find("gpu_block next.x.block"), text.find("gpu_block next.z.block")) << text;
  const Program program = lowered(m.next, Backend::Cuda);
  EXPECT_EQ(to_string(program.nests.front().grid.front()), "(next.extent.2 + 31)/32");
}

TEST(MarchNest, AWindowHoldsThePlanesThatAreRead) {
  EXPECT_EQ(count(inside(March::star().window().text()), "Register f32 u.window[3][4][16]"), 1);
  EXPECT_EQ(count(inside(March::star(4).window().text()), "Register f32 u.window[9][4][16]"), 1);
  // A step loads after it has read: the new plane takes the place of the oldest.
  EXPECT_EQ(count(inside(March::star().window().ahead(1).text()), "Register f32 u.window[3][4][16]"), 1);
  EXPECT_EQ(count(inside(March::star().window().ahead(2).text()), "Register f32 u.window[4][4][16]"), 1);
}

TEST(MarchNest, AStageHoldsThePlanesThatAreReadWithTheirHalo) {
  EXPECT_EQ(count(inside(March::star().stage().text()), "Shared f32 u.staged[3][6][18]: 1296 bytes"), 1);
  EXPECT_EQ(count(inside(March::star(2).stage().text()), "Shared f32 u.staged[5][8][20]: 3200 bytes"),
            1);
  EXPECT_EQ(count(inside(March::star().stage().ahead(2).text()), "Shared f32 u.staged[5][6][18]"), 1);
}

TEST(MarchNest, AStageBesideAWindowHoldsOnePlane) {
  const std::string text = March::star(4).stage().window().text();
  EXPECT_EQ(count(inside(text), "Register f32 u.window[9][4][16]"), 1) << text;
  EXPECT_EQ(count(inside(text), "Shared f32 u.staged[1][12][24]: 1152 bytes"), 1) << text;
  EXPECT_EQ(count(inside(March::star(4).stage().window().ahead(1).text()), "u.staged[2][12][24]"), 1);
}

TEST(MarchNest, AStageThatIsReadInSeveralPlanesStaysARingBesideAWindow) {
  const std::string text = March::box().stage().window().text();
  EXPECT_EQ(count(inside(text), "Shared f32 u.staged[3][6][18]"), 1) << text;
}

TEST(MarchNest, AScatteredSumWaitsInOneRegisterAPart) {
  March m = March::star(2);
  m.next.scatter(z);
  const std::string text = m.text();
  for (const char* part : {"next.sum0", "next.sum1", "next.sum2", "next.sum3"}) {
    EXPECT_EQ(count(inside(text), std::string("Register f32 ") + part + "[1][4][16]"), 1) << text;
  }
  EXPECT_EQ(count(inside(text), "next.sum4"), 0) << text;
  March centre = March::star(2);
  centre.next.scatter(z, Partials::Centre);
  EXPECT_EQ(count(inside(centre.text()), "Register f32 next.sum0[2][4][16]"), 1) << centre.text();
  EXPECT_EQ(count(inside(centre.text()), "next.sum1"), 0);
}

TEST(MarchNest, AFuncKeptAlongTheMarchIsARingOfItsPlanes) {
  ImageParam u(Float(32), 3, "u");
  Func b("b"), f("next");
  b(x, y, z) = u(x - 1, y, z) + u(x + 1, y, z);
  f(x, y, z) = b(x, y - 1, z) + b(x, y + 1, z) + b(x, y, z + 2);
  f.gpu_tile(x, y, 16, 4).march(z, 32);
  b.compute_at(f, "z.march");
  const std::string text = loops(f, Backend::Cuda);
  EXPECT_EQ(count(inside(text), "Shared f32 b[3][6][16]"), 1) << text;
  EXPECT_EQ(count(inside(text), "march next.z.march in [-2, "), 1) << text;
}

// ---- the order of a step

void expect_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t at = text.find("march next.z.march");
  for (const auto& part : parts) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " comes later in\n" << text;
    at = found + part.size();
  }
}

TEST(MarchNest, AWindowFillsTheStageWhichIsReadAtOnce) {
  expect_order(March::star().stage().window().text(),
               {"produce u.window:", "produce u.staged:", "next[..] = ...", "else"});
}
TEST(MarchNest, PlanesAheadAreAskedForAfterTheStepHasReadItsOwn) {
  expect_order(March::star().stage().window().ahead(1).text(),
               {"produce u.window:", "next[..] = ...", "produce u.staged:", "else"});
}
TEST(MarchNest, PartsOfASumAreAddedFromTheLastToTheFirst) {
  March m = March::star();
  m.next.scatter(z);
  expect_order(m.text(), {"next[..] = ...", "produce next.sum1:", "produce next.sum0:", "else"});
}

TEST(MarchNest, PlanesThatNoStepReadsAreNotAskedFor) {
  const std::string text = March::star().stage().ahead(2).text();
  EXPECT_EQ(count(inside(text), "next.z.march + 2 < next.z.march.planes"), 1) << text;
  EXPECT_EQ(count(inside(March::star().stage().text()), "< next.z.march.planes"), 0);
}

// ---- planes filled from registers

/// Points of the strips around a tile that its threads load, in order.
std::vector<int> strips(const std::string& text) {
  std::vector<int> points;
  const std::string interior = text.substr(0, text.find("else"));
  const std::string mark = "if u.staged.ty*16 + u.staged.tx < ";
  for (auto at = interior.find(mark); at != std::string::npos; at = interior.find(mark, at + 1)) {
    points.push_back(std::stoi(interior.substr(at + mark.size())));
  }
  return points;
}

TEST(MarchNest, OnlyTheHaloOfAStarComesFromMemoryAndWithoutCorners) {
  EXPECT_EQ(strips(March::star().stage().window().text()), (std::vector<int>{16, 16, 4, 4}));
  EXPECT_EQ(strips(March::star(2).stage().window().text()), (std::vector<int>{32, 32, 8, 8}));
}
TEST(MarchNest, TheHaloOfABoxHasCorners) {
  EXPECT_EQ(strips(March::box().stage().window().text()), (std::vector<int>{18, 18, 4, 4}));
}
TEST(MarchNest, WithoutAWindowTheWholePlaneComesFromMemory) {
  const std::string text = inside(March::star().stage().text());
  EXPECT_TRUE(strips(text).empty()) << text;
  EXPECT_EQ(count(text, "unrolled u.staged.step in [0, 2)"), 1) << text;
}
// ---- steps written out

TEST(MarchNest, StepsBeforeTheFirstPlaneArePeeled) {
  for (const int r : {1, 3}) {
    const March m = March::star(r).window();
    const Walk walk = walk_of(split_of(nest_after(m.next, "unroll_marches")).interior);
    ASSERT_TRUE(walk.steps.defined());
    EXPECT_EQ(stores(walk.before, "u.window"), 2 * r) << "a plane each before and after the first";
    EXPECT_EQ(stores(walk.before, "next"), 0);
  }
}
TEST(MarchNest, StepsAreWrittenOutToThePeriodOfTheWindow) {
  for (const int r : {1, 2, 4}) {
    const March m = March::star(r).window();
    const Walk walk = walk_of(split_of(nest_after(m.next, "unroll_marches")).interior);
    EXPECT_EQ(walk.period, 2 * r + 1);
  }
  const March ahead = March::star().window().ahead(2);
  EXPECT_EQ(walk_of(split_of(nest_after(ahead.next, "unroll_marches")).interior).period, 4);
}
TEST(MarchNest, RingsInSharedMemoryThatAreReadInSeveralPlanesJoinAShortPeriod) {
  const auto period = [](const March& m) {
    return walk_of(split_of(nest_after(m.next, "unroll_marches")).interior).period;
  };
  EXPECT_EQ(period(March::star().stage()), 3) << "three planes";
  EXPECT_EQ(period(March::star(2).stage().ahead(2)), 7) << "five planes and two ahead";
  EXPECT_EQ(period(March::star(6).stage()), 1) << "thirteen planes";
  EXPECT_EQ(period(March::star(4).stage().window().ahead(1)), 9) << "the window's; one plane is read";
  March parts = March::star(2).stage().ahead(2);
  parts.next.scatter(z);
  EXPECT_EQ(period(parts), 1) << "one plane is read";
}
TEST(MarchNest, UndisturbedStepsHaveNoConditionOnTheStep) {
  const March m = March::star().stage().window().ahead(2);
  const Walk walk = walk_of(split_of(nest_after(m.next, "unroll_marches")).interior);
  ASSERT_TRUE(walk.steps.defined());
  EXPECT_EQ(conditions(walk.steps, "next.z.march"), 0);
}
TEST(MarchNest, AChunkShorterThanThePeriodHasNoUndisturbedTurn) {
  March m = March::star(4);
  m.next.clear_schedule();
  m.next.gpu_tile(x, y, 16, 4).march(z, 8).register_window(m.u, z);
  const Walk walk = walk_of(split_of(nest_after(m.next, "unroll_marches")).interior);
  EXPECT_EQ(walk.period, 8);
  EXPECT_EQ(conditions(walk.steps, "next.z.march.planes"), 8) << "each step has its condition";
}
TEST(MarchNest, OnTheHostAStepIsNotWrittenOut) {
  const March m = March::star().window();
  const Program program = lowered(m.next, Backend::Host, "unroll_marches");
  const Walk walk = walk_of(split_of(program.nests.front().body).interior);
  EXPECT_EQ(walk.period, 1);
  EXPECT_EQ(stores(walk.before, "u.window"), 2);
}

TEST(MarchNest, NoRegisterHasADynamicIndex) {
  const auto check = [](const Func& f, const std::string& what) {
    const Program program = lowered(f, Backend::Cuda, "vectorize_loops");
    std::set<std::string> registers;
    visit(program.nests.front().body, [&](const ir::Stmt& s) {
      const auto* alloc = s.as<ir::Allocate>();
      if (alloc && alloc->memory == MemoryType::Register) registers.insert(alloc->buffer);
    });
    EXPECT_FALSE(registers.empty()) << what;
    const auto constant = [](const Expr& e) {
      const auto* ramp = e.as<Ramp>();
      return ramp ? as_int(ramp->base) && as_int(ramp->stride) : as_int(e) != nullptr;
    };
    ir::walk(
        program.nests.front().body,
        [&](const ir::Stmt& s) {
          const auto* store = s.as<ir::Store>();
          if (!store || registers.count(store->buffer) == 0) return;
          EXPECT_TRUE(constant(store->index.front())) << what << ": " << to_string(store->index.front());
        },
        [&](const Expr& e) {
          const auto* load = e.as<Load>();
          if (!load || registers.count(load->buffer) == 0) return;
          EXPECT_TRUE(constant(load->index.front())) << what << ": " << to_string(e);
        });
  };
  check(March::star().window().next, "a window");
  check(March::star(2).stage().window().ahead(1).next, "a window and a stage");
  March vectors = March::star().stage().window();
  vectors.next.vectorize(x, 4).unroll(y, 2);
  check(vectors.next, "vectors and rows");
  March parts = March::star(2).stage();
  parts.next.scatter(z).vectorize(x, 2);
  check(parts.next, "partial sums");
}

// ---- where threads wait

int barriers_a_step(const Func& f) {
  const Walk walk = walk_of(split_of(nest_after(f, "fuse_thread_loops")).interior);
  if (walk.period == 0) return -1;
  const int n = barriers(walk.steps);
  EXPECT_EQ(n % walk.period, 0) << n << " barriers in " << walk.period << " steps";
  return n / walk.period;
}

TEST(MarchNest, APlaneThatIsReadAtOnceNeedsTwoBarriersAStep) {
  EXPECT_EQ(barriers_a_step(March::star().stage().window().next), 2);
  EXPECT_EQ(barriers_a_step(March::star(4).stage().window().next), 2);
  March parts = March::star().stage().window();
  parts.next.scatter(z);
  EXPECT_EQ(barriers_a_step(parts.next), 2);
}
TEST(MarchNest, APlaneAheadNeedsOneBarrierAStep) {
  EXPECT_EQ(barriers_a_step(March::star().stage().window().ahead(1).next), 1);
  EXPECT_EQ(barriers_a_step(March::star(4).stage().window().ahead(1).next), 1);
  EXPECT_EQ(barriers_a_step(March::star().stage().ahead(1).next), 1);
}
TEST(MarchNest, APlaneFarAheadNeedsNoMoreThanOneBarrierAStep) {
  const March m = March::star().stage().window().ahead(3);
  const Walk walk = walk_of(split_of(nest_after(m.next, "fuse_thread_loops")).interior);
  EXPECT_GT(barriers(walk.steps), 0);
  EXPECT_LE(barriers(walk.steps), walk.period);
}
// The steps of such a chunk ask for no plane, and read those of the steps before the first.
TEST(MarchNest, AChunkShorterThanThePlanesAheadWaitsForThemStill) {
  March m = March::star();
  m.next.clear_schedule();
  m.next.gpu_tile(x, y, 16, 4).march(z, 2);
  m.stage().window().ahead(3);
  EXPECT_GT(barriers(nest_after(m.next, "fuse_thread_loops")), 0);
}
TEST(MarchNest, RegistersAloneNeedNone) {
  EXPECT_EQ(barriers_a_step(March::star().window().next), 0);
  March parts = March::star();
  parts.next.scatter(z);
  EXPECT_EQ(barriers_a_step(parts.next), 0);
}

// ---- who fills ---------------------------------------------------------------------------------------

TEST(MarchNest, SplitWarpsStandBehindTheTileAndFillAlone) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy}) {
    March m = March::star(4).stage(load).ahead(1);
    m.next.warp_split(1);
    EXPECT_NE(code(m.next, Backend::Cuda).find(") block 16x6x1:"), std::string::npos);
    int fills = 0, results = 0;
    // Below the conditions met so far, told apart by their text.
    const std::function<void(const ir::Stmt&, bool, bool)> look = [&](const ir::Stmt& s, bool filling,
                                                                      bool computing) {
      if (const auto* branch = s.as<ir::If>()) {
        const std::string condition = to_string(branch->condition);
        look(branch->then_case, filling || condition.find("thread.x - 64 >= 0") != std::string::npos,
             computing || condition.find("thread.y < 4") != std::string::npos);
        return;
      }
      const auto* store = s.as<ir::Store>();
      if (s.as<ir::AsyncCopy>() || (store && store->buffer == "u.staged")) {
        ++fills;
        EXPECT_TRUE(filling && !computing);
      } else if (store && store->buffer == "next") {
        ++results;
        EXPECT_TRUE(computing && !filling);
      }
      ir::map_children(
          s,
          [&](const ir::Stmt& child) {
            look(child, filling, computing);
            return child;
          },
          nullptr);
    };
    look(split_of(nest_after(m.next, "fuse_thread_loops")).interior, false, false);
    EXPECT_GT(fills, 0);
    EXPECT_GT(results, 0);
  }
}

}  // namespace
}  // namespace mica::test
