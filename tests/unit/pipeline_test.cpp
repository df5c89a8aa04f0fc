#include "dsl/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/func_graph.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

const Var x("x"), y("y"), z("z");

Pipeline pipeline_of(const std::vector<Func>& outputs) { return make_pipeline(functions_of(outputs)); }
std::string value(const Pipeline& p, const std::string& func, std::size_t definition = 0) {
  const FunctionData* f = p.find(func);
  return f ? to_string(f->definitions.at(definition).values.at(0)) : "no Func " + func;
}
std::vector<std::string> func_names(const Pipeline& p) {
  std::vector<std::string> names;
  for (const auto& f : p.funcs) names.push_back(f->name);
  return names;
}
std::vector<std::string> input_names(const Pipeline& p) {
  std::vector<std::string> names;
  for (const auto& input : p.inputs) names.push_back(input.name);
  return names;
}
using Names = std::vector<std::string>;

const directive::StagedSource& stage_of(const Pipeline& p, const std::string& func, std::size_t i = 0) {
  return std::get<directive::StagedSource>(p.find(func)->definitions[0].directives.at(i).op);
}

TEST(Pipeline, ListsProducersBeforeConsumers) {
  ImageParam u(Float(32), 1, "u"), v(Float(32), 1, "v");
  Func a("a"), b("b"), c("c");
  a(x) = v(x);
  b(x) = u(x);
  c(x) = b(x) + a(x) + b(x + 1);
  const Pipeline p = pipeline_of({c});
  EXPECT_EQ(func_names(p), (Names{"b", "a", "c"}));
  EXPECT_EQ(input_names(p), (Names{"u", "v"}));
  EXPECT_EQ(p.outputs, Names{"c"});
  EXPECT_TRUE(p.is_output("c"));
  EXPECT_FALSE(p.is_output("a"));
  EXPECT_EQ(p.find("u"), nullptr);
  EXPECT_EQ(p.find_input("u")->image, u.data());
}

TEST(Pipeline, NamesAreUniqueAcrossInputsFuncsAndParams) {
  ImageParam first(Float(32), 1, "f"), second(Float(32), 1, "f");
  Param<float> param("f");
  Func middle("f"), out("f");
  middle(x) = first(x) * param;
  out(x) = middle(x) + second(x);
  const Pipeline p = pipeline_of({out});
  EXPECT_EQ(input_names(p), (Names{"f", "f·2"}));
  EXPECT_EQ(p.outputs, Names{"f·3"});
  EXPECT_EQ(func_names(p), (Names{"f·4", "f·3"}));
  ASSERT_EQ(p.params.size(), 1U);
  EXPECT_EQ(p.params[0].name, "f·5");
  EXPECT_EQ(value(p, "f·4"), "f(x)*f·5");
  EXPECT_EQ(value(p, "f·3"), "f·4(x) + f·2(x)");
}

TEST(Pipeline, AParamNamedLikeAVarGetsAnotherName) {
  Param<int> param("x");
  Func f("f");
  f(x) = x + param;
  EXPECT_EQ(value(pipeline_of({f}), "f"), "x + x·2");
}

TEST(Pipeline, RunTimeScalarsBecomeVariables) {
  ImageParam u(Float(32), 2, "u");
  Param<float> c0("c0");
  Func f("f");
  RDom r({{0, 3}});
  f(x, y) = c0 * u(clamp(x, u.dim(0).min(), u.dim(0).min() + u.width()), y * u.dim(1).stride());
  f(x, y) += u(x + r, y);
  const Pipeline p = pipeline_of({f});
  EXPECT_EQ(value(p, "f"), "c0*u(max(min(x, u.min.0 + u.extent.0), u.min.0), y*u.stride.1)");
  EXPECT_EQ(value(p, "f", 1), "f(x, y) + u(x + r.x, y)");
  EXPECT_EQ(p.params[0].param, c0.data());
}

TEST(Pipeline, AnInputOfWhichOnlyTheExtentIsReadIsAnInput) {
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = x * u.width();
  EXPECT_EQ(input_names(pipeline_of({f})), Names{"u"});
}

TEST(Pipeline, SumsAreOrderedByTheLastDimension) {
  ImageParam u(Float(32), 2, "u");
  Param<float> c0("c0"), c1("c1");
  Func f("f");
  f(x, z) = c0 * u(x, z) + c1 * (u(x, z + 1) + u(x, z - 1));
  EXPECT_EQ(value(pipeline_of({f}), "f"), "fma(c1, u(x, z + 1), fma(c0, u(x, z), c1*u(x, z - 1)))");
}

