// Pipelines of asynchronous and bulk copies and warp shuffles, run by the emulator: sound ones give
// their results whatever the order of threads, and each way of breaking them is found and named.
#include "tests/support/async_kernels.h"

#include <functional>

#include <gtest/gtest.h>

#include "codegen/ir/equal.h"
#include "codegen/llvm/backend.h"
#include "codegen/passes/gpu/fence_bulk_copies.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

using ir::make_stmt;
using ir::Stmt;
using test::PipelineFaults;
using test::PipelineRun;

constexpr std::uint64_t kSeeds = 6;

Expr thread_x() { return make_var("thread.x"); }
Stmt barrier() { return make_stmt(ir::Barrier{}); }
Stmt commit() { return make_stmt(ir::CopyCommit{}); }
Stmt wait(int pending) { return make_stmt(ir::CopyWait{pending}); }
Stmt when(const Expr& condition, const Stmt& then) { return make_stmt(ir::If{condition, then, {}}); }
Expr load(const char* buffer, const Expr& at) {
  return make_expr(Float(32), Load{buffer, {at}, {at}, 1});
}
Stmt store(const char* buffer, const Expr& at, const Expr& value) {
  return make_stmt(ir::Store{buffer, {at}, value, {at}, 1});
}
/// One block of `body` with tile and the transaction barriers `full` around.
ir::Kernel kernel_of(std::vector<Stmt> body) {
  return test::pipeline_kernel("copies",
                               test::allocate(MemoryType::Shared, Float(32), "tile", {64},
                                              test::allocate(MemoryType::Shared, Int(64), "full", {2},
                                                             ir::make_block(std::move(body)))));
}
/// The fault that every order of the threads leads to has all the words; one block.
void expect_fault(const ir::Kernel& kernel, const std::vector<std::string>& words, int threads = 64) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    PipelineRun run;
    run.blocks = 1;
    const std::string fault = run.fault(kernel, seed, threads);
    for (const std::string& word : words) {
      EXPECT_NE(fault.find(word), std::string::npos) << "no '" << word << "' in: '" << fault << "'";
    }
  }
}
void expect_sound(const ir::Kernel& kernel) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    PipelineRun run;
    EXPECT_EQ(run.fault(kernel, seed), "");
    EXPECT_EQ(run.out, run.expected());
  }
}

// ---- asynchronous copies -------------------------------------------------------------------------

TEST(AsyncKernels, APipelineOfAsynchronousCopiesIsSound) { expect_sound(test::async_pipeline({})); }

TEST(AsyncKernels, ADroppedWaitIsFound) {
  expect_fault(test::async_pipeline({.no_wait = true}),
               {"race in kernel pipeline", "while a copy to it that", "is under way"});
}

TEST(AsyncKernels, ADroppedBarrierAfterTheWaitIsFound) {
  expect_fault(test::async_pipeline({.no_barrier = true}), {"in kernel pipeline", "reads tile("});
}

TEST(AsyncKernels, AWaitThatLeavesOneGroupTooManyIsFound) {
  expect_fault(test::async_pipeline({.pending = 1}),
               {"race in kernel pipeline", "reads tile(", "is under way"});
}

TEST(AsyncKernels, ASlotOverwrittenWhileItIsReadIsFound) {
  expect_fault(test::async_pipeline({.no_last_barrier = true}), {"race in kernel pipeline", "tile("});
}

TEST(AsyncKernels, CopiesInNoGroupAreNotWaitedFor) {
  expect_fault(test::async_pipeline({.no_commit = true}), {"race in kernel pipeline", "is under way"});
}

TEST(AsyncKernels, AThreadsOwnEarlyAccessIsFoundToo) {
  const Stmt copy = test::async_copy("tile", thread_x(), "u", thread_x(), 1);
  const Stmt read = store("out", thread_x(), load("tile", thread_x()));
  expect_fault(kernel_of({copy, commit(), read, wait(0)}), {"reads tile(", "is under way"});
  const Stmt write = store("tile", thread_x(), Expr(1.0F));
  expect_fault(kernel_of({copy, commit(), write, wait(0)}), {"writes tile(", "is under way"});
  expect_fault(kernel_of({copy, copy, commit(), wait(0)}), {"writes tile(", "is under way"});
  PipelineRun own;
  EXPECT_EQ(own.fault(kernel_of({copy, commit(), wait(0), when(make_var("block.x") == 0, read)}), 1),
            "");
  EXPECT_EQ(own.out[5], own.u[5]);
}

