// Minima of minima and maxima of maxima, which LLVM 22 may reassociate for ever.
#include <string>

#include <gtest/gtest.h>
#include <mica/mica.h>

#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

// What is staged of `u` for `f` ends where all that anybody reads of it does: a maximum of five.
TEST(NestedExtremes, OfWhatSeveralReadersNeedEnd) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(16), 3, "u");
  const auto u_at = [&](const Expr& i, const Expr& j, const Expr& k) {
    return cast(Int(32), u(i, j, k));
  };
  Func a("a"), f("f"), g("g");
  a(x, y, z) = u_at(x % 5, clamp(y + 2, -9, 14), z);
  f(x, y, z) = u_at(x, y, z);
  Func held = BoundaryConditions::repeat_edge(
      f, BoundaryRanges{BoundaryRange(-3, 24), BoundaryRange(), BoundaryRange(-4, 1)});
  g(x, y, z) = a(x, y + 1, z - 1) + a(x + 2, y, z + 1) + u_at(x, y - 1, z + 2) + f(x, y, z) +
               held(x, y, z + 2) * held(x, y - 2, z + 1) + f(x - 2, y, z) + u_at(x - 1, y - 1, z) +
               f(x - 1, y, z - 1);
  a.compute_root().gpu_tile(x, y, z, 4, 4, 1);
  f.compute_root().gpu_tile(y, x, 4, 4).vectorize(y, 4).march(z, 5);
  f.stage(u, MemoryType::Shared, LoadPolicy::Strided);
  held.compute_root().reorder(y, x).gpu_tile(y, x, z, 7, 3, 1);
  g.gpu_tile(y, z, 7, 4).unroll(z, 2).march(x, 9);
  EXPECT_GE(count(compile_to_ptx(g, 90), "max.s32"), 4U);
}

}  // namespace
}  // namespace mica::test