TEST(Pipeline, AnUpdateAddsItsProductToTheOldValue) {
  ImageParam u(Float(32), 2, "u"), w(Float(32), 1, "w");
  Func f("f");
  RDom r({{-1, 3}});
  f(x, y) = 0.0f;
  f(x, y) += w(r) * u(x, y + r);
  f(x, y) -= 0.5f * u(x, y - 1);
  f(x, y) = u(x, y - 1) + 0.5f * f(x, y);
  const Pipeline p = pipeline_of({f});
  EXPECT_EQ(value(p, "f", 1), "fma(w(r.x), u(x, y + r.x), f(x, y))");
  EXPECT_EQ(value(p, "f", 2), "fma(-0.5, u(x, y - 1), f(x, y))");
  EXPECT_EQ(value(p, "f", 3), "0.5*f(x, y) + u(x, y - 1)");
}

TEST(Pipeline, AnUpdatesReferenceToItselfHasTheUniqueName) {
  ImageParam u(Int(32), 1, "f");
  Func f("f");
  f(x) = u(x);
  f(x) += 1;
  EXPECT_EQ(value(pipeline_of({f}), "f·2", 1), "f·2(x) + 1");
}

TEST(Pipeline, LaterChangesDoNotReachIt) {
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(x);
  const Pipeline p = pipeline_of({f});
  f(x) += 1.0f;
  f.vectorize(x, 4);
  EXPECT_EQ(p.find("f")->definitions.size(), 1U);
  EXPECT_TRUE(p.find("f")->definitions[0].directives.empty());
}

TEST(Pipeline, AccessesPointAtThePipelinesOwnCopies) {
  Func a("a"), b("b");
  a(x) = x;
  b(x) = a(x);
  const Pipeline p = pipeline_of({b});
  const auto* access = p.find("b")->definitions[0].values[0].as<Access>();
  EXPECT_EQ(access->function.get(), p.find("a"));
  EXPECT_NE(access->function, a.function());
}

TEST(Pipeline, WrappersOfInTakeTheirPlaceInOneConsumer) {
  ImageParam u(Float(32), 1, "u");
  Func a("a"), b("b");
  a(x) = u(x);
  b(x) = a(x) + u(x) * u(x + 1);
  u.in(b).compute_root();
  u.in(b).in(b);
  const Pipeline p = pipeline_of({b});
  EXPECT_EQ(func_names(p), (Names{"a", "u.in.b", "u.in.b.in.b", "b"}));
  EXPECT_EQ(value(p, "a"), "u(x)");
  EXPECT_EQ(value(p, "u.in.b"), "u(x)");
  EXPECT_EQ(value(p, "u.in.b.in.b"), "u.in.b(x)");
  EXPECT_EQ(value(p, "b"), "fma(u.in.b.in.b(x), u.in.b.in.b(x + 1), a(x))");
  EXPECT_TRUE(p.find("b")->definitions[0].directives.empty()) << "In has done its work";
  EXPECT_EQ(p.find("u.in.b")->definitions[0].directives.size(), 1U);
}

TEST(Pipeline, AStagedInputIsReadThroughACopy) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x - 1, y) + u(x + 1, y);
  f.gpu_tile(x, y, 32, 8).stage(u, MemoryType::Shared);
  const Pipeline p = pipeline_of({f});
  EXPECT_EQ(func_names(p), (Names{"u.staged", "f"}));
  EXPECT_EQ(value(p, "u.staged"), "u(x, y)");
  EXPECT_EQ(value(p, "f"), "u.staged(x - 1, y) + u.staged(x + 1, y)");
  EXPECT_EQ(stage_of(p, "f", 1).source, "u.staged");
  EXPECT_EQ(std::get<directive::StagedSource>(f.schedule().stages[0].directives[1].op).source, "u");
}

TEST(Pipeline, AStagedInlineFuncIsHeldItselfWhenNobodyElseReadsIt) {
  ImageParam u(Float(32), 1, "u");
  Func b("b"), f("f");
  b(x) = u(x) * 2;
  f(x) = b(x - 1) + b(x + 1);
  f.gpu_tile(x, 32).stage(b, MemoryType::Shared);
  EXPECT_EQ(func_names(pipeline_of({f})), (Names{"b", "f"}));
  EXPECT_EQ(stage_of(pipeline_of({f}), "f", 1).source, "b");
  Func g("g");
  g(x) = b(x) + f(x);
  EXPECT_EQ(func_names(pipeline_of({g})), (Names{"b", "b.staged", "f", "g"}))
      << "g reads b too, so f holds a copy";
}

