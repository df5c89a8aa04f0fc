// Programs and schedules that random search found to go wrong, made small.
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

TEST(FoundByFuzzing, AnUpdateOfAProducerInsideAVectorizedLoopThatItsBoundsDependOn) {
  const Var x("x");
  const Var y("y");
  const RDom r({{0, 2}}, "r");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  f(x, r + 1) = 7.0F;
  g(x, y) = f(x, y) + f(x, y + 1);
  f.compute_at(g, x);
  g.vectorize(y, 4);
  EXPECT_TRUE(matches_oracle({g}, {{-2, 5}, {-3, 11}}, Target::host()));
}

TEST(FoundByFuzzing, RegistersOfNoConstantNumberAreRefused) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  g(x, y) = f(x - 1, y) + f(x + 1, y);
  f.compute_at(g, y).store_in(MemoryType::Register);
  EXPECT_TRUE(
      fails_with([&] { std::ignore = compile(g, Target::host()).kernels(); },
                 {"store_in(MemoryType::Register)", "f needs a number of points", "not constant"}));
}

TEST(FoundByFuzzing, StorageAtALoopOfTheFuncsOwnIsRefused) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  g(x, y) = f(x, y) + f(x, y + 1);
  f.compute_at(g, y).store_at(f, x);
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(g, Target::host()).kernels(); },
                         {"store_at(f, x)", "loop x of f is not around loop y of g"}));
}

TEST(FoundByFuzzing, UnrollingALoopOfNoConstantExtentIsRefused) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  g(x, y) = f(x, y) + f(x + 1, y);
  f.compute_at(g, y).unroll(x);
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(g, Target::host()).kernels(); },
                         {"unroll of", "not constant"}));
}

TEST(FoundByFuzzing, RoundedUpTilesOfAProducerStayInsideItsStorage) {
  const Var x("x");
  Func f("f");
  Func g("g");
  f(x) = cast<float>(x);
  g(x) = f(x) + f(x + 1);
  f.compute_root().split(x, "xo", "xi", 16, TailStrategy::RoundUp);
  const std::string code = g.compile_to_lowered_stmt(Target::host());
  EXPECT_NE(code.find("f.xi in [0, min(16, f.extent.0 - f.xo*16))"), std::string::npos) << code;
  EXPECT_TRUE(matches_oracle({g}, {{-3, 32}}, Target::host()));
}

TEST(FoundByFuzzing, AProducerAtALoopOfAnUnscheduledFuncOnAGpuTarget) {
  const Var x("x");
  Func f("f");
  Func g("g");
  f(x) = cast<float>(x) * 0.5F;
  g(x) = f(x) + f(x + 1);
  f.compute_at(g, x);
  EXPECT_TRUE(matches_oracle({g}, {{-3, 19}}, Target::gpu_emulator()));
}

}  // namespace
}  // namespace mica::test
