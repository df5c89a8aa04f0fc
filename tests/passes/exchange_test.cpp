// What `shuffle` makes of taps beside a thread's points.
#include <set>

#include <gtest/gtest.h>

#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "tests/passes/lowered.h"
#include "tests/support/test_pipelines.h"

namespace mica {
namespace {

using test::TestPipeline;

struct Exchanged {
  int shuffles = 0;     ///< values that come from a neighbour
  int edge_loads = 0;   ///< loads by the first or last thread of a warp alone
  int other_loads = 0;  ///< of the source, by every thread
  int rows = 0;
};

/// Of u, after exchange_taps, in the code of blocks that lie inside the domain.
Exchanged exchanged(const Func& f, Backend backend = Backend::Cuda, const std::string& array = "u",
                    std::size_t nest = 0) {
  const Program program = test::lowered(f, backend, "exchange_taps");
  Exchanged n;
  const std::function<void(const ir::Stmt&, bool)> visit = [&](const ir::Stmt& s, bool at_edge) {
    if (!s.defined()) return;
    if (const auto* branch = s.as<ir::If>()) {
      const std::string condition = to_string(branch->condition);
      const bool of_warp = condition.find("% 32") != std::string::npos;
      visit(branch->then_case, at_edge || of_warp);
      return;  // blocks at the edge are in the other branch
    }
    if (const auto* store = s.as<ir::Store>()) {
      walk(store->value, [&](const Expr& e) {
        n.shuffles += e.as<WarpShuffle>() ? 1 : 0;
        const auto* load = e.as<Load>();
        if (load && load->buffer == array) ++(at_edge ? n.edge_loads : n.other_loads);
      });
    }
    if (const auto* alloc = s.as<ir::Allocate>()) {
      n.rows += alloc->buffer.find(".row") != std::string::npos ? 1 : 0;
    }
    ir::for_each_child(
        s, [&](const ir::Stmt& child) { visit(child, at_edge); }, [](const Expr&) {});
  };
  visit(program.nests.at(nest).body, false);
  return n;
}

TestPipeline marched(int radius, int vec) {
  TestPipeline p = test::star(Float(32), 3, radius);
  p.output().gpu_tile("x", "y", 32, 2);
  if (vec > 1) p.output().vectorize("x", vec);
  p.output().march("z", 16).register_window(p.inputs[0], "z");
  return p;
}

TEST(Exchange, AWindowsRowCostsOneShuffleATapAndLoadsAtTheWarpsEnds) {
  TestPipeline p = marched(1, 1);
  const Exchanged before = exchanged(p.output());
  EXPECT_EQ(before.shuffles, 0);
  p.output().shuffle(p.inputs[0], "x");
  const Exchanged after = exchanged(p.output());
  ASSERT_GT(after.rows, 0);
  EXPECT_EQ(after.shuffles, 2 * after.rows);
  EXPECT_EQ(after.edge_loads, 2 * after.rows);
  EXPECT_EQ(before.other_loads - after.other_loads, 2 * after.rows);
}
TEST(Exchange, AVectorGivesAsManyValuesAsTheTapsReach) {
  for (const int radius : {1, 3, 4}) {
    TestPipeline p = marched(radius, 4);
    p.output().shuffle(p.inputs[0], "x");
    const Exchanged n = exchanged(p.output());
    ASSERT_GT(n.rows, 0);
    EXPECT_EQ(n.shuffles, 2 * radius * n.rows);
    EXPECT_EQ(n.edge_loads, (radius == 4 ? 2 : 2 * radius) * n.rows)
        << "a whole vector, or single values";
  }
}
TEST(Exchange, AStagedTileReadsItsRowOnce) {
  TestPipeline p = test::star(Float(32), 2, 1);
  p.output().gpu_tile("x", "y", 32, 4).stage(p.inputs[0], MemoryType::Shared).shuffle(p.inputs[0], "x");
  const Exchanged n = exchanged(p.output(), Backend::Cuda, "u.staged");
  EXPECT_EQ(n.rows, 1);
  EXPECT_EQ(n.shuffles, 2);
  EXPECT_EQ(n.edge_loads, 2);
  EXPECT_EQ(n.other_loads, 3) << "the own point and the neighbours in y";
}
TEST(Exchange, WithoutAStageTheRowsAreLoadedOnce) {
  TestPipeline p = test::star(Float(32), 2, 4);
  p.output().gpu_tile("x", "y", 32, 4).vectorize("x", 4).shuffle(p.inputs[0], "x");
  const Exchanged n = exchanged(p.output());
  EXPECT_EQ(n.rows, 1);
  EXPECT_EQ(n.shuffles, 8);
  EXPECT_EQ(n.edge_loads, 2);
  EXPECT_EQ(n.other_loads, 9) << "the own points and the neighbours in y";
}
TEST(Exchange, WiderBlocksAndTheHostExchangeNothing) {
  TestPipeline halo = test::star(Float(32), 2, 1);
  halo.output()
      .gpu_tile("x", "y", 32, 4)
      .stage(halo.inputs[0], MemoryType::Shared, LoadPolicy::HaloThreads)
      .shuffle(halo.inputs[0], "x");
  EXPECT_EQ(exchanged(halo.output()).rows, 0) << "a warp would hold parts of two rows";
  TestPipeline p = marched(1, 1);
  p.output().shuffle(p.inputs[0], "x");
  EXPECT_EQ(exchanged(p.output(), Backend::Host).rows, 0);
}
TEST(Exchange, EachOfTwoFuncsThatStageASourceReadsItsRowOnce) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  Func before("before"), after("after");
  before(x, y) = u(x - 1, y) + u(x, y) + u(x + 1, y) + u(x, y + 1);
  after(x, y) = before(x, y) + u(x - 1, y) + u(x, y) + u(x + 1, y) + u(x, y + 1);
  before.compute_root();
  for (Func* f : {&before, &after}) {
    f->gpu_tile(x, y, 32, 4).stage(u, MemoryType::Shared).shuffle(u, x);
  }
  std::set<std::string> arrays;
  for (const auto& [name, copy] : test::lowered(after, Backend::Cuda, "plan_kernels").pipeline.staged) {
    EXPECT_EQ(copy.source, "u");
    arrays.insert(name);
  }
  ASSERT_EQ(arrays.size(), 2U);
  std::size_t nest = 0;
  for (const std::string& array : arrays) {
    const Exchanged n = exchanged(after, Backend::Cuda, array, nest++);
    EXPECT_EQ(n.rows, 1) << array;
    EXPECT_EQ(n.shuffles, 2) << array;
    EXPECT_EQ(n.edge_loads, 2) << array;
    EXPECT_EQ(n.other_loads, 2) << array << ": the own point and the neighbour in y";
  }
}
TEST(Exchange, AllCopiesThatOneKernelHoldsOfASourceAreExchanged) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  Func once("once"), next("next");
  once(x, y, z) = u(x - 1, y, z) + u(x, y, z) + u(x + 1, y, z) + u(x, y + 1, z);
  next(x, y, z) = once(x, y, z) + once(x, y, z - 1) + u(x - 1, y, z) + u(x, y, z) + u(x + 1, y, z);
  next.gpu_tile(x, y, 32, 4).march(z, 8).stage(u, MemoryType::Shared).shuffle(u, x);
  once.compute_at(next, "z.march").store_in(MemoryType::Register);
  once.stage(u, MemoryType::Shared);
  const Program program = test::lowered(next, Backend::Cuda, "plan_kernels");
  ASSERT_EQ(program.pipeline.staged.size(), 2U);
  for (const auto& [name, copy] : program.pipeline.staged) {
    const Exchanged n = exchanged(next, Backend::Cuda, name);
    EXPECT_GT(n.edge_loads, 0) << name;
  }
}
TEST(Exchange, ThePlanHasLanesServeWhatTheCodeTakesFromThem) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::HaloThreads}) {
    TestPipeline p = test::star(Float(32), 2, 1);
    p.output().gpu_tile("x", "y", 32, 4).stage(p.inputs[0], MemoryType::Shared, load);
    p.output().shuffle(p.inputs[0], "x");
    const Program program = test::lowered(p.output(), Backend::Cuda, "plan_kernels");
    int lanes = 0;
    for (const auto& tap : program.kernels.at(0).taps) {
      lanes += tap.server == planning::Server::Lane ? tap.count : 0;
    }
    EXPECT_EQ(lanes, load == LoadPolicy::TwoStep ? 2 : 0);
    EXPECT_EQ(exchanged(p.output(), Backend::Cuda, "u.staged").shuffles, lanes);
  }
}

}  // namespace
}  // namespace mica
