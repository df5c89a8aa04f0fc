// Divisions by constants in PTX: multiplications, and the division once more where these may differ.
#include <string>

#include <gtest/gtest.h>
#include <mica/mica.h>

#include "tests/passes/lowered.h"
#include "tests/ptx/ptxas.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

Func blur(const ImageParam& u, const Expr& by) {
  Func rows("rows"), f("f");
  rows(x, y) = (u(x - 1, y) + u(x, y) + u(x + 1, y)) / by;
  f(x, y) = (rows(x, y - 1) + rows(x, y) + rows(x, y + 1)) / by;
  return f;
}

TEST(ConstantDivision, BecomesTwoMultiplicationsAndOneBranchAThread) {
  for (const Type type : {Float(32), Float(64)}) {
    const ImageParam u(type, 2, "u");
    Func f = blur(u, cast(type, 3.0F));
    // The plan's blocks at the edge take single points in loops.
    f.gpu_tile(x, y, 32, 4, TailStrategy::RoundUp).unroll(y, 4);
    const std::string ptx = compile_to_ptx(f, 90);
    const std::string name = type == Float(32) ? "f32" : "f64";
    // Of a column of 4 points: 6 sums along x and 4 along y.
    EXPECT_EQ(count(ptx, "div.rn." + name), 10) << ptx;
    EXPECT_EQ(count(ptx, "fma.rn." + name), 10) << ptx;
    EXPECT_EQ(count(ptx, "mul.rn." + name), 10) << ptx;
    // All loads stand before the branch, and all stores behind it.
    const std::size_t branch = ptx.find("bra", ptx.rfind("fma.rn"));
    ASSERT_NE(branch, std::string::npos);
    EXPECT_EQ(count(ptx.substr(0, branch), "st.global"), 0) << ptx;
    EXPECT_EQ(count(ptx.substr(0, branch), "div.rn"), 0) << ptx;
    EXPECT_EQ(count(ptx.substr(branch), "st.global"), 4) << ptx;
    expect_assembles(ptx);
  }
}

TEST(ConstantDivision, StaysWhereMultiplicationsRoundOtherwise) {
  const ImageParam u(Float(32), 2, "u");
  Func f = blur(u, 0.463F);
  f.gpu_tile(x, y, 32, 4, TailStrategy::RoundUp);
  EXPECT_EQ(count(compile_to_ptx(f, 90), "div.rn.f32"), 4);
  Func halves = blur(u, 2.0F);
  halves.gpu_tile(x, y, 32, 4, TailStrategy::RoundUp);
  EXPECT_EQ(count(compile_to_ptx(halves, 90), "div.rn.f32"), 0);
  const Param<float> p("p");
  Func param = blur(u, p);
  param.gpu_tile(x, y, 32, 4, TailStrategy::RoundUp);
  EXPECT_EQ(count(compile_to_ptx(param, 90), "div.rn.f32"), 4);
}

// What a barrier separates is repeated apart, and shared memory is read again.
TEST(ConstantDivision, OfWhatABlockSharesIsRepeatedBetweenBarriers) {
  const ImageParam u(Float(32), 2, "u");
  Func rows("rows"), f("f");
  rows(x, y) = (u(x - 1, y) + u(x, y) + u(x + 1, y)) / 3;
  f(x, y) = (rows(x, y - 1) + rows(x, y) + rows(x, y + 1)) / 3;
  f.gpu_tile(x, y, 32, 4, TailStrategy::RoundUp);
  rows.compute_at(f, "x.block").store_in(MemoryType::Shared);
  const std::string ptx = compile_to_ptx(f, 90);
  EXPECT_GE(count(ptx, "fma.rn.f32"), 2) << ptx;
  EXPECT_EQ(count(ptx, "fma.rn.f32"), count(ptx, "div.rn.f32")) << ptx;
  EXPECT_GE(count(ptx, "bar.sync") + count(ptx, "barrier.sync"), 1) << ptx;
  expect_assembles(ptx);
}

// Points that a thread computes one after the other from shared memory have one branch.
TEST(ConstantDivision, OfPointsFromSharedMemoryIsRepeatedForAllOfAThread) {
  const ImageParam u(Float(64), 2, "u");
  Func f("f");
  f(x, y) = (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1)) / 5.5;
  f.gpu_tile(x, y, 16, 16, TailStrategy::RoundUp).unroll(x, 2).unroll(y, 2);
  f.stage(u, MemoryType::Shared);
  const std::string ptx = compile_to_ptx(f, 90);
  const std::size_t first = ptx.find("fma.rn.f64"), last = ptx.rfind("fma.rn.f64");
  ASSERT_NE(first, std::string::npos) << ptx;
  EXPECT_EQ(count(ptx, "fma.rn.f64"), 4) << ptx;
  EXPECT_EQ(count(ptx.substr(first, last - first), "bra"), 0) << ptx;
  expect_assembles(ptx);
}

// So long a sum is taken apart: each part has its own branch, and none is left to divisions.
TEST(ConstantDivision, OfLongSumsIsRepeatedInParts) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  Expr sum = u(x, y) / 3;
  for (int i = 1; i < 3000; ++i) sum = sum + u(x + i, y) / 3;
  f(x, y) = sum;
  f.gpu_tile(x, y, 32, 4, TailStrategy::RoundUp);
  const std::string ptx = compile_to_ptx(f, 90);
  EXPECT_EQ(count(ptx, "fma.rn.f32"), 3000);
  EXPECT_EQ(count(ptx, "div.rn.f32"), 3000);
  EXPECT_EQ(count(ptx.substr(0, ptx.find("fma.rn.f32")), "div.rn.f32"), 0);
}

// A recurrence is carried from step to step: the loop takes the repeated value where there is one.
TEST(ConstantDivision, OfARecurrenceIsCarriedOn) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = (f(x, y - 1) + u(x, y)) / 3;
  f.gpu_tile(x, 32);
  const std::string ptx = compile_to_ptx(f, 90);
  const std::size_t division = ptx.find("div.rn.f32");
  ASSERT_NE(division, std::string::npos) << ptx;
  const std::size_t begins = ptx.find('%', division);
  const std::string quotient = ptx.substr(begins, ptx.find(',', begins) - begins);
  EXPECT_EQ(count(ptx, "fma.rn.f32 \t" + quotient), 1) << ptx;
  EXPECT_EQ(count(ptx, ", " + quotient + ";"), 2) << "is stored and carried on\n" << ptx;
  expect_assembles(ptx);
}

}  // namespace
}  // namespace mica::test
