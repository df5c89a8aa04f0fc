// Funcs that read themselves: reads that have no order, directives that would leave it, colors that do
// not keep neighbours apart.
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/check/check_schedule.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;
using test::only_finding;

const Var x("x"), y("y"), z("z");

class OwnReadErrors : public ::testing::Test {
 protected:
  OwnReadErrors() { c(x, y, z) = select(z == 0, u(x, y, z), c(x, y, z - 1) + u(x, y, z)); }
  [[nodiscard]] Diagnostics check() const {
    return check_schedule(make_pipeline({c.function()}), false);
  }
  ImageParam u{Float(32), 3, "u"};
  Func c{"c"};
};

TEST_F(OwnReadErrors, ReadsWithoutAnOrder) {
  Func f("f");
  const auto v = [&] { return u(x, y, z); };
  EXPECT_FAILS(f(x, y, z) = f(x, y, z) + v(), "f reads f(x, y, z), the very point");
  EXPECT_FAILS(f(x, y, z) = f(x - 1, y, z - 1) + v(), "f reads f(x - 1, y, z - 1)",
               "along x and along z", "at the point's own coordinates in all others");
  EXPECT_FAILS(f(x, y, z) = f(x, y, z - 1) + f(x, y, z + 2) + v(), "f(x, y, z + 2), ahead by 2",
               "f(x, y, z - 1), behind by 1", "two Funcs");
  EXPECT_FAILS(f(x, y, z) = f(x, y, z - 1) + f(x, y - 1, z) + v(), "f(x, y - 1, z), along y",
               "f(x, y, z - 1), along z");
  EXPECT_FAILS(f(x, y, z) = f(x, y, z / 2) + v(), "where z/2 is no constant distance from z");
  EXPECT_FAILS(f(x, y, z) = f(x, y, x) + v(), "where x is no constant distance from z");
}

TEST_F(OwnReadErrors, TypesThatNothingDecidesOrThatDiffer) {
  Func f("f"), t("t");
  EXPECT_FAILS(f(x) = f(x - 1), "nothing but f itself decides the type", "cast<float>");
  EXPECT_FAILS(f(x) = cast<std::uint8_t>(x) + (f(x - 1) + 300), "the value of f is i16",
               "f is read in it as u8", "cast(u8, ...)");
  EXPECT_FAILS(f(x) = f(x - 1, 0) + u(x, 0, 0), "f is read with 2 arguments", "1 dimension: x");
  EXPECT_FAILS(t(x) = Tuple(t(x - 1) + 1, Expr(x)), "t has 2 values", "t(...)[0]");
  EXPECT_FAILS(t(x) = Tuple(t(x - 1)[2] + 1, Expr(x)), "element 2 of t, which has 2 values");
}

TEST_F(OwnReadErrors, AFuncBehindOthersThatStartsNowhere) {
  Func f("f"), out("out");
  f(x) = f(x - 1) + u(x, 0, 0);
  out(x) = f(x) * 2.0F;
  EXPECT_TRUE(fails_with([&] { (void)make_pipeline({out.function()}); },
                         {"f reads itself along x", "only an output", "select(x == 0, "}));
}

/// Runs `statement`, and EXPECTs one finding at its line.
#define EXPECT_FINDING(statement, ...) \
  statement;                           \
  EXPECT_TRUE(only_finding(check(), {__VA_ARGS__}, __LINE__))

