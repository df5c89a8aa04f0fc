// Chains of Funcs that the threads of a march keep in registers and read beside their own points: every
// value comes from the thread that computed it, and only points that lack nothing are stored.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// A star of radius 1 with other weights on every side.
Func star_of(const std::string& name, const std::function<Expr(Expr, Expr, Expr)>& u) {
  Func f(name);
  f(x, y, z) = 0.3F * u(x, y, z) + 0.11F * u(x - 1, y, z) + 0.13F * u(x + 1, y, z) +
               0.09F * u(x, y - 1, z) + 0.12F * u(x, y + 1, z) + 0.08F * u(x, y, z - 1) +
               0.14F * u(x, y, z + 1);
  return f;
}

struct Chain {
  ImageParam u{Float(32), 3, "u"};
  std::vector<Func> steps;

  explicit Chain(int count) {
    for (int i = 0; i < count; ++i) {
      const auto before = i == 0 ? std::function<Expr(Expr, Expr, Expr)>(
                                       [&](Expr a, Expr b, Expr c) -> Expr { return u(a, b, c); })
                                 : [&](Expr a, Expr b, Expr c) -> Expr { return steps.back()(a, b, c); };
      steps.push_back(star_of(i + 1 == count ? "next" : "t" + std::to_string(i + 1), before));
    }
  }
  Func& next() { return steps.back(); }
  void keep_in_registers(bool scatter) {
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      steps[i].compute_at(next(), "z.march").store_in(MemoryType::Register);
    }
    for (Func& step : steps) {
      if (scatter) step.scatter(z);
    }
  }
};

void expect_oracles_bits(Chain& chain, const Box& box, const std::function<void(Chain&)>& schedule) {
  const auto memory = bind_demanded({chain.next()}, box, {chain.u}, 3);
  const std::vector<AnyBuffer> expected = expected_values({chain.next()}, box);
  schedule(chain);
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(run_matches(expected, {chain.next()}, box, target));
  }
}

TEST(CommonFrame, OfTwoStepsGathered) {
  Chain chain(2);
  expect_oracles_bits(chain, {{-3, 139}, {2, 23}, {0, 9}}, [](Chain& c) {
    c.next().gpu_tile(x, y, 32, 3).vectorize(x, 4).unroll(y, 4).march(z, 4);
    c.keep_in_registers(false);
  });
}

TEST(CommonFrame, OfTwoStepsScattered) {
  Chain chain(2);
  expect_oracles_bits(chain, {{-3, 139}, {2, 23}, {0, 9}}, [](Chain& c) {
    c.next().gpu_tile(x, y, 32, 3).vectorize(x, 4).unroll(y, 4).march(z, 4);
    c.keep_in_registers(true);
  });
}

// The number of a chunk's planes is known before the launch, whether chunks divide it or not.
TEST(CommonFrame, OfExtentsThatAreConstants) {
  for (const int chunk : {4, 5}) {
    Chain chain(3);
    expect_oracles_bits(chain, {{-3, 240}, {2, 24}, {0, 12}}, [&](Chain& c) {
      c.next().bound(x, -3, 240).bound(y, 2, 24).bound(z, 0, 12);
      c.next().gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 2).march(z, chunk);
      c.keep_in_registers(true);
    });
  }
}

TEST(CommonFrame, OfThreeStepsWithAStagedInput) {
  Chain chain(3);
  expect_oracles_bits(chain, {{-3, 251}, {2, 41}, {0, 13}}, [](Chain& c) {
    c.next().gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 4).march(z, 5);
    c.keep_in_registers(true);
    c.steps.front().stage(c.u, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(c.u, 2);
  });
}

TEST(CommonFrame, OfFarTapsInEveryDirectionAtOnce) {
  ImageParam u(Float(64), 3, "u");
  Func blurred("blurred"), next("next");
  blurred(x, y, z) = u(x, y, z) * 0.5 + u(x - 1, y + 1, z) * 0.25 - u(x + 2, y, z - 1);
  next(x, y, z) = blurred(x - 2, y - 1, z) + blurred(x + 1, y + 2, z) * 0.3 +
                  blurred(x, y, z + 1) * 0.2 - blurred(x + 2, y - 2, z - 1);
  const Box box{{-3, 131}, {2, 19}, {-1, 7}};
  const auto memory = bind_demanded({next}, box, {u}, 5);
  const std::vector<AnyBuffer> expected = expected_values({next}, box);
  next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 2).march(z, 3);
  blurred.compute_at(next, "z.march").store_in(MemoryType::Register);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {next}, box, target));
}

TEST(CommonFrame, OfTuplesWithOtherSourcesBeside) {
  ImageParam u(Float(32), 3, "u"), k(Float(32), 2, "k");
  Func flux("flux"), next("next");
  const Expr rate = k(x, y);
  flux(x, y, z) =
      Tuple((u(x + 1, y, z) - u(x, y, z)) * rate, (u(x, y + 1, z) - u(x, y, z)) * k(x, y + 1));
  const FuncRef here = flux(x, y, z), left = flux(x - 1, y, z), below = flux(x, y - 1, z);
  next(x, y, z) = u(x, y, z) + (here[0] - left[0]) + (here[1] - below[1]);
  const Box box{{5, 67}, {-2, 15}, {0, 6}};
  const auto memory = bind_demanded({next}, box, {u, k}, 5);
  const std::vector<AnyBuffer> expected = expected_values({next}, box);
  next.gpu_tile(x, y, 32, 2).vectorize(x, 2).unroll(y, 3).march(z, 4);
  flux.compute_at(next, "z.march").store_in(MemoryType::Register);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {next}, box, target));
}

