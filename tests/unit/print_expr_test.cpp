#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/function.h"

namespace mica {
namespace {

Expr x() { return make_var("x"); }
Expr y() { return make_var("y"); }
Expr a() { return make_var("a", Float(32)); }
Expr b() { return make_var("b", Float(32)); }
Expr c() { return make_var("c", Float(32)); }
Expr i() { return make_var("i"); }
Expr j() { return make_var("j"); }

Expr u(std::vector<Expr> args) {
  Access op;
  op.name = "u";
  op.args = std::move(args);
  return make_expr(Float(32), std::move(op));
}

TEST(PrintExpr, AStencilReadsAsItWasWritten) {
  const Expr c0 = make_var("c0", Float(32));
  const Expr c1 = make_var("c1", Float(32));
  EXPECT_EQ(to_string(c0 * u({x(), y()}) + c1 * (u({x() - 1, y()}) + u({x() + 1, y()}))),
            "c0*u(x, y) + c1*(u(x - 1, y) + u(x + 1, y))");
}

TEST(PrintExpr, ParenthesesShowTheOrderAndNothingElse) {
  EXPECT_EQ(to_string(a() + b() + c()), "a + b + c");
  EXPECT_EQ(to_string(a() + (b() + c())), "a + (b + c)");
  EXPECT_EQ(to_string(a() - (b() - c())), "a - (b - c)");
  EXPECT_EQ(to_string((a() + b()) * c()), "(a + b)*c");
  EXPECT_EQ(to_string(a() * b() / c()), "a*b/c");
  EXPECT_EQ(to_string(a() / (b() * c())), "a/(b*c)");
  EXPECT_EQ(to_string(i() % 4 * 2), "i % 4*2");
  EXPECT_EQ(to_string(i() * (j() % 4)), "i*(j % 4)");
}

TEST(PrintExpr, MixedOperatorsFollowTheirPrecedenceInC) {
  EXPECT_EQ(to_string((i() & 3) == 0), "(i & 3) == 0");
  EXPECT_EQ(to_string((i() << 2) + j()), "(i << 2) + j");
  EXPECT_EQ(to_string(i() << (j() + 2)), "i << j + 2");
  EXPECT_EQ(to_string((i() < 1 || j() < 2) && i() < 3), "(i < 1 || j < 2) && i < 3");
  EXPECT_EQ(to_string(i() < 1 || (j() < 2 && i() < 3)), "i < 1 || j < 2 && i < 3");
  EXPECT_EQ(to_string(!(i() < 1)), "!(i < 1)");
  EXPECT_EQ(to_string((i() ^ j()) | 1), "i ^ j | 1");
}

TEST(PrintExpr, SignsNeverRunTogether) {
  EXPECT_EQ(to_string(-a()), "-a");
  EXPECT_EQ(to_string(-(-a())), "-(-a)");
  EXPECT_EQ(to_string(-(a() * b())), "-(a*b)");
  EXPECT_EQ(to_string(-a() * b()), "-a*b");
  EXPECT_EQ(to_string(a() - -b()), "a - -b");
  EXPECT_EQ(to_string(x() + -3), "x - 3");
}

TEST(PrintExpr, CallsAndConversions) {
  EXPECT_EQ(to_string(select(i() < 3, a(), b())), "select(i < 3, a, b)");
  EXPECT_EQ(to_string(fma(a(), b(), c() + a())), "fma(a, b, c + a)");
  EXPECT_EQ(to_string(strict(a() + b()) * c()), "strict(a + b)*c");
  EXPECT_EQ(to_string(cast(Float(32), i() + 1) * a()), "cast<f32>(i + 1)*a");
  EXPECT_EQ(to_string(min(a(), max(b(), pow(a(), c())))), "min(a, max(b, pow(a, c)))");
  EXPECT_EQ(to_string(tanh(abs(a())) + floor(b())), "tanh(abs(a)) + floor(b)");
}

TEST(PrintExpr, FloatsAreTheShortestThatReadBackInTheirType) {
  EXPECT_EQ(to_string(Expr(0.1f)), "0.1");
  EXPECT_EQ(to_string(Expr(0.1)), "0.1");
  EXPECT_EQ(to_string(Expr(static_cast<double>(0.1f))), "0.10000000149011612");
  EXPECT_EQ(to_string(Expr(2.0f)), "2.0");
  EXPECT_EQ(to_string(Expr(-0.0f)), "-0.0");
  EXPECT_EQ(to_string(Expr(1e30f)), "1e+30");
  EXPECT_EQ(to_string(Expr(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(to_string(Expr(-std::numeric_limits<double>::infinity())), "-inf");
  EXPECT_EQ(to_string(Expr(std::numeric_limits<double>::quiet_NaN())), "nan");
}

TEST(PrintExpr, WhatIsTooLongIsCut) {
  Expr e = x();
  for (int i = 0; i < 100; ++i) e = min(e * e, e + 1);
  const std::string text = brief(e);
  EXPECT_LT(text.size(), 1500U);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_EQ(brief(x() + 1), "x + 1");
  EXPECT_LT(to_string(e, 10).size(), 1500U);
}

TEST(PrintExpr, WhateverTheDepth) {
  Expr left = x(), right = x(), called = x(), negated = a();
  for (int i = 0; i < 1000000; ++i) {
    left = left + 1;
    right = 1 + right;
    called = min(called, 7);
    negated = -negated;
  }
  EXPECT_EQ(to_string(left).substr(0, 13), "x + 1 + 1 + 1");
  EXPECT_EQ(to_string(right).substr(0, 13), "1 + (1 + (1 +");
  EXPECT_EQ(to_string(called).substr(0, 13), "min(min(min(m");
  EXPECT_EQ(to_string(negated).substr(0, 13), "-(-(-(-(-(-(-");
  for (const Expr& e : {left, right, called, negated}) {
    EXPECT_LT(brief(e).size(), 300U);
    EXPECT_EQ(brief(e).substr(brief(e).size() - 3), "...");
  }
}

TEST(PrintExpr, IntegersAndBools) {
  EXPECT_EQ(to_string(Expr(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(to_string(Expr(true)), "true");
  EXPECT_EQ(to_string(Expr()), "<undefined>");
}

TEST(PrintExpr, NamesOfParamsAndDomainsAndInputs) {
  auto param = std::make_shared<ParamData>();
  param->name = "dt";
  auto domain = std::make_shared<RDomData>();
  domain->dims = {{"r.x", 0, 3}, {"r.y", 0, 3}};
  auto image = std::make_shared<ImageData>();
  image->name = "u";
  EXPECT_EQ(to_string(make_expr(Float(32), ParamRef{param})), "dt");
  EXPECT_EQ(to_string(make_expr(Int(32), RVarRef{domain, 1})), "r.y");
  EXPECT_EQ(to_string(make_expr(Int(32), ImageField{image, BufferField::Min, 0})), "u.min.0");
  EXPECT_EQ(to_string(make_expr(Int(32), ImageField{image, BufferField::Stride, 2})), "u.stride.2");
}

TEST(PrintExpr, ElementsOfATupleAreNumbered) {
  auto function = std::make_shared<FunctionData>();
  function->types = {Float(32), Float(32)};
  Access op;
  op.name = "f";
  op.args = {x()};
  op.function = function;
  EXPECT_EQ(to_string(make_expr(Float(32), op)), "f(x)[0]");
  op.value_index = 1;
  EXPECT_EQ(to_string(make_expr(Float(32), op)), "f(x)[1]");
  op.function = nullptr;
  op.is_self = true;
  EXPECT_EQ(to_string(make_expr(Float(32), op)), "f(x)[1]");
}

TEST(PrintExpr, LoweredNodes) {
  const Type vector = Int(32).with_lanes(4);
  EXPECT_EQ(to_string(make_expr(Float(32), Load{"u", {i(), j() + 1}, {}, 1})), "u[i, j + 1]");
  EXPECT_EQ(to_string(make_expr(vector, Ramp{i(), Expr(2)})), "ramp(i, 2, 4)");
  EXPECT_EQ(to_string(make_expr(vector, Broadcast{i()})), "x4(i)");
  EXPECT_EQ(to_string(make_expr(Int(32).with_lanes(2), Shuffle{{i(), j()}, {1, 0}})),
            "shuffle(i, j; 1, 0)");
  EXPECT_EQ(to_string(make_expr(UInt(32), Reinterpret{a()})), "reinterpret<u32>(a)");
  EXPECT_EQ(to_string(make_expr(Float(32), WarpShuffle{a(), -1})), "warp_shuffle(a, -1)");
  EXPECT_EQ(to_string(make_expr(Float(32), Load{"u", {i()}, {}, 1, true})), "streamed(u[i])");
  const Expr let = make_expr(Int(32), Let{"t", i() + 1, make_var("t") * 2});
  EXPECT_EQ(to_string(let), "let t = i + 1 in t*2");
  EXPECT_EQ(to_string(let + 1), "(let t = i + 1 in t*2) + 1");
}

}  // namespace
}  // namespace mica
