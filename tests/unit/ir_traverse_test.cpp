#include <gtest/gtest.h>

#include "codegen/ir/equal.h"
#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

ir::Stmt row(const char* buffer) {
  const Expr x = make_var("x");
  return test::loop(LoopKind::Serial, "x", 0, make_var("n"),
                    test::store(buffer, x + make_var("k"), test::load("u", Float(32), x)));
}

TEST(IrTraverse, BlocksAreFlatAndHoldNothingUndefined) {
  const ir::Stmt a = test::store("f", 0, 1), b = test::store("f", 1, 2);
  const ir::Stmt nested = ir::make_block({ir::make_block({a, b}), {}, a});
  ASSERT_NE(nested.as<ir::Block>(), nullptr);
  EXPECT_EQ(nested.as<ir::Block>()->stmts.size(), 3U);
  EXPECT_TRUE(ir::make_block({{}, a}).same_as(a));
  EXPECT_FALSE(ir::make_block({{}, {}}).defined());
}

TEST(IrTraverse, WalkMeetsEveryNodeOnce) {
  int stmts = 0, loads = 0, vars = 0;
  ir::walk(
      row("f"), [&](const ir::Stmt&) { ++stmts; },
      [&](const Expr& e) {
        loads += e.as<Load>() != nullptr ? 1 : 0;
        vars += e.as<VarRef>() != nullptr ? 1 : 0;
      });
  EXPECT_EQ(stmts, 2);
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(vars, 4);  // n, x, k, x
}

TEST(IrTraverse, AnIdentityRewriteKeepsTheNode) {
  const ir::Stmt s = row("f");
  EXPECT_TRUE(ir::map_exprs(s, [](const Expr& e) { return e; }).same_as(s));
  EXPECT_TRUE(ir::map_children(
                  s, [](const ir::Stmt& c) { return c; }, nullptr)
                  .same_as(s));
}

TEST(IrTraverse, RemovingTheBodyRemovesTheLoop) {
  const ir::Stmt s = row("f");
  EXPECT_FALSE(ir::map_children(
                   s, [](const ir::Stmt&) { return ir::Stmt(); }, nullptr)
                   .defined());
  const ir::Stmt branch = ir::make_stmt(ir::If{make_var("x") < 4, row("f"), row("g")});
  const ir::Stmt half = ir::map_children(
      branch, [](const ir::Stmt& c) { return ir::uses_buffer(c, "g") ? ir::Stmt() : c; }, nullptr);
  ASSERT_NE(half.as<ir::If>(), nullptr);
  EXPECT_FALSE(half.as<ir::If>()->else_case.defined());
}

TEST(IrTraverse, SubstituteLeavesBoundNamesAlone) {
  const ir::Stmt s = row("f");
  EXPECT_EQ(to_string(ir::substitute(s, "n", 7)), "for x in [0, 7):\n  f[x + k] = u[x]\n");
  EXPECT_TRUE(ir::equal(ir::substitute(s, "x", 7), s)) << "x is the loop's own";
  const ir::Stmt let = ir::make_stmt(ir::LetStmt{"k", make_var("k") + 1, s});
  EXPECT_EQ(to_string(ir::substitute(let, "k", 5)),
            "let k = 5 + 1\nfor x in [0, n):\n  f[x + k] = u[x]\n");
}

TEST(IrTraverse, SubstituteByLookupReplacesSymbolsEverywhere) {
  const auto lookup = [](const std::string& name) { return name == "k" ? Expr(3) : Expr(); };
  EXPECT_EQ(to_string(ir::substitute(row("f"), lookup)), "for x in [0, n):\n  f[x + 3] = u[x]\n");
}

TEST(IrTraverse, UsesCountFreeNamesAndBuffers) {
  const ir::Stmt s = row("f");
  EXPECT_TRUE(ir::uses_var(s, "n"));
  EXPECT_TRUE(ir::uses_var(s, "k"));
  EXPECT_FALSE(ir::uses_var(s, "x"));
  EXPECT_TRUE(ir::uses_buffer(s, "u"));
  EXPECT_TRUE(ir::uses_buffer(s, "f"));
  EXPECT_FALSE(ir::uses_buffer(s, "x"));
}

TEST(IrTraverse, EqualityIsOfStructureAndNames) {
  EXPECT_TRUE(ir::equal(row("f"), row("f")));
  EXPECT_FALSE(ir::equal(row("f"), row("g")));
  EXPECT_FALSE(ir::equal(row("f"), ir::Stmt()));
  EXPECT_TRUE(ir::equal(ir::Stmt(), ir::Stmt()));
  EXPECT_FALSE(ir::equal(ir::make_stmt(ir::Barrier{}), row("f")));
}

}  // namespace
}  // namespace mica
