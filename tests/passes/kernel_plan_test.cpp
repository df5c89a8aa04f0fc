// The plans of kernels: how they read, and that a plan which is not sound is found out.
#include <functional>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "bench/cases.h"
#include "codegen/compile.h"
#include "codegen/plan/verify_plan.h"
#include "tests/passes/lowered.h"

namespace mica {
namespace {

using planning::Edge;
using planning::KernelPlan;
using planning::Residence;
using planning::Server;
using planning::Stage;
using planning::verify_limits;
using planning::verify_plan;
using planning::Wait;
using test::lowered;

const Var x("x"), y("y"), z("z");
const Target kGpu{Backend::Cuda, 0};

template <typename Source>
Expr star(const Source& u) {
  return 0.5F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) +
                                     u(x, y, z - 1) + u(x, y, z + 1));
}

/// The document's example: the current plane staged, the column in registers.
Func windowed() {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared).register_window(u, z);
  next.vectorize(x, 4);
  return next;
}

/// All planes staged by asynchronous copies.
Func copied(int ahead) {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  next.vectorize(x, 4);
  if (ahead > 0) next.pipeline(u, ahead);
  return next;
}

/// Rows of whole 16 bytes, which the copy engine brings.
Func in_bulk() {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = u(x - 4, y, z) + u(x + 4, y - 1, z) + u(x, y + 1, z - 1) + u(x, y, z + 1);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  next.vectorize(x, 4).pipeline(u, 1);
  return next;
}

/// The same, of which two further warps ask the engine.
Func bulk_apart() {
  Func next = in_bulk();
  next.warp_split(2);
  return next;
}

/// Two further warps fill what the tile's threads read.
Func apart(LoadPolicy load, int ahead) {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared, load).warp_split(2);
  if (ahead > 0) next.pipeline(u, ahead);
  return next;
}

/// Two steps in one kernel.
Func chain() {
  ImageParam u(Float(32), 3, "u");
  Func next("next"), once("once");
  once(x, y, z) = star(u);
  next(x, y, z) = star(once);
  next.gpu_tile(x, y, 32, 8).march(z, 64);
  once.compute_at(next, "z.march");
  Func plane = u.in(once);
  plane.compute_at(next, "z.march");
  return next;
}

/// Two steps in one kernel, of which a further warp copies the inputs.
Func chain_apart() {
  ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
  Func next("next"), once("once");
  once(x, y, z) = star(u);
  next(x, y, z) = star(once) + w(x, y - 1, z);
  next.gpu_tile(x, y, 32, 8).march(z, 64);
  next.stage(w, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(w, 2);
  once.compute_at(next, "z.march").stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(u, 1);
  return next.warp_split(1);
}

/// A tile without a march.
Func tile() {
  ImageParam u(Float(32), 2, "u");
  Func across("across"), f("f");
  across(x, y) = u(x - 1, y) + u(x, y) + u(x + 1, y);
  f(x, y) = across(x, y - 1) + across(x, y) + across(x, y + 1);
  f.gpu_tile(x, y, 32, 8);
  across.compute_at(f, "x.block");
  return f;
}

Func scattered() {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).scatter(z).stage(u, MemoryType::Shared);
  return next;
}

// ---- how plans read --------------------------------------------------------------------------------

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
inside  no tests in blocks inside; blocks at the edge keep nothing: taps from memory, points tested
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

// ---- plans that are not sound ----------------------------------------------------------------------

struct Planned {
  Pipeline pipeline;
  KernelPlan plan;
};

Planned planned(const Func& f) {
  const mica::Program program = lowered(f, Backend::Cuda, "plan_kernels");
  return {program.pipeline, program.kernels.at(0)};
}

std::vector<Planned> all_kinds() {
  return {planned(windowed()),
          planned(copied(0)),
          planned(copied(2)),
          planned(in_bulk()),
          planned(chain()),
          planned(tile()),
          planned(scattered()),
          planned(bulk_apart()),
          planned(apart(LoadPolicy::AsyncCopy, 2)),
          planned(apart(LoadPolicy::TwoStep, 1)),
          planned(chain_apart())};
}

/// Each plan is sound, and none is after `change` has changed it; it returns false where it changes
/// nothing. `at` counts up until then.
void expect_found(const std::function<bool(KernelPlan&, std::size_t at)>& change) {
  int changed = 0;
  for (const Planned& sound : all_kinds()) {
    ASSERT_TRUE(verify_plan(sound.plan, sound.pipeline).empty());
    for (std::size_t at = 0;; ++at) {
      KernelPlan mutant = sound.plan;
      if (!change(mutant, at)) break;
      if (mutant == sound.plan) continue;
      ++changed;
      EXPECT_FALSE(verify_plan(mutant, sound.pipeline).empty()) << "number " << at << " of\n"
                                                                << to_string(sound.plan) << "passes as\n"
                                                                << to_string(mutant);
    }
  }
  EXPECT_GT(changed, 3);
}

