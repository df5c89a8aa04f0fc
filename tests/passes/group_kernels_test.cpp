// Named barriers and clusters of blocks, run by the emulator: sound kernels give their results whatever
// the order of blocks and threads, and each way of breaking them is found and named.
#include "tests/support/group_kernels.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

using ir::make_stmt;
using ir::Stmt;
using test::PipelineRun;

constexpr std::uint64_t kSeeds = 6;
constexpr int kBlocks = 6;

using Change = std::function<Stmt(const Stmt&)>;

bool is_group_barrier(const Stmt& s) {
  return s.as<ir::NamedBarrier>() != nullptr || s.as<ir::ClusterBarrier>() != nullptr;
}

/// The kernel with `change` made to the `which`-th of its named and cluster barriers.
ir::Kernel changed(ir::Kernel kernel, int which, const Change& change) {
  int met = 0;
  const std::function<Stmt(const Stmt&)> visit = [&](const Stmt& s) {
    if (is_group_barrier(s)) return met++ == which ? change(s) : s;
    return ir::map_children(s, visit, nullptr);
  };
  kernel.body = visit(kernel.body);
  return kernel;
}
int group_barriers(const ir::Kernel& kernel) {
  int n = 0;
  ir::walk(
      kernel.body, [&](const Stmt& s) { n += is_group_barrier(s) ? 1 : 0; }, nullptr);
  return n;
}

struct Case {
  ir::Kernel kernel;
  int threads;
  std::function<std::vector<float>(const PipelineRun&)> expected;
};
Case warps() {
  return {test::warp_pipeline(), test::kWarpPipelineThreads,
          [](const PipelineRun& run) { return run.expected(); }};
}
Case ring() { return {test::cluster_ring(), test::kPipelineThreads, test::ring_expected}; }

void expect_sound(const Case& c) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    PipelineRun run(kBlocks);
    EXPECT_EQ(run.fault(c.kernel, seed, c.threads), "");
    EXPECT_EQ(run.out, c.expected(run));
  }
}
/// What the emulator finds first; it finds something under every order.
std::string fault_of(const Case& c) {
  std::string first;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    PipelineRun run(test::kRingBlocks);
    const std::string fault = run.fault(c.kernel, seed, c.threads);
    EXPECT_NE(fault, "") << ir::to_string(c.kernel);
    if (first.empty()) first = fault;
  }
  return first;
}
/// Every barrier of the kernel, changed alone, is missed.
void expect_all_missed(const Case& sound, const Change& change, const std::string& what) {
  const int count = group_barriers(sound.kernel);
  ASSERT_GT(count, 4);
  for (int which = 0; which < count; ++which) {
    Case broken = sound;
    broken.kernel = changed(sound.kernel, which, change);
    EXPECT_NE(fault_of(broken), "") << what << " " << which;
  }
}
void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: '" << text << "'";
  }
}
Stmt left_out(const Stmt& /*s*/) { return {}; }

/// The named barriers alone.
Change of_named(const std::function<void(ir::NamedBarrier&)>& set) {
  return [set](const Stmt& s) {
    ir::NamedBarrier b = *s.as<ir::NamedBarrier>();
    set(b);
    return make_stmt(b);
  };
}

TEST(GroupKernels, WarpsHandTilesToWarps) {
  expect_sound(warps());
  Case waiting = warps();
  waiting.kernel = test::warp_pipeline(/*users_wait=*/true);
  expect_sound(waiting);
}
TEST(GroupKernels, BlocksHandElementsToBlocks) { expect_sound(ring()); }

TEST(GroupKernels, ALostBarrierIsFound) {
  expect_all_missed(warps(), left_out, "without barrier");
  expect_all_missed(ring(), left_out, "without barrier");
}

TEST(GroupKernels, AnotherBarrierIsFound) {
  expect_all_missed(warps(), of_named([](ir::NamedBarrier& b) { b.number = 9; }), "number of barrier");
  // The slots' barriers exchanged.
  expect_all_missed(warps(), of_named([](ir::NamedBarrier& b) { b.number = ((b.number - 1) ^ 1) + 1; }),
                    "slot of barrier");
}

TEST(GroupKernels, AnotherCountIsFound) {
  for (const int threads : {64, 96}) {
    expect_all_missed(warps(), of_named([&](ir::NamedBarrier& b) { b.threads = threads; }),
                      "threads of barrier");
  }
}

TEST(GroupKernels, ArrivingInsteadOfWaitingIsARace) {
  const Case sound = warps();
  int found = 0;
  for (int which = 0; which < group_barriers(sound.kernel); ++which) {
    bool waited = false;
    Case broken = sound;
    broken.kernel = changed(sound.kernel, which, of_named([&](ir::NamedBarrier& b) {
                              waited = b.waits;
                              b.waits = false;
                            }));
    if (!waited) continue;
    ++found;
    EXPECT_NE(fault_of(broken), "");
  }
  EXPECT_EQ(found, 2 * test::kPipelineTiles - test::kPipelineSlots);
}

TEST(GroupKernels, AMessageNamesTheBarrierAndHowManyCame) {
  Case broken = warps();
  broken.kernel = changed(broken.kernel, 0, left_out);
  expect_words(fault_of(broken), {"deadlock in kernel warps", "waits at named barrier",
                                  "64 of 128 threads have come", "no other thread can go on"});
  broken = warps();
  broken.kernel = changed(broken.kernel, 0, of_named([](ir::NamedBarrier& b) { b.threads = 96; }));
  expect_words(fault_of(broken), {"named barrier in kernel warps", "named barrier 1 of", "128", "96"});
}

