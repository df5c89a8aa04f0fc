#include "dsl/func/func.h"

#include <functional>

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"

namespace mica {
namespace {

const Var x("x"), y("y"), z("z");

const Definition& definition(const Func& f, std::size_t i) { return f.function()->definitions.at(i); }
std::string value_text(const Func& f, std::size_t i = 0) {
  return to_string(definition(f, i).values.at(0));
}

TEST(Func, ADefinitionFixesDimensionsAndType) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  EXPECT_FALSE(f.defined());
  f(x, y) = u(x, y) * 2;
  EXPECT_TRUE(f.defined());
  EXPECT_EQ(f.dimensions(), 2);
  EXPECT_EQ(f.types(), std::vector<Type>{Float(32)});
  ASSERT_EQ(f.args().size(), 2U);
  EXPECT_EQ(f.args()[1].name(), "y");
}

TEST(Func, ADefinitionRemembersItsLine) {
  Func f("f");
  const int line = __LINE__ + 1;
  f(x) = x;
  EXPECT_EQ(definition(f, 0).where.line, line);
}

TEST(Func, ATupleHoldsSeveralValuesOfTheirOwnTypes) {
  Func f("f"), g("g");
  f(x) = Tuple(cast<float>(x), x + 1);
  EXPECT_EQ(f.types(), (std::vector<Type>{Float(32), Int(32)}));
  EXPECT_EQ(f(x).size(), 2);
  g(x) = f(x)[1];
  EXPECT_EQ(g.types(), std::vector<Type>{Int(32)});
  EXPECT_EQ(definition(g, 0).values[0].as<Access>()->value_index, 1);
}

TEST(Func, AFuncThatIsATupleCanBeCopiedWhole) {
  Func f("f"), g("g");
  f(x) = Tuple(cast<float>(x), x + 1);
  g(x) = f(x - 1);
  EXPECT_EQ(g.types(), f.types());
}

TEST(Func, AnUpdateReadsItsOwnFuncWithoutOwningIt) {
  Func f("f");
  f(x) = cast<float>(x);
  const auto owners = f.function().use_count();
  f(x) = f(x) * 2;
  EXPECT_EQ(f.function().use_count(), owners);
  const auto* product = definition(f, 1).values[0].as<Binary>();
  ASSERT_NE(product, nullptr);
  const auto* self = product->a.as<Access>();
  ASSERT_NE(self, nullptr);
  EXPECT_TRUE(self->is_self);
  EXPECT_EQ(self->function, nullptr);
  EXPECT_EQ(self->name, "f");
}

TEST(Func, AFirstDefinitionMayReadItsOwnFuncBehindOrAhead) {
  ImageParam u(Float(32), 2, "u");
  Func c("c"), d("d"), plain("plain");
  const auto owners = c.function().use_count();
  c(x, y) = select(y == 3, u(x, y), 0.5F * c(x, y - 2) + c(x, y - 1));
  EXPECT_EQ(c.function().use_count(), owners);
  EXPECT_EQ(c.types(), std::vector<Type>{Float(32)});
  const auto& behind = definition(c, 0).recurrence;
  ASSERT_TRUE(behind.has_value());
  EXPECT_EQ(behind->dim, 1u);
  EXPECT_FALSE(behind->ahead);
  EXPECT_EQ(behind->reach, 2);
  EXPECT_TRUE(is_const(behind->start, 3));
  d(x, y) = u(x, y) + d(x + 1, y);
  const auto& ahead = definition(d, 0).recurrence;
  ASSERT_TRUE(ahead.has_value());
  EXPECT_EQ(ahead->dim, 0u);
  EXPECT_TRUE(ahead->ahead);
  EXPECT_FALSE(ahead->start.defined());
  plain(x, y) = u(x, y);
  EXPECT_FALSE(definition(plain, 0).recurrence.has_value());
}

TEST(Func, ARecurrenceStartsWhereASelectAroundItsReadsSays) {
  const auto start = [](const std::function<Expr(const Func&)>& value) {
    Func f("f");
    f(x) = value(f);
    return to_string(definition(f, 0).recurrence->start);
  };
  EXPECT_EQ(start([](const Func& f) { return select(x <= 2, 1.0F, f(x - 1)); }), "2");
  EXPECT_EQ(start([](const Func& f) { return select(x < 2, 1.0F, f(x - 1)); }), "1");
  EXPECT_EQ(start([](const Func& f) { return select(x > 2, f(x - 1), 1.0F); }), "2");
  EXPECT_EQ(start([](const Func& f) { return select(2 <= x, f(x - 1), 1.0F); }), "1");
  EXPECT_EQ(start([](const Func& f) { return select(x == 7 || x == 5, 1.0F, f(x - 1)); }), "5");
  EXPECT_EQ(start([](const Func& f) { return select(x >= 9, 1.0F, f(x + 1)); }), "9");
  EXPECT_EQ(start([](const Func& f) { return select(x != 9 && x < 20, f(x + 1), 1.0F); }), "20");
}

TEST(Func, OperationsOnReadsOfAFuncTakeTheTypeOfItsDefinition) {
  Func f("f"), g("g"), t("t");
  f(x) = select(x == 0, cast<std::uint8_t>(1), 3 * f(x - 1) + 1);
  EXPECT_EQ(f.types(), std::vector<Type>{UInt(8)});
  g(x) = select(x == 0, 1, g(x - 1) + g(x - 2));
  EXPECT_EQ(g.types(), std::vector<Type>{Int(32)});
  t(x) = Tuple(select(x == 0, 0, t(x - 1)[0] + cast<int>(t(x - 1)[1])),
               select(t(x - 1)[0] > 3 && x > 0, sqrt(abs(t(x - 1)[1])), 2.0F));
  EXPECT_EQ(t.types(), (std::vector<Type>{Int(32), Float(32)}));
}

TEST(Func, AnUpdateKnowsItsPureVarsAndDomain) {
  Func f("f");
  RDom r({{0, 3}, {1, 4}});
  f(x, y) = 0.0f;
  f(x, r.x) += cast<float>(r.y);
  EXPECT_EQ(definition(f, 1).pure_vars, std::vector<std::string>{"x"});
  EXPECT_EQ(definition(f, 1).domain, r.data());
}

TEST(Func, AddingToAnUndefinedFuncStartsAtZeroAndMultiplyingAtOne) {
  ImageParam u(Float(32), 1, "u");
  RDom r({{0, 3}});
  Func total("total"), product("product");
  total(x) += u(x + r);
  product(x) *= u(x + r);
  EXPECT_EQ(definition(total, 0).values[0].as<FloatImm>()->value, 0);
  EXPECT_EQ(definition(product, 0).values[0].as<FloatImm>()->value, 1);
  EXPECT_EQ(total.types(), std::vector<Type>{Float(32)});
  EXPECT_EQ(definition(total, 1).domain, r.data());
}

TEST(Func, AHistogramNamesTheDimensionsThatTheUserGaveNoVarFor) {
  ImageParam image(UInt(8), 1, "image");
  RDom r({{0, 16}});
  Func counts("counts");
  counts(cast<int>(image(r))) += 1;
  EXPECT_EQ(counts.function()->args, std::vector<std::string>{"x"});
  EXPECT_EQ(counts.types(), std::vector<Type>{Int(32)});
  EXPECT_TRUE(definition(counts, 1).pure_vars.empty());
}

TEST(Func, ALiteralTakesTheFuncsTypeInAnUpdate) {
  Func f("f");
  f(x) = cast<float>(x);
  f(0) = 1;
  EXPECT_EQ(definition(f, 1).values[0].type(), Float(32));
  EXPECT_EQ(definition(f, 1).values[0].as<FloatImm>()->value, 1);
}

TEST(Func, NarrowCoordinatesWidenToI32) {
  ImageParam u(Float(32), 1, "u"), table(UInt(8), 1, "table");
  Func f("f");
  f(x) = u(table(x));
  EXPECT_EQ(definition(f, 0).values[0].as<Access>()->args[0].type(), Int(32));
}

TEST(ImageParam, BoundsAreExpressions) {
  ImageParam u(Float(32), 2, "u");
  EXPECT_EQ(u.dim(1).stride().as<ImageField>()->field, BufferField::Stride);
  EXPECT_EQ(u.height().as<ImageField>()->dimension, 1);
  EXPECT_EQ(u.dim(0).min().type(), Int(32));
}

TEST(Param, HoldsAValueThatCanBeSetAgain) {
  Param<float> c("c", 0.5f);
  EXPECT_EQ(c.get(), 0.5f);
  c.set(2.0f);
  EXPECT_EQ(c.get(), 2.0f);
  EXPECT_EQ(Expr(c).type(), Float(32));
}

TEST(Stage, DirectivesOfFuncAndStageChainAndRemainOnTheirDefinition) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y);
  f(x, y) += 1.0f;
  const int line = __LINE__ + 1;
  f.gpu_tile(x, y, 32, 8)
      .stage(u, MemoryType::Shared)
      .vectorize(x, 4)
      .compute_root()
      .update()
      .parallel(y, 2);
  const auto& pure = definition(f, 0).directives;
  ASSERT_EQ(pure.size(), 4U);
  EXPECT_TRUE(std::holds_alternative<directive::GpuTile>(pure[0].op));
  EXPECT_EQ(pure[0].where.line, line);
  EXPECT_EQ(std::get<directive::Vectorize>(pure[2].op),
            (directive::Vectorize{"x", 4, TailStrategy::Auto}));
  const auto& update = definition(f, 1).directives;
  ASSERT_EQ(update.size(), 2U);
  EXPECT_EQ(std::get<directive::Split>(update[0].op).inner, "y.chunk");
  EXPECT_EQ(std::get<directive::MarkLoop>(update[1].op).kind, LoopKind::Parallel);
}

