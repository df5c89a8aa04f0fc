// Divisions that a loop does not change.
#include "codegen/passes/funcs/bind_still.h"

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::test {
namespace {

ir::For loop_over(const Expr& value) {
  return {"x", Expr(0), Expr(8), LoopKind::Serial,
          ir::make_stmt(ir::Store{"f", {make_var("x")}, value, {}})};
}

TEST(BindStill, TakesARemainderThatTheLoopDoesNotChangeOutOnce) {
  const Expr still = make_var("y") % make_var("m");
  const auto taken = passes::bind_still(loop_over((still + 1) * (still + make_var("x"))));
  ASSERT_EQ(taken.values.size(), 1U);
  EXPECT_TRUE(equal(taken.values[0].second, still));
}

TEST(BindStill, LeavesWhatTheLoopChangesOrAConstantDivides) {
  const Expr moving = (make_var("x") + 1) % make_var("m") + make_var("y") % 7;
  EXPECT_TRUE(passes::bind_still(loop_over(moving)).values.empty());
}

TEST(BindStill, LeavesWhatUsesANameBoundInAnExpression) {
  const Expr inside = make_var("t") / make_var("m");
  const Expr value = make_expr(Int(32), Let{"t", make_var("x") + 1, inside});
  EXPECT_TRUE(passes::bind_still(loop_over(value)).values.empty());
}

}  // namespace
}  // namespace mica::test