TEST(GroupKernels, ATurnBeyondTheLastBarrierIsFound) {
  const Stmt far = make_stmt(ir::NamedBarrier{14, 64, true, false, 2, make_var("block.x") + 2});
  const Case broken{test::pipeline_kernel("far", far), test::kPipelineThreads, {}};
  expect_words(fault_of(broken), {"comes to named barrier 1", "a block has 1 to 15"});
}

TEST(GroupKernels, HalfAWarpDoesNotCompleteABarrier) {
  const Expr x = make_var("thread.x");
  const Stmt half = make_stmt(ir::If{x % 32 < 16, make_stmt(ir::NamedBarrier{3, 32, true}), {}});
  const Case broken{test::pipeline_kernel("halves", half), test::kPipelineThreads, {}};
  expect_words(fault_of(broken), {"completes named barrier 3", "only some threads of a warp have come"});
}

TEST(GroupKernels, ArrivingInVainIsFoundAtTheEnd) {
  const Stmt body = make_stmt(ir::NamedBarrier{2, 64, false});
  const Stmt lone = make_stmt(ir::If{make_var("thread.x") < 32, body, {}});
  const Case broken{test::pipeline_kernel("vain", lone), test::kPipelineThreads, {}};
  expect_words(fault_of(broken), {"ends at named barrier 2", "32 of 64 threads have come"});
  const Stmt twice = make_stmt(ir::If{make_var("thread.x") < 32, ir::make_block({body, body}), {}});
  expect_words(fault_of({test::pipeline_kernel("twice", twice), test::kPipelineThreads, {}}),
               {"comes again to named barrier 2"});
}

// Whether the other warp has been there before it comes again is up to the device's scheduler.
TEST(GroupKernels, ComingAgainWithoutKnowingThatTheOthersCameIsFound) {
  const Expr warp = make_var("thread.x") / 32;
  const auto come = [](int number, bool waits) {
    return make_stmt(ir::NamedBarrier{number, 64, waits});
  };
  const auto of_warps = [&](const Stmt& second, const Stmt& third) {
    const Stmt first = ir::make_block({come(1, false), come(2, true), come(1, false)});
    const Stmt others = make_stmt(ir::If{warp == 1, second, third});
    Case three{test::pipeline_kernel("three", make_stmt(ir::If{warp == 0, first, others})), 96, {}};
    three.kernel.block[0] = 96;
    return three;
  };
  const Stmt twice = ir::make_block({come(1, true), come(1, true)});
  expect_words(fault_of(of_warps(twice, come(2, false))),
               {"comes to named barrier 1, and does not know whether thread"});
  const Case sound = of_warps(ir::make_block({come(1, true), come(2, false), come(1, true)}), {});
  PipelineRun run(kBlocks);
  EXPECT_EQ(run.fault(sound.kernel, 1, sound.threads), "");
}

TEST(GroupKernels, ABlocksBarrierDoesNotOrderACluster) {
  const Case sound = ring();
  for (int which = 1; which < group_barriers(sound.kernel); ++which) {
    Case broken = sound;
    broken.kernel =
        changed(sound.kernel, which, [](const Stmt& /*s*/) { return make_stmt(ir::Barrier{}); });
    expect_words(fault_of(broken), {"in kernel ring", "of block ("});
  }
}

TEST(GroupKernels, AnotherBlocksMemoryNeedsThatBlockToRun) {
  Case broken = ring();
  broken.kernel = changed(broken.kernel, 0, left_out);
  expect_words(fault_of(broken), {"before a barrier of the cluster", "may not have started"});

  const Stmt tail = make_stmt(
      ir::Store{"tile", {Expr(0)}, Expr(1.0F), {Expr(0)}, 1, false, (make_var("block.x") + 1) % 2});
  const Stmt lone = make_stmt(ir::If{make_var("thread.x") == 0, tail, {}});
  broken.kernel.body = test::allocate(MemoryType::Shared, Float(32), "tile", {4},
                                      ir::make_block({make_stmt(ir::ClusterBarrier{}), lone}));
  expect_words(fault_of(broken), {"no barrier of the cluster after", "may have ended"});
}

TEST(GroupKernels, BlocksThatAreNotThereAreNamed) {
  Case broken = ring();
  const Stmt far = make_stmt(ir::Store{"tile", {Expr(0)}, Expr(1.0F), {Expr(0)}, 1, false, Expr(2)});
  broken.kernel.body = test::allocate(MemoryType::Shared, Float(32), "tile", {4},
                                      ir::make_block({make_stmt(ir::ClusterBarrier{}), far}));
  expect_words(fault_of(broken), {"memory of block 2 of a cluster of 2"});

  PipelineRun odd(3);
  expect_words(odd.fault(test::cluster_ring(), 1),
               {"a grid of 3 blocks along dimension 0", "no multiple of 2"});
}

TEST(GroupKernels, ABlockThatEndsLeavesItsClusterStuck) {
  Case broken = ring();
  broken.kernel.body =
      make_stmt(ir::If{make_var("block.x") % 2 == 0, make_stmt(ir::ClusterBarrier{}), {}});
  expect_words(fault_of(broken), {"divergent barrier in kernel ring", "a barrier of its cluster",
                                  "of block (", "has ended"});
}

}  // namespace
}  // namespace mica
