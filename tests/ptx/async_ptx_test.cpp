// The PTX of asynchronous and bulk copies, warp shuffles and streamed accesses: the instructions are
// there, in their order, and NVIDIA's assembler takes them.
#include <string>

#include <gtest/gtest.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/backend.h"
#include "codegen/passes/gpu/fence_bulk_copies.h"
#include "tests/ptx/ptx_text.h"
#include "tests/support/async_kernels.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

using test::count;
using test::expect_assembles;
using test::ptx_of;

/// The words occur one after the other.
bool in_order(const std::string& text, const std::vector<std::string>& words) {
  std::size_t at = 0;
  for (const std::string& word : words) {
    at = text.find(word, at);
    if (at == std::string::npos) return false;
    at += word.size();
  }
  return true;
}

ir::Kernel copy_kernel(Type type, const ir::Stmt& body, int threads = 64) {
  ir::Kernel kernel;
  kernel.name = "copies";
  kernel.on_device = true;
  kernel.params = {test::pointer("u", type), test::pointer("out", type, true)};
  kernel.block[0] = threads;
  kernel.body = body;
  return kernel;
}
Expr thread_x() { return make_var("thread.x"); }

TEST(AsyncPtx, APipelineOfCopiesCommitsWaitsAndReads) {
  for (const int sm : {80, 90}) {
    const std::string ptx = ptx_of(test::async_pipeline({}), sm);
    EXPECT_TRUE(in_order(ptx, {"cp.async.ca.shared.global", "cp.async.commit_group",
                               "cp.async.wait_group", "bar", "ld.shared"}))
        << ptx;
    expect_assembles(ptx, sm);
  }
}

TEST(AsyncPtx, TheCopyIsChosenByItsBytes) {
  const auto ptx_for = [](Type type, int elements) {
    const ir::Stmt copy =
        test::async_copy("tile", thread_x() * elements, "u", thread_x() * elements, elements);
    const ir::Stmt use = test::store("out", thread_x(), test::load("tile", type, thread_x()));
    return ptx_of(copy_kernel(type, test::allocate(MemoryType::Shared, type, "tile", {64 * elements},
                                                   ir::make_block({copy, ir::make_stmt(ir::CopyCommit{}),
                                                                   ir::make_stmt(ir::CopyWait{0}),
                                                                   ir::make_stmt(ir::Barrier{}), use}))),
                  80);
  };
  EXPECT_EQ(count(ptx_for(Float(32), 4), "cp.async.cg.shared.global [%"), 1U) << ptx_for(Float(32), 4);
  EXPECT_EQ(count(ptx_for(Float(32), 1), "cp.async.ca.shared.global [%"), 1U) << ptx_for(Float(32), 1);
  EXPECT_TRUE(in_order(ptx_for(Float(64), 2), {"cp.async.cg.shared.global", ", 16;"}));
  EXPECT_TRUE(in_order(ptx_for(Float(64), 1), {"cp.async.ca.shared.global", ", 8;"}));
  EXPECT_TRUE(in_order(ptx_for(UInt(8), 4), {"cp.async.ca.shared.global", ", 4;"}));
  expect_assembles(ptx_for(Float(32), 4), 80);
  expect_assembles(ptx_for(Float(64), 1), 80);
  expect_assembles(ptx_for(UInt(8), 4), 80);
}

TEST(AsyncPtx, ReadsOfSharedMemoryStayBehindTheWait) {
  // The same element read before and after the copy: one load must not serve both.
  const Expr element = test::load("tile", Float(32), thread_x());
  const ir::Stmt body = ir::make_block(
      {test::store("tile", thread_x(), Expr(1.0F)), ir::make_stmt(ir::Barrier{}),
       test::store("out", thread_x(), element), ir::make_stmt(ir::Barrier{}),
       test::async_copy("tile", thread_x(), "u", thread_x(), 1), ir::make_stmt(ir::CopyCommit{}),
       ir::make_stmt(ir::CopyWait{0}), test::store("out", thread_x() + 64, element)});
  const std::string ptx =
      ptx_of(copy_kernel(Float(32), test::allocate(MemoryType::Shared, Float(32), "tile", {64}, body)));
  EXPECT_EQ(count(ptx, "ld.shared"), 2U) << ptx;
  EXPECT_TRUE(in_order(ptx, {"ld.shared", "cp.async.ca", "cp.async.wait_group", "ld.shared"})) << ptx;
}

