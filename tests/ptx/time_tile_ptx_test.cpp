// Several steps in the registers of one march.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "tests/passes/lowered.h"
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
    EXPECT_EQ(ptx.find("cp.async.ca"), std::string::npos)
        << steps << " steps: by whole vectors, at the edges too, since rows are in whole lines";
    const Assembled result = assemble(ptx, 90);
    if (!result.available) GTEST_SKIP() << "there is no ptxas";
    EXPECT_TRUE(result.ok) << result.output;
    // A few in blocks at the edge, where tests need registers, too.
    EXPECT_LE(result.largest("bytes spill stores"), 100) << steps << " steps\n" << result.output;
  }
}

TEST(TimeTilePtx, StepsWithBoundaryConditionsFitTheRegisters) {
  const Var x("x"), y("y"), z("z");
  for (const auto& condition :
       {+[](const ImageParam& u) { return BoundaryConditions::repeat_edge(u); },
        +[](const ImageParam& u) { return BoundaryConditions::constant_exterior(u, 0.0F); }}) {
    const ImageParam u(Float(32), 2, "u"), v(Float(32), 3, "v");
    const Func a = condition(u), b = condition(v);
    Func rows("rows"), planes("planes");
    rows(x, y) = 0.4F * a(x, y) + 0.15F * a(x - 1, y) + 0.16F * a(x + 1, y) + 0.17F * a(x, y - 1) +
                 0.18F * a(x, y + 1);
    planes(x, y, z) = 0.4F * b(x, y, z) + 0.1F * b(x - 1, y, z) + 0.11F * b(x + 1, y, z) +
                      0.12F * b(x, y - 1, z) + 0.13F * b(x, y + 1, z) + 0.14F * b(x, y, z - 1) +
                      0.15F * b(x, y, z + 1);
    planes.gpu_tile(x, y, 32, 12).vectorize(x, 2).unroll(y, 4).march(z, 64).scatter(z);
    Iteration of_rows({{u, rows}}), of_planes({{v, planes}});
    of_rows.time_tile(8);
    of_planes.time_tile(3);
    for (const Iteration* steps : {&of_rows, &of_planes}) {
      const Assembled result = assemble(steps->compile_to_ptx(90), 90);
      if (!result.available) GTEST_SKIP() << "there is no ptxas";
      EXPECT_TRUE(result.ok) << result.output;
      EXPECT_EQ(result.largest("bytes spill stores"), 0) << result.output;
    }
  }
}

// Steps of a march stand in the code dozens of times: of 270 operations a point, in vectors of 8, two
// steps were 980,000 lines; over half as many ptxas sat for minutes.
TEST(TimeTilePtx, StepsOfManyOperationsAreWrittenOutForFewPoints) {
  const Var x("x"), y("y");
  const ImageParam u(BFloat(), 2, "u");
  Func next("next");
  Expr value = u(x, y) + u(x - 1, y - 1) + u(x + 1, y + 1);
  for (int i = 0; i < 90; ++i) value = min(value, value * cast<bfloat16>(0.5F) + u(x, y));
  next(x, y) = value;
  Iteration tiled({{u, next}});
  tiled.time_tile(2);
  const std::string ptx = tiled.compile_to_ptx(90);
  EXPECT_LT(std::ranges::count(ptx, '\n'), 100000);
  const std::string plan = tiled.steps_at_once(Target::gpu_emulator()).print_plan();
  EXPECT_NE(plan.find("block of 32 threads = 32"), std::string::npos) << plan;
}

