// Named barriers, clusters and stores to another block: walked, compared, printed, hashed and verified.
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/equal.h"
#include "codegen/ir/fingerprint.h"
#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "codegen/ir/verify.h"
#include "tests/support/group_kernels.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

ir::Stmt store_to(const Expr& block) {
  return ir::make_stmt(ir::Store{"tile", {Expr(3)}, Expr(1.0F), {Expr(3)}, 1, false, block});
}
ir::Stmt named(int number, int threads, bool waits = true) {
  return ir::make_stmt(ir::NamedBarrier{number, threads, waits});
}

/// The one of barriers 4 to 6 that `turn` counts.
ir::Stmt in_turn(const Expr& turn) {
  return ir::make_stmt(ir::NamedBarrier{4, 64, false, true, 3, turn});
}

TEST(IrGroups, PrintOneLineEach) {
  EXPECT_EQ(to_string(named(1, 64)), "barrier 1 of 64 threads\n");
  EXPECT_EQ(to_string(named(2, 96, false)), "arrive at barrier 2 of 96 threads\n");
  EXPECT_EQ(to_string(in_turn(make_var("s") % 3)),
            "arrive at barrier 4 + s % 3 of 64 threads after a fence\n");
  EXPECT_EQ(to_string(ir::make_stmt(ir::ClusterBarrier{})), "barrier of the cluster\n");
  EXPECT_EQ(to_string(store_to(make_var("b") + 1)), "tile[3] of block b + 1 = 1.0\n");
  const std::string head = to_string(test::cluster_ring());
  EXPECT_NE(head.find(" block 64x1x1 cluster 2x1x1:"), std::string::npos) << head;
}

TEST(IrGroups, EveryPartCounts) {
  const std::vector<ir::Stmt> all = {named(1, 64),
                                     named(2, 64),
                                     named(1, 96),
                                     named(1, 64, false),
                                     in_turn(Expr(0)),
                                     in_turn(Expr(1)),
                                     store_to({}),
                                     store_to(Expr(0)),
                                     store_to(Expr(1)),
                                     ir::make_stmt(ir::ClusterBarrier{}),
                                     ir::make_stmt(ir::Barrier{})};
  const auto kernel = [](const ir::Stmt& body, int cluster = 1) {
    ir::Kernel k = test::shared_reverse(64);
    k.body = body;
    k.cluster[0] = cluster;
    return fingerprint(k);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      EXPECT_EQ(ir::equal(all[i], all[k]), i == k) << to_string(all[i]) << to_string(all[k]);
      EXPECT_EQ(kernel(all[i]) == kernel(all[k]), i == k) << to_string(all[i]) << to_string(all[k]);
    }
  }
  EXPECT_NE(kernel(all[0]), kernel(all[0], 2));
}

TEST(IrGroups, TheTurnOfABarrierIsAnExpressionOfIt) {
  const ir::Stmt before = in_turn(make_var("x") + 1);
  EXPECT_TRUE(ir::uses_var(before, "x"));
  EXPECT_TRUE(ir::equal(ir::substitute(before, "x", make_var("y")), in_turn(make_var("y") + 1)));
}

TEST(IrGroups, TheBlockOfAStoreIsAnExpressionOfIt) {
  const ir::Stmt before = store_to(make_var("x") + 1);
  EXPECT_TRUE(ir::uses_var(before, "x"));
  EXPECT_EQ(to_string(ir::substitute(before, "x", make_var("y"))), "tile[3] of block y + 1 = 1.0\n");
  EXPECT_FALSE(ir::uses_var(store_to({}), "x"));
}

TEST(IrGroups, WhatIsUnsoundIsNamed) {
  const auto fault = [](const ir::Stmt& body, int cluster = 1) {
    ir::Kernel k = test::shared_reverse(64);
    k.body = test::allocate(MemoryType::Shared, Float(32), "tile", {8}, body);
    k.cluster[0] = cluster;
    const std::vector<std::string> found = ir::verify(k, ir::Level::BackEnd);
    return found.empty() ? std::string() : found.front();
  };
  const auto expect = [&](const std::string& text, const char* word) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  const Expr thread = make_var("thread.x");
  const auto when = [](const Expr& condition, const ir::Stmt& s) {
    return ir::make_stmt(ir::If{condition, s, {}});
  };
  EXPECT_EQ(fault(when(thread < 32, named(15, 32))), "") << "some warps may meet";
  expect(fault(named(0, 32)), "numbers from 1 to 15");
  expect(fault(named(16, 32)), "numbers from 1 to 15");
  expect(fault(ir::make_stmt(ir::NamedBarrier{14, 32, true, false, 3, thread % 3})),
         "numbers from 1 to 15");
  expect(fault(in_turn(Expr(3))), "turn 3 of 3 barriers");
  expect(fault(in_turn(Expr(1.0F))), "not a scalar integer");
  expect(fault(named(1, 48)), "48 threads, which are no whole warps");
  expect(fault(named(1, 96)), "a barrier of 96 threads in blocks of 64");
  const ir::Stmt all = ir::make_stmt(ir::ClusterBarrier{});
  EXPECT_EQ(fault(when(make_var("block.x") < 2, all), 2), "");
  expect(fault(when(thread < 32, all), 2), "only some threads reach");
  EXPECT_EQ(fault(all, 8), "");
  expect(fault(all, 9), "a cluster of 9 blocks, not 1 to 8");
  expect(fault(all, 0), "a cluster of 0 blocks");
  EXPECT_EQ(fault(store_to(make_var("block.x") % 2), 2), "");
  expect(fault(store_to(Expr(1.0F)), 2), "not a scalar integer");
  expect(fault(ir::make_stmt(ir::Store{"out", {Expr(0)}, Expr(1.0F), {Expr(0)}, 1, false, Expr(1)}), 2),
         "another block's out, which is not shared memory");
  ir::Kernel host = test::shared_reverse(64);
  host.on_device = false;
  host.body = named(1, 32);
  EXPECT_FALSE(ir::verify(host, ir::Level::BackEnd).empty());
  host.body = all;
  EXPECT_FALSE(ir::verify(host, ir::Level::BackEnd).empty());
}

}  // namespace
}  // namespace mica
