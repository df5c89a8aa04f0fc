// Several steps in the registers of one march.
#include <string>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "tests/ptx/ptxas.h"

namespace mica::test {
namespace {

TEST(TimeTilePtx, ThreeAndFourStepsOfSevenPointsFitTheRegisters) {
  const Var x("x"), y("y"), z("z");
  for (const auto& [steps, rows] : {std::pair(2, 4), std::pair(3, 6), std::pair(4, 4)}) {
    const ImageParam u(Float(32), 3, "u");
    Func next("next");
    next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * u(x - 1, y, z) + 0.11F * u(x + 1, y, z) +
                    0.12F * u(x, y - 1, z) + 0.13F * u(x, y + 1, z) + 0.14F * u(x, y, z - 1) +
                    0.15F * u(x, y, z + 1);
    next.gpu_tile(x, y, 32, 8).vectorize(x, 4).unroll(y, rows).march(z, 37).scatter(z);
    Iteration heat({{u, next}});
    heat.time_tile(steps);
    const std::string ptx = heat.compile_to_ptx(90);
    EXPECT_NE(ptx.find("cp.async"), std::string::npos) << steps << " steps: planes are asked for ahead";
    const Assembled result = assemble(ptx, 90);
    if (!result.available) GTEST_SKIP() << "there is no ptxas";
    EXPECT_TRUE(result.ok) << result.output;
    EXPECT_EQ(result.largest("bytes spill stores"), 0) << steps << " steps\n" << result.output;
  }
}

}  // namespace
}  // namespace mica::test