/// Changes the at-th stage that is kept in a ring.
std::function<bool(KernelPlan&, std::size_t)> ring(const std::function<void(Stage&)>& change) {
  return [change](KernelPlan& plan, std::size_t at) {
    if (at >= plan.stages.size()) return false;
    Stage& stage = plan.stages[at];
    if (stage.step && stage.step->dim >= 0) change(stage);
    return true;
  };
}

std::function<bool(KernelPlan&, std::size_t)> edge(const std::function<void(Edge&)>& change) {
  return [change](KernelPlan& plan, std::size_t at) {
    if (at >= plan.edges.size()) return false;
    change(plan.edges[at]);
    return true;
  };
}

TEST(KernelPlanMutants, ALagThatIsOffByOneIsFound) {
  expect_found(ring([](Stage& stage) { stage.step->ahead += 1; }));
  expect_found(ring([](Stage& stage) { stage.step->ahead -= 1; }));
}

TEST(KernelPlanMutants, ARingWithAPlaceTooFewIsFound) {
  expect_found(ring([](Stage& stage) { stage.step->depth -= 1; }));
}

TEST(KernelPlanMutants, AStageThatBeginsTooLateIsFound) {
  expect_found(ring([](Stage& stage) { stage.step->first += 1; }));
}

TEST(KernelPlanMutants, AMissingEdgeIsFound) {
  expect_found([](KernelPlan& plan, std::size_t at) {
    if (at >= plan.edges.size()) return false;
    const bool ring = plan.edges[at].kind == Edge::Kind::Filled || plan.frame.march;
    if (ring) plan.edges.erase(plan.edges.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  });
}

TEST(KernelPlanMutants, AnEdgeOfOtherStepsIsFound) {
  expect_found(edge([](Edge& one) { one.steps += 1; }));
}

TEST(KernelPlanMutants, AMissingWaitIsFound) {
  expect_found(edge([](Edge& one) { one.wait = Wait::None; }));
}

TEST(KernelPlanMutants, CopiesThatAreLeftUnderWayAreFound) {
  const Planned sound = planned(copied(2));
  KernelPlan mutant = sound.plan;
  for (auto& one : mutant.edges) one.pending += one.wait == Wait::Copies ? 1 : 0;
  ASSERT_FALSE(mutant == sound.plan);
  EXPECT_FALSE(verify_plan(mutant, sound.pipeline).empty());
}

TEST(KernelPlanMutants, AnotherBarrierIsFound) {
  expect_found(edge([](Edge& one) { one.at.barrier = one.at.barrier > 0 ? 0 : 1; }));
  expect_found(edge([](Edge& one) {
    if (one.at.barrier > 0) one.at.barrier = 15 + 1 - one.at.turns + 1;
  }));
  // All edges of one way at the barriers of the other.
  expect_found([](KernelPlan& plan, std::size_t at) {
    if (at > 0) return false;
    for (Edge& one : plan.edges) {
      if (one.at.hands_over && one.kind == Edge::Kind::Reused) one.at.barrier = 1;
    }
    return true;
  });
}

TEST(KernelPlanMutants, ABarrierOfOtherThreadsIsFound) {
  for (const int more : {-32, -1, 32}) {
    expect_found(edge([&](Edge& one) {
      if (one.at.barrier > 0) one.at.threads += more;
    }));
  }
  expect_found(edge([](Edge& one) {
    if (one.wait != Wait::None) one.at.hands_over = !one.at.hands_over;
  }));
}

TEST(KernelPlanMutants, ATurnTooFewIsFound) {
  for (const Edge::Kind kind : {Edge::Kind::Filled, Edge::Kind::Reused}) {
    expect_found([&](KernelPlan& plan, std::size_t at) {
      if (at > 0) return false;
      for (Edge& one : plan.edges) one.at.turns -= one.at.hands_over && one.kind == kind ? 1 : 0;
      return true;
    });
  }
}

TEST(KernelPlanMutants, PlanesThatAreSaidAtAnotherTimeAreFound) {
  const Planned sound = planned(apart(LoadPolicy::AsyncCopy, 3));
  for (const std::int64_t late : {-1, 0, 1, 4}) {
    KernelPlan mutant = sound.plan;
    for (Edge& one : mutant.edges) one.late = one.kind == Edge::Kind::Filled ? late : 0;
    ASSERT_FALSE(mutant == sound.plan);
    EXPECT_FALSE(verify_plan(mutant, sound.pipeline).empty()) << late;
  }
}

TEST(KernelPlanMutants, AStageOfTheOtherCrewIsFound) {
  for (const Planned& sound : {planned(apart(LoadPolicy::TwoStep, 1)), planned(chain_apart())}) {
    for (std::size_t at = 0; at < sound.plan.stages.size(); ++at) {
      if (sound.plan.stages[at].func == sound.plan.func) continue;
      KernelPlan mutant = sound.plan;
      planning::Crew& crew = mutant.stages[at].crew;
      crew = planning::Crew(mutant.frame.threads, crew.first > 0 ? 0 : mutant.frame.filling_warps);
      EXPECT_FALSE(verify_plan(mutant, sound.pipeline).empty()) << to_string(mutant);
    }
  }
}

TEST(KernelPlanMutants, AnotherResidenceIsFound) {
  expect_found([](KernelPlan& plan, std::size_t at) {
    if (at >= plan.stages.size()) return false;
    Stage& stage = plan.stages[at];
    for (auto& kept : stage.kept) {
      kept = kept == Residence::Shared ? Residence::Registers : Residence::Shared;
    }
    return true;
  });
}

TEST(KernelPlanMutants, ABoxThatIsTooSmallIsFound) {
  for (const bool low : {true, false}) {
    expect_found([low](KernelPlan& plan, std::size_t at) {
      if (at >= 2 * plan.stages.size()) return false;
      Stage& stage = plan.stages[at / 2];
      planning::Side& side = stage.box.at(at % 2);
      const bool marched = stage.step && stage.step->dim == static_cast<int>(at % 2);
      if (stage.func == plan.func || marched) return true;
      side.points = *side.points - 1;
      side.first += low ? 1 : 0;
      return true;
    });
  }
}

TEST(KernelPlanMutants, ACrewThatIsTooLargeIsFound) {
  expect_found([](KernelPlan& plan, std::size_t at) {
    if (at >= plan.stages.size()) return false;
    plan.stages[at].crew.count += 1;
    return true;
  });
  expect_found([](KernelPlan& plan, std::size_t at) {
    if (at >= plan.stages.size()) return false;
    plan.stages[at].crew.extents[1] += 1;
    return true;
  });
}

TEST(KernelPlanMutants, ATapThatIsServedTwiceOrNotAtAllIsFound) {
  expect_found([](KernelPlan& plan, std::size_t at) {
    if (at >= plan.taps.size()) return false;
    const Stage& reader = *plan.find(plan.taps[at].reader);
    if (plan.taps[at].source == reader.fill.window) return true;
    plan.taps.erase(plan.taps.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  });
  expect_found([](KernelPlan& plan, std::size_t at) {
    if (at >= plan.taps.size()) return false;
    const Stage& reader = *plan.find(plan.taps[at].reader);
    if (plan.taps[at].source != reader.fill.window) plan.taps.push_back(plan.taps[at]);
    return true;
  });
}

TEST(KernelPlanMutants, ATapThatAnotherMemoryServesIsFound) {
  for (const Server server : {Server::OwnRegister, Server::Shared, Server::Global}) {
    expect_found([server](KernelPlan& plan, std::size_t at) {
      if (at >= plan.taps.size()) return false;
      plan.taps[at].server = server;
      return true;
    });
  }
}

TEST(KernelPlanMutants, ARegisterServesNoPointBesideTheThreadsOwn) {
  const Planned sound = planned(windowed());
  KernelPlan mutant = sound.plan;
  for (auto& tap : mutant.taps) {
    if (tap.source == "u.window" && tap.reader == "next") tap.at[0].offset = 1;
  }
  bool named = false;
  for (const auto& fault : verify_plan(mutant, sound.pipeline)) {
    named = named || fault == "next <- u.window: a register serves a tap beside the thread's own point";
  }
  EXPECT_TRUE(named);
}

TEST(KernelPlanMutants, StagesInAnotherOrderAreFound) {
  for (const Planned& sound : {planned(windowed()), planned(chain()), planned(scattered())}) {
    KernelPlan mutant = sound.plan;
    std::reverse(mutant.stages.begin(), mutant.stages.end());
    EXPECT_FALSE(verify_plan(mutant, sound.pipeline).empty()) << to_string(mutant);
  }
}

TEST(KernelPlanMutants, WhatADeviceDoesNotHaveIsFound) {
  const KernelPlan plan = planned(windowed()).plan;
  EXPECT_TRUE(verify_limits(plan, DeviceLimits{}).empty());
  EXPECT_EQ(verify_limits(plan, {.threads_per_block = 128}).size(), 1U);
  EXPECT_EQ(verify_limits(plan, {.shared_bytes = 4096}).at(0),
            "next: a block has 5440 bytes of shared memory, and the device 4096");
  EXPECT_EQ(verify_limits(plan, {.registers = 2048}).size(), 1U);
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
}  // namespace mica
