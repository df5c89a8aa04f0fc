// How the plans of kernels read, and that those of the bench are sound.
#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "bench/cases.h"
#include "codegen/plan/verify/verify_plan.h"
#include "tests/passes/plans.h"

namespace mica::test {
namespace {

using planning::Edge;
using planning::KernelPlan;
using planning::Server;
using planning::Stage;
using planning::verify_limits;
using planning::verify_plan;

const Target kGpu{Backend::Cuda, 0};

TEST(KernelPlan, AWindowAndAStagedPlaneReadAsATable) {
  EXPECT_EQ(windowed().print_plan(kGpu),
            R"(next
frame   block of 32 x 8 threads of 4 points = 128 x 8; march z, chunks of 64
stage     box                lag  ring  level  filled                                               kept
u.window  [0,128) x [0,8)     -1     3  step   loads of 16 bytes                                    12 registers
u.staged  [-1,129) x [-1,9)    0     1  step   from u.window, beside it loads of 16 bytes, TwoStep  shared, 5440 bytes
next      [0,128) x [0,8)      0     -  step   computed                                             stored
taps    u.window <- u: 1 global
        u.staged <- u: 1 global; u.window: 1 own register
        next <- u.window: 3 own register; u.staged: 4 shared
edges   u.staged -> next: filled, read in the same step; barrier
        next -> u.staged: read, refilled in the next step; barrier
        4 that each thread keeps by itself
inside  no tests in blocks inside; blocks at the edge keep nothing: taps from memory, points tested; the last chunk ends early
)");
}

TEST(KernelPlan, ATileReadsAsATable) {
  EXPECT_EQ(tile().print_plan(kGpu),
            R"(f
frame   block of 32 x 8 threads = 32 x 8
stage   box              lag  ring  level   filled             kept
across  [0,32) x [-1,9)    0     -  block   computed, TwoStep  shared, 1280 bytes
f       [0,32) x [0,8)     0     -  thread  computed           stored
taps    across <- u: 3 global
        f <- across: 3 shared
edges   across -> f: filled, read in the same step; barrier
inside  no tests in blocks inside; others hold loads inside their arrays and test stores
)");
}

TEST(KernelPlan, EachStepOfAChainRunsAheadOfTheNext) {
  EXPECT_EQ(chain().print_plan(kGpu),
            R"(next
frame   block of 32 x 8 threads = 32 x 8; march z, chunks of 64
stage      box                lag  ring  level  filled                     kept
u.in.once  [-2,34) x [-2,10)   -2     3  step   loads of 4 bytes, TwoStep  shared, 5184 bytes
once       [-1,33) x [-1,9)    -1     3  step   computed, TwoStep          shared, 4080 bytes
next       [0,32) x [0,8)       0     -  step   computed                   stored
taps    u.in.once <- u: 1 global
        once <- u.in.once: 7 shared
        next <- once: 7 shared
edges   u.in.once -> once: filled, read in the same step; barrier
        once -> u.in.once: read, refilled in the next step; barrier
        once -> next: filled, read in the same step; barrier
        next -> once: read, refilled in the next step; barrier
inside  no tests in blocks inside; others hold loads inside their arrays and test stores; the last chunk ends early
)");
}

TEST(KernelPlan, NeighboursServeTheTapsOfAnExchange) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x - 1, y) + u(x, y) + u(x + 1, y);
  f.gpu_tile(x, y, 32, 8).vectorize(x, 2).shuffle(u, x);
  const KernelPlan plan = lowered(f, Backend::Cuda, "plan_kernels").kernels.at(0);
  ASSERT_EQ(plan.taps.size(), 3U);
  EXPECT_EQ(plan.taps[0].server, Server::Lane);
  EXPECT_EQ(plan.taps[0].lanes, -1);
  EXPECT_EQ(plan.taps[1].server, Server::Global);
  EXPECT_EQ(plan.taps[2].server, Server::Lane);
  EXPECT_EQ(plan.taps[2].lanes, 1);
}

