// Programs that random search found to go wrong where values of Funcs are kept, made small.
#include <tuple>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

// Of the first definition one thread needs a row of f at a time, however long it is, of the update one
// point.
TEST(FoundInStorage, PointsThatOneDefinitionKeepsInAnArrayAreInOneForAll) {
  const Var x("x"), y("y");
  const RDom r({{0, 1}}, "r");
  Func f("f"), g("g");
  f(x, y) = Tuple(cast<float>(x), cast<float>(x + 10 * y));
  g(x, y) = Expr(f(x, y)[1]);
  g(r, y) = Expr(f(r, r)[1]) + 1;
  f.compute_at(g, "y");
  g.gpu_single_thread();
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({g}, {{0, 7}, {0, 5}}, target));
}

TEST(FoundInStorage, StorageAtAMarchThatThreadsWouldShareIsRefused) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  g(x, y) = f(x, y);
  f.compute_at(g, "x.thread").store_at(g, y);
  g.gpu_tile(x, 8).march(y);
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(g, Target::gpu_emulator()).kernels(); },
                         {"store_at(g, y) of f", "loop x.thread stands between"}));
}

TEST(FoundInStorage, StorageAtALoopOfTheFuncsOwnIsRefused) {
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

TEST(FoundInStorage, RegistersOfNoConstantNumberAreRefused) {
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

}  // namespace
}  // namespace mica::test
