// The kernel of a recurrence: a thread a column, the last values in registers, a loop that ptxas leaves
// rolled; of two in one kernel, and of updates in any order.
#include <cstdio>

#include <gtest/gtest.h>

#include "tests/ptx/func_ptx.h"
#include "tests/ptx/ptxas.h"

namespace mica::test {
namespace {

TEST(RecurrencePtx, TheLastValuesStayInRegisters) {
  const Var x("x"), y("y"), z("z");
  const ImageParam a(Float(32), 3, "a"), b(Float(32), 3, "b");
  Func c("c");
  c(x, y, z) = select(z == 0, b(x, y, z), b(x, y, z) - a(x, y, z) * c(x, y, z - 1));
  const std::string ptx = ptx_of(c);
  EXPECT_EQ(count(ptx, ".pragma \"nounroll\""), 2) << "steps of four, the last few\n" << ptx;
  EXPECT_EQ(count(ptx, "ld.global"), 10) << "a and b once a point, c never\n" << ptx;
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output;
  EXPECT_EQ(result.largest("bytes spill stores"), 0);
  EXPECT_LE(result.largest("registers"), 40) << result.output;
}

/// A tridiagonal system in each column, in f64.
struct Thomas {
  Var x{"x"}, y{"y"}, z{"z"};
  ImageParam a{Float(64), 3, "a"}, b{Float(64), 3, "b"}, c{Float(64), 3, "c"}, r{Float(64), 3, "r"};
  Func forward{"forward"}, next{"next"};
  Thomas();
};

Thomas::Thomas() {
  const Expr pivot = 1.0 / (b(x, y, z) - a(x, y, z) * forward(x, y, z - 1)[0]);
  forward(x, y, z) = Tuple(select(z == 0, c(x, y, z) / b(x, y, z), c(x, y, z) * pivot),
                           select(z == 0, r(x, y, z) / b(x, y, z),
                                  (r(x, y, z) - a(x, y, z) * forward(x, y, z - 1)[1]) * pivot));
  next(x, y, z) = select(z == a.dim(2).max(), forward(x, y, z)[1],
                         forward(x, y, z)[1] - forward(x, y, z)[0] * next(x, y, z + 1));
}

TEST(RecurrencePtx, ThomasAlgorithmNeedsFewRegisters) {
  const std::string ptx = ptx_of(Thomas().next);
  EXPECT_EQ(count(ptx, ".pragma \"nounroll\""), 4) << ptx;
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output;
  EXPECT_EQ(result.largest("bytes spill stores"), 0);
  std::printf("Thomas's algorithm in f64: %d registers\n", result.largest("registers"));
  EXPECT_LE(result.largest("registers"), 80) << result.output;
}

TEST(RecurrencePtx, ThomasAlgorithmInOneKernelNeedsNoBarrier) {
  Thomas t;
  t.next.gpu_tile(t.x, t.y, 32, 4);
  t.forward.compute_at(t.next, "x.thread");
  const std::string ptx = ptx_of(t.next);
  EXPECT_EQ(count(ptx, ".entry"), 1) << ptx;
  EXPECT_EQ(count(ptx, ".pragma \"nounroll\""), 4) << "up and down, inside and at the edge\n" << ptx;
  EXPECT_EQ(count(ptx, "bar.sync"), 0) << ptx;
  EXPECT_EQ(count(ptx, ".local"), 0) << ptx;
  EXPECT_EQ(count(ptx, "st.global"), 6) << "two values going up, one going down\n" << ptx;
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output;
  EXPECT_EQ(result.largest("bytes spill stores"), 0);
  std::printf("Thomas's algorithm in f64, one kernel: %d registers\n", result.largest("registers"));
  EXPECT_LE(result.largest("registers"), 80) << result.output;
}

TEST(AtomicPtx, AHistogramIsCountedInGlobalMemory) {
  const Var x("x");
  const ImageParam u(UInt(8), 2, "u");
  const RDom r(u);
  Func h("h");
  h(x) = 0;
  h(cast<int>(u(r.x, r.y))) += 1;
  h.update().atomic().gpu_tile(r.x, r.y, 32, 8);
  const std::string ptx = ptx_of(h);
  EXPECT_EQ(count(ptx, "global.add"), 1) << ptx;
  EXPECT_EQ(count(ptx, "atom.global") + count(ptx, "red.global"), 1) << ptx;
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output;
}

}  // namespace
}  // namespace mica::test