TEST(AsyncKernels, CopiesLeftAtTheEndAreFound) {
  const Stmt copy = test::async_copy("tile", thread_x(), "u", thread_x(), 1);
  expect_fault(kernel_of({copy}), {"in kernel copies", "1 asynchronous copies in no group"});
  expect_fault(kernel_of({copy, commit(), wait(1)}), {"ends with 1 groups", "has not waited for"});
  PipelineRun empty;
  EXPECT_EQ(empty.fault(kernel_of({copy, commit(), commit(), wait(1)}), 1), "");
}

TEST(AsyncKernels, CopiesOutsideTheirArraysAreFound) {
  const auto copy = [](const Expr& to, const Expr& from, int count) {
    return kernel_of({test::async_copy("tile", to, "u", from, count), commit(), wait(0)});
  };
  expect_fault(copy(thread_x() + 1, thread_x(), 1), {"writes tile(64)", "holds [0..63]"});
  expect_fault(copy(thread_x(), thread_x() - 1, 1), {"reads u(-1)"});
  const Expr last = Expr(3 * 64 * 6);
  expect_fault(copy(thread_x() * 0 + 8, last - 2 + 0 * thread_x(), 4), {"reads u(1153)"}, 1);
  expect_fault(copy(thread_x() * 0 + 62, thread_x() * 0, 4), {"4 elements to tile and past its end"}, 1);
}

TEST(AsyncKernels, MisalignedCopiesAreFound) {
  const auto copy = [](const Expr& to, const Expr& from) {
    return kernel_of({test::async_copy("tile", to, "u", from, 4), commit(), wait(0)});
  };
  PipelineRun aligned;
  EXPECT_EQ(aligned.fault(copy(Expr(4), Expr(8)), 1, 1), "");
  expect_fault(copy(Expr(2), Expr(8)), {"copies 16 bytes from u to tile", "no multiples"}, 1);
  expect_fault(copy(Expr(4), Expr(7)), {"copies 16 bytes from u to tile", "no multiples"}, 1);
}

TEST(AsyncKernels, ASourceThatChangesMeanwhileIsFound) {
  const Expr one = thread_x() * 0;
  const ir::Kernel kernel =
      kernel_of({store("out", one, Expr(1.0F)), test::async_copy("tile", one, "out", one, 1), commit(),
                 store("out", one, Expr(2.0F)), wait(0)});
  expect_fault(kernel, {"elements that have changed"}, 1);
  const ir::Kernel others = kernel_of(
      {store("out", thread_x(), Expr(1.0F)),
       test::async_copy("tile", thread_x(), "out", (thread_x() + 1) % 64, 1), commit(), wait(0)});
  expect_fault(others, {"race in kernel copies", "out("});
}

// ---- bulk copies ---------------------------------------------------------------------------------

TEST(AsyncKernels, APipelineOfBulkCopiesIsSound) { expect_sound(test::bulk_pipeline({})); }

TEST(AsyncKernels, ADroppedBulkWaitIsFound) {
  expect_fault(test::bulk_pipeline({.no_wait = true}), {"in kernel bulk", "tile("});
}

TEST(AsyncKernels, ASlotBulkCopiedWhileItIsReadIsFound) {
  expect_fault(test::bulk_pipeline({.no_last_barrier = true}), {"in kernel bulk"});
}

