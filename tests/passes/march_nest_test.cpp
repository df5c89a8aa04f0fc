// The code that marches become: what is kept, in which order a step runs, and where threads wait.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::code;
using test::count;
using test::inside;
using test::loops;
using test::lowered;

const Var x("x"), y("y"), z("z");

/// next, a star of radius `r` over u or the box of all 27 neighbours, in tiles of 16 x 4 and chunks
/// of 8.
struct March {
  ImageParam u{Float(32), 3, "u"};
  Func next{"next"};

  static March star(int r = 1) {
    March m;
    Expr total = 0.5F * m.u(x, y, z);
    for (int i = 1; i <= r; ++i) {
      total = total + 0.1F * (m.u(x - i, y, z) + m.u(x + i, y, z) + m.u(x, y - i, z) + m.u(x, y + i, z) +
                              m.u(x, y, z - i) + m.u(x, y, z + i));
    }
    return m.defined(total);
  }
  static March box() {
    March m;
    Expr total;
    for (int k = 0; k < 27; ++k) {
      const Expr tap = m.u(x + (k % 3 - 1), y + (k / 3 % 3 - 1), z + (k / 9 - 1));
      total = total.defined() ? total + 0.1F * tap : 0.1F * tap;
    }
    return m.defined(total);
  }
  March& window() {
    next.register_window(u, z);
    return *this;
  }
  March& stage(LoadPolicy load = LoadPolicy::TwoStep) {
    next.stage(u, MemoryType::Shared, load);
    return *this;
  }
  March& ahead(int depth) {
    next.pipeline(u, depth);
    return *this;
  }
  [[nodiscard]] std::string text() const { return loops(next, Backend::Cuda); }

 private:
  March defined(const Expr& value) {
    next(x, y, z) = value;
    next.gpu_tile(x, y, 16, 4).march(z, 32);
    return *this;
  }
};

ir::Stmt nest_after(const Func& f, const std::string& pass) {
  return lowered(f, Backend::Cuda, pass).nests.front().body;
}

void visit(const ir::Stmt& s, const std::function<void(const ir::Stmt&)>& look) {
  ir::walk(
      s, [&](const ir::Stmt& child) { look(child); }, [](const Expr&) {});
}

int barriers(const ir::Stmt& s) {
  int n = 0;
  visit(s, [&](const ir::Stmt& child) { n += child.as<ir::Barrier>() ? 1 : 0; });
  return n;
}
int stores(const ir::Stmt& s, const std::string& buffer) {
  int n = 0;
  visit(s, [&](const ir::Stmt& child) {
    const auto* store = child.as<ir::Store>();
    n += store && store->buffer == buffer ? 1 : 0;
  });
  return n;
}
int conditions(const ir::Stmt& s, const std::string& part) {
  int n = 0;
  visit(s, [&](const ir::Stmt& child) {
    const auto* branch = child.as<ir::If>();
    if (branch) n += count(to_string(branch->condition), part);
  });
  return n;
}

/// The code of blocks that lie inside the domain, and of those at its edge.
struct Split {
  ir::Stmt interior, edge;
};
Split split_of(const ir::Stmt& nest) {
  Split split;
  visit(nest, [&](const ir::Stmt& s) {
    const auto* branch = s.as<ir::If>();
    if (!branch || !branch->else_case.defined() || split.interior.defined()) return;
    split = {branch->then_case, branch->else_case};
  });
  return split;
}

/// The loop over undisturbed steps of a march, and what stands before it.
struct Walk {
  ir::Stmt before, steps;
  int period = 0;  ///< steps written out in `steps`
};
Walk walk_of(const ir::Stmt& code, const std::string& output = "next") {
  Walk walk;
  visit(code, [&](const ir::Stmt& s) {
    const auto* block = s.as<ir::Block>();
    if (!block || walk.steps.defined()) return;
    std::vector<ir::Stmt> before;
    for (const auto& child : block->stmts) {
      const auto* loop = child.as<ir::For>();
      const bool walks = loop && loop->kind == LoopKind::Serial &&
                         loop->name.rfind(loop_name("next", "z"), 0) == 0 && stores(child, output) > 0;
      if (walks) {
        walk = {ir::make_block(before), loop->body, stores(loop->body, output)};
        return;
      }
      before.push_back(child);
    }
  });
  return walk;
}

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
  const std::string text = March::star().stage().text();
  EXPECT_TRUE(strips(text).empty()) << text;
  EXPECT_EQ(count(text, "unrolled u.staged.step in [0, 2)"), 1) << text;
}
TEST(MarchNest, BlocksAtTheEdgeOfTheDomainWalkTheSameMarchWithLoadsInsideTheirArrays) {
  const std::string text = March::star().stage().window().text();
  const auto at = text.find("else");
  ASSERT_NE(at, std::string::npos) << text;
  for (const std::string& side : {text.substr(0, at), text.substr(at)}) {
    EXPECT_EQ(count(side, "produce u.staged:"), 1) << text;
    EXPECT_EQ(count(side, "produce u.window:"), 1) << text;
    EXPECT_EQ(count(side, "march next.z.march in [-2, -2 + (next.z.march.planes + 2))"), 1) << text;
  }
}

