// Mistakes in definitions: each names what disagrees, the line and the fix.
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/limits.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/pipeline.h"
#include "runtime/buffer/buffer.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

const Var x("x"), y("y"), z("z"), w("w"), v("v");

TEST(AlgorithmErrors, MoreThanSixDimensions) {
  Func f("f");
  const Var t("t"), s("s");
  EXPECT_FAILS(f(std::vector<Expr>{x, y, z, w, v, t, s}) = 1, "f is used with 7 arguments", "1 to 6");
  EXPECT_FAILS(ImageParam(Float(32), 7, "u"), "input u has 7 dimensions", "1 to 6");
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
  EXPECT_FAILS(g(x) = cast<float>(2 * f(x)), "f is read before it is defined");
  EXPECT_FAILS(g(x) += f(x), "f is read before it is defined");
  ImageParam u(Float(32), 1, "u");
  EXPECT_FAILS(g(x) = u(f(x) + 1), "argument 1 of u is f(x) + 1, of a Func that is not defined yet");
}

TEST(AlgorithmErrors, AWrongNumberOfArguments) {
  ImageParam u(Float(32), 3, "u");
  Func f("f"), g("g");
  f(x, y) = u(x, y, 0);
  EXPECT_FAILS(g(x) = f(x), "f is used with 1 argument,", "it has 2 dimensions: x, y");
  EXPECT_FAILS(f(x) = 0.0f, "f is used with 1 argument,", "2 dimensions");
  EXPECT_FAILS(g(x) = u(x, 0), "input u is read with 2 arguments", "it has 3 dimensions");
  EXPECT_FAILS((void)u.dim(3), "dimension 3 of input u", "3 dimensions");
  EXPECT_FAILS((void)u.dim(-1), "dimension -1 of input u");
  EXPECT_FAILS((void)ImageParam(Float(32), 1, "v").height(), "dimension 1 of input v");
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
  EXPECT_FAILS(f(x) = make_const(UInt(24), 1), "type u24", "u16, i16, u32, i32, u64, i64");
  EXPECT_FAILS(f(x) = Expr(), "value of f is an undefined Expr");
  EXPECT_FAILS(ImageParam(UInt(24), 1, "u"), "input u has type u24", "u32, i32, u64, i64, f16");
  EXPECT_FAILS(cast(UInt(24), x), "cast to u24, which is no type", "u32, i32, u64, i64, f16");
}

TEST(AlgorithmErrors, CoordinatesThatAreNoIntegers) {
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  EXPECT_FAILS(f(x) = u(u(x)), "argument 1 of u is f32", "cast<std::int32_t>");
  EXPECT_FAILS(f(x) = u(cast<std::int64_t>(x)), "argument 1 of u is i64");
  EXPECT_FAILS(f(x) = u(cast<std::uint32_t>(x)), "argument 1 of u is u32", "cast<std::int32_t>");
  EXPECT_FAILS(f(x) = u(0xffffffffu), "argument 1 of u is u32", "cast<std::int32_t>");
  EXPECT_FAILS(f(x) = u(~std::uint64_t{0}), "argument 1 of u is u64", "cast<std::int32_t>");
  EXPECT_FAILS(f(x) = u(Expr()), "argument 1 of u is an undefined Expr");
}

