#include "codegen/passes/math/legalize_half.h"

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"
#include "tests/support/expr_value.h"

namespace mica {
namespace {

Expr var(const char* name, Type type) { return make_var(name, type); }
Expr op(BinaryOp kind, const Expr& a, const Expr& b) { return make_expr(a.type(), Binary{kind, a, b}); }
Expr cast_to(Type type, const Expr& e) { return make_expr(type, Cast{e}); }
test::ExprValue half(float x) { return {Float(16), float16(x).bits}; }
test::ExprValue bhalf(float x) { return {BFloat(), bfloat16(x).bits}; }

/// Nodes that compute on or return a half type without being allowed to.
int illegal_nodes(const Expr& e) {
  int count = 0;
  walk(e, [&](const Expr& n) {
    const bool computes = n.as<Unary>() || n.as<Binary>() || n.as<Fma>();
    bool illegal = computes && n.type().is_half();
    if (const Compare* c = n.as<Compare>()) illegal = c->a.type().is_half();
    if (const Cast* c = n.as<Cast>()) {
      const bool touches = n.type().is_half() || c->value.type().is_half();
      illegal = touches && n.type().element() != Float(32) && c->value.type().element() != Float(32);
    }
    count += illegal ? 1 : 0;
  });
  return count;
}

TEST(LegalizeHalf, EverySumIsRoundedBeforeTheNext) {
  // In f16, 2048 + 1 rounds back to 2048; in f32 the two additions would give 2050.
  const Expr a = var("a", Float(16)), one = make_const(Float(16), 1.0);
  const Expr e = passes::legalize_half(op(BinaryOp::Add, op(BinaryOp::Add, a, one), one));
  EXPECT_EQ(illegal_nodes(e), 0);
  EXPECT_EQ(test::evaluate(e, {{"a", half(2048)}}), half(2048));
}

TEST(LegalizeHalf, FmaRoundsOnceInSinglePrecisionAndOnceToHalf) {
  const Expr a = var("a", BFloat());
  const Expr e = passes::legalize_half(make_expr(BFloat(), Fma{a, a, a}));
  EXPECT_EQ(illegal_nodes(e), 0);
  EXPECT_EQ(test::evaluate(e, {{"a", bhalf(1.0078125F)}}), bhalf(1.0078125F * 1.0078125F + 1.0078125F));
}

TEST(LegalizeHalf, ComparisonsAreInSinglePrecision) {
  const Expr a = var("a", Float(16));
  const Expr e =
      passes::legalize_half(make_expr(Bool(), Compare{CompareOp::Lt, a, make_const(Float(16), 0.0)}));
  EXPECT_EQ(illegal_nodes(e), 0);
  EXPECT_EQ(test::evaluate(e, {{"a", half(-1)}}).bits, 1U);
  EXPECT_EQ(test::evaluate(e, {{"a", half(1)}}).bits, 0U);
}

TEST(LegalizeHalf, DoubleIsRoundedThroughSingle) {
  // Above the tie between 1 and its f16 neighbour by less than f32 can tell: through f32 it is a tie.
  const double x = 1.0 + 0x1p-11 + 0x1p-40;
  const Expr e = passes::legalize_half(cast_to(Float(16), var("x", Float(64))));
  EXPECT_EQ(illegal_nodes(e), 0);
  EXPECT_EQ(test::evaluate(e, {{"x", test::value_of(x)}}), half(1.0F));
}

TEST(LegalizeHalf, ConversionsBetweenHalvesAndOtherTypesGoThroughSingle) {
  for (const Type from : {Float(16), BFloat(), Float(64), Int(32), Int(64)}) {
    for (const Type to : {Float(16), BFloat(), Float(64), Int(32), Int(64)}) {
      const Expr e = passes::legalize_half(cast_to(to, var("x", from)));
      EXPECT_EQ(illegal_nodes(e), 0) << to_string(from) << " to " << to_string(to);
      EXPECT_EQ(e.type(), to);
    }
  }
}

TEST(LegalizeHalf, SelectAndLoadKeepTheirType) {
  const Expr load = make_expr(Float(16), Load{"u", {make_const(Int(32), std::int64_t{0})}, {}, 1});
  const Expr e = make_expr(Float(16), Select{make_const(Bool(), std::int64_t{1}), load, load});
  EXPECT_TRUE(passes::legalize_half(e).same_as(e));
}

TEST(LegalizeHalf, MathFunctionsAreInSinglePrecision) {
  const Expr e = passes::legalize_half(make_expr(Float(16), Unary{UnaryOp::Exp, var("a", Float(16))}));
  EXPECT_EQ(illegal_nodes(e), 0);
  EXPECT_EQ(e.type(), Float(16));
}

TEST(LegalizeHalf, VectorsKeepTheirLanes) {
  const Type f16x4 = Float(16).with_lanes(4);
  const Expr e = passes::legalize_half(op(BinaryOp::Mul, var("a", f16x4), make_const(f16x4, 2.0)));
  EXPECT_EQ(e.type(), f16x4);
  EXPECT_EQ(illegal_nodes(e), 0);
  EXPECT_EQ(test::evaluate(e, {{"a", half(3)}}, 2), half(6));
}

TEST(LegalizeHalf, StatementsAreRewrittenInEveryExpression) {
  const Expr a = var("a", Float(16));
  const ir::Stmt s = ir::make_stmt(ir::Store{"u", {Expr(0)}, op(BinaryOp::Add, a, a), {}, 1});
  const ir::Stmt legal = passes::legalize_half(s);
  EXPECT_EQ(illegal_nodes(legal.as<ir::Store>()->value), 0);
  EXPECT_EQ(legal.as<ir::Store>()->value.type(), Float(16));
}

}  // namespace
}  // namespace mica