TEST(Pipeline, AStagedRootFuncIsReadThroughACopy) {
  ImageParam u(Float(32), 1, "u");
  Func b("b"), f("f");
  b(x) = Tuple(u(x), u(x + 1));
  f(x) = b(x - 1)[0] + b(x + 1)[1];
  b.compute_root();
  f.gpu_tile(x, 32).stage(b, MemoryType::Shared);
  const Pipeline p = pipeline_of({f});
  EXPECT_EQ(func_names(p), (Names{"b", "b.staged", "f"}));
  EXPECT_EQ(value(p, "f"), "b.staged(x - 1)[0] + b.staged(x + 1)[1]");
  EXPECT_EQ(p.find("b.staged")->types.size(), 2U);
}

TEST(Pipeline, TwoConsumersStageTheirOwnCopies) {
  ImageParam u(Float(32), 1, "u");
  Func a("a"), b("b"), sink("sink");
  a(x) = u(x - 1);
  b(x) = u(x + 1);
  sink(x) = a(x) + b(x);
  a.compute_root().gpu_tile(x, 32).stage(u, MemoryType::Shared);
  b.compute_root().gpu_tile(x, 32).stage(u, MemoryType::Shared);
  const Pipeline p = pipeline_of({sink});
  EXPECT_EQ(stage_of(p, "a", 2).source, "u.staged");
  EXPECT_EQ(stage_of(p, "b", 2).source, "u.staged·2");
  EXPECT_EQ(value(p, "b"), "u.staged·2(x + 1)");
}

TEST(Pipeline, LevelsNameFuncsByTheirUniqueNames) {
  ImageParam u(Float(32), 1, "f");
  Func b("b"), f("f");
  b(x) = u(x);
  f(x) = b(x);
  b.compute_at(f, x);
  f.read_only(u);
  const Pipeline p = pipeline_of({f});
  EXPECT_EQ(std::get<directive::ComputeAt>(p.find("b")->definitions[0].directives[0].op).level.func,
            "f·2");
  EXPECT_EQ(std::get<directive::ReadOnly>(p.find("f·2")->definitions[0].directives[0].op).source, "f");
}

TEST(Pipeline, SeveralOutputsShareTheirProducers) {
  ImageParam u(Float(32), 1, "u");
  Func a("a"), b("b"), c("c");
  a(x) = u(x);
  b(x) = a(x) + 1.0f;
  c(x) = a(x) + b(x);
  const Pipeline p = pipeline_of({c, b});
  EXPECT_EQ(func_names(p), (Names{"a", "b", "c"}));
  EXPECT_EQ(p.outputs, (Names{"c", "b"}));
}

TEST(Pipeline, TheSamePipelineHasTheSameNamesEveryTime) {
  ImageParam u(Float(32), 1, "g");
  Func a("g"), b("g");
  a(x) = u(x);
  b(x) = a(x) * u(x);
  EXPECT_EQ(func_names(pipeline_of({b})), func_names(pipeline_of({b})));
}

TEST(Pipeline, ASharedSubexpressionIsNotTakenApart) {
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  Expr e = cast<float>(x);
  for (int i = 0; i < 40; ++i) e = max(e, e * e);  // 2^40 nodes as a tree
  f(x) = e;
  Func g("g");
  g(x) = f(x);
  EXPECT_EQ(g.schedule(), Schedule());
}

TEST(Pipeline, MistakesInTheGraphAreErrors) {
  Func undefined("undefined"), f("f");
  f(x) = x;
  EXPECT_TRUE(fails_with([&] { pipeline_of({undefined}); }, {"output undefined", "not defined"}));
  EXPECT_TRUE(fails_with([&] { pipeline_of({f, f}); }, {"output f", "twice"}));
  EXPECT_TRUE(fails_with([&] { pipeline_of({}); }, {"at least one output"}));
}

TEST(Pipeline, AnAmbiguousLevelIsAnError) {
  Func b("b"), first("f"), second("f"), out("out");
  b(x) = x;
  first(x) = b(x);
  second(x) = b(x) + first(x);
  out(x) = second(x);
  const int line = __LINE__ + 1;
  b.compute_at(second, x);
  EXPECT_TRUE(fails_with([&] { pipeline_of({out}); }, {"2 Funcs named f"}, line));
}

}  // namespace
}  // namespace mica
