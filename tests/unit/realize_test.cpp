// The ways in which realize() can be called.
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/executable.h"

namespace mica {
namespace {

const Var x("x"), y("y");

TEST(Realize, TakesSizesInBraces) {
  Func f("f"), g("g");
  f(x) = x;
  g(x, y) = x + 10 * y;
  const Buffer<std::int32_t> a = f.realize({100}, Target::host());
  EXPECT_EQ(a(99), 99);
  const Buffer<std::int32_t> b = g.realize({3, 4}, Target::host());
  EXPECT_EQ(b(2, 3), 32);
  EXPECT_EQ(f.realize({0}, Target::host())[0].elements(), 0);
  EXPECT_EQ(g.realize({2, 0}, Target::host())[0].elements(), 0);
  const std::vector<int> sizes{5};
  EXPECT_EQ(f.realize(sizes, Target::host())[0].elements(), 5);
}

TEST(Realize, TakesOutputsInBraces) {
  Func f("f"), t("t");
  f(x) = x;
  t(x) = Tuple(Expr(x), Expr(x) * 2);
  Buffer<std::int32_t> a(10), b(10);
  t.realize({&a, &b}, Target::host());
  EXPECT_EQ(a(9), 9);
  EXPECT_EQ(b(9), 18);
  a.fill(0);
  f.realize({&a}, Target::host());
  EXPECT_EQ(a(9), 9);
  const std::vector<AnyBuffer*> outputs{&a, &b};
  t.realize(outputs, Target::host());
  EXPECT_EQ(b(9), 18);
}

TEST(Realize, TakesTheSameWithoutATarget) {
  Func f("f"), t("t");
  f(x) = x;
  t(x) = Tuple(Expr(x), Expr(x) * 2);
  Buffer<std::int32_t> a(10), b(10);
  t.realize({&a, &b});
  EXPECT_EQ(std::as_const(b)(9), 18);
  EXPECT_EQ(f.realize({7})[0].elements(), 7);
  f.realize(a);
  EXPECT_EQ(std::as_const(a)(9), 9);
}

TEST(Buffers, TakeExtentsAndDimensionsInBraces) {
  EXPECT_EQ(Buffer<float>({4, 5}).elements(), 20);
  EXPECT_EQ(Buffer<float>({4}).elements(), 4);
  EXPECT_EQ(AnyBuffer(Float(32), {4}).elements(), 4);
  EXPECT_EQ(AnyBuffer(Float(32), {4, 5}).elements(), 20);
  EXPECT_EQ(AnyBuffer(Float(32), {{2, 4, 1}, {0, 5, 4}}).min(0), 2);
  EXPECT_EQ(AnyBuffer(Float(32), {{2, 4, 1}}).min(0), 2);
  EXPECT_EQ(Buffer<float>({{2, 4, 1}, {0, 5, 4}}).min(0), 2);
  EXPECT_EQ(Buffer<float>({{2, 4, 1}}).min(0), 2);
}

TEST(Compile, TakesOutputsInBraces) {
  Func f("f"), g("g");
  f(x) = x;
  g(x) = 2 * x;
  Buffer<std::int32_t> a(10), b(10);
  Executable both = compile({f, g}, Target::host());
  both.run({&a, &b});
  EXPECT_EQ(b(9), 18);
  compile({f}, Target::host()).run({&a});
  EXPECT_EQ(a(9), 9);
}

}  // namespace
}  // namespace mica
