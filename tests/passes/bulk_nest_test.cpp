// The code that LoadPolicy::Bulk becomes: what a step has, where threads wait, and where the rows are
// not known to be whole pieces of 16 bytes.
#include <functional>

#include <gtest/gtest.h>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::count;

const Var x("x"), y("y"), z("z");

/// next, a star of radius 4 over u in f32, in tiles of 16 x 4 and chunks of 32.
struct March {
  ImageParam u{Float(32), 3, "u"};
  Func next{"next"};

  explicit March(LoadPolicy load = LoadPolicy::Bulk) {
    Expr total = 0.5F * u(x, y, z);
    for (int i = 1; i <= 4; ++i) {
      total = total + 0.1F * (u(x - i, y, z) + u(x + i, y, z) + u(x, y - i, z) + u(x, y + i, z) +
                              u(x, y, z - i) + u(x, y, z + i));
    }
    next(x, y, z) = total;
    next.gpu_tile(x, y, 16, 4).march(z, 32).stage(u, MemoryType::Shared, load);
  }
  March& window() {
    next.register_window(u, z);
    return *this;
  }
  March& ahead(int depth) {
    next.pipeline(u, depth);
    return *this;
  }
};

struct Statements {
  int inits = 0, barrier_cells = 0, expects = 0, copies = 0, waits = 0, barriers = 0, async = 0;
};
Statements statements(const ir::Stmt& s) {
  Statements n;
  ir::walk(
      s,
      [&](const ir::Stmt& child) {
        if (const auto* init = child.as<ir::BulkInit>()) {
          ++n.inits;
          n.barrier_cells += init->count;
        }
        n.expects += child.as<ir::BulkExpect>() ? 1 : 0;
        n.copies += child.as<ir::BulkCopy>() ? 1 : 0;
        n.waits += child.as<ir::BulkWait>() ? 1 : 0;
        n.barriers += child.as<ir::Barrier>() ? 1 : 0;
        n.async += child.as<ir::AsyncCopy>() ? 1 : 0;
      },
      nullptr);
  return n;
}

ir::Stmt nest_of(const Program& program) { return program.nests.front().body; }
ir::Stmt nest_after(const Func& f, const std::string& pass, Variant variant = {}) {
  return nest_of(test::lowered(f, Backend::Cuda, pass, variant));
}

/// The blocks inside the domain, and those at its edge.
ir::Stmt side_of(const ir::Stmt& nest, bool interior) {
  ir::Stmt side;
  ir::walk(
      nest,
      [&](const ir::Stmt& s) {
        const auto* branch = s.as<ir::If>();
        if (!branch || !branch->else_case.defined() || side.defined()) return;
        side = interior ? branch->then_case : branch->else_case;
      },
      nullptr);
  return side;
}

/// One step after the first plane: the body of the first loop along the march.
Statements step_of(const Func& f) {
  Statements step;
  bool found = false;
  ir::walk(
      side_of(nest_after(f, "fuse_thread_loops"), true),
      [&](const ir::Stmt& s) {
        const auto* loop = s.as<ir::For>();
        if (!loop || found || loop->name.rfind(loop_name("next", "z"), 0) != 0) return;
        found = true;
        step = statements(loop->body);
        int stores = 0;
        ir::walk(
            loop->body,
            [&](const ir::Stmt& child) {
              const auto* store = child.as<ir::Store>();
              stores += store && store->buffer == "next" ? 1 : 0;
            },
            nullptr);
        for (int* n : {&step.expects, &step.copies, &step.waits, &step.barriers}) {
          EXPECT_EQ(*n % stores, 0) << *n << " in " << stores << " steps";
          *n /= stores;
        }
      },
      nullptr);
  EXPECT_TRUE(found);
  return step;
}

TEST(BulkNest, AStepExpectsOnceCopiesRowsAndWaitsOnce) {
  for (const int ahead : {0, 1, 3}) {
    for (const bool window : {false, true}) {
      March m;
      if (window) m.window();
      m.ahead(ahead);
      const Statements step = step_of(m.next);
      EXPECT_EQ(step.expects, 1);
      EXPECT_EQ(step.copies, 1) << "by as many threads as the plane has rows";
      EXPECT_EQ(step.waits, 1);
      EXPECT_EQ(step.async, 0);
    }
  }
}

TEST(BulkNest, OneBarrierAStepKeepsCopiesFromPlanesThatAreRead) {
  EXPECT_EQ(step_of(March().next).barriers, 1);
  EXPECT_EQ(step_of(March().window().next).barriers, 1);
  EXPECT_EQ(step_of(March().ahead(2).next).barriers, 1);
  EXPECT_EQ(step_of(March().window().ahead(2).next).barriers, 1);
}

TEST(BulkNest, EachPlaceOfTheRingHasATransactionBarrier) {
  const auto cells = [](const March& m) {
    const Statements all = statements(nest_after(m.next, "fuse_thread_loops"));
    EXPECT_EQ(all.inits, 1);
    return all.barrier_cells;
  };
  EXPECT_EQ(cells(March()), 9);
  EXPECT_EQ(cells(March().ahead(2)), 11);
  EXPECT_EQ(cells(March().window()), 1);
  EXPECT_EQ(cells(March().window().ahead(2)), 3);
}