TEST(CommonFrame, InTwoDimensionsHasNoBarriers) {
  ImageParam u(Float(32), 2, "u");
  std::vector<Func> steps;
  for (int i = 0; i < 4; ++i) {
    const auto at = [&](const Expr& a, const Expr& b) -> Expr {
      return i == 0 ? u(a, b) : steps.back()(a, b);
    };
    Func step("s" + std::to_string(i));
    step(x, y) = 0.3F * at(x, y) + 0.1F * at(x - 1, y) + 0.2F * at(x + 1, y) + 0.15F * at(x, y - 1) +
                 0.25F * at(x, y + 1);
    steps.push_back(step);
  }
  Func& next = steps.back();
  const Box box{{0, 401}, {0, 37}};
  const auto memory = bind_demanded({next}, box, {u}, 5);
  const std::vector<AnyBuffer> expected = expected_values({next}, box);
  next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16);
  for (int i = 0; i < 3; ++i) {
    steps[static_cast<std::size_t>(i)].compute_at(next, "y.march").store_in(MemoryType::Register);
  }
  for (Func& step : steps) step.scatter(y);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {next}, box, target));
  EXPECT_EQ(compile_to_ptx(next).find("bar.sync"), std::string::npos);
}

TEST(CommonFrame, OfBoxesOfOnePoint) {
  for (const Box& box :
       {Box{{3, 1}, {4, 1}, {5, 1}}, Box{{0, 120}, {0, 1}, {0, 2}}, Box{{0, 1}, {0, 30}, {2, 3}}}) {
    Chain chain(3);
    expect_oracles_bits(chain, box, [](Chain& c) {
      c.next().gpu_tile(x, y, 32, 3).vectorize(x, 4).unroll(y, 4).march(z, 2);
      c.keep_in_registers(true);
    });
  }
}

TEST(CommonFrame, OfMoreRowsBeforeAPointThanBehindIt) {
  ImageParam u(Float(32), 3, "u");
  Func blurred("blurred"), next("next");
  blurred(x, y, z) = u(x, y, z) * 0.5F + u(x, y + 1, z) * 0.25F;
  next(x, y, z) = blurred(x, y - 2, z) * 0.3F + blurred(x, y, z + 1) * 0.2F + blurred(x, y + 1, z);
  const Box box{{0, 40}, {1, 17}, {0, 3}};
  const auto memory = bind_demanded({next}, box, {u}, 5);
  const std::vector<AnyBuffer> expected = expected_values({next}, box);
  next.gpu_tile(x, y, 32, 3).unroll(y, 4).march(z, 2);
  blurred.compute_at(next, "z.march").store_in(MemoryType::Register);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {next}, box, target));
}

// Blocks store 120 x 10 of their 128 x 12 points; rows of five and six elements are read.
TEST(CommonFrame, OfOnePointMoreThanTheBlocksBeforeStore) {
  for (const Box& box :
       {Box{{0, 121}, {0, 3}, {0, 2}}, Box{{3, 1}, {0, 11}, {0, 2}}, Box{{2, 2}, {0, 1}, {0, 1}}}) {
    Chain chain(2);
    expect_oracles_bits(chain, box, [](Chain& c) {
      c.next().gpu_tile(x, y, 32, 3).vectorize(x, 4).unroll(y, 4).march(z, 2);
      c.keep_in_registers(true);
    });
  }
}

TEST(CommonFrame, WithAnInputKeptAsWell) {
  Chain chain(2);
  expect_oracles_bits(chain, {{-3, 251}, {2, 30}, {0, 9}}, [](Chain& c) {
    c.next().gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 4).march(z, 5);
    c.keep_in_registers(true);
    c.u.in(c.steps.front()).compute_at(c.next(), "z.march").store_in(MemoryType::Register);
  });
}

TEST(CommonFrame, WithAnInputKeptThatIsAskedForEarly) {
  for (const int depth : {1, 2}) {
    Chain chain(2);
    expect_oracles_bits(chain, {{-3, 251}, {2, 30}, {0, 9}}, [&](Chain& c) {
      c.next().gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 4).march(z, 5);
      c.keep_in_registers(true);
      Func kept = c.u.in(c.steps.front());
      kept.compute_at(c.next(), "z.march").store_in(MemoryType::Register);
      c.steps.front().pipeline(kept, depth);
    });
  }
}

TEST(CommonFrame, WithAnInputKeptOfWhatIsStaged) {
  for (const bool scatter : {false, true}) {
    Chain chain(3);
    expect_oracles_bits(chain, {{-3, 251}, {2, 30}, {0, 9}}, [&](Chain& c) {
      c.next().gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 4).march(z, 5);
      c.keep_in_registers(scatter);
      Func kept = c.u.in(c.steps.front());
      kept.compute_at(c.next(), "z.march").store_in(MemoryType::Register);
      kept.stage(c.u, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(c.u, 2);
    });
  }
}

// ---- what a step stages
// --------------------------------------------------------------------------------

TEST(CommonFrame, AFuncComputedInABlockMayStageWhatItReads) {
  Chain chain(2);
  expect_oracles_bits(chain, {{-3, 37}, {2, 19}, {0, 5}}, [](Chain& c) {
    c.next().gpu_tile(x, y, z, 16, 4, 1);
    c.steps.front().compute_at(c.next(), "x.block").stage(c.u, MemoryType::Shared);
  });
}

TEST(CommonFrame, SumsOfAFuncKeptInSharedMemoryMayBeScattered) {
  Chain chain(2);
  expect_oracles_bits(chain, {{-3, 37}, {2, 19}, {0, 11}}, [](Chain& c) {
    c.next().gpu_tile(x, y, 16, 4).march(z, 4).scatter(z);
    c.steps.front().compute_at(c.next(), "z.march");
  });
}

}  // namespace
}  // namespace mica::test
