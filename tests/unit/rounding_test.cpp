#include "dsl/expr/rounding.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

Expr x() { return make_var("x"); }
Expr y() { return make_var("y"); }
Expr z() { return make_var("z"); }

Expr access(const std::string& name, std::vector<Expr> args, Type type = Float(32)) {
  Access op;
  op.name = name;
  op.args = std::move(args);
  return make_expr(type, std::move(op));
}
// Taps of one-dimensional arrays along z.
Expr u(Expr z) { return access("u", {std::move(z)}); }
Expr v(Expr z) { return access("v", {std::move(z)}); }
// An array that has no z.
Expr b() { return access("b", {x()}); }
Expr param(const std::string& name, Type type = Float(32)) {
  auto data = std::make_shared<ParamData>();
  data->name = name;
  data->type = type;
  return make_expr(type, ParamRef{data});
}
Expr c0() { return param("c0"); }
Expr c1() { return param("c1"); }
Expr c2() { return param("c2"); }

std::string fixed(const Expr& e) { return to_string(fix_rounding(e, "z")); }

TEST(Rounding, TermsAreOrderedByTheirPlaneAndProductsBecomeFma) {
  EXPECT_EQ(fixed(c0() * u(z()) + c1() * (u(z() - 1) + u(z() + 1))),
            "fma(c1, u(z + 1), fma(c0, u(z), c1*u(z - 1)))");
}

TEST(Rounding, TheSevenPointStencilKeepsTheWrittenOrderWithinAPlane) {
  const auto at = [](const Expr& x, const Expr& y, const Expr& z) { return access("u", {x, y, z}); };
  const Expr e = c0() * at(x(), y(), z()) +
                 c1() * (at(x() - 1, y(), z()) + at(x() + 1, y(), z()) + at(x(), y() - 1, z()) +
                         at(x(), y() + 1, z()) + at(x(), y(), z() - 1) + at(x(), y(), z() + 1));
  EXPECT_EQ(fixed(e),
            "fma(c1, u(x, y, z + 1), fma(c1, u(x, y + 1, z), fma(c1, u(x, y - 1, z), "
            "fma(c1, u(x + 1, y, z), fma(c1, u(x - 1, y, z), fma(c0, u(x, y, z), "
            "c1*u(x, y, z - 1)))))))");
}

TEST(Rounding, TheSlowestDimensionDecidesTheOrder) {
  const Expr e = access("u", {x() + 1, z()}) + access("u", {x() - 1, z() + 1});
  EXPECT_EQ(to_string(fix_rounding(e, "z")), "u(x + 1, z) + u(x - 1, z + 1)");
  EXPECT_EQ(to_string(fix_rounding(e, "x")), "u(x - 1, z + 1) + u(x + 1, z)");
}

TEST(Rounding, TermsWithoutATapOfTheSlowestDimensionComeFirst) {
  EXPECT_EQ(fixed(u(z() - 9) + b() + c0()), "b(x) + c0 + u(z - 9)");
  EXPECT_EQ(fixed(u(z() - 9) + cast(Float(32), z())), "cast<f32>(z) + u(z - 9)");
}

TEST(Rounding, SubtractedTermsChangeTheirSign) {
  EXPECT_EQ(fixed(u(z()) - c0() * u(z() + 1)), "fma(-c0, u(z + 1), u(z))");
  EXPECT_EQ(fixed(u(z() + 1) - u(z())), "-u(z) + u(z + 1)");
  EXPECT_EQ(fixed(u(z()) - u(z() + 1)), "u(z) - u(z + 1)");
  EXPECT_EQ(fixed(u(z() + 1) - 2 * u(z())), "-2.0*u(z) + u(z + 1)");
  EXPECT_EQ(fixed(b() - (u(z()) - v(z()))), "b(x) - u(z) + v(z)");
  EXPECT_EQ(fixed(-(u(z()) + v(z()))), "-u(z) - v(z)");
  EXPECT_EQ(fixed(b() - -u(z())), "b(x) + u(z)");
}

TEST(Rounding, AUniformFactorIsDistributedOverASum) {
  EXPECT_EQ(fixed((u(z()) + v(z())) * c0()), "fma(c0, v(z), c0*u(z))");
  EXPECT_EQ(fixed(c0() * -(u(z()) - v(z()))), "fma(c0, v(z), -c0*u(z))");
  EXPECT_EQ(fixed(c0() * (c1() * (u(z()) + v(z())))), "fma(c0*c1, v(z), c0*c1*u(z))");
  EXPECT_EQ(fixed(c0() * (u(z()) + c1() * (v(z()) + b()))),
            "fma(c0*c1, v(z), fma(c0, u(z), c0*c1*b(x)))");
}