TEST(KernelPlan, EachWayToFillIsNamed) {
  const auto way = [](const Func& f, const Variant& variant) {
    return lowered(f, Backend::Cuda, "plan_kernels", variant).kernels.at(0).find("u.staged")->fill;
  };
  Variant unaligned;
  unaligned.aligned = false;
  using Way = planning::Fill::Way;
  EXPECT_EQ(way(windowed(), {}).way, Way::Window);
  EXPECT_EQ(way(copied(1), {}).way, Way::AsyncCopies);
  EXPECT_EQ(way(copied(1), {}).bytes, 16);
  EXPECT_EQ(way(copied(1), unaligned).bytes, 4);
  EXPECT_EQ(way(in_bulk(), {}).way, Way::BulkCopies);
  EXPECT_EQ(way(in_bulk(), unaligned).way, Way::AsyncCopies);
}

// Of rows that are not aligned one block in a few is at the edge.
TEST(KernelPlan, WindowsAreKeptAtTheEdgeOfRowsThatAreNotAligned) {
  const auto edge = [](const Variant& variant) {
    return lowered(windowed(), Backend::Cuda, "plan_kernels", variant).kernels.front().inside.edge;
  };
  EXPECT_EQ(edge({}), planning::Inside::Edge::DirectTaps);
  EXPECT_EQ(edge({.aligned = false}), planning::Inside::Edge::ClampedLoads);
}

TEST(KernelPlan, FurtherWarpsAreTheCrewOfWhatTheyFill) {
  Func next = copied(1);
  next.warp_split(2);
  const KernelPlan plan = lowered(next, Backend::Cuda, "plan_kernels").kernels.at(0);
  const Stage& stage = *plan.find("u.staged");
  EXPECT_EQ(stage.crew.first, 256);
  EXPECT_EQ(stage.crew.count, 64);
  EXPECT_EQ(plan.find("next")->crew.count, 256);
  EXPECT_EQ(plan.threads(), 320);
}

TEST(KernelPlan, CrewsHandPlanesOverAtBarriersTakenInTurn) {
  EXPECT_EQ(apart(LoadPolicy::AsyncCopy, 3).print_plan(kGpu), R"(next
frame   block of 32 x 8 threads = 32 x 8; march z, chunks of 64; 2 further warps to fill
stage     box               lag  ring  level  filled                                           kept
u.staged  [-1,33) x [-1,9)   -4     6  step   cp.async of 16 bytes, by 2 warps, 3 steps early  shared, 11520 bytes
next      [0,32) x [0,8)      0     -  step   computed                                         stored
taps    u.staged <- u: 1 global
        next <- u.staged: 7 shared
crews   threads 0 to 255 compute next
        threads 256 to 319 fill u.staged
edges   u.staged -> next: filled, read 3 steps later; group wait 2, barriers 1 to 2 of 320 threads, said 2 steps later
        next -> u.staged: read, refilled in the next step; barriers 3 to 4 of 320 threads
inside  no tests in blocks inside; others hold loads inside their arrays and test stores; the last chunk ends early
)");
}