// Vectors of 16 bytes would spill 700 bytes, of 1.8 MB of code.
TEST(TimeTilePtx, BytesStandInVectorsOfEight) {
  const Var x("x"), y("y");
  const ImageParam u(UInt(8), 2, "u"), a(UInt(8), 2, "a");
  const Expr six = cast(UInt(8), 6);
  Func next("next");
  next(x, y) = min(u(x, y) + u(x - 1, y) + six * u(x + 1, y) + u(x, y - 1) - six * u(x, y + 1),
                   max(a(x, (y + 1) / 3), a(x + 2, y)));
  Iteration tiled({{u, next}});
  tiled.time_tile(2);
  const std::string plan = tiled.steps_at_once(Target::gpu_emulator()).print_plan();
  EXPECT_NE(plan.find("32 threads of 8 points"), std::string::npos) << plan;
  const std::string ptx = tiled.compile_to_ptx(90);
  EXPECT_LT(std::ranges::count(ptx, '\n'), 40000);
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_LE(result.largest("bytes spill stores"), 56) << result.output;
}

// What a thread asks for ahead of fields stands in its registers, too: three fields of bytes by vectors
// of 16 would take 800.
TEST(TimeTilePtx, FieldsOfBytesFitTheRegisters) {
  const Var x("x"), y("y");
  const ImageParam u(UInt(8), 2, "u"), a(UInt(8), 2, "a"), b(UInt(8), 2, "b");
  // A quotient's operands are 32 bits each for a while.
  constexpr double kSpilledForQuotients = 52;
  for (const bool divides : {false, true}) {
    const Expr by = a(x - 1, y + 2), change = divides ? u(x, y) / by : u(x, y) - by;
    Func next("next");
    next(x, y) = select(u(x + 2, y + 2) <= b(x, y + 2), a(x, y + 2), a(x - 2, y)) +
                 max(u(x, y), a(x, y)) * change;
    for (const int steps : {2, 3}) {
      Iteration tiled({{u, next}});
      tiled.time_tile(steps);
      const std::string plan = tiled.steps_at_once(Target::gpu_emulator()).print_plan();
      EXPECT_NE(plan.find("32 threads of 4 points"), std::string::npos) << plan;
      const Assembled result = assemble(tiled.compile_to_ptx(90), 90);
      if (!result.available) GTEST_SKIP() << "there is no ptxas";
      EXPECT_TRUE(result.ok) << result.output;
      EXPECT_LE(result.largest("bytes spill stores"), divides ? kSpilledForQuotients : 0)
          << steps << " steps\n"
          << result.output;
    }
  }
}

/// The instructions of the loop in which blocks inside walk their rows: the first loop that has so many
/// fmas.
std::string long_loop(const std::string& ptx, int fmas) {
  std::map<std::string, std::size_t> labels;
  std::vector<std::string> lines;
  std::istringstream text(ptx);
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
    if (line.starts_with("$L") && line.find(':') != std::string::npos) {
      labels[line.substr(0, line.find(':'))] = lines.size();
      continue;
    }
    const std::size_t bra = line.find("bra");
    const std::size_t to = line.find("$L");
    if (bra == std::string::npos || to == std::string::npos) continue;
    const auto target = labels.find(line.substr(to, line.find_first_of("; \t", to) - to));
    if (target == labels.end()) continue;
    std::string loop;
    for (std::size_t i = target->second; i < lines.size(); ++i) loop += lines[i] + "\n";
    if (count(loop, "fma.rn") >= fmas) return loop;
  }
  return {};
}

/// How many stores stand under a condition of their own.
int predicated_stores(const std::string& ptx) {
  std::istringstream text(ptx);
  int stores = 0;
  for (std::string line; std::getline(text, line);) {
    stores += line.starts_with("\t@") && line.find("st.global") != std::string::npos ? 1 : 0;
  }
  return stores;
}