TEST(Rounding, AnyExpressionOfConstantsAndParamsIsUniform) {
  EXPECT_EQ(fixed(1 / (c0() * c0()) * (u(z()) - v(z()))), "fma(-(1.0/(c0*c0)), v(z), 1.0/(c0*c0)*u(z))");
  EXPECT_EQ(fixed((c0() + c1()) * u(z()) + v(z())), "(c0 + c1)*u(z) + v(z)");
  EXPECT_EQ(fixed(u(z()) + 2 * (c0() + c1())), "2.0*(c0 + c1) + u(z)");
}

TEST(Rounding, CoefficientsMultiplyFirstInWrittenOrder) {
  EXPECT_EQ(fixed(b() + c0() * (u(z()) * c1())), "fma(c0*c1, u(z), b(x))");
  EXPECT_EQ(fixed(b() + u(z()) * v(z()) * c0()), "fma(c0, u(z)*v(z), b(x))");
}

TEST(Rounding, AProductOfVaryingFactorsFusesItsFirst) {
  EXPECT_EQ(fixed(b() + u(z()) * v(z()) * u(z() + 1)), "fma(u(z), v(z)*u(z + 1), b(x))");
  EXPECT_EQ(fixed(b() + c0() * c1() * c2()), "fma(c0, c1*c2, b(x))");
}

TEST(Rounding, ASumTimesAVaryingFactorIsFixedOnItsOwn) {
  EXPECT_EQ(fixed(b() + u(z()) * (c0() * v(z() + 1) + v(z()))),
            "fma(u(z), fma(c0, v(z + 1), v(z)), b(x))");
  EXPECT_EQ(fixed(b() - (u(z()) + v(z())) * (u(z()) - v(z()))), "fma(-u(z) - v(z), u(z) - v(z), b(x))");
}

TEST(Rounding, ADivisionStaysADivisionOfTheFixedSum) {
  EXPECT_EQ(fixed((u(z() + 1) + c0() * u(z())) / 3), "(c0*u(z) + u(z + 1))/3.0");
  EXPECT_EQ(fixed(b() + u(z()) / 3), "b(x) + u(z)/3.0");
  EXPECT_EQ(fixed(c1() * ((u(z() + 1) + u(z())) / c0())), "c1*((u(z) + u(z + 1))/c0)");
}

TEST(Rounding, SumsInsideOtherOperationsAreFixedOnTheirOwn) {
  EXPECT_EQ(fixed(min(u(z() + 1) + u(z()), sqrt(b() + c0() * u(z())))),
            "min(u(z) + u(z + 1), sqrt(fma(c0, u(z), b(x))))");
  EXPECT_EQ(fixed(select(u(z() + 1) + u(z()) > 0, b(), u(z() + 1) - u(z()))),
            "select(u(z) + u(z + 1) > 0.0, b(x), -u(z) + u(z + 1))");
  EXPECT_EQ(fixed(cast(Int(32), u(z() + 1) + u(z())) + 1), "cast<i32>(u(z) + u(z + 1)) + 1");
}

TEST(Rounding, ATermIsAsLateAsTheLatestTapInsideIt) {
  EXPECT_EQ(fixed(sqrt(u(z() + 2)) + u(z() - 1) * u(z() + 1) + u(z())),
            "fma(u(z - 1), u(z + 1), u(z)) + sqrt(u(z + 2))");
}

TEST(Rounding, StrictKeepsItsInsideAndIsATerm) {
  EXPECT_EQ(fixed(strict(u(z() + 1) + c0() * u(z()))), "strict(u(z + 1) + c0*u(z))");
  EXPECT_EQ(fixed(c0() * strict(u(z() + 1) + u(z())) + u(z())),
            "fma(c0, strict(u(z + 1) + u(z)), u(z))");
}

TEST(Rounding, FmaCallsOfTheUserAreTermsWithFixedOperands) {
  EXPECT_EQ(fixed(u(z() + 2) + fma(c0(), u(z() + 1), u(z() + 1) + u(z()))),
            "fma(c0, u(z + 1), u(z) + u(z + 1)) + u(z + 2)");
}

TEST(Rounding, IntegersAreLeftAlone) {
  const Expr n = access("n", {z() + 1}, Int(32));
  const Expr m = access("m", {z()}, Int(32));
  const Expr e = n + 3 * (m - n);
  EXPECT_TRUE(fix_rounding(e, "z").same_as(e));
}

TEST(Rounding, EveryFloatTypeIsFixed) {
  for (const Type type : {Float(16), BFloat(), Float(64)}) {
    const Expr e = access("u", {z() + 1}, type) + param("c", type) * access("u", {z()}, type);
    const Expr result = fix_rounding(e, "z");
    EXPECT_EQ(to_string(result), "c*u(z) + u(z + 1)");
    EXPECT_EQ(result.type(), type);
  }
}

