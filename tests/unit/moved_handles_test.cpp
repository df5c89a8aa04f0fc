// Handles that were moved from: a handle on an algorithm stays what it was, a Buffer, an Executable or
// an Expr is as if it had been default-made.
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/executable.h"
#include "runtime/run/gpu_timer.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

const Var x("x"), y("y");

TEST(MovedHandles, AFuncIsStillTheSameFunc) {
  Func f("f");
  f(x) = x;
  Func g = std::move(f);
  EXPECT_EQ(f.function(), g.function());
  EXPECT_EQ(f.name(), "f");
  EXPECT_TRUE(f.defined());
  EXPECT_EQ(f.dimensions(), 1);
  f.vectorize(x, 4);
  Func h("h");
  h = std::move(g);
  EXPECT_EQ(g.function(), h.function());
  EXPECT_EQ(Expr(f(x)).type(), Int(32));
  std::vector<Func> many;
  for (int i = 0; i < 4; ++i) many.push_back(std::move(h));
  EXPECT_EQ(many.front().function(), h.function());
  const Buffer<std::int32_t> out = h.realize({4}, Target::host());
  EXPECT_EQ(out(3), 3);
}

TEST(MovedHandles, AStageIsStillTheSameStage) {
  Func f("f");
  f(x) = 0;
  f(x) += 1;
  Stage update = f.update();
  Stage taken = std::move(update);
  taken.unroll(x, 2);
  EXPECT_EQ(update.vectorize(x, 4).function(), f.function());
}

TEST(MovedHandles, AReferenceIsStillTheSameReference) {
  Func f("f");
  f(x) = x;
  FuncRef at = f(x + 1);
  FuncRef taken = std::move(at);
  EXPECT_EQ(at.size(), taken.size());
  EXPECT_EQ(Expr(at).type(), Int(32));
}

TEST(MovedHandles, AnInputIsStillTheSameInput) {
  ImageParam u(Float(32), 2, "u");
  ImageParam v = std::move(u);
  EXPECT_EQ(u.data(), v.data());
  EXPECT_EQ(u.name(), "u");
  EXPECT_EQ(u.type(), Float(32));
  EXPECT_EQ(u(x, y).type(), Float(32));
  u.set(Buffer<float>(2, 2));
  u.reset();
  ImageParam::Dimension dim = u.dim(1);
  ImageParam::Dimension taken = std::move(dim);
  EXPECT_EQ(dim.max().type(), taken.max().type());
}

TEST(MovedHandles, AParamIsStillTheSameParam) {
  Param<float> c("c", 2.0F);
  Param<float> d = std::move(c);
  d.set(3.0F);
  EXPECT_EQ(c.get(), 3.0F);
  EXPECT_EQ(c.name(), "c");
  EXPECT_EQ(Expr(c).type(), Float(32));
}

TEST(MovedHandles, ADomainIsStillTheSameDomain) {
  RDom r({{0, 3}, {0, 5}}, "r");
  RDom s = std::move(r);
  EXPECT_EQ(r.dimensions(), 2);
  EXPECT_EQ(r.y.name(), s.y.name());
  EXPECT_EQ(sum(r, Expr(r.x)).type(), Int(32));
  RVar v = s.x;
  RVar taken = std::move(v);
  EXPECT_EQ(v.name(), taken.name());
  EXPECT_EQ(Expr(v).type(), Int(32));
}

TEST(MovedHandles, AVarKeepsItsName) {
  Var v("a_name_that_is_too_long_for_a_short_string");
  Var w = std::move(v);
  EXPECT_TRUE(v.same_as(w));
  Var u("u");
  u = std::move(w);
  EXPECT_TRUE(w.same_as(u));
}

TEST(MovedHandles, AnExprIsUndefined) {
  Expr e = Expr(x) + 1;
  Expr taken = std::move(e);
  EXPECT_FALSE(e.defined());
  EXPECT_EQ(e.as<IntImm>(), nullptr);
  EXPECT_FAILS((void)e.type(), "undefined Expr");
  EXPECT_TRUE(fails_with([&] { (void)(e + 1); }, {"undefined Expr"}));
  Tuple pair(taken, taken);
  Tuple other = std::move(pair);
  EXPECT_TRUE(fails_with([&] { (void)pair[0]; }, {"element 0 of a Tuple of 0 values"}));
}

