// Schedules as data: printing, taking and applying.
#include "dsl/schedule/schedule.h"

#include <gtest/gtest.h>

#include "dsl/func/func.h"

namespace mica {
namespace {

const Var x("x"), y("y"), z("z"), xo("xo"), xi("xi");

struct TwoStage {
  ImageParam u{Float(32), 2, "u"};
  Func b{"b"}, next{"next"};
  TwoStage() {
    b(x, y) = u(x - 1, y) + u(x + 1, y);
    next(x, y) = b(x, y - 1) + b(x, y + 1) + u(x, y);
  }
};

TEST(Schedule, PrintsAsTheCodeThatMadeIt) {
  TwoStage p;
  p.b.compute_at(p.next, "x.block").store_in(MemoryType::Shared);
  p.next.gpu_tile(x, y, 32, 8, TailStrategy::RoundUp)
      .vectorize(x, 4)
      .unroll(y, 2)
      .stage(p.u, MemoryType::Shared, LoadPolicy::Strided)
      .launch_bounds(4);
  EXPECT_EQ(to_string(p.next.schedule()),
            "b.compute_at(next, \"x.block\")\n"
            "    .store_in(MemoryType::Shared);\n"
            "next.gpu_tile(x, y, 32, 8, TailStrategy::RoundUp)\n"
            "    .vectorize(x, 4)\n"
            "    .unroll(y, 2)\n"
            "    .stage(u, MemoryType::Shared, LoadPolicy::Strided)\n"
            "    .launch_bounds(4);\n");
}

TEST(Schedule, EveryDirectivePrints) {
  Func f("f");
  f(x, y) = x + y;
  f(x, y) += 1;
  f.split(x, xo, xi, 8).fuse(xi, xo, x).reorder(y, x).serial(y).parallel(y).vectorize(x).unroll(x);
  f.gpu_blocks(x).gpu_threads(y).compute_inline().compute_root().store_root();
  f.compute_at(f, x).store_at(f, y).align_storage(x, 32).bound(x, -1, 100).max_registers(64);
  f.read_only(ImageParam(Float(32), 1, "u")).fold_storage(y, 4).reorder_storage(y, x);
  f.update().parallel(y, 4);
  EXPECT_EQ(
      to_string(f.schedule()),
      "f.split(x, xo, xi, 8)\n    .fuse(xi, xo, x)\n    .reorder(y, x)\n    .serial(y)\n"
      "    .parallel(y)\n    .vectorize(x)\n    .unroll(x)\n    .gpu_blocks(x)\n"
      "    .gpu_threads(y)\n    .compute_inline()\n    .compute_root()\n    .store_root()\n"
      "    .compute_at(f, x)\n    .store_at(f, y)\n    .align_storage(x, 32)\n"
      "    .bound(x, -1, 100)\n    .max_registers(64)\n    .read_only(u)\n    .fold_storage(y, 4)\n"
      "    .reorder_storage(y, x);\n"
      "f.update(0).split(y, y, \"y.chunk\", 4)\n    .parallel(y);\n");
}

TEST(Schedule, AListOfOnePrintsInBraces) {
  Func f("f");
  f(x, y) = x + y;
  f.reorder({x}).reorder_storage({y}).reorder({}).order_blocks(x);
  EXPECT_EQ(to_string(f.schedule()),
            "f.reorder({x})\n    .reorder_storage({y})\n    .reorder({})\n    .order_blocks(x);\n");
}

TEST(Schedule, ATailPrintsWithTheFactorThatItBelongsTo) {
  Directive directive;
  directive.op = directive::Unroll{"x", 0, TailStrategy::ShiftInwards};
  EXPECT_EQ(to_string(directive), ".unroll(x)");
  directive.op = directive::Vectorize{"x", 4, TailStrategy::ShiftInwards};
  EXPECT_EQ(to_string(directive), ".vectorize(x, 4, TailStrategy::ShiftInwards)");
}

TEST(Schedule, WrappersPrintThroughTheirSource) {
  TwoStage p;
  p.u.in(p.b);
  p.u.in(p.next).compute_at(p.next, y);
  EXPECT_EQ(to_string(p.next.schedule()), "u.in(b);\nu.in(next).compute_at(next, y);\n");
}

TEST(Schedule, AWrapperThatWrapsItselfPrints) {
  Schedule damaged;
  damaged.stages.push_back({"w", 0, {{directive::In{"w", "w"}, {}}, {directive::ComputeRoot{}, {}}}});
  const std::string text = to_string(damaged);
  EXPECT_NE(text.find("w.in(w)"), std::string::npos) << text;
  EXPECT_LT(text.size(), 4000U);
}

TEST(Schedule, ListsFuncsFromInputsToOutputsAndLeavesOutTheUnscheduled) {
  TwoStage p;
  p.next.vectorize(x, 8);
  EXPECT_EQ(p.next.schedule().stages.size(), 1U);
  p.b.compute_root();
  const Schedule s = p.next.schedule();
  ASSERT_EQ(s.stages.size(), 2U);
  EXPECT_EQ(s.stages[0].func, "b");
  EXPECT_EQ(s.stages[1].func, "next");
  EXPECT_EQ(p.b.schedule().stages.size(), 1U) << "b's schedule says nothing of its consumers";
}

TEST(Schedule, EqualSchedulesCompareEqualWhereverTheyWereWritten) {
  TwoStage p, q;
  p.next.split(x, xo, xi, 8);
  q.next.split(x, xo, xi, 8);
  EXPECT_EQ(p.next.schedule(), q.next.schedule());
  q.next.vectorize(xi);
  EXPECT_NE(p.next.schedule(), q.next.schedule());
}

TEST(Schedule, ApplyReplacesWhatWasThere) {
  TwoStage p, q;
  p.b.compute_root().vectorize(x, 4);
  p.next.parallel(y);
  q.next.unroll(x, 2);
  q.next.apply(p.next.schedule());
  EXPECT_EQ(q.next.schedule(), p.next.schedule());
  EXPECT_EQ(to_string(q.next.schedule()),
            "b.compute_root()\n    .vectorize(x, 4);\nnext.parallel(y);\n");
}

TEST(Schedule, ApplyMakesTheWrappersThatTheScheduleNames) {
  TwoStage p, q;
  p.u.in(p.next).compute_at(p.next, y);
  p.u.in(p.next).in(p.next).compute_at(p.next, x);
  q.next.apply(p.next.schedule());
  EXPECT_EQ(q.next.schedule(), p.next.schedule());
  EXPECT_EQ(q.u.in(q.next).name(), "u.in.next");
  ASSERT_EQ(q.next.function()->wrappers.size(), 2U);
}

TEST(Schedule, ApplyingAFuncsOwnScheduleKeepsItsWrapperHandles) {
  TwoStage p;
  Func w = p.u.in(p.next);
  w.compute_at(p.next, y);
  p.next.apply(p.next.schedule());
  EXPECT_EQ(p.u.in(p.next).function(), w.function());
  EXPECT_EQ(to_string(w.schedule()), "u_in_next.compute_at(next, y);\n");
}

TEST(Schedule, AFailedApplyLeavesTheOldSchedule) {
  TwoStage p;
  p.u.in(p.b).compute_at(p.b, y);
  p.next.vectorize(x, 4);
  const Schedule before = p.next.schedule();
  Schedule wrong = before;
  wrong.stages.push_back({"nobody", 0, {{directive::ComputeRoot{}, {}}}});
  EXPECT_THROW(p.next.apply(wrong), UserError);
  EXPECT_EQ(p.next.schedule(), before);
}

TEST(Schedule, ClearRemovesDirectivesAndWrappers) {
  TwoStage p;
  p.u.in(p.next).compute_root();
  p.b.compute_root();
  p.next.clear_schedule();
  EXPECT_EQ(p.next.schedule(), Schedule());
  EXPECT_TRUE(p.next.function()->wrappers.empty());
}

TEST(Schedule, TwoFuncsOfOneNameAreToldApart) {
  Func first("f"), second("f");
  first(x) = x;
  second(x) = first(x) + 1;
  first.compute_root();
  second.vectorize(x, 4);
  const Schedule s = second.schedule();
  ASSERT_EQ(s.stages.size(), 2U);
  EXPECT_EQ(s.stages[0].func, "f·2");
  EXPECT_EQ(s.stages[1].func, "f") << "the output keeps the name";
  second.clear_schedule();
  second.apply(s);
  EXPECT_EQ(second.schedule(), s);
}

}  // namespace
}  // namespace mica