// ---- interior and edge

TEST(MarchNest, BlocksInsideTheDomainCheckNoPoint) {
  March m = March::star().stage().window();
  m.next.vectorize(x, 4).unroll(y, 2);
  const Split split = split_of(nest_after(m.next, "build_loop_nest"));
  ASSERT_TRUE(split.interior.defined());
  EXPECT_EQ(conditions(split.interior, "next.extent"), 0);
  EXPECT_GT(conditions(split.edge, "next.extent"), 0);
}
TEST(MarchNest, BlocksAtTheEdgeTestNothingButStores) {
  const Split split = split_of(nest_after(March::star().stage().next, "build_loop_nest"));
  ASSERT_TRUE(split.interior.defined());
  int rings = 0, tests = 0;
  visit(split.edge, [&](const ir::Stmt& s) {
    const auto* alloc = s.as<ir::Allocate>();
    rings += alloc && alloc->places == 3 ? 1 : 0;
    const auto* branch = s.as<ir::If>();
    if (branch == nullptr || count(to_string(branch->condition), "next.extent") == 0) return;
    ++tests;
    EXPECT_EQ(stores(s, "next"), 1);
    EXPECT_EQ(stores(s, "u.staged"), 0);
  });
  EXPECT_EQ(rings, 1);
  EXPECT_EQ(tests, 1);
}
// Written out, loops of blocks at the edge would take registers that all blocks hold.
TEST(MarchNest, BlocksAtTheEdgeKeepTheirLoops) {
  const auto loops_of = [](const ir::Stmt& side, LoopKind kind) {
    int n = 0;
    visit(side, [&](const ir::Stmt& s) {
      const auto* loop = s.as<ir::For>();
      n += loop && loop->kind == kind ? 1 : 0;
    });
    return n;
  };
  March m = March::star(2).stage(LoadPolicy::AsyncCopy).ahead(2);
  m.next.unroll(y, 2);
  const Split split = split_of(nest_after(m.next, "build_loop_nest"));
  EXPECT_GT(loops_of(split.interior, LoopKind::Unrolled), 0);
  EXPECT_EQ(loops_of(split.edge, LoopKind::Unrolled), 0);
  EXPECT_EQ(stores(split_of(nest_after(m.next, "unroll_marches")).edge, "next"), 2)
      << "a step of a turn and one that may be left";
  // What a thread holds in registers has no dynamic index.
  m.next.scatter(z);
  const Split parts = split_of(nest_after(m.next, "build_loop_nest"));
  EXPECT_GT(loops_of(parts.edge, LoopKind::Unrolled), 0);
}
// All lanes of a vector are stored at once where the last one is inside.
TEST(MarchNest, AVectorThatTheEndOfTheDomainCutsIsComputedWholeAndStoredByLane) {
  March m = March::star().stage();
  m.next.vectorize(x, 4);
  const Split split = split_of(nest_after(m.next, "vectorize_loops"));
  int vectors = 0, lanes = 0;
  visit(split.edge, [&](const ir::Stmt& s) {
    const auto* store = s.as<ir::Store>();
    if (store == nullptr || store->buffer != "next") return;
    ++(store->value.type().is_scalar() ? lanes : vectors);
    const auto* lane = store->value.as<Shuffle>();
    EXPECT_TRUE(lane == nullptr || lane->vectors.front().as<VarRef>() != nullptr);
  });
  EXPECT_EQ(lanes, 4 * vectors);
  EXPECT_GT(vectors, 0);
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
}  // namespace mica
