// Mistakes in definitions: each names what disagrees, the line and the fix.
#include <gtest/gtest.h>

#include "dsl/func.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

const Var x("x"), y("y"), z("z"), w("w"), v("v");

TEST(AlgorithmErrors, MoreThanFourDimensions) {
  Func f("f");
  EXPECT_FAILS(f(std::vector<Expr>{x, y, z, w, v}) = 1, "f is used with 5 arguments", "1 to 4");
  EXPECT_FAILS(f(std::vector<Expr>{}) = 1, "f is used with 0 arguments");
  EXPECT_FAILS(ImageParam(Float(32), 5, "u"), "input u has 5 dimensions", "1 to 4");
  EXPECT_FAILS(ImageParam(Float(32), 0, "u"), "input u has 0 dimensions");
}

TEST(AlgorithmErrors, AVarTwiceOnTheLeft) {
  Func f("f");
  EXPECT_FAILS(f(x, x) = 1, "f is defined with Var x twice");
}

TEST(AlgorithmErrors, AFirstDefinitionWithoutPlainVars) {
  Func f("f");
  RDom r({{0, 3}});
  EXPECT_FAILS(f(x, y + 1) = 1, "argument 2 of f is y + 1", "plain Var");
  EXPECT_FAILS(f(x) = x + r, "first definition of f uses reduction domain r", "sum(r, ...)");
}

TEST(AlgorithmErrors, AFuncReadBeforeItsDefinition) {
  Func f("f"), g("g");
  EXPECT_FAILS(f(x) = g(x), "g is read before it is defined");
  EXPECT_FAILS(f(x) = f(x) + 1, "f is read before it is defined");
}

TEST(AlgorithmErrors, AWrongNumberOfArguments) {
  ImageParam u(Float(32), 3, "u");
  Func f("f"), g("g");
  f(x, y) = u(x, y, 0);
  EXPECT_FAILS(g(x) = f(x), "f is used with 1 argument,", "it has 2 dimensions: x, y");
  EXPECT_FAILS(f(x) = 0.0f, "f is used with 1 argument,", "2 dimensions");
  EXPECT_FAILS(g(x) = u(x, 0), "input u is read with 2 arguments", "it has 3 dimensions");
  EXPECT_TRUE(fails_with([&] { (void)u.dim(3); }, {"dimension 3 of input u", "3 dimensions"}));
}

TEST(AlgorithmErrors, AFreeVariable) {
  Func f("f");
  EXPECT_FAILS(f(x) = x + y, "Var y", "definition of f", "left-hand side, which has x");
  f(x, y) = x;
  EXPECT_FAILS(f(x, 0) = x + y, "Var y", "update of f", "which has x");
  EXPECT_FAILS(f(x, y + 1) = x, "Var y", "does not stand alone");
}

TEST(AlgorithmErrors, AnUpdateWithVarsInOtherPlaces) {
  Func f("f");
  f(x, y) = x;
  EXPECT_FAILS(f(y, x) = 1, "argument 1 of f is Var y", "named x");
}

TEST(AlgorithmErrors, ATupleReadWithoutAnIndex) {
  Func f("f"), g("g");
  f(x) = Tuple(Expr(x), cast<float>(x));
  EXPECT_FAILS(g(x) = f(x) + 1, "f has 2 values", "f(...)[0]");
  EXPECT_FAILS(g(x) = f(x)[2], "element 2 of f, which has 2 values");
  EXPECT_TRUE(fails_with([] { (void)Tuple(Expr(1))[1]; }, {"element 1 of a Tuple of 1 value"}));
}

TEST(AlgorithmErrors, AnUpdateOfAnotherType) {
  Func f("f"), t("t");
  f(x) = cast<std::uint8_t>(x);
  EXPECT_FAILS(f(x) = x, "has type i32", "f holds u8", "cast(u8, ...)");
  EXPECT_FAILS(f(x) = 256, "has type i32", "f holds u8");
  t(x) = Tuple(Expr(x), Expr(x));
  EXPECT_FAILS(t(x) = x, "an update of t gives 1 value, but t has 2 values");
}