TEST(AsyncKernels, ThreadsThatWriteWhereBulkCopiesGoNeedAFence) {
  ir::Kernel kernel = test::bulk_pipeline({.own_writes = true});
  expect_fault(kernel, {"in kernel bulk", "bulk-copies to tile(", "with no fence since"});
  kernel.body = passes::fence_bulk_copies(kernel.body);
  expect_sound(kernel);
  const ir::Kernel readers = test::bulk_pipeline({});
  EXPECT_TRUE(ir::equal(passes::fence_bulk_copies(readers.body), readers.body)) << "no thread writes";
}

TEST(AsyncKernels, WrongNumbersOfBytesAreFound) {
  expect_fault(test::bulk_pipeline({.more_bytes = 16}), {"deadlock in kernel bulk", "phase 0 of full(0)",
                                                         "expects 272 bytes", "copies of 256 bytes"});
  expect_fault(test::bulk_pipeline({.more_bytes = -16}),
               {"kernel bulk", "expects 240 bytes", "copies of 256 bytes"});
}

TEST(AsyncKernels, BarriersUsedBeforeTheBlockKnowsOfThemAreFound) {
  expect_fault(test::bulk_pipeline({.no_barrier = true}), {"in kernel bulk", "full(0)"});
}

Stmt expect(int slot, int bytes) { return make_stmt(ir::BulkExpect{"full", Expr(slot), Expr(bytes)}); }
Stmt bulk(const Expr& to, const Expr& from, int count, int slot = 0) {
  return test::bulk_copy("tile", to, "u", from, Expr(count), "full", Expr(slot));
}
Stmt bulk_wait(int slot, int parity) {
  return make_stmt(ir::BulkWait{"full", Expr(slot), Expr(parity)});
}
Stmt first(std::vector<Stmt> stmts) { return when(thread_x() == 0, ir::make_block(std::move(stmts))); }
Stmt init() { return make_stmt(ir::BulkInit{"full", 2}); }

TEST(AsyncKernels, CopiesAndExpectationsComeInAnyOrder) {
  const Stmt read = store("out", thread_x(), load("tile", thread_x()));
  const ir::Kernel kernel =
      kernel_of({first({init()}), barrier(), first({bulk(0, 0, 32), expect(0, 256), bulk(32, 32, 32)}),
                 bulk_wait(0, 0), when(make_var("block.x") == 0, read)});
  PipelineRun run;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) EXPECT_EQ(run.fault(kernel, seed), "");
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(run.out[i], run.u[i]);
}

TEST(AsyncKernels, ABarrierAfterOneThreadsWaitServesAll) {
  const Stmt read = when(make_var("block.x") == 0, store("out", thread_x(), load("tile", thread_x())));
  const auto kernel = [&](const Stmt& between) {
    return kernel_of({first({init()}), barrier(),
                      first({expect(0, 256), bulk(0, 0, 64), bulk_wait(0, 0)}), between, read});
  };
  PipelineRun run;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) EXPECT_EQ(run.fault(kernel(barrier()), seed), "");
  expect_fault(kernel({}), {"reads tile("});
}

TEST(AsyncKernels, WaitsThatNothingEndsAreDeadlocks) {
  expect_fault(kernel_of({first({init()}), barrier(), bulk_wait(1, 0)}),
               {"deadlock in kernel copies", "waits for parity 0 of full(1)", "expects nothing yet"});
  expect_fault(kernel_of({first({init()}), barrier(), first({bulk(0, 0, 64)}), bulk_wait(0, 0)}),
               {"deadlock", "expects nothing yet", "copies of 256 bytes"});
  // The first phase is that of parity 0: a wait for parity 1 is over at once.
  expect_fault(kernel_of({first({init()}), barrier(), first({expect(0, 256), bulk(0, 0, 64)}),
                          bulk_wait(0, 1), store("out", thread_x(), load("tile", thread_x()))}),
               {"reads tile("});
}

