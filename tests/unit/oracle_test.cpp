// The oracle itself, against numbers computed by hand and plain loops.
#include "fuzz/oracle.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "runtime/buffer/buffer.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");
const Var z("z");

Buffer<std::int32_t> iota(std::int64_t min, std::int64_t extent) {
  Buffer<std::int32_t> b(std::vector<BufferDim>{{min, extent, 1}});
  for (std::int64_t i = min; i < min + extent; ++i) b(i) = static_cast<std::int32_t>(10 * i);
  return b;
}

TEST(Oracle, ReadsAnInputAtShiftedPoints) {
  ImageParam u(Int(32), 1, "u");
  u.set(iota(-1, 7));
  Func f("f");
  f(x) = u(x - 1) + 2 * u(x + 1);
  const Buffer<std::int32_t> out(interpret(f, {{0, 5}})[0]);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(out(i), 10 * (i - 1) + 20 * (i + 1));
}

TEST(Oracle, SevenPointSumIsAChainOfFmasInPlaneOrder) {
  ImageParam u(Float(32), 3, "u");
  const auto memory = bind_random(u, {{-1, 7}, {-1, 6}, {-1, 5}}, 1);
  const Buffer<float> in(*u.data()->bound);
  const Param<float> c0("c0", 0.7F);
  const Param<float> c1("c1", 0.05F);
  Func f("f");
  f(x, y, z) = c0 * u(x, y, z) + c1 * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                       u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
  const Buffer<float> out(interpret(f, {{0, 5}, {0, 4}, {0, 3}})[0]);
  for (int k = 0; k < 3; ++k) {
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 5; ++i) {
        float s = 0.05F * in(i, j, k - 1);
        s = std::fma(0.7F, in(i, j, k), s);
        s = std::fma(0.05F, in(i - 1, j, k), s);
        s = std::fma(0.05F, in(i + 1, j, k), s);
        s = std::fma(0.05F, in(i, j - 1, k), s);
        s = std::fma(0.05F, in(i, j + 1, k), s);
        s = std::fma(0.05F, in(i, j, k + 1), s);
        EXPECT_EQ(out(i, j, k), s) << i << "," << j << "," << k;
      }
    }
  }
}

TEST(Oracle, SixteenBitBlurWrapsBeforeItDivides) {
  ImageParam in(UInt(16), 2, "in");
  const auto memory = bind_random(in, {{-1, 8}, {-1, 7}}, 2);
  const Buffer<std::uint16_t> u(*in.data()->bound);
  Func blur_x("blur_x");
  Func blur_y("blur_y");
  blur_x(x, y) = (in(x - 1, y) + in(x, y) + in(x + 1, y)) / 3;
  blur_y(x, y) = (blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1)) / 3;
  const Buffer<std::uint16_t> out(interpret(blur_y, {{0, 6}, {0, 5}})[0]);
  const auto row = [&](int i, int j) {
    return static_cast<std::uint16_t>(static_cast<std::uint16_t>(u(i - 1, j) + u(i, j) + u(i + 1, j)) /
                                      3);
  };
  for (int j = 0; j < 5; ++j) {
    for (int i = 0; i < 6; ++i) {
      const auto sum = static_cast<std::uint16_t>(row(i, j - 1) + row(i, j) + row(i, j + 1));
      EXPECT_EQ(out(i, j), sum / 3);
    }
  }
}

TEST(Oracle, AnUpdateAddsOverItsReductionDomain) {
  ImageParam u(Int(32), 1, "u");
  u.set(iota(0, 12));
  const RDom r({{-1, 3}});
  Func f("f");
  f(x) = 1000;
  f(x) += u(x + r) * (r + 2);
  const Buffer<std::int32_t> out(interpret(f, {{1, 4}})[0]);
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(out(i), 1000 + 10 * (i - 1) + 20 * i + 30 * (i + 1));
  }
}

