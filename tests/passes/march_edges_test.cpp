// The code of blocks inside the domain and of those at its edge.
#include <gtest/gtest.h>

#include "tests/passes/march_code.h"

namespace mica::test {
namespace {

TEST(MarchNest, BlocksAtTheEdgeOfTheDomainWalkTheSameMarchWithLoadsInsideTheirArrays) {
  const std::string text = March::star().stage().text();
  const auto at = text.find("else");
  ASSERT_NE(at, std::string::npos) << text;
  for (const std::string& side : {text.substr(0, at), text.substr(at)}) {
    EXPECT_EQ(count(side, "produce u.staged:"), 1) << text;
    EXPECT_EQ(count(side, "march next.z.march in [-2, -2 + (next.z.march.planes + 2))"), 1) << text;
  }
}

// Threads that wait for their windows get no fewer registers for what happens at the edge.
TEST(MarchNest, WithWindowsTapsAtTheEdgeComeStraightFromMemory) {
  const std::string text = March::star().stage().window().text();
  const auto at = text.find("else");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(count(text.substr(0, at), "produce u.staged:"), 1) << text;
  EXPECT_EQ(count(text.substr(at), "u.staged") + count(text.substr(at), "u.window"), 0) << text;
  EXPECT_EQ(count(text.substr(at), "next.z.march in [0, next.z.march.planes)"), 1) << text;
}

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

}  // namespace
}  // namespace mica::test
