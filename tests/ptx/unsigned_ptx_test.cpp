// The PTX of u32 and u64: unsigned instructions where signed ones would give other bits.
#include <gtest/gtest.h>

#include "tests/ptx/func_ptx.h"
#include "tests/ptx/ptxas.h"

namespace mica::test {
namespace {

class UnsignedPtx : public ::testing::TestWithParam<int> {};

TEST_P(UnsignedPtx, InstructionsAreUnsigned) {
  const std::string u = ".u" + std::to_string(GetParam());
  const Var x("x");
  const ImageParam in(UInt(GetParam()), 1, "in"), real(Float(64), 1, "real");
  const Expr a = in(x), b = in(x + 1);
  Func f("f");
  f(x) = Tuple(a / b, a % b, min(a, b), max(a, b), a >> 3, select(a < b, a, b + 1), cast<float>(a),
               cast(UInt(GetParam()), real(x)));
  f.gpu_tile(x, 32);
  const std::string ptx = ptx_of(f);
  for (const char* name : {"div", "min", "max", "shr", "setp.lt"}) {
    EXPECT_GE(count(ptx, name + u), 1) << name << "\n" << ptx;
  }
  EXPECT_GE(count(ptx, "cvt.rn.f32" + u), 1) << ptx;
  EXPECT_GE(count(ptx, "cvt.rzi" + u + ".f64"), 1) << ptx;
  for (const char* name : {"div.s", "min.s", "max.s", "cvt.rn.f32.s"}) {
    EXPECT_EQ(count(ptx, name), 0) << name << "\n" << ptx;
  }
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output;
}

TEST_P(UnsignedPtx, AtomicExtremesAreUnsigned) {
  const Var x("x");
  const ImageParam in(UInt(GetParam()), 1, "in");
  const RDom r({{0, 1000}});
  Func h("h");
  h(x) = in(x);
  h(cast<int>(in(r)&7)) = max(h(cast<int>(in(r)&7)), in(r));
  h.gpu_tile(x, 32);
  h.update().atomic().gpu_tile(r, 32);
  const std::string ptx = ptx_of(h);
  EXPECT_EQ(count(ptx, "global.max.u" + std::to_string(GetParam())), 1) << ptx;
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Widths, UnsignedPtx, ::testing::Values(32, 64));

}  // namespace
}  // namespace mica::test
