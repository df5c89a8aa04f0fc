// What becomes of the names that users give: words in a Pipeline, texts in a schedule.
#include "dsl/expr/names.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/check/check_schedule.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"
#include "dsl/schedule/loop_dims.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using Texts = std::vector<std::string>;

Pipeline pipeline_of(const std::vector<Func>& outputs) { return make_pipeline(functions_of(outputs)); }

/// The loops of a definition of `f`'s copy, innermost first.
Texts loops_of(const FunctionData& f, int definition = 0) {
  Diagnostics findings;
  Texts loops;
  for (const auto& dim : expand_loops(f, definition, findings).dims) loops.push_back(dim.name);
  for (const auto& finding : findings) loops.push_back(finding.message);
  return loops;
}

TEST(Words, OfIdentifiersAndPrintableTextAreTheText) {
  for (const char* const text : {"x", "_f2", "0", "a b", "-1", "a/b", "\u03c0", "\u00e4\u4e2d", "%s"}) {
    EXPECT_EQ(word_of(text), text);
  }
  EXPECT_EQ(word_of(std::string(300, 'n')), std::string(300, 'n'));
}

TEST(Words, HaveNoDotsQuotesBracesOrControlCharacters) {
  EXPECT_EQ(word_of("u.min.0"), "u·min·0");
  EXPECT_EQ(word_of("\"'\\{0}"), "\u2033\u2032\u2216\u27740\u2775");
  EXPECT_EQ(word_of(std::string("a\0\n\x1f\x7f", 5)), "a\u2400\u240a\u241f\u2421");
  EXPECT_EQ(word_of("\u202eb\u0085"), "\ufffdb\ufffd") << "what changes or hides its neighbours";
}

TEST(Words, OfBytesThatAreNoUtf8AreMarked) {
  EXPECT_EQ(word_of("a\xff\xc3(\x80"), "a\ufffd\ufffd(\ufffd");
  EXPECT_EQ(word_of("\xc0\xae\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80"),
            "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd");
}

TEST(Names, AreUtf8ForJson) {
  EXPECT_EQ(as_utf8("u.\"\u00e9\u4e2d\x01"), "u.\"\u00e9\u4e2d\x01");
  EXPECT_EQ(as_utf8("\xffu\xc3(\x80"), "\ufffdu\ufffd(\ufffd");
}

TEST(Names, OfALoopIsReadWithADotAndIsNoOtherName) {
  EXPECT_EQ(printed(loop_name("f", "tx")), "f.tx");
  EXPECT_NE(loop_name("f", "tx"), "f.tx");
  EXPECT_NE(loop_name("u.window", "block"), loop_name("u", "window.block"));
}

TEST(Names, OfArraysSymbols) {
  EXPECT_EQ(symbol_name("u", BufferField::Min, 0), "u.min.0");
  EXPECT_EQ(symbol_name("f.1", BufferField::Extent, 12), "f.1.extent.12");
  EXPECT_EQ(symbol_name("u", BufferField::Stride, 1), "u.stride.1");
}

TEST(PipelineNames, AreWordsOfTheUsersTextsAndTellThemApart) {
  const Var a("x.y"), b("x·y");
  const ImageParam u(Int(32), 2, "my.u");
  const Param<int> p("x.y");
  const RDom r({{0, 2}}, "r.1");
  Func f("f.x");
  f(a, b) = u(a, b) + p * a;
  f(a, b) += u(a + r, b);
  const Pipeline pipeline = pipeline_of({f});
  EXPECT_EQ(pipeline.outputs, Texts{"f·x"});
  EXPECT_EQ(pipeline.inputs[0].name, "my·u");
  EXPECT_EQ(pipeline.params[0].name, "x·y·3");
  const FunctionData& copy = *pipeline.find("f·x");
  EXPECT_EQ(copy.args, (Texts{"x·y", "x·y·2"}));
  EXPECT_EQ(to_string(copy.definitions[0].values[0]), "my·u(x·y, x·y·2) + x·y·3*x·y");
  EXPECT_EQ(to_string(copy.definitions[1].values[0]), "f·x(x·y, x·y·2) + my·u(x·y + r·1.x, x·y·2)");
  EXPECT_EQ(pipeline.texts.at("my·u"), "my.u");
  EXPECT_EQ(pipeline.texts.at("f·x"), "f.x");
}

TEST(PipelineNames, OfFuncsThatMicaNamesHaveDots) {
  const Var x("x");
  const ImageParam u(Int(32), 1, "u"), other(Int(32), 1, "v.repeat_edge");
  const ImageParam v(Int(32), 1, "v");
  Func edge = BoundaryConditions::repeat_edge(v), f("f");
  f(x) = u(x) + edge(x) + other(x);
  u.in(f);
  const Pipeline pipeline = pipeline_of({f});
  EXPECT_NE(pipeline.find("u.in.f"), nullptr);
  EXPECT_NE(pipeline.find("v.repeat_edge"), nullptr);
  EXPECT_NE(pipeline.find_input("v·repeat_edge"), nullptr);
}

TEST(LoopNames, OfAUserStandBesideThoseThatDirectivesMake) {
  const Var x("x"), y("x.block");
  Func f("f");
  f(x, y) = x + y;
  f.gpu_tile(x, 8).vectorize(y, 4);
  EXPECT_EQ(loops_of(*pipeline_of({f}).find("f")),
            (Texts{"x.thread", "x.block", "x·block.vec", "x·block"}));
}

