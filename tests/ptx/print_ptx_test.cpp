// Kernels that print call the device's vprintf, and NVIDIA's assembler takes them.
#include <string>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/print.h"
#include "dsl/func/func.h"
#include "tests/ptx/ptx_text.h"
#include "tests/ptx/ptxas.h"

namespace mica {
namespace {

TEST(PrintPtx, ALineIsACallOfVprintf) {
  const Var x("x"), y("y");
  for (const int lanes : {1, 4}) {
    Func f("f");
    f(x, y) = print_when(x == 3, cast<float>(x) / 3.0F, "at 100 %", x, y, cast<double>(y), x < y);
    f.gpu_tile(x, y, 16, 4);
    if (lanes > 1) f.vectorize(x, lanes);
    for (const int sm : {80, 90}) {
      const std::string ptx = compile_to_ptx(f, sm);
      EXPECT_GT(test::count(ptx, "vprintf"), 1U) << ptx;
      const test::Assembled result = test::assemble(ptx, sm);
      if (!result.available) GTEST_SKIP() << "there is no ptxas";
      EXPECT_TRUE(result.ok) << result.output << ptx;
    }
  }
}

TEST(PrintPtx, AFuncMayBeCalledAsThePrinter) {
  const Var x("x");
  Func f("vprintf");
  f(x) = print(cast<float>(x));
  f.gpu_tile(x, 32);
  const std::string ptx = compile_to_ptx(f);
  EXPECT_EQ(test::count(ptx, ".entry vprintf_2("), 1U) << ptx;
  const test::Assembled result = test::assemble(ptx, 90);
  EXPECT_TRUE(result.ok || !result.available) << result.output << ptx;
}

TEST(PrintPtx, WhatDoesNotPrintHasNoCall) {
  const Var x("x");
  Func f("f");
  f(x) = cast<float>(x);
  f.gpu_tile(x, 32);
  EXPECT_EQ(test::count(compile_to_ptx(f), "vprintf"), 0U);
}

}  // namespace
}  // namespace mica