TEST(Stage, TileIsTwoSplitsAndAReorder) {
  Func f("f");
  f(x, y) = x + y;
  f.tile(x, y, "xo", "yo", "xi", "yi", 8, 4);
  const auto& directives = definition(f, 0).directives;
  ASSERT_EQ(directives.size(), 3U);
  EXPECT_EQ(std::get<directive::Reorder>(directives[2].op).vars,
            (std::vector<std::string>{"xi", "yi", "xo", "yo"}));
}

TEST(In, AWrapperStandsForItsSourceInOneConsumer) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y) + u(x + 1, y);
  Func w = u.in(f);
  EXPECT_EQ(w.name(), "u.in.f");
  EXPECT_EQ(w.dimensions(), 2);
  EXPECT_EQ(value_text(w), "u(x, y)");
  EXPECT_EQ(u.in(f).function(), w.function()) << "a second call gives the same wrapper";
  ASSERT_EQ(f.function()->wrappers.size(), 1U);
  EXPECT_EQ(f.function()->wrappers[0].first, "u");
  ASSERT_EQ(definition(f, 0).directives.size(), 1U);
}

TEST(In, AWrapperOfATupleHasAllItsValues) {
  Func f("f"), g("g");
  f(y) = Tuple(cast<float>(y), y);
  g(x) = f(x)[0];
  Func w = f.in(g);
  EXPECT_EQ(w.types(), f.types());
  EXPECT_EQ(w.function()->args, f.function()->args);
}

}  // namespace
}  // namespace mica