TEST(MovedHandles, ABufferIsUndefined) {
  Buffer<float> a(4, 3);
  a.fill(1.0F);
  Buffer<float> b = std::move(a);
  const AnyBuffer empty;
  const auto is_empty = [&](const AnyBuffer& buffer) {
    EXPECT_FALSE(buffer.defined());
    EXPECT_EQ(buffer.type(), empty.type());
    EXPECT_EQ(buffer.dimensions(), 0);
    EXPECT_EQ(buffer.offset(), 0);
    EXPECT_EQ(buffer.elements(), 0);
    EXPECT_EQ(buffer.describe(), empty.describe());
    EXPECT_FALSE(buffer.covers_storage());
    EXPECT_FALSE(buffer.overlaps(b));
    EXPECT_TRUE(fails_with([&] { (void)buffer.host_data(); }, {"undefined buffer"}));
    EXPECT_TRUE(fails_with([&] { (void)buffer.extent(0); }, {"dimension 0"}));
    EXPECT_FALSE(buffer.copy().defined());
  };
  is_empty(a);
  AnyBuffer c = b.cropped({{1, 2}, {1, 2}});
  AnyBuffer d(Int(8), {1});
  d = std::move(c);
  is_empty(c);
  EXPECT_EQ(d.type(), Float(32));
  EXPECT_EQ(d.offset(), 5);
  d = std::move(d);  // NOLINT: what is tested
  EXPECT_TRUE(d.defined());
}

TEST(MovedHandles, AnUndefinedBufferHasNoElements) {
  Buffer<float> a;
  EXPECT_TRUE(fails_with([&] { a.fill(1.0F); }, {"undefined buffer"}));
  EXPECT_TRUE(fails_with([&] { (void)a.data(); }, {"undefined buffer"}));
  EXPECT_TRUE(fails_with([&] { a(0) = 1.0F; }, {"undefined buffer"}));
  EXPECT_TRUE(fails_with([&] { (void)std::as_const(a)(0, 0); }, {"undefined buffer"}));
  const auto nothing = [](const float&, const Coordinates&) {};
  EXPECT_TRUE(fails_with([&] { std::as_const(a).for_each(nothing); }, {"undefined buffer"}));
  EXPECT_FALSE(a.cropped({}).defined());
  EXPECT_TRUE(fails_with([&] { (void)a.translated({}); }, {"1 to 6 dimensions, not 0"}));
  EXPECT_TRUE(fails_with([&] { a.set_host_dirty(); }, {"undefined buffer"}));
  EXPECT_TRUE(fails_with([&] { (void)a.device_data(Target::host(), true); }, {"undefined buffer"}));
  EXPECT_TRUE(fails_with([&] { a.device_free(); }, {"undefined buffer"}));
  EXPECT_TRUE(fails_with([&] { (void)a.host_dirty(); }, {"undefined buffer"}));
}

TEST(MovedHandles, AnExecutableWasNeverCompiled) {
  Func f("f");
  f(x) = x;
  Executable run = compile(f, Target::host());
  Executable taken = std::move(run);
  Buffer<std::int32_t> out(4);
  EXPECT_FALSE(run.defined());
  EXPECT_TRUE(fails_with([&] { run.run(out); }, {"never compiled"}));
  EXPECT_TRUE(fails_with([&] { run.synchronize(); }, {"never compiled"}));
  EXPECT_TRUE(fails_with([&] { (void)run.target(); }, {"never compiled"}));
  EXPECT_TRUE(fails_with([&] { (void)run.kernels(); }, {"never compiled"}));
  taken.run(out);
  EXPECT_EQ(out(3), 3);
}

TEST(MovedHandles, ARealizationHasNoBuffers) {
  Func f("f");
  f(x) = x;
  Realization made = f.realize({4}, Target::host());
  Realization taken = std::move(made);
  EXPECT_EQ(made.size(), 0u);
  EXPECT_TRUE(fails_with([&] { (void)made[0]; }, {"element 0", "0 buffers"}));
  EXPECT_TRUE(fails_with([&] { (void)Buffer<std::int32_t>(made); }, {"0 buffers"}));
  EXPECT_EQ(taken.size(), 1u);
}

TEST(MovedHandles, ATimerHasNoTime) {
  GpuTimer timer(Target::host());
  GpuTimer taken = std::move(timer);
  EXPECT_TRUE(fails_with([&] { timer.start(); }, {"GpuTimer", "moved from"}));
  EXPECT_TRUE(fails_with([&] { timer.stop(); }, {"GpuTimer", "moved from"}));
  EXPECT_TRUE(fails_with([&] { (void)timer.milliseconds(); }, {"GpuTimer", "moved from"}));
  taken.start();
  taken.stop();
  EXPECT_GE(taken.milliseconds(), 0.0);
}

TEST(MovedHandles, AHandleOnNothingIsRefused) {
  EXPECT_FAILS((void)Func(std::shared_ptr<FunctionData>()), "null");
  EXPECT_FAILS((void)Stage(nullptr, 0), "null");
  Func f("f");
  f(x) = x;
  EXPECT_FAILS((void)Stage(f.function(), 1), "definition 1 of f", "1 definition");
  EXPECT_FAILS((void)Stage(f.function(), -1), "definition -1 of f");
}

}  // namespace
}  // namespace mica