TEST(AsyncPtx, BulkCopiesSetUpExpectCopyAndWait) {
  const std::string ptx = ptx_of(test::bulk_pipeline({}));
  EXPECT_TRUE(
      in_order(ptx, {".version 8.0", "mbarrier.init.shared.b64", "fence.mbarrier_init.release.cluster",
                     "fence.proxy.async.shared::cta", "bar", "mbarrier.arrive.expect_tx.shared::cta.b64",
                     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
                     "mbarrier.try_wait.parity.shared::cta.b64", "ld.shared"}))
      << ptx;
  EXPECT_EQ(count(ptx, "fence.proxy.async"), 1U) << ptx;
  expect_assembles(ptx);
}

TEST(AsyncPtx, ThreadsThatWriteWhereBulkCopiesGoFenceTheirBarriers) {
  ir::Kernel kernel = test::bulk_pipeline({.own_writes = true});
  kernel.body = passes::fence_bulk_copies(kernel.body);
  const std::string ptx = ptx_of(kernel);
  EXPECT_EQ(count(ptx, "fence.proxy.async.shared::cta"),
            1 + count(ptx, "bar.sync") + count(ptx, "barrier.cta.sync"))
      << ptx;
  expect_assembles(ptx);
}

TEST(AsyncPtx, BulkCopiesNeedTheDevicesAndVersionsThatHaveThem) {
  const auto fault = [](int sm, int version) {
    try {
      ptx_of(test::bulk_pipeline({}), sm, version);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string old = fault(86, 0);
  EXPECT_NE(old.find("sm_90"), std::string::npos) << old;
  EXPECT_NE(old.find("sm_86"), std::string::npos) << old;
  const std::string early = fault(90, 78);
  EXPECT_NE(early.find("78"), std::string::npos) << early;
  EXPECT_NE(early.find("80"), std::string::npos) << early;
  EXPECT_EQ(fault(90, 80), "");
}

TEST(AsyncPtx, ShufflesMoveEveryTypeByRegisters) {
  const auto shuffled = [](Type type, int delta) {
    const Expr own = test::load("u", type, thread_x());
    return ptx_of(
        copy_kernel(type, test::store("out", thread_x(), make_expr(type, WarpShuffle{own, delta})), 32));
  };
  for (const Type type : {Float(32), Int(32), Float(16), BFloat(16), UInt(8)}) {
    const std::string ptx = shuffled(type, 1);
    EXPECT_EQ(count(ptx, "shfl.sync.down.b32"), 1U) << ptx;
    expect_assembles(ptx);
  }
  for (const Type type : {Float(64), Int(64)}) {
    const std::string ptx = shuffled(type, -2);
    EXPECT_EQ(count(ptx, "shfl.sync.up.b32"), 2U) << ptx;
    expect_assembles(ptx);
  }
  EXPECT_EQ(count(shuffled(Float(32), 0), "shfl"), 0U);
  EXPECT_TRUE(in_order(shuffled(Float(32), 3), {"shfl.sync.down.b32", "3, 31, -1;"}));
  EXPECT_TRUE(in_order(shuffled(Float(32), -3), {"shfl.sync.up.b32", "3, 0, -1;"}));
}

TEST(AsyncPtx, VectorsAreShuffledLaneByLane) {
  const Type vector = Float(32).with_lanes(4);
  const Expr own = test::load_vector("u", Float(32), thread_x() * 4, 4, 4);
  const std::string ptx = ptx_of(copy_kernel(
      Float(32), test::store_vector("out", thread_x() * 4, make_expr(vector, WarpShuffle{own, 1}), 4),
      32));
  EXPECT_EQ(count(ptx, "shfl.sync.down.b32"), 4U) << ptx;
  expect_assembles(ptx);
}

ir::Kernel streamed_copy(Type type, int lanes) {
  Load load{"u", {}, {}, lanes, true};
  ir::Store store{"out", {}, {}, {}, lanes, true};
  Expr at = thread_x() * lanes;
  if (lanes > 1) at = make_expr(Int(32).with_lanes(lanes), Ramp{at, Expr(1)});
  load.index = {at};
  store.index = {at};
  store.value = make_expr(type.with_lanes(lanes), load);
  return copy_kernel(type, ir::make_stmt(store));
}

TEST(AsyncPtx, StreamedAccessesPassByTheCaches) {
  const struct {
    Type type;
    int lanes;
    std::string suffix;
  } cases[] = {{Float(32), 1, ".b32"},    {Float(32), 2, ".v2.b32"}, {Float(32), 4, ".v4.b32"},
               {Float(64), 1, ".b64"},    {Float(64), 2, ".v2.b64"}, {Float(16), 1, ".b16"},
               {Float(16), 8, ".v4.b32"}, {UInt(8), 1, ".b8"},       {UInt(8), 16, ".v4.b32"},
               {Bool(), 1, ".b8"},        {Int(64), 1, ".b64"}};
  for (const auto& c : cases) {
    const std::string ptx = ptx_of(streamed_copy(c.type, c.lanes));
    EXPECT_EQ(count(ptx, "ld.global.cs.nc" + c.suffix + " "), 1U) << ptx;
    EXPECT_EQ(count(ptx, "st.global.cs" + c.suffix + " "), 1U) << ptx;
    expect_assembles(ptx);
  }
}

TEST(AsyncPtx, StreamedReadsOfAWrittenArrayKeepTheirPlace) {
  Load load{"out", {thread_x()}, {}, 1, true};
  const Expr element = make_expr(Float(32), load);
  const ir::Stmt body = ir::make_block(
      {test::store("out", thread_x(), element + 1.0F), test::store("out", thread_x(), element + 2.0F)});
  const std::string ptx = ptx_of(copy_kernel(Float(32), body));
  EXPECT_TRUE(in_order(ptx, {"ld.global.cs.b32", "st.global", "ld.global.cs.b32", "st.global"})) << ptx;
  expect_assembles(ptx);
}

TEST(AsyncPtx, TexturesAreFetchedByTheirUnit) {
  const std::string ptx = ptx_of(test::texture_kernel());
  EXPECT_EQ(count(ptx, "tex.1d.v4.f32.s32"), 2U) << ptx;
  EXPECT_EQ(count(ptx, "ld.global"), 0U) << ptx;
  EXPECT_EQ(count(ptx, ".param .u64 "), 3U) << ptx;  // the texture, out and the origin
  expect_assembles(ptx);
  expect_assembles(ptx_of(test::texture_kernel(), 80), 80);
  const std::pair<Type, std::string> types[] = {{Int(32), "tex.1d.v4.s32.s32"},
                                                {UInt(32), "tex.1d.v4.u32.s32"}};
  for (const auto& [type, instruction] : types) {
    ir::Kernel kernel =
        copy_kernel(type, test::store_vector("out", thread_x() * 2,
                                             test::load_vector("u", type, thread_x() * 2, 2, 2), 2));
    kernel.params[0].texture = true;
    kernel.params.push_back(test::scalar(ir::texture_origin("u"), Int(64)));
    const std::string text = ptx_of(kernel);
    EXPECT_EQ(count(text, instruction), 2U) << text;
    expect_assembles(text);
  }
}

}  // namespace
}  // namespace mica
