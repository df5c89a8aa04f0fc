// A plan that is not sound is found out.
#include <functional>

#include <gtest/gtest.h>

#include "codegen/plan/verify/verify_plan.h"
#include "tests/passes/plans.h"

namespace mica::test {
namespace {

using planning::Edge;
using planning::KernelPlan;
using planning::Residence;
using planning::Server;
using planning::Stage;
using planning::verify_limits;
using planning::verify_plan;
using planning::Wait;

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

TEST(KernelPlanMutants, AWaitAtABarrierThatNobodyHasIsFound) {
  const Planned sound = planned(copied(2));
  KernelPlan mutant = sound.plan;
  for (auto& one : mutant.edges) one.with_rows = one.wait == Wait::Copies;
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

}  // namespace
}  // namespace mica::test