TEST(AsyncKernels, MisusesOfTransactionBarriersAreFound) {
  const auto after_init = [](std::vector<Stmt> stmts) {
    std::vector<Stmt> all = {first({init()}), barrier()};
    all.insert(all.end(), stmts.begin(), stmts.end());
    return kernel_of(std::move(all));
  };
  expect_fault(kernel_of({first({expect(0, 16)})}), {"full(0)", "no transaction barrier"});
  expect_fault(after_init({first({expect(2, 16)})}), {"full(2)", "no transaction barrier"});
  expect_fault(after_init({first({init()})}), {"sets up full(0)", "already"});
  expect_fault(after_init({first({expect(0, 64), expect(0, 64)})}), {"nobody has waited"});
  expect_fault(after_init({first({expect(0, 64), bulk(0, 0, 16)})}),
               {"ends while nobody has waited for phase 0 of full(0)"});
  expect_fault(after_init({first({expect(0, 128), bulk(0, 0, 16), bulk(8, 0, 16)})}),
               {"writes tile(8)", "is under way"});
  expect_fault(after_init({first({expect(0, 64), bulk(2, 0, 16)})}), {"multiples of 16 bytes"});
  expect_fault(after_init({first({expect(0, 56), bulk(0, 0, 14)})}), {"multiples of 16 bytes"});
  expect_fault(after_init({first({expect(0, 64), bulk(0, -4, 16)})}), {"reads u(-4)"});
  expect_fault(after_init({bulk_wait(0, 2)}), {"parity 2"});
}

TEST(AsyncKernels, WhoAddsToAPhaseHasSeenTheOneBefore) {
  const Stmt last = when(thread_x() == 63, ir::make_block({expect(0, 256), bulk(0, 64, 64)}));
  const auto kernel = [&](const Stmt& between) {
    return kernel_of({first({init()}), barrier(), first({expect(0, 256), bulk(0, 0, 64)}),
                      when(thread_x() < 32, bulk_wait(0, 0)), between, last, bulk_wait(0, 1)});
  };
  expect_fault(kernel({}), {"full(0)"});
  PipelineRun run;
  EXPECT_EQ(run.fault(kernel(barrier()), 1), "");
}

// ---- shuffles and streamed accesses --------------------------------------------------------------

Expr shuffled(const Expr& value, int delta) {
  return make_expr(value.type(), WarpShuffle{value, delta});
}
ir::Kernel shuffle_kernel(const Stmt& body) {
  ir::Kernel kernel = test::pipeline_kernel("swap", when(make_var("block.x") == 0, body));
  return kernel;
}

TEST(AsyncKernels, AShuffleGivesTheNeighboursValueInsideAWarp) {
  const Type types[] = {Float(32), Float(64), Float(16), Int(8), Int(64), Bool()};
  for (const Type type : types) {
    for (const int delta : {1, -1, 5, -31, 0}) {
      const Expr own = type.is_bool() ? Expr(thread_x() % 3 == 0) : make_expr(type, Cast{thread_x()});
      const Expr moved = shuffled(own, delta);
      const Expr number =
          type.is_bool() ? select(moved, Expr(1.0F), Expr(0.0F)) : make_expr(Float(32), Cast{moved});
      PipelineRun run;
      ASSERT_EQ(run.fault(shuffle_kernel(store("out", thread_x(), number)), 3), "");
      for (int t = 0; t < 64; ++t) {
        const int lane = t % 32 + delta;
        const int from = lane < 0 || lane > 31 ? t : t + delta;
        const float expected = type.is_bool() ? (from % 3 == 0 ? 1.0F : 0.0F) : static_cast<float>(from);
        EXPECT_EQ(run.out[static_cast<std::size_t>(t)], expected) << to_string(type) << " " << delta;
      }
    }
  }
}

TEST(AsyncKernels, VectorsAndSumsOfShufflesWork) {
  const Type vector = Float(32).with_lanes(2);
  const Expr at = make_expr(Int(32).with_lanes(2), Ramp{thread_x() * 2, Expr(1)});
  const Expr own = make_expr(vector, Load{"u", {at}, {at}, 1});
  const Expr sum = shuffled(own, 1) + shuffled(shuffled(own, -1), 1);
  PipelineRun run;
  ASSERT_EQ(run.fault(shuffle_kernel(make_stmt(ir::Store{"out", {at}, sum, {at}, 1})), 5), "");
  for (std::size_t t = 0; t < 64; ++t) {
    const std::size_t next = t % 32 == 31 ? t : t + 1;
    // The last thread keeps what its left neighbour had given it.
    const std::size_t back = t % 32 == 31 ? t - 1 : t;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(run.out[2 * t + i], run.u[2 * next + i] + run.u[2 * back + i]);
    }
  }
}

