// Loops over reduction domains whose order counts, and updates that cannot be atomic.
#include <gtest/gtest.h>

#include "dsl/check/check_schedule.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/pipeline.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::only_finding;

const Var x("x"), y("y");

Diagnostics findings(const Func& f) { return check_schedule(make_pipeline({f.function()}), true); }

/// Runs `statement`, and EXPECTs one finding of `func` at its line.
#define EXPECT_FINDING(func, statement, ...) \
  statement;                                 \
  EXPECT_TRUE(only_finding(findings(func), {__VA_ARGS__}, __LINE__))

class AnyOrderErrors : public ::testing::Test {
 protected:
  ImageParam u{Float(32), 2, "u"};
  RDom r{{{0, 8}, {0, 5}}, "r"};
  Func f{"f"};
};

TEST_F(AnyOrderErrors, ADimensionThatWritesOnePointOften) {
  f(x) = 0.0F;
  f(r.x) += u(r.x, r.y);
  EXPECT_FINDING(f, f.update().parallel(r.y), "cannot be Parallel",
                 "r.y stands alone in no place of f(...)", "several iterations may write one point");
}
TEST_F(AnyOrderErrors, AReadOfAnotherPoint) {
  f(x, y) = 0.0F;
  f(x, r.x + 1) = f(x, r.x) + u(x, r.x);
  EXPECT_FINDING(f, f.update().gpu_tile(x, r.x, 32, 2), "cannot be GpuThread", "r.x reads f(x, r.x)",
                 "another iteration may write");
}
TEST_F(AnyOrderErrors, AReadOfAnotherPointInACondition) {
  f(x) = 0.0F;
  RDom some(r);
  some.where(f(some.x) > 1.0F);
  f(some.y) = u(some.x, some.y);
  EXPECT_FINDING(f, f.update().vectorize(some.y, 2), "cannot be Vectorized", "r.y reads f(r.x)");
}
TEST_F(AnyOrderErrors, TwoDimensionsInOnePlace) {
  f(x) = 0.0F;
  f(r.x + r.y) = u(r.x, r.y);
  EXPECT_FINDING(f, f.update().parallel(r.x), "r.x stands alone in no place");
}
TEST_F(AnyOrderErrors, CountsThatCouldBeAtomic) {
  f(x) = 0;
  f(clamp(cast<int>(u(r.x, r.y)), 0, 9)) += 1;
  EXPECT_FINDING(f, f.update().parallel(r.x), "cannot be Parallel", "with atomic() they may");
}

TEST_F(AnyOrderErrors, AtomicSumsOfFloats) {
  f(x) = 0.0F;
  f(clamp(cast<int>(u(r.x, r.y)), 0, 9)) += u(r.x, r.y);
  EXPECT_FINDING(f, f.update().atomic(), "f holds f32", "depends on the order of its terms",
                 "add up integers", "sum(r, ...)");
}
TEST_F(AnyOrderErrors, AtomicOperationsOnBytes) {
  f(x) = cast<std::uint8_t>(0);
  f(clamp(cast<int>(u(r.x, r.y)), 0, 9)) += cast<std::uint8_t>(1);
  EXPECT_FINDING(f, f.update().atomic(), "f holds u8", "of i32, u32, i64 and u64", "cast its values");
}
TEST_F(AnyOrderErrors, AnAtomicProduct) {
  f(x) = 1;
  f(clamp(cast<int>(u(r.x, r.y)), 0, 9)) *= 3;
  EXPECT_FINDING(f, f.update().atomic(), "is not f(...) combined", "serial");
}
TEST_F(AnyOrderErrors, AnAtomicUpdateThatReadsItself) {
  f(x) = 1;
  f(clamp(cast<int>(u(r.x, r.y)), 0, 9)) += f(r.x);
  EXPECT_FINDING(f, f.update().atomic(), "depends on values of f itself");
}
TEST_F(AnyOrderErrors, AtomicWithoutADomain) {
  f(x) = 1;
  f(x) += 2;
  EXPECT_FINDING(f, f.update().atomic(), "no iterations over a reduction domain", "remove this");
}
TEST_F(AnyOrderErrors, AtomicInsideAnotherFuncsLoops) {
  Func g("g");
  f(x) = 0;
  f(clamp(cast<int>(u(r.x, r.y)), 0, 9)) += 1;
  g(x, y) = f(x);
  f.compute_at(g, y);
  EXPECT_FINDING(g, f.update().atomic(), "f is computed inside loop y of g", "compute_root()");
}

}  // namespace
}  // namespace mica