TEST(LoopNames, AreMadeOnesUnlessTheUserCallsSomethingSo) {
  const Var x("x"), y("y");
  Func f("f");
  f(x, y) = x + y;
  f.gpu_tile(x, y, 8, 4).order_blocks("y.block", "x.block");
  EXPECT_EQ(loops_of(*pipeline_of({f}).find("f")),
            (Texts{"x.thread", "y.thread", "y.block", "x.block"}));
  Func g("g");
  g(x, y) = x + y;
  g.split(x, "x.block", "x.thread", 8).gpu_blocks("x.block").gpu_threads("x.thread").gpu_blocks(y);
  EXPECT_EQ(loops_of(*pipeline_of({g}).find("g")), (Texts{"x·thread", "x·block", "y"}));
  Func h("h");
  h(x, y) = x + y;
  h.parallel(y, 4).unroll("y.chunk", 2);
  EXPECT_EQ(loops_of(*pipeline_of({h}).find("h")), (Texts{"x", "y.chunk.unroll", "y.chunk", "y"}));
}

TEST(LoopNames, OfAReductionAreTheTextsOfItsRVars) {
  const Var x("x");
  const RDom r({{0, 2}, {0, 3}}, "my.r");
  Func f("f");
  f(x) = x;
  f(x) += r.x * r.y;
  f.update().unroll(r.x).reorder(x, r.y);
  const Pipeline pipeline = pipeline_of({f});
  EXPECT_EQ(loops_of(*pipeline.find("f"), 1), (Texts{"my·r.x", "x", "my·r.y"}));
}

TEST(LoopNames, OfALevelAreThoseOfTheFuncThatItNames) {
  const Var x("x"), y("x.block");
  Func g("g.1"), f("f.1");
  g(x, y) = x + y;
  f(x, y) = g(x, y) + g(x, y + 1);
  f.gpu_tile(x, 8);
  g.compute_at(f, "x.block");
  const Pipeline named = pipeline_of({f});
  const auto level = [](const Pipeline& p) {
    return std::get<directive::ComputeAt>(p.find("g·1")->definitions[0].directives[0].op).level;
  };
  EXPECT_EQ(level(named), (LoopLevel{"f·1", "x·block"}));
  Func h("f.1");
  h(x, Var("y")) = g(x, 0) + g(x, 1);
  h.gpu_tile(x, 8);
  g.clear_schedule();
  g.compute_at(h, "x.block");
  EXPECT_EQ(level(pipeline_of({h})), (LoopLevel{"f·1", "x.block"}));
}

TEST(ScheduleTexts, AreTheUsersAndSurviveAFile) {
  const Var x("my x"), y("x.y");
  const ImageParam u(Float(32), 2, "u.in.f\n");
  Func g("g\"1\""), f("f\n");
  g(x, y) = u(x, y) + u(x + 1, y);
  f(x, y) = g(x, y) + g(x, y + 1) + u(x, y);
  f.split(x, "a.b", "\\", 8).parallel(y, 2).vectorize("\\");
  g.compute_at(f, "a.b").unroll(y);
  u.in(f).compute_root();
  const Schedule schedule = f.schedule();
  ASSERT_EQ(schedule.stages.size(), 3U);
  Texts funcs;
  for (const auto& stage : schedule.stages) funcs.push_back(stage.func);
  EXPECT_EQ(funcs, (Texts{"g\"1\"", "u.in.f\n.in.f\n", "f\n"}));
  f.clear_schedule();
  f.apply(schedule_from_json(to_json(schedule)));
  EXPECT_EQ(f.schedule(), schedule);
  EXPECT_TRUE(check_schedule(pipeline_of({f}), false).empty());
}

TEST(ScheduleTexts, OfSeveralPartsOfOneNameAreNumberedPastTheUsersOwn) {
  const Var x("x");
  Func first("f"), second("f"), third("f·2");
  first(x) = x;
  second(x) = first(x) + 1;
  third(x) = second(x) + first(x);
  for (Func* f : {&first, &second, &third}) f->compute_root();
  const Schedule schedule = third.schedule();
  Texts funcs;
  for (const auto& stage : schedule.stages) funcs.push_back(stage.func);
  EXPECT_EQ(funcs, (Texts{"f", "f·3", "f·2"}));
  third.clear_schedule();
  third.apply(schedule);
  EXPECT_EQ(third.schedule(), schedule);
}

TEST(ScheduleTexts, ArePrintedAsCpp) {
  const Var x("x");
  Func f("f.1");
  f(x) = x;
  f.split(x, "a\n\"", "\\", 4);
  EXPECT_EQ(to_string(f.schedule()), "f_1.split(x, \"a\\012\\\"\", \"\\\\\", 4);\n");
  Func two("2·x");
  two(x) = x;
  two.unroll(x, 2);
  EXPECT_EQ(to_string(two.schedule()), "_2_x.unroll(x, 2);\n");
  EXPECT_EQ(to_string(two.schedule(), [](const std::string&) { return "h"; }), "h.unroll(\"x\", 2);\n");
}

TEST(ScheduleTexts, OfAWrapperThatIsEmptyAreRefused) {
  const Var x("x");
  const ImageParam u(Int(32), 1, "u");
  Func f("f");
  f(x) = u(x);
  const Schedule schedule{{{"f", 0, {{directive::In{"u", ""}, {}}}}}};
  EXPECT_TRUE(test::fails_with([&] { f.apply(schedule); }, {"the wrapper of u in f", "empty name"}));
}

TEST(Findings, NameTheSourceThatAFuncDoesNotReadAsTheUserDoes) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v.1");
  Func f("f");
  f(x, y) = u(x, y);
  f.gpu_tile(x, y, 8, 8).stage(v, MemoryType::Shared);
  EXPECT_TRUE(
      test::only_finding(check_schedule(pipeline_of({f}), true), {"f does not read v·1; it reads u"}));
}

}  // namespace
}  // namespace mica
