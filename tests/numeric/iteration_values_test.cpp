// Iterations: what the steps of a run read beside its fields.
#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x");

TEST(Iteration, WhatACallbackSetsIsForTheNextRun) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 1, "u");
    ImageParam add(Float(32), 1, "add");
    Param<float> c("c", 2.0F);
    Func next("next");
    next(x) = c * u(x) + add(x);
    if (target.is_gpu()) next.gpu_tile(x, 32);
    Buffer<float> ones(8), tens(8), a(8);
    ones.fill(1);
    tens.fill(10);
    a.fill(1);
    add.set(ones);
    Iteration grow({{u, next}});
    grow.every(1, [&](const RunningIteration&) {
      c.set(3.0F);
      add.set(tens);
    });
    grow.run({{u, a}}, 4, {.target = target});
    EXPECT_EQ(a(3), 31) << to_string(target);
    grow.run({{u, a}}, 1, {.target = target});
    EXPECT_EQ(a(3), 103) << to_string(target);
  }
}

TEST(Iteration, BuffersInAStepAreReadAsTheyAre) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 1, "u");
    Buffer<float> weights(8), a(8);
    weights.fill(2);
    a.fill(1);
    Func next("next");
    next(x) = weights(Expr(x)) * u(x);
    if (target.is_gpu()) next.gpu_tile(x, 32);
    Iteration grow({{u, next}});
    grow.run({{u, a}}, 3, {.target = target});
    EXPECT_EQ(a(5), 8) << to_string(target);
  }
}

}  // namespace
}  // namespace mica::test
