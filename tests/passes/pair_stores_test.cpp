// Threads that store 32 bytes each exchange halves with their neighbours.
#include <string>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/iterate/iteration.h"
#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

/// The code after the pass of two steps of five points at once, in vectors of `lanes`.
std::string two_steps(Type type, int lanes) {
  const ImageParam u(type, 2, "u");
  const auto number = [&](double value) { return cast(type, Expr(value)); };
  Func next("next");
  next(x, y) = number(0.5) * u(x, y) + number(0.1) * u(x - 1, y) + number(0.11) * u(x + 1, y) +
               number(0.12) * u(x, y - 1) + number(0.13) * u(x, y + 1);
  next.gpu_tile(x, 32).vectorize(x, lanes).march(y, 16).scatter(y);
  Iteration heat({{u, next}});
  heat.time_tile(2);
  return code_after_pass(heat.steps_at_once(Target::gpu_emulator()), Target{Backend::Cuda, 0},
                         "pair_stores");
}

TEST(PairStores, OfThirtyTwoBytesAThread) {
  const std::string code = two_steps(Float(64), 4);
  // The even thread's condition and place, then the odd one's.
  EXPECT_NE(code.find("if thread.x*4 - thread.x % 2*4 < 124 && "), std::string::npos) << code;
  EXPECT_NE(code.find("if thread.x*4 - thread.x % 2*4 + 4 < 124 && "), std::string::npos) << code;
  EXPECT_NE(code.find("- thread.x % 2*2 - 4, 1, 2)]@2 = select(x2(thread.x % 2 == 1), "
                      "next·t2.pair[ramp(6, 1, 2)], next·t2.pair[ramp(0, 1, 2)])"),
            std::string::npos)
      << code;
  EXPECT_NE(code.find("next·t2.pair[4] = warp_shuffle(next·t2.pair[0], 1)"), std::string::npos) << code;
  EXPECT_NE(code.find("next·t2.pair[7] = warp_shuffle(next·t2.pair[3], -1)"), std::string::npos) << code;
}

TEST(PairStores, OfSixteenBytesStayAsTheyAre) {
  EXPECT_EQ(two_steps(Float(64), 2).find(".pair"), std::string::npos);
  EXPECT_EQ(two_steps(Float(32), 4).find(".pair"), std::string::npos);
  EXPECT_NE(two_steps(Float(32), 8).find(".pair"), std::string::npos);
}

// Without a common frame what is stored is no register's.
TEST(PairStores, OfASweepStayAsTheyAre) {
  const ImageParam u(Float(64), 2, "u");
  Func next("next");
  next(x, y) = u(x, y) + u(x + 4, y);
  next.gpu_tile(x, y, 32, 4).vectorize(x, 4);
  EXPECT_EQ(code(next, Backend::Cuda, "pair_stores").find(".pair"), std::string::npos);
}

}  // namespace
}  // namespace mica::test