TEST(Rounding, VarRefsAreUniformWhenThePredicateSaysSo) {
  const Expr c = make_var("c", Float(32));
  const Expr e = c * (u(z() + 1) + u(z()));
  EXPECT_EQ(to_string(fix_rounding(e, "z", [](const std::string& name) { return name == "c"; })),
            "fma(c, u(z + 1), c*u(z))");
  EXPECT_EQ(fixed(e), "c*(u(z) + u(z + 1))");
}

TEST(Rounding, OffsetsOfScaledAccessesAreInPlanesOfTheDefinition) {
  // 2z + 1 stands at z + 1/2, between u(z) and u(z + 1); (z + 3)/2 is reached at z + 3.
  EXPECT_EQ(fixed(u(z() + 1) + v(2 * z() + 1) + u(z())), "u(z) + v(2*z + 1) + u(z + 1)");
  EXPECT_EQ(fixed(v((z() + 3) / 2) + u(z() + 2) + v(z() / 2 + 2)),
            "u(z + 2) + v((z + 3)/2) + v(z/2 + 2)");
  EXPECT_EQ(fixed(v(2 * (z() - 1) + 1) + u(z() - 1)), "u(z - 1) + v(2*(z - 1) + 1)");
}

TEST(Rounding, ClampedAccessesCountAsIfTheyWereNot) {
  const Expr extent = make_var("u.extent.0");
  EXPECT_EQ(fixed(u(clamp(z() + 1, 0, extent - 1)) + u(z())),
            "u(z) + u(max(min(z + 1, u.extent.0 - 1), 0))");
}

TEST(Rounding, OtherUsesOfTheSlowestVariableGiveNoOffset) {
  EXPECT_EQ(fixed(u(z() - 5) + u(z() * z() + 9) + u(z() % 4) + u(make_var("n") + z())),
            "u(z*z + 9) + u(z % 4) + u(n + z) + u(z - 5)");
  EXPECT_EQ(fixed(u(z() - 5) + u(7)), "u(7) + u(z - 5)");
}

TEST(Rounding, TheOldValueOfAnUpdateOpensTheChain) {
  Access self = *u(z()).as<Access>();
  self.name = "f";
  self.is_self = true;
  EXPECT_EQ(fixed(c0() * u(z() - 1) + make_expr(Float(32), self)), "fma(c0, u(z - 1), f(z))");
}

TEST(Rounding, AnExpressionWithoutASumIsReturnedAsItIs) {
  for (const Expr& e : {u(z()), c0() * u(z()), u(z()) * c0() * v(z()), -(c0() * u(z())), Expr(1.0f)}) {
    EXPECT_TRUE(fix_rounding(e, "z").same_as(e)) << to_string(e);
  }
}

// ---- random expressions ---------------------------------------------------------------------------

// Random sums, products and quotients of taps and params, of f32.
class RandomExpr {
 public:
  explicit RandomExpr(unsigned seed) : random_(seed) {}

  Expr make(int depth) {
    switch (depth == 0 ? pick(2) : pick(9)) {
      case 0: return u(z() + (pick(7) - 3));
      case 1: return pick(2) == 0 ? c0() : c1();
      case 2:
      case 3: return make(depth - 1) + make(depth - 1);
      case 4: return make(depth - 1) - make(depth - 1);
      case 5:
      case 6: return make(depth - 1) * make(depth - 1);
      case 7: return -make(depth - 1);
      default: return make(depth - 1) / 4;
    }
  }

 private:
  int pick(int choices) { return static_cast<int>(random_() % static_cast<unsigned>(choices)); }
  std::mt19937 random_;
};