TEST(Oracle, ARunningSumReadsWhatEarlierIterationsWrote) {
  ImageParam u(Int(32), 1, "u");
  u.set(iota(0, 10));
  const RDom r({{1, 9}});
  Func scan("scan");
  scan(x) = u(0);
  scan(r) = scan(r - 1) + u(r);
  Func picked("picked");
  picked(x) = scan(2 * x);  // never asks for scan's odd points or its start
  const Buffer<std::int32_t> out(interpret(picked, {{1, 4}})[0]);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(out(i), 10 * (2 * i) * (2 * i + 1) / 2);
}

TEST(Oracle, ARunningSumAlongOneDimensionLeavesTheOtherPure) {
  const RDom r({{1, 5}});
  Func f("f");
  f(x, y) = x + 100 * y;
  f(x, r) = f(x, r - 1) * 2 + f(x, r);
  const Buffer<std::int32_t> out(interpret(f, {{3, 2}, {0, 8}})[0]);
  for (int i = 3; i < 5; ++i) {
    int previous = i;
    EXPECT_EQ(out(i, 0), previous);
    for (int j = 1; j < 6; ++j) {
      previous = previous * 2 + i + 100 * j;
      EXPECT_EQ(out(i, j), previous);
    }
    EXPECT_EQ(out(i, 7), i + 700);
  }
}

TEST(Oracle, UpdatesScatterWhereTheirArgumentsSay) {
  ImageParam u(Int(32), 1, "u");
  Buffer<std::int32_t> data(6);
  const std::vector<std::int32_t> values{3, 1, 3, 0, 1, 3};
  for (int i = 0; i < 6; ++i) data(i) = values[static_cast<std::size_t>(i)];
  u.set(data);
  const RDom r({{0, 6}});
  Func histogram("histogram");
  histogram(x) = 0;
  histogram(clamp(u(r), 0, 7)) += 1;
  const Buffer<std::int32_t> out(interpret(histogram, {{0, 5}})[0]);
  const std::vector<std::int32_t> expected{1, 2, 0, 3, 0};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(out(i), expected[static_cast<std::size_t>(i)]);
}

TEST(Oracle, UpdatesOfATupleSeeTheValuesFromBefore) {
  const RDom r({{0, 5}});
  Func fibonacci("fibonacci");
  fibonacci(x) = Tuple(Expr(0), Expr(1));
  fibonacci(x) = Tuple(fibonacci(x)[1], fibonacci(x)[0] + fibonacci(x)[1] + 0 * r);
  const std::vector<AnyBuffer> out = interpret(fibonacci, {{0, 1}});
  EXPECT_EQ(Buffer<std::int32_t>(out[0])(0), 5);
  EXPECT_EQ(Buffer<std::int32_t>(out[1])(0), 8);
}

TEST(Oracle, HalvedCoordinatesRoundTowardMinusInfinity) {
  Func index("index");
  Func f("f");
  index(x) = x;
  f(x) = index((x - 1) / 2) * 100 + index(2 * x + 1);
  const Buffer<std::int32_t> out(interpret(f, {{-3, 6}})[0]);
  const std::vector<int> halves{-2, -2, -1, -1, 0, 0};
  for (int i = -3; i < 3; ++i) {
    EXPECT_EQ(out(i), halves[static_cast<std::size_t>(i + 3)] * 100 + 2 * i + 1);
  }
}

TEST(Oracle, BoundaryConditionsExtendAnImageOfThreeElements) {
  ImageParam u(Int(32), 1, "u");
  u.set(iota(5, 3));  // a = 50, b = 60, c = 70
  const auto row = [&](Func f) {
    const Buffer<std::int32_t> out(interpret(f, {{1, 12}})[0]);
    std::vector<int> values;
    for (int i = 1; i < 13; ++i) values.push_back(out(i));
    return values;
  };
  const int a = 50;
  const int b = 60;
  const int c = 70;
  using BoundaryConditions::mirror_image;
  using BoundaryConditions::mirror_interior;
  EXPECT_EQ(row(BoundaryConditions::repeat_edge(u)),
            (std::vector<int>{a, a, a, a, a, b, c, c, c, c, c, c}));
  EXPECT_EQ(row(BoundaryConditions::constant_exterior(u, -1)),
            (std::vector<int>{-1, -1, -1, -1, a, b, c, -1, -1, -1, -1, -1}));
  EXPECT_EQ(row(BoundaryConditions::repeat_image(u)),
            (std::vector<int>{c, a, b, c, a, b, c, a, b, c, a, b}));
  EXPECT_EQ(row(mirror_image(u)), (std::vector<int>{c, c, b, a, a, b, c, c, b, a, a, b}));
  EXPECT_EQ(row(mirror_interior(u)), (std::vector<int>{a, b, c, b, a, b, c, b, a, b, c, b}));
}