// The barrier behind which rows are taken shows the next step's copied plane, too; and what is stored or
// not is no branch, so that the assembler may mix all of a step.
TEST(TimeTilePtx, AStepOfPlanesHasOneBarrierAndNoBranch) {
  const Var x("x"), y("y"), z("z");
  constexpr int kSteps = 3, kRows = 3, kLanes = 4;
  const ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * u(x - 1, y, z) + 0.11F * u(x + 1, y, z) +
                  0.12F * u(x, y - 1, z) + 0.13F * u(x, y + 1, z) + 0.14F * u(x, y, z - 1) +
                  0.15F * u(x, y, z + 1);
  next.gpu_tile(x, y, 32, 12).vectorize(x, kLanes).unroll(y, kRows).march(z, 52).scatter(z);
  Iteration heat({{u, next}});
  heat.time_tile(kSteps);
  const std::string ptx = heat.compile_to_ptx(90);
  const std::string loop = long_loop(ptx, kSteps * kRows * kLanes * 6);
  ASSERT_NE(loop, "");
  EXPECT_EQ(count(loop, "bar.sync"), 1) << loop;
  EXPECT_EQ(count(loop, "cp.async.wait_group"), 1) << loop;
  EXPECT_EQ(count(loop, "bra"), 1) << loop;
  EXPECT_EQ(predicated_stores(loop), kRows) << loop;
  EXPECT_EQ(count(loop, "selp"), 0) << loop;
}

// Where no point is stored, no element is loaded for it either: it may lie outside of its array.
TEST(TimeTilePtx, WhatIsLoadedKeepsItsBranch) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = u(x, y, z) * 2.0F + 1.0F;
  next.gpu_tile(x, y, 32, 4).march(z, 16);
  const std::string ptx = compile_to_ptx(next, 90);
  EXPECT_GT(count(ptx, "st.global"), 0U);
  EXPECT_EQ(predicated_stores(ptx), 0) << ptx;
}

// Nor to find its place.
TEST(TimeTilePtx, PlacesThatAreLoadedKeepTheirBranch) {
  const Var x("x"), y("y"), block("block"), in_block("in_block"), quad("quad"), one("one");
  const ImageParam place(Int(32), 1, "place");
  Func f("f");
  f(y, x) = 0.0F;
  f(clamp(place(x), 0, 15), x) = 1.0F;
  f.gpu_tile(y, x, 16, 4);
  f.update(0).split(x, block, in_block, 64, TailStrategy::GuardWithIf);
  f.update(0).split(in_block, quad, one, 4, TailStrategy::GuardWithIf).unroll(one).gpu_blocks(block);
  const std::string ptx = compile_to_ptx(f, 90);
  EXPECT_EQ(count(ptx, "ld.global"), 4U) << ptx;
  EXPECT_EQ(predicated_stores(ptx), 0) << ptx;
}

// One warp a block: eight levels, five operations a point and level, a shuffle to either side a vector,
// and next to nothing else.
TEST(TimeTilePtx, LevelsOfRowsAreArithmeticAndShufflesAlone) {
  const Var x("x"), y("y");
  for (const Type type : {Float(32), Float(64)}) {
    const int lanes = type.bytes() == 4 ? 4 : 2, steps = 8, rows = 1;
    const ImageParam u(type, 2, "u");
    const auto at = [&](double weight, int dx, int dy) {
      return cast(type, Expr(weight)) * u(x + dx, y + dy);
    };
    Func next("next");
    next(x, y) = at(0.4, 0, 0) + at(0.1, -1, 0) + at(0.11, 1, 0) + at(0.12, 0, -1) + at(0.13, 0, 1);
    next.gpu_tile(x, 32).vectorize(x, lanes).march(y, 128).scatter(y);
    Iteration heat({{u, next}});
    heat.time_tile(steps);
    const std::string ptx = heat.compile_to_ptx(90);
    EXPECT_EQ(ptx.find("bar.sync"), std::string::npos) << "a warp waits for no other";
    const std::string loop = long_loop(ptx, steps * lanes * rows * 4);
    ASSERT_NE(loop, "");
    EXPECT_EQ(count(loop, "fma.rn"), steps * lanes * rows * 4);
    EXPECT_EQ(count(loop, "mul.rn"), steps * lanes * rows);
    EXPECT_EQ(count(loop, "shfl.sync"), steps * rows * 2 * type.bytes() / 4);
    EXPECT_EQ(count(loop, "cp.async.cg"), rows) << loop;
    EXPECT_EQ(count(loop, "bar.warp.sync"), rows) << loop;
    EXPECT_EQ(count(loop, "ld.shared"), rows) << loop;
    EXPECT_EQ(count(loop, "ld.global"), 0) << loop;
    EXPECT_EQ(count(loop, "st.global"), rows) << loop;
    EXPECT_EQ(count(loop, "selp"), 0) << loop;
    const Assembled result = assemble(ptx, 90);
    if (!result.available) GTEST_SKIP() << "there is no ptxas";
    EXPECT_TRUE(result.ok) << result.output;
    EXPECT_EQ(result.largest("bytes spill stores"), 0) << result.output;
    EXPECT_LE(result.largest("registers"), 168) << "twelve warps a multiprocessor\n" << result.output;
  }
}