TEST(KernelPlan, ATileOfTwoStagesMeetsAtABarrierOfItsOwn) {
  const std::string text = chain_apart().print_plan(kGpu);
  for (const char* const line : {
           "threads 0 to 255 compute once, next",
           "threads 256 to 287 fill w.staged, u.staged",
           "w.staged -> next: filled, read 2 steps later; group wait 1, barriers 1 to 2 of 288 threads",
           "u.staged -> once: filled, read in the next step; group wait 0, barriers 1 to 2 of 288 "
           "threads",
           "once -> u.staged: read, refilled in the next step; barriers 3 to 4 of 288 threads",
           "once -> next: filled, read in the same step; barrier 5 of 256 threads",
           "next -> once: read, refilled in the next step; barrier 5 of 256 threads",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(KernelPlan, CrewsHaveBarriersForAsManyStepsAsOneMayBeAhead) {
  struct Turns {
    LoadPolicy load;
    int ahead, full, empty;
    std::int64_t late;
  };
  // Copies are said when they are there, a step before they are needed; loads at once, as far as 15
  // barriers reach.
  for (const Turns& t :
       {Turns{LoadPolicy::AsyncCopy, 0, 1, 1, 0}, Turns{LoadPolicy::AsyncCopy, 1, 2, 2, 0},
        Turns{LoadPolicy::AsyncCopy, 5, 2, 2, 4}, Turns{LoadPolicy::TwoStep, 0, 1, 1, 0},
        Turns{LoadPolicy::TwoStep, 3, 4, 4, 0}, Turns{LoadPolicy::TwoStep, 6, 7, 7, 0},
        Turns{LoadPolicy::TwoStep, 9, 7, 7, 3}}) {
    SCOPED_TRACE(to_string(t.load) + ", " + std::to_string(t.ahead) + " ahead");
    const KernelPlan plan = lowered(apart(t.load, t.ahead), Backend::Cuda, "plan_kernels").kernels.at(0);
    for (const Edge& edge : plan.edges) {
      const bool filled = edge.kind == Edge::Kind::Filled;
      EXPECT_TRUE(edge.at.hands_over);
      EXPECT_EQ(edge.at.threads, 320);
      EXPECT_EQ(edge.at.turns, filled ? t.full : t.empty);
      EXPECT_EQ(edge.late, filled ? t.late : 0);
    }
  }
}

TEST(KernelPlan, FurtherWarpsFillWhatReadsArraysOnly) {
  const Func next = chain_apart();
  const KernelPlan plan = lowered(next, Backend::Cuda, "plan_kernels").kernels.at(0);
  EXPECT_EQ(plan.find("u.staged")->crew.first, 256);
  EXPECT_EQ(plan.find("once")->crew.first, 0);
  // A plane of which a window holds the tile is loaded as a whole.
  Func both = windowed();
  both.warp_split(1);
  const Stage& staged = *lowered(both, Backend::Cuda, "plan_kernels").kernels.at(0).find("u.staged");
  EXPECT_EQ(staged.fill.way, planning::Fill::Way::Loads);
  EXPECT_EQ(staged.crew.first, 256);
}

TEST(KernelPlan, AHostHasOneCrew) {
  const KernelPlan plan =
      lowered(apart(LoadPolicy::TwoStep, 1), Backend::Host, "plan_kernels").kernels.at(0);
  EXPECT_EQ(plan.frame.filling_warps, 0);
  EXPECT_EQ(plan.find("u.staged")->crew.first, 0);
}

TEST(KernelPlan, EachUpdateHasAPlanOfItsOwn) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y);
  f(x, y) += u(x, y + 1);
  f.gpu_tile(x, y, 32, 8);
  f.update(0).gpu_tile(x, y, 16, 4);
  const auto kernels = lowered(f, Backend::Cuda, "plan_kernels").kernels;
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[1].definition, 1U);
  EXPECT_EQ(kernels[1].frame.threads[0], 16);
  EXPECT_NE(f.print_plan(kGpu).find("\nf.update(0)\nframe   block of 16 x 4 threads"),
            std::string::npos);
}

TEST(KernelPlan, RootsOfTheHostHaveAPlanWhereTheyMarch) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y);
  EXPECT_TRUE(lowered(f, Backend::Host, "plan_kernels").kernels.empty());
  EXPECT_EQ(lowered(windowed(), Backend::Host, "plan_kernels").kernels.size(), 1U);
}

TEST(KernelPlan, PlansOfEqualSchedulesAreEqualAndOthersAreNot) {
  const Func next = windowed();
  const KernelPlan plan = lowered(next, Backend::Cuda, "plan_kernels").kernels.at(0);
  KernelPlan same = plan;
  EXPECT_TRUE(plan == same);
  same.stages[0].step->ahead += 1;
  EXPECT_FALSE(plan == same);
  EXPECT_FALSE(plan == lowered(copied(1), Backend::Cuda, "plan_kernels").kernels.at(0));
}

TEST(KernelPlan, EveryCaseOfTheBenchIsSoundAndFitsADevice) {
  for (const auto& c : bench::cases()) {
    if (!bench::has_schedule(c)) continue;
    SCOPED_TRACE(c.name);
    bench::Algorithm algorithm = bench::make_algorithm(c.algorithm);
    schedules::apply(algorithm.output, c.schedule, c.parameters);
    const mica::Program program = lowered(algorithm.output, Backend::Cuda, "plan_kernels");
    for (const auto& plan : program.kernels) {
      EXPECT_EQ(verify_plan(plan, program.pipeline), std::vector<std::string>{}) << to_string(plan);
      EXPECT_EQ(verify_limits(plan, DeviceLimits{}), std::vector<std::string>{}) << to_string(plan);
    }
  }
}

}  // namespace
}  // namespace mica::test