TEST(Oracle, ARecurrenceStartsWhereItSaysWhateverIsAsked) {
  Func power("power"), out("out");
  power(x) = select(x == 2, 3, 1 + 2 * power(x - 1));
  out(x) = power(x);
  const Buffer<std::int32_t> far(interpret(out, {{5, 2}})[0]);
  EXPECT_EQ(far(5), 31);
  EXPECT_EQ(far(6), 63);
  // Before the start a read of the Func is 0.
  const Buffer<std::int32_t> before(interpret(out, {{-1, 4}})[0]);
  for (const int at : {-1, 0, 1}) EXPECT_EQ(before(at), 1);
  EXPECT_EQ(before(2), 3);
}

TEST(Oracle, ARecurrenceThatSaysNoStartBeginsWithTheOutput) {
  Func sum("sum");
  sum(x) = x + sum(x + 1);
  const Buffer<std::int32_t> out(interpret(sum, {{3, 4}})[0]);
  EXPECT_EQ(out(6), 6);
  EXPECT_EQ(out(5), 11);
  EXPECT_EQ(out(3), 18);
}

TEST(Oracle, ColorsComeOneAfterTheOther) {
  Func p("p"), q("q"), out("out");
  for (Func* f : {&p, &q}) {
    (*f)(x) = x * x;
    (*f)(x) = (*f)(x - 1) + (*f)(x + 1);
    f->update().color(x % 2);
  }
  // An output keeps its rim.
  const Buffer<std::int32_t> rim(interpret(p, {{0, 5}})[0]);
  const std::vector<std::int32_t> expected{0, 10, 10, 26, 16};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rim(i), expected[static_cast<std::size_t>(i)]) << i;
  // Another Func has none: even points are 2*x*x + 2, odd ones the sum of those around.
  out(x) = q(x);
  const Buffer<std::int32_t> all(interpret(out, {{0, 5}})[0]);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(all(i), i % 2 == 0 ? 2 * i * i + 2 : 4 * i * i + 8) << i;
}

TEST(Oracle, ReadingOutsideAnInputIsAnError) {
  ImageParam u(Int(32), 1, "u");
  u.set(iota(0, 4));
  Func f("f");
  f(x) = u(x + 1);
  EXPECT_NO_THROW(interpret(f, {{0, 3}}));
  EXPECT_THROW(interpret(f, {{0, 4}}), OracleError);
}

TEST(Oracle, TheDemandedBoxOfAnInputIsTheUnionOfItsTaps) {
  ImageParam u(Float(32), 2, "u");
  Func g("g");
  Func f("f");
  g(x, y) = u(x - 2, y) + u(x, y + 1);
  f(x, y) = g(2 * x, y) + g(2 * x + 1, y - 3);
  const auto demanded = demanded_inputs({f}, {{0, 4}, {10, 5}});
  EXPECT_EQ(demanded.at(u.data().get()), (Box{{-2, 10}, {7, 9}}));
}

TEST(Oracle, ParamsAreReadWhenItRuns) {
  const Param<std::int32_t> p("p", 3);
  Func f("f");
  f(x) = p * x;
  EXPECT_EQ(Buffer<std::int32_t>(interpret(f, {{4, 1}})[0])(4), 12);
  p.set(-5);
  EXPECT_EQ(Buffer<std::int32_t>(interpret(f, {{4, 1}})[0])(4), -20);
}

}  // namespace
}  // namespace mica::test