TEST(AlgorithmErrors, AValueOfATypeThatFuncsCannotHold) {
  Func f("f");
  EXPECT_FAILS(f(x) = make_const(UInt(32), std::int64_t{1}), "type u32", "u16, i16, i32");
  EXPECT_FAILS(f(x) = Expr(), "value of f is an undefined Expr");
  EXPECT_FAILS(ImageParam(UInt(32), 1, "u"), "input u has type u32");
}

TEST(AlgorithmErrors, CoordinatesThatAreNoIntegers) {
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  EXPECT_FAILS(f(x) = u(u(x)), "argument 1 of u is f32", "cast<std::int32_t>");
  EXPECT_FAILS(f(x) = u(cast<std::int64_t>(x)), "argument 1 of u is i64");
  EXPECT_FAILS(f(x) = u(Expr()), "argument 1 of u is an undefined Expr");
}

TEST(AlgorithmErrors, AnUpdateThatReadsANeighbourAlongAPureVar) {
  Func f("f");
  f(x, y) = x;
  EXPECT_FAILS(f(x, y) = f(x - 1, y), "reads f at x = x - 1", "RDom");
  RDom r({{1, 9}});
  f(r, y) = f(r - 1, y) + 1;
  EXPECT_EQ(f.function()->definitions.size(), 2U);
}

TEST(AlgorithmErrors, AnUpdateThatReadsItsFuncThroughAnother) {
  Func f("f"), g("g");
  f(x) = x;
  g(x) = f(x) * 2;
  EXPECT_FAILS(f(x) += g(x), "an update of f reads f through another Func");
}

TEST(AlgorithmErrors, TwoDomainsInOneUpdate) {
  Func f("f");
  RDom r({{0, 3}}), s({{0, 3}}, "s");
  f(x) = 0;
  EXPECT_FAILS(f(x) += r + s, "2 reduction domains, r and s");
}

TEST(AlgorithmErrors, ReductionDomains) {
  EXPECT_FAILS(RDom({{0, 3}, {0, 0}}), "dimension 1 of RDom r", "{0, 0}", "at least 1");
  EXPECT_FAILS(RDom({}), "RDom r has 0 dimensions");
  EXPECT_FAILS(RDom({{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}), "RDom r has 5 dimensions");
  EXPECT_FAILS(RDom({{std::int64_t{1} << 31, 1}}), "fit in 32 bits");
  RDom r({{0, 5000}});
  EXPECT_FAILS(sum(r, Expr(r)), "more than 4096 terms", "f(x) += ...");
  EXPECT_TRUE(fails_with([&] { (void)r[1]; }, {"dimension 1 of RDom r, which has 1 dimension "}));
}

TEST(AlgorithmErrors, AnUpdateThatIsNotThere) {
  Func f("f");
  f(x) = x;
  EXPECT_FAILS(f.update(), "f.update(0): f has 0 updates");
  f(x) += 1;
  f(x) += 2;
  EXPECT_FAILS(f.update(2), "f has 2 updates, numbered 0 to 1");
}

TEST(AlgorithmErrors, ABoundaryValueOfAnotherType) {
  ImageParam u(UInt(8), 1, "u");
  EXPECT_TRUE(fails_with([&] { BoundaryConditions::constant_exterior(u, cast<float>(Expr(0))); },
                         {"the value is f32", "the input u8"}));
  EXPECT_TRUE(fails_with([&] { BoundaryConditions::constant_exterior(u, 256); }, {"the input u8"}));
}

TEST(AlgorithmErrors, EmptyNames) {
  EXPECT_FAILS(Func(""), "name is empty");
  EXPECT_FAILS(ImageParam(Float(32), 1, ""), "name is empty");
  EXPECT_FAILS(Param<float>(""), "name is empty");
  EXPECT_FAILS(Param<float>("", 0.5F), "name is empty");
  EXPECT_FAILS(Var(""), "needs a name");
}

}  // namespace
}  // namespace mica