// The value at z = 0 computed in F, and in `scale` the value with every term made positive.
template <typename F>
F evaluate(const Expr& e, double* scale = nullptr) {
  double left_scale = 0;
  double right_scale = 0;
  const auto result = [&](F value, double magnitude) {
    if (scale != nullptr) *scale = magnitude;
    return value;
  };
  if (const auto* imm = e.as<FloatImm>()) {
    return result(static_cast<F>(imm->value), std::fabs(imm->value));
  }
  if (const auto* p = e.as<ParamRef>()) {
    const float value = p->param->name == "c0" ? 0.7f : -1.3f;
    return result(static_cast<F>(value), std::fabs(static_cast<double>(value)));
  }
  if (const auto* tap = e.as<Access>()) {
    const Expr at = substitute(tap->args[0], "z", Expr(0));
    const auto* sum = at.as<Binary>();
    std::int64_t offset = sum == nullptr ? *as_int(at) : *as_int(sum->b);
    if (sum != nullptr && sum->op == BinaryOp::Sub) offset = -offset;
    const auto value = static_cast<float>(std::sin(1.0 + 2.3 * static_cast<double>(offset)));
    return result(static_cast<F>(value), std::fabs(static_cast<double>(value)));
  }
  if (const auto* op = e.as<Unary>()) {
    const F value = -evaluate<F>(op->a, &left_scale);
    return result(value, left_scale);
  }
  if (const auto* op = e.as<Fma>()) {
    double c_scale = 0;
    const F a = evaluate<F>(op->a, &left_scale);
    const F b_value = evaluate<F>(op->b, &right_scale);
    const F c = evaluate<F>(op->c, &c_scale);
    return result(std::fma(a, b_value, c), left_scale * right_scale + c_scale);
  }
  const auto& op = *e.as<Binary>();
  const F a = evaluate<F>(op.a, &left_scale);
  const F b_value = evaluate<F>(op.b, &right_scale);
  switch (op.op) {
    case BinaryOp::Add: return result(a + b_value, left_scale + right_scale);
    case BinaryOp::Sub: return result(a - b_value, left_scale + right_scale);
    case BinaryOp::Mul: return result(a * b_value, left_scale * right_scale);
    default: return result(a / b_value, left_scale / right_scale);
  }
}

int node_count(const Expr& e) {
  int count = 0;
  walk(e, [&](const Expr&) { ++count; });
  return count;
}

TEST(Rounding, TheFixedFormHasTheValueOfTheWrittenOne) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Expr e = RandomExpr(seed).make(5);
    const Expr result = fix_rounding(e, "z");
    double scale = 0;
    const double exact = evaluate<double>(e, &scale);
    // In f64 both forms differ by f64 rounding only, in f32 by one f32 rounding a node at most.
    const double f64_error = std::fabs(evaluate<double>(result) - exact);
    EXPECT_LE(f64_error, 2 * node_count(result) * 0x1p-53 * scale) << to_string(e);
    const double f32_error = std::fabs(static_cast<double>(evaluate<float>(result)) - exact);
    EXPECT_LE(f32_error, node_count(result) * 0x1p-24 * scale * 1.01) << to_string(e);
  }
}

TEST(Rounding, FixingAFixedExpressionChangesNothing) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Expr once = fix_rounding(RandomExpr(seed).make(5), "z");
    const Expr twice = fix_rounding(once, "z");
    EXPECT_TRUE(equal(once, twice)) << to_string(once) << "\n" << to_string(twice);
  }
}

// A product is fused wherever it is added to something.
TEST(Rounding, NoSumOfTheFixedFormAddsAProductToAChain) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    walk(fix_rounding(RandomExpr(seed).make(5), "z"), [](const Expr& e) {
      const auto* sum = e.as<Binary>();
      if (sum == nullptr || (sum->op != BinaryOp::Add && sum->op != BinaryOp::Sub)) return;
      const auto* right = sum->b.as<Binary>();
      EXPECT_TRUE(right == nullptr || right->op == BinaryOp::Div) << to_string(e);
    });
  }
}

TEST(Rounding, ALongSumIsFixedInLinearTimeAndStack) {
  Expr sum = u(z());
  for (int i = 1; i < 4096; ++i) sum = sum + c0() * u(z() + (i % 3 - 1));
  int fused = 0;
  walk(fix_rounding(sum, "z"), [&](const Expr& e) { fused += e.as<Fma>() != nullptr ? 1 : 0; });
  // All terms are products but u(z); the first of the plane z - 1 opens the chain.
  EXPECT_EQ(fused, 4094);
}

int distinct_nodes(const Expr& e) {
  int count = 0;
  visit_nodes({e}, [&](const Expr&) { ++count; });
  return count;
}

// The uniform factors of a sum inside a sum begin with those of the one around: each product of them is
// made once, of the one before.
TEST(Rounding, APolynomialInHornersFormHasAsManyProductsAsDegrees) {
  EXPECT_EQ(fixed(c0() * (c1() * (c2() * u(z()) - b()) + v(z()))),
            "fma(c0, v(z), fma(c0*c1*c2, u(z), -c0*c1*b(x)))");
  EXPECT_EQ(fixed(c0() * (c1() * (c2() + u(z())) + c1())), "fma(c0*c1, u(z), fma(c0, c1, c0*(c1*c2)))");
  const auto horner = [](int degree, const Expr& last) {
    Expr e = u(z());
    for (int i = 0; i < degree; ++i) e = (i % 2 == 0 ? c0() : c1()) * e - (i % 3 == 0 ? last : v(z()));
    return distinct_nodes(fix_rounding(e, "z"));
  };
  for (const Expr& last : {b(), c2()}) EXPECT_LT(horner(2000, last), 2 * horner(1000, last) + 10);
}

}  // namespace
}  // namespace mica