TEST(AlgorithmErrors, AnUpdateThatReadsANeighbourAlongAPureVar) {
  Func f("f"), h("h");
  h(x, y) = x;
  h(x, y) = h(x - 1, y);
  EXPECT_TRUE(fails_with([&] { (void)make_pipeline({h.function()}); },
                         {"reads h at x = x - 1", "RDom", "color(...)"}));
  f(x, y) = x;
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
  Func points("points");
  EXPECT_FAILS(RDom(points, "r"), "RDom r over all points of points", "no definition yet");
  points(x, y) = x + y;
  points.bound(x, 0, 8);
  EXPECT_FAILS(RDom(points, "r"), "all points of points, which has no bound along y",
               "points.bound(y, min, extent)");
  EXPECT_FAILS(RDom({{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}),
               "RDom r has 7 dimensions; legal are 1 to 6");
  EXPECT_FAILS(RDom({{-(std::int64_t{1} << 31), std::int64_t{1} << 31}}),
               "dimension 0 of RDom r is {-2147483648, 2147483648}", "-2^28..2^28", "at most 2^30 - 1");
  EXPECT_FAILS(RDom({{0, 3}, {kLargestMin + 1, 1}}), "dimension 1 of RDom r", "{268435457, 1}");
  EXPECT_FAILS(RDom({{-kLargestMin - 1, 1}}), "{-268435457, 1}", "move the domain");
  EXPECT_FAILS(RDom({{0, kLargestExtent + 1}}), "{0, 1073741824}", "cut it into several");
  EXPECT_FAILS(RDom({{INT64_MIN, INT64_MAX}}), "dimension 0 of RDom r");
  EXPECT_FAILS(RDom({{INT64_MAX, INT64_MAX}}), "dimension 0 of RDom r");
  EXPECT_FAILS(RDom({{0, INT64_MIN}}), "at least 1");
  EXPECT_EQ(RDom({{-kLargestMin, kLargestExtent}, {kLargestMin, 1}}).dimensions(), 2);
  RDom r({{0, 5000}});
  const Var a("a"), b("b"), c("c"), d("d"), e("e"), g("g"), h("h");
  EXPECT_FAILS(sum(r, a + b + c + d + e + g + h + r), "sum over RDom r", "7 Vars", "at most 6");
  EXPECT_FAILS(sum(r, Expr(r) < 3), "sum of a bool", "select(condition, 1, 0)");
  EXPECT_FAILS(argmin(r, Expr()), "argmin of an undefined Expr");
  const ImageParam u(Float(32), 1, "u");
  EXPECT_FAILS(RDom({{0, a}}), "the extent of dimension 0 of RDom r, a, depends on a",
               "where(condition)");
  EXPECT_FAILS(RDom({{u(0), 3}}), "the min of dimension 0 of RDom r is f32", "cast<int32_t>(...)");
  EXPECT_FAILS(RDom({{cast<std::int32_t>(u(0)), 3}}), "depends on u");
  EXPECT_FAILS(RDom({{0, Expr(r) + 1}}), "depends on r.x");
  EXPECT_FAILS(RDom({{0, 3}, {Expr(), 3}}), "the min of dimension 1 of RDom r is an undefined Expr");
  EXPECT_FAILS(r.where(Expr(r)), "where of RDom r: the condition is i32; it must be a bool");
  Func later("later");
  EXPECT_FAILS(r.where(later(r) < 3.0F), "later is read before it is defined");
  EXPECT_FAILS(r.where(later(r)), "later is read before it is defined");
  EXPECT_FAILS(r.where(Expr()), "the condition is undefined");
  EXPECT_TRUE(fails_with([&] { (void)r[1]; }, {"dimension 1 of RDom r, which has 1 dimension "}));
}

TEST(AlgorithmErrors, SingleValuesHaveNoArguments) {
  Func one("one"), line("line");
  one() = 1.0F;
  line(x) = 2.0F;
  EXPECT_FAILS(one(x) = 1.0F, "one is used with 1 argument, but it is a single value: write one()");
  EXPECT_FAILS(line() = 1.0F, "line is used without arguments, but it has 1 dimension: x");
  EXPECT_TRUE(fails_with([&] { line.realize(); }, {"line has 1 dimension,", "given no sizes"}));
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
  EXPECT_FAILS(BoundaryConditions::constant_exterior(u, cast<float>(Expr(0))), "the value is f32",
               "the input u8");
  EXPECT_FAILS(BoundaryConditions::constant_exterior(u, 256), "the input u8");
  EXPECT_FAILS(BoundaryConditions::constant_exterior(u, cast<std::uint8_t>(y)),
               "Var y is used in the definition of u.constant_exterior");
}

TEST(AlgorithmErrors, ABoundaryConditionStandsWhereItIsCalled) {
  ImageParam u(Float(32), 2, "u");
  namespace b = BoundaryConditions;
  const auto stands_at = [](const Func& f, int line) {
    const Definition& definition = f.function()->definitions.front();
    EXPECT_EQ(f.function()->where.line, line) << f.name();
    EXPECT_EQ(definition.where.line, line) << f.name();
    visit_nodes(definition.values, [&](const Expr& e) {
      const auto* access = e.as<Access>();
      EXPECT_TRUE(access == nullptr || access->where.line == line) << f.name();
    });
    EXPECT_EQ(to_string(f.function()->where), "algorithm_errors_test.cpp:" + std::to_string(line));
  };
  stands_at(b::repeat_edge(u), __LINE__);
  stands_at(b::constant_exterior(u, 0.0F), __LINE__);
  stands_at(b::repeat_image(u), __LINE__);
  stands_at(b::mirror_image(u), __LINE__);
  stands_at(b::mirror_interior(u), __LINE__);
}

TEST(AlgorithmErrors, ATupleOfNothing) {
  Func f("f"), g("g");
  EXPECT_FAILS(f(x) = Tuple(std::vector<Expr>()), "f is given a Tuple of 0 values", "at least one");
  EXPECT_FAILS(f(x) = Tuple({}), "f is given a Tuple of 0 values");
  EXPECT_FALSE(f.defined());
  g(x) = x;
  EXPECT_FAILS(g(x) = Tuple({}), "g is given a Tuple of 0 values");
}

TEST(AlgorithmErrors, VectorsWhereThereAreNone) {
  const Type four = Int(32).with_lanes(4), two = Int(32).with_lanes(2);
  EXPECT_TRUE(fails_with([&] { (void)cast(four, x); },
                         {"cast to i32x4 of x, which is i32", "write cast(i32, ...)"}));
  EXPECT_TRUE(fails_with([&] { (void)cast(four, make_const(two, 1)); }, {"i32x4", "i32x2"}));
  EXPECT_TRUE(fails_with([&] { (void)cast(Int(32).with_lanes(0), x); }, {"i32x0", "lanes"}));
  EXPECT_TRUE(fails_with([&] { (void)(make_const(four, 1) + make_const(two, 1)); },
                         {"2 and 4 lanes", "vectorize()"}));
  Func f("f");
  EXPECT_FAILS(f(x) = x + make_const(four, 1), "the value of f has type i32x4");
  ImageParam u(Float(32), 1, "u");
  EXPECT_FAILS(f(x) = u(x + make_const(four, 1)), "argument 1 of u is i32x4");
}

TEST(AlgorithmErrors, UndefinedExprs) {
  EXPECT_FAILS((void)Expr().type(), "use of an undefined Expr", "assign a value");
  EXPECT_FAILS((void)Expr().node(), "use of an undefined Expr");
  EXPECT_TRUE(fails_with([] { (void)Expr()->type; }, {"use of an undefined Expr"}));
  EXPECT_EQ(to_string(Expr()), "<undefined>");
  RDom r({{0, 3}});
  ImageParam u(Float(32), 1, "u");
  EXPECT_FAILS(sum(r, Expr()), "sum of an undefined Expr");
  for (const auto& use : std::vector<std::function<void()>>{[] { (void)(Expr() + 1); },
                                                            [] { (void)(1 - Expr()); },
                                                            [] { (void)-Expr(); },
                                                            [] { (void)!Expr(); },
                                                            [] { (void)~Expr(); },
                                                            [] { (void)(Expr() && Expr(true)); },
                                                            [] { (void)(Expr() << 1); },
                                                            [] { (void)(Expr(1) >> Expr()); },
                                                            [] { (void)(Expr() < 1); },
                                                            [] { (void)(Expr() & 1); },
                                                            [] { (void)min(Expr(), 1); },
                                                            [] { (void)clamp(1, Expr(), 2); },
                                                            [] { (void)abs(Expr()); },
                                                            [] { (void)select(Expr(), 1, 2); },
                                                            [] { (void)select(Expr(true), Expr(), 2); },
                                                            [] { (void)cast<float>(Expr()); },
                                                            [] { (void)fma(1.0F, Expr(), 1.0F); },
                                                            [] { (void)strict(Expr()); },
                                                            [] { (void)sqrt(Expr()); },
                                                            [] { (void)pow(Expr(), 2.0F); },
                                                            [] { (void)(Expr() % 2); },
                                                            [] {
                                                              Expr e;
                                                              e += 1;
                                                            }}) {
    EXPECT_TRUE(fails_with(use, {"undefined Expr"}));
  }
}

TEST(AlgorithmErrors, DimensionsOfADomainThatAreNotThere) {
  RDom r({{0, 3}});
  EXPECT_FAILS(RVar(r.data(), 1), "dimension 1 of RDom r, which has 1 dimension ");
  EXPECT_FAILS(RVar(r.data(), -1), "dimension -1 of RDom r");
  EXPECT_FAILS(RVar(nullptr, 0), "null");
}

TEST(AlgorithmErrors, EmptyNames) {
  EXPECT_FAILS(Func(""), "name is empty");
  EXPECT_FAILS(ImageParam(Float(32), 1, ""), "name is empty");
  EXPECT_FAILS(Param<float>(""), "name is empty");
  EXPECT_FAILS(Param<float>("", 1.0F), "name is empty");
  EXPECT_FAILS(Var(""), "a Var needs a name");
  EXPECT_FAILS(RDom({{0, 1}}, ""), "name is empty");
}

}  // namespace
}  // namespace mica
