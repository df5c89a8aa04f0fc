// Which elements the lanes of a vector index are.
#include "codegen/llvm/index/lane_index.h"

#include <string>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {
namespace {

Expr x() { return make_var("x"); }
Expr ramp(int stride, int lanes = 8) {
  return make_expr(Int(32).with_lanes(lanes), Ramp{x(), Expr(stride)});
}
Expr all(int value, int lanes = 8) {
  return make_expr(Int(32).with_lanes(lanes), Broadcast{Expr(value)});
}
Expr op(BinaryOp which, const Expr& a, const Expr& b) {
  return make_expr(a.type(), Binary{which, a, b});
}

std::string text(const Expr& index) {
  const auto form = lane_index(index);
  if (!form) return "none";
  std::string result;
  for (const Expr& base : form->bases) result += to_string(base) + ", ";
  return result + "by " + std::to_string(form->stride);
}

TEST(LaneIndex, OfLinearIndices) {
  EXPECT_EQ(text(ramp(1)), "x, by 1");
  EXPECT_EQ(text(all(3)), "3, by 0");
  EXPECT_EQ(text(op(BinaryOp::Mul, ramp(1), all(3))), "x*3, by 3");
  EXPECT_EQ(text(op(BinaryOp::Mul, all(3), ramp(2))), "x*3, by 6");
  EXPECT_EQ(text(op(BinaryOp::Add, ramp(2), ramp(1))), "x + x, by 3");
  EXPECT_EQ(text(op(BinaryOp::Sub, all(9), ramp(1))), "9 - x, by -1");
}

TEST(LaneIndex, OfQuotients) {
  EXPECT_EQ(text(op(BinaryOp::Div, ramp(1), all(2))), "x/2, (x + 1)/2, by 1");
  EXPECT_EQ(text(op(BinaryOp::Div, ramp(1), all(4))), "x/4, (x + 1)/4, (x + 2)/4, (x + 3)/4, by 1");
  EXPECT_EQ(text(op(BinaryOp::Div, ramp(2), all(4))), "x/4, (x + 2)/4, by 1");
  EXPECT_EQ(text(op(BinaryOp::Div, ramp(4), all(2))), "x/2, by 2");
  EXPECT_EQ(text(op(BinaryOp::Div, all(9), all(2))), "9/2, by 0");
  EXPECT_EQ(text(op(BinaryOp::Add, op(BinaryOp::Div, ramp(1), all(2)), ramp(1))),
            "x/2 + x, (x + 1)/2 + (x + 1), by 3");
  // Three bases do not interleave by pairs; more than four are no gain; lanes that go down are not
  // looked at.
  for (const Expr& e : {op(BinaryOp::Div, ramp(1), all(3)), op(BinaryOp::Div, ramp(1), all(8)),
                        op(BinaryOp::Div, ramp(-1), all(2)), op(BinaryOp::Div, ramp(3), all(2)),
                        op(BinaryOp::Div, ramp(1), all(-2)), op(BinaryOp::Div, ramp(1), all(0))}) {
    EXPECT_EQ(text(e), "none") << to_string(e);
  }
}

TEST(LaneIndex, OfWiderIntegers) {
  const Expr wide = make_expr(Int(64).with_lanes(8), Cast{ramp(1)});
  const auto form = lane_index(wide);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->bases[0].type(), Int(64));
  EXPECT_EQ(form->stride, 1);
  EXPECT_FALSE(lane_index(make_expr(Int(16).with_lanes(8), Cast{ramp(1)})));
}

}  // namespace
}  // namespace mica::llvm_backend
