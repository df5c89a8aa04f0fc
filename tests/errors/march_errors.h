// The Func that tests of misused marches and copies schedule, and what they expect of its findings.
#pragma once

#include <gtest/gtest.h>

#include "dsl/check/check_schedule.h"
#include "dsl/func/func.h"
#include "tests/passes/lowered.h"
#include "tests/support/expect_error.h"

namespace mica::test {

/// u, v -> next, a star of radius 1 over u in three dimensions.
class MarchedFunc : public ::testing::Test {
 protected:
  MarchedFunc() {
    next(x, y, z) = 0.5F * u(x, y, z) + v(x, y, z) +
                    0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) +
                            u(x, y, z - 1) + u(x, y, z + 1));
  }
  Func& tiled() { return next.gpu_tile(x, y, 32, 4); }
  Func& marched() { return tiled().march(z, 8); }
  Diagnostics check(bool gpu = true) const { return check_of(next, gpu); }
  static Diagnostics check_of(const Func& f, bool gpu = true) {
    return check_schedule(make_pipeline({f.function()}), gpu);
  }
  const Var x{"x"}, y{"y"}, z{"z"}, w{"w"}, zo{"zo"}, zi{"zi"};
  ImageParam u{Float(32), 3, "u"}, v{Float(32), 3, "v"};
  Func next{"next"};
};

/// Runs `statement`, and EXPECTs one finding at its line.
#define EXPECT_FINDING(statement, ...) \
  statement;                           \
  EXPECT_TRUE(::mica::test::only_finding(check(), {__VA_ARGS__}, __LINE__))
#define EXPECT_FINDING_OF(func, statement, ...) \
  statement;                                    \
  EXPECT_TRUE(::mica::test::only_finding(check_of(func), {__VA_ARGS__}, __LINE__))

/// Lowers `func` for a GPU and EXPECTs a UserError at `at`.
#define EXPECT_REFUSED(func, at, ...) \
  EXPECT_TRUE(::mica::test::fails_with([&] { test::lowered(func, Backend::Cuda); }, {__VA_ARGS__}, at))

}  // namespace mica::test