TEST(BulkNest, TheBytesExpectedAreThoseOfTheRows) {
  const std::string code = ir::to_string(nest_after(March().window().next, "simplify_loops"));
  EXPECT_EQ(count(code, "bulk_expect"), 1) << code;
  EXPECT_EQ(count(code, "1152"), 1) << "24 points of 12 rows in 4 bytes, expected at once\n" << code;
  EXPECT_EQ(count(code, "count 24 at"), 1) << code;
  EXPECT_EQ(count(code, "u.staged.tx < 12"), 1) << code;
}

TEST(BulkNest, PlanesAheadAreWaitedForInTheStepThatReadsThem) {
  const auto waits = [](const March& m) {
    std::vector<std::string> texts;
    ir::walk(
        nest_after(m.next, "simplify_loops"),
        [&](const ir::Stmt& s) {
          const auto* wait = s.as<ir::BulkWait>();
          if (wait) texts.push_back(to_string(wait->slot) + " of " + to_string(wait->parity));
        },
        nullptr);
    return texts;
  };
  using Texts = std::vector<std::string>;
  // Plane number step + 4 - 4 of three places, begun two steps before.
  EXPECT_EQ(waits(March().window().ahead(2)), (Texts{"next.z.march % 3 of next.z.march/3 % 2"}));
  EXPECT_EQ(waits(March().window()), (Texts{"0 of next.z.march % 2"}));
  EXPECT_EQ(waits(March().ahead(1)), (Texts{"(next.z.march + 8) % 10 of (next.z.march + 8)/10 % 2"}));
}

TEST(BulkNest, RowsOfBlocksAtTheEdgeAreCopiedByTheThreads) {
  const ir::Stmt nest = nest_after(March().ahead(1).next, "fuse_thread_loops");
  const Statements edge = statements(side_of(nest, false));
  EXPECT_EQ(edge.expects + edge.copies + edge.waits + edge.inits, 0);
  EXPECT_GT(edge.async, 0);
  EXPECT_GT(edge.barriers, 0);
}

TEST(BulkNest, ATileWithoutAMarchIsOnePlane) {
  March m;
  m.next.clear_schedule();
  m.next.gpu_tile(x, y, z, 16, 2, 2).stage(m.u, MemoryType::Shared, LoadPolicy::Bulk);
  const Statements all = statements(side_of(nest_after(m.next, "fuse_thread_loops"), true));
  EXPECT_EQ(all.barrier_cells, 1);
  EXPECT_EQ(all.expects, 1);
  EXPECT_EQ(all.copies, 2) << "100 rows by 64 threads";
  EXPECT_EQ(all.waits, 1);
  EXPECT_EQ(all.barriers, 1) << "after the barrier is set up";
}

// ---- rows that are not known to be whole -------------------------------------------------------------

void expect_copies_of_threads(const ir::Stmt& nest, const std::string& what) {
  const Statements all = statements(nest);
  EXPECT_EQ(all.inits + all.expects + all.copies + all.waits, 0) << what;
  EXPECT_GT(all.async, 0) << what;
}

TEST(BulkNest, TheLaunchChecksThatRowsStartAtWholePieces) {
  const Program program = test::lowered(March().next, Backend::Cuda);
  ASSERT_EQ(program.plan.alignments.size(), 1U);
  EXPECT_EQ(program.plan.alignments[0].buffer, "u");
  EXPECT_EQ(program.plan.alignments[0].bytes, 16);
  EXPECT_EQ(to_string(program.plan.alignments[0].at[0]), "next.min.0");
}
TEST(BulkNest, OtherRowsAreCopiedByTheThreads) {
  const March m;
  expect_copies_of_threads(nest_after(m.next, "fuse_thread_loops", {.aligned = false}), "unaligned");
  expect_copies_of_threads(nest_after(m.next, "fuse_thread_loops", {.unit_stride = false}), "strided");
}
TEST(BulkNest, WhereTheRowsStartIsKnownWhenItIsCompiledIn) {
  const March m;
  const auto nest = [&](std::int64_t first) {
    LowerOptions options = test::options_for(Backend::Cuda);
    options.bake = {{"next.min.0", first}};
    return nest_of(lower(make_pipeline({m.next.function()}), options, "fuse_thread_loops"));
  };
  EXPECT_GT(statements(nest(8)).copies, 0);
  expect_copies_of_threads(nest(6), "rows from 6 on");
}

// ---- asynchronous copies, which share the places -----------------------------------------------------

TEST(BulkNest, ATileOfAsynchronousCopiesIsWaitedFor) {
  March m;
  m.next.clear_schedule();
  m.next.gpu_tile(x, y, z, 16, 2, 2).stage(m.u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  const std::string code = ir::to_string(nest_after(m.next, "fuse_thread_loops"));
  const auto copy = code.find("async_copy"), wait = code.find("copy_wait pending 0");
  EXPECT_LT(copy, wait) << code;
  EXPECT_LT(wait, code.find("barrier", wait)) << code;
}

}  // namespace
}  // namespace mica
