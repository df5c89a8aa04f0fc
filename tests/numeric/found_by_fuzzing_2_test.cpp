// Programs and schedules that random search found to go wrong, made small: further ones.
#include <gtest/gtest.h>

#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

TEST(FoundByFuzzing, ShufflesOfAFuncWithAnUpdateThatHasNoLoopAlongTheLanes) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 2}}, "r");
  Func rows("rows");
  Func column("column");
  rows(x, y) = u(x - 1, y) + u(x, y);
  rows(r, y) = u(r, y) + u(r + 1, y);
  column(x, y) = u(x - 1, y) + u(x, y);
  column(3, y) = u(3, y) + u(4, y);
  column(x, y) += u(x, y) - u(x + 1, y);
  const Box box{{-3, 39}, {-2, 5}};
  for (Func& func : std::vector<Func>{rows, column}) {
    func.gpu_tile(x, y, 32, 2).shuffle(u, x);
    const auto memory = bind_demanded({func}, box, {u}, 1);
    for (const Target& target : gpu_targets()) EXPECT_TRUE(matches_oracle({func}, box, target));
  }
}

TEST(FoundByFuzzing, CopiesForAFuncThatIsComputedEarlyAreWaitedForWhereItReadsThem) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  Func g("g");
  f(x, y) = u(x, y - 1) + u(x + 1, y);
  g(x, y) = f(x, y) - f(x + 1, y - 1);
  for (const int early : {1, 2, 3}) {
    for (const LoadPolicy load : {LoadPolicy::AsyncCopy, LoadPolicy::Bulk}) {
      g.clear_schedule();
      g.gpu_tile(x, 8).march(y).pipeline(f, early);
      f.compute_at(g, y).stage(u, MemoryType::Shared, load);
      const Box box{{-3, 21}, {1, 9}};
      const auto memory = bind_demanded({g}, box, {u}, 1);
      for (const Target& target : gpu_targets()) EXPECT_TRUE(matches_oracle({g}, box, target)) << early;
    }
  }
}

}  // namespace
}  // namespace mica::test