TEST(AsyncKernels, AShuffleThatAThreadDoesNotReachIsFound) {
  const Stmt swap = store("out", thread_x(), shuffled(cast(Float(32), thread_x()), 1));
  expect_fault(
      shuffle_kernel(when(thread_x() != 40, swap)),
      {"incomplete shuffle in kernel swap", "thread (32, 0, 0)", "thread (40, 0, 0) has ended"});
  expect_fault(shuffle_kernel(make_stmt(ir::If{thread_x() < 16, swap, swap})),
               {"incomplete shuffle", "at shuffle 0", "at shuffle 1"});
  expect_fault(shuffle_kernel(swap), {"fewer than 32 threads"}, 16);
}

TEST(AsyncKernels, WarpsMayShuffleWhileOthersWaitAtABarrier) {
  const Stmt swap = store("out", thread_x(), shuffled(cast(Float(32), thread_x()), 1));
  PipelineRun run;
  EXPECT_EQ(run.fault(shuffle_kernel(ir::make_block({when(thread_x() < 32, swap), barrier(), swap})), 2),
            "");
  EXPECT_EQ(run.out[40], 41.0F);
}

TEST(AsyncKernels, StreamedAccessesGiveTheSameValues) {
  const Type vector = Float(32).with_lanes(4);
  const Expr at =
      make_expr(Int(32).with_lanes(4), Ramp{(make_var("block.x") * 64 + thread_x()) * 4, Expr(1)});
  const Expr own = make_expr(vector, Load{"u", {at}, {at}, 4, true});
  const ir::Kernel kernel =
      test::pipeline_kernel("stream", make_stmt(ir::Store{"out", {at}, own, {at}, 4, true}));
  PipelineRun run;
  EXPECT_EQ(run.fault(kernel, 1), "");
  for (std::size_t i = 0; i < std::size_t{3} * 256; ++i) EXPECT_EQ(run.out[i], run.u[i]);
}

// ---- the host ------------------------------------------------------------------------------------

TEST(AsyncKernels, TheHostCopiesAtOnceAndStreamsAlignedVectors) {
  using test::loop;
  const Expr base = make_var("b") * 64;
  const auto over_threads = [](const Stmt& s) { return loop(LoopKind::GpuThread, "t", 0, 64, s); };
  const Expr at = make_expr(Int(32).with_lanes(4), Ramp{base + make_var("v") * 4, Expr(1)});
  const Expr from = make_expr(Int(32).with_lanes(4), Ramp{make_var("v") * 4, Expr(1)});
  const Expr four = make_expr(Float(32).with_lanes(4), Load{"tile", {from}, {}, 4});
  const Stmt body = ir::make_block(
      {init(), over_threads(test::async_copy("tile", make_var("t"), "u", base + make_var("t"), 1)),
       commit(), wait(0), expect(0, 128),
       test::bulk_copy("tile", Expr(32), "u", base, Expr(32), "full", Expr(0)), bulk_wait(0, 0),
       loop(LoopKind::Serial, "v", 0, 16, make_stmt(ir::Store{"out", {at}, four, {}, 4, true}))});
  ir::Kernel kernel = kernel_of({body});
  kernel.body = loop(LoopKind::GpuBlock, "b", 0, 18, kernel.body);
  PipelineRun run;
  run.run_on_host(kernel);
  for (std::size_t i = 0; i < run.u.size(); ++i) {
    EXPECT_EQ(run.out[i], run.u[i % 64 < 32 ? i : i - 32]) << i;
  }
  const Stmt swap = store("out", Expr(0), shuffled(load("u", Expr(0)), 1));
  EXPECT_THROW(run.run_on_host(test::pipeline_kernel("swap", swap)), InternalError);
}

}  // namespace
}  // namespace mica