TEST_F(OwnReadErrors, DirectivesThatWouldLeaveTheOrder) {
  const char* const kOrder = "carries c(x, y, z) on from c(x, y, z - 1), one iteration after the other";
  EXPECT_TRUE(check().empty());
  EXPECT_FINDING(c.parallel(z), "loop z", kOrder, "Parallel", "serial and unroll");
  c.clear_schedule();
  EXPECT_FINDING(c.vectorize(z, 4), "loop z", kOrder, "Vectorized");
  c.clear_schedule();
  EXPECT_FINDING(c.gpu_tile(x, z, 16, 4), "loop z", kOrder);
  c.clear_schedule();
  EXPECT_FINDING(c.split(z, "zo", "zi", 4, TailStrategy::ShiftInwards), "ShiftInwards", "GuardWithIf");
  c.clear_schedule();
  EXPECT_FINDING(c.split(z, "zo", "zi", 4).reorder("zo", "zi"), "zi, zo to zo, zi", "keep them");
  c.clear_schedule();
  EXPECT_FINDING(c.fuse(y, z, "yz"), "z carries", "cannot be fused");
  c.clear_schedule();
  EXPECT_FINDING(c.gpu_tile(x, y, 16, 4).march(z), "a march computes planes",
                 "gives each thread a column");
}

TEST_F(OwnReadErrors, ARecurrenceIsNotComputedInline) {
  Func out("out");
  out(x, y, z) = c(x, y, z);
  c.compute_inline();
  EXPECT_TRUE(only_finding(check_schedule(make_pipeline({out.function()}), false),
                           {"c reads itself, so its values must be kept"}, __LINE__ - 2));
}

TEST_F(OwnReadErrors, ABoxPastTheStart) {
  Buffer<float> input(4, 3, 9), part({{0, 4, 1}, {0, 3, 4}, {2, 5, 12}});
  u.set(input);
  AnyBuffer out = part;
  EXPECT_TRUE(fails_with([&] { c.realize(out, Target::host()); },
                         {"c(x, y, z) starts at z = 0", "output c starts at 2", "holds 0"}));
}

TEST(ColorErrors, FormsThatAreNoColor) {
  Func p("p");
  EXPECT_FAILS(p.color(x % 2), "p is not defined yet");
  p(x, y) = cast<float>(x);
  EXPECT_FAILS(p.color(x % 2), "only an update has colors");
  p(x, y) = p(x - 1, y);
  EXPECT_FAILS(p.update().color(x + y), "modulo a constant, such as (x + y) % 2");
  EXPECT_FAILS(p.update().color((x * y) % 2), "a sum of constants times x, y");
  EXPECT_FAILS(p.update().color((x + z) % 2), "a sum of constants times x, y");
  EXPECT_FAILS(p.update().color((x + y) % 1), "1 colors; legal are 2 to 64");
  RDom r({{0, 3}});
  p(x, r) = p(x, r) + 1.0F;
  EXPECT_FAILS(p.update(1).color(x % 2), "not over all of x, y");
}

TEST(ColorErrors, ANeighbourOfTheSameColor) {
  Func p("p");
  p(x, y) = cast<float>(x);
  p(x, y) = p(x - 1, y) + p(x + 1, y + 1);
  p.update().color((x + y) % 2);
  EXPECT_TRUE(fails_with([&] { (void)make_pipeline({p.function()}); },
                         {"color((x + y) % 2)", "reads p(x + 1, y + 1)", "2 further, 2 colors"},
                         __LINE__ - 3));
  p.update().color((x + 2 * y) % 4);
  EXPECT_NO_THROW((void)make_pipeline({p.function()}));
}

TEST(ColorErrors, ReadsAtNoConstantDistanceAndOtherUpdates) {
  Func p("p"), q("q");
  p(x, y) = cast<float>(x);
  p(x, y) = p(2 * x, y);
  p.update().color((x + y) % 2);
  EXPECT_TRUE(fails_with([&] { (void)make_pipeline({p.function()}); },
                         {"reads p(2*x, y)", "constant distances"}));
  RDom r({{0, 3}});
  q(x, y) = cast<float>(x);
  q(x, y) = q(x - 1, y);
  q.update().color((x + y) % 2);
  q(x, r) += 1.0F;
  EXPECT_TRUE(
      fails_with([&] { (void)make_pipeline({q.function()}); }, {"q.update(1) is not over all of x, y"}));
}

}  // namespace
}  // namespace mica