// Without a schedule: what registers hold in one kernel, where that is the faster way, and anything else
// one level after the other.
TEST(TimeTilePtx, WideStarsInRegistersOrOneLevelAfterTheOther) {
  struct Star {
    Type type;
    int radius, steps;
    bool in_one;
  };
  const Var x("x"), y("y");
  for (const Star& star :
       {Star{Float(32), 2, 4, true}, Star{Float(32), 3, 2, true}, Star{Float(64), 2, 4, true},
        Star{Int(16), 2, 2, true}, Star{Float(32), 3, 4, false}, Star{Float(32), 4, 2, false},
        Star{Int(16), 3, 2, false}, Star{UInt(16), 7, 4, false}}) {
    const ImageParam u(star.type, 2, "u");
    Expr sum = u(x, y);
    for (int k = 1; k <= star.radius; ++k) {
      sum = sum - cast(star.type, k) * (u(x - k, y) + u(x, y - k)) + u(x + k, y) - u(x, y + k);
    }
    Func next("next");
    next(x, y) = sum;
    Iteration steps({{u, next}});
    steps.time_tile(star.steps);
    testing::internal::CaptureStderr();
    const std::string ptx = steps.compile_to_ptx(90);
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(count(ptx, ".visible .entry"), star.in_one ? 1U : static_cast<std::size_t>(star.steps))
        << to_string(star.type) << " of radius " << star.radius;
    const Assembled result = assemble(ptx, 90);
    if (!result.available) GTEST_SKIP() << "there is no ptxas";
    EXPECT_TRUE(result.ok) << result.output;
    // (Of four steps of radius 2, which are still more than twice as fast.)
    EXPECT_LE(result.largest("bytes spill stores"), star.in_one ? 512 : 0) << result.output;
  }
}

// Helpers that are read at several points are computed at each of them, and functions are long: steps at
// once of such are not written out in one kernel.
TEST(TimeTilePtx, StepsOfMuchCodeAreComputedOneAfterTheOther) {
  const Var x("x"), y("y");
  const ImageParam p(Float(32), 2, "p");
  const Func edge = BoundaryConditions::repeat_edge(p);
  Func angle("angle"), flux("flux"), next("next");
  angle(x, y) = atan2(edge(x + 1, y) - edge(x - 1, y), edge(x, y + 1) - edge(x, y - 1));
  flux(x, y) = cos(6.0F * angle(x, y)) * sin(6.0F * angle(x, y));
  next(x, y) = edge(x, y) + 0.1F * (flux(x + 1, y) - flux(x - 1, y) + flux(x, y + 1) - flux(x, y - 1));
  const auto size_of = [&](int steps) {
    Iteration iteration({{p, next}});
    if (steps > 1) iteration.time_tile(steps);
    testing::internal::CaptureStderr();
    const std::string ptx = iteration.compile_to_ptx(90);
    testing::internal::GetCapturedStderr();
    return ptx.size();
  };
  EXPECT_LT(size_of(2), 5 * size_of(1));
}

}  // namespace
}  // namespace mica::test
