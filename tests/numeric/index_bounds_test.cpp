// Indices of every operator that bounds its value: what they may read is known at the launch.
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/traverse.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

class IndexBounds : public ::testing::Test {
 protected:
  IndexBounds() {
    memory_.push_back(bind_random(byte_, {{0, 40}}, 1));
    memory_.push_back(bind_random(number_, {{0, 40}}, 2));
    memory_.push_back(bind_random(real_, {{0, 40}}, 3, Contents::Special));
    memory_.push_back(bind_random(word_, {{0, 40}}, 6));
    memory_.push_back(bind_random(long_, {{0, 40}}, 7));
  }

  /// lut(at(x)) over 40 points is right on every target when lut holds exactly the elements named.
  void expect_right(const Expr& at, std::int64_t first, std::int64_t last) {
    const ImageParam lut(Float(32), 1, "lut");
    Func f("f");
    f(x_) = lut(at);
    const auto memory = bind_random(lut, {{first, last - first + 1}}, 4);
    EXPECT_TRUE(check_all_targets(f, {{0, 40}})) << to_string(at);
    if (last == first) return;
    const auto fewer = bind_random(lut, {{first, last - first}}, 5);
    Buffer<float> out(40);
    EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); }, {"lut ends at"})) << to_string(at);
  }

  ImageParam byte_{UInt(8), 1, "byte"};
  ImageParam number_{Int(32), 1, "number"};
  ImageParam real_{Float(32), 1, "real"};
  ImageParam word_{UInt(32), 1, "word"};
  ImageParam long_{UInt(64), 1, "long"};
  Param<std::int32_t> p_{"p"};
  Var x_{"x"};
  std::vector<std::shared_ptr<void>> memory_;
};

TEST_F(IndexBounds, OfNarrowIntegers) {
  expect_right(cast(Int(32), byte_(x_) / 32), 0, 7);
  expect_right(cast(Int(32), byte_(x_)) / 32, 0, 7);
  expect_right(byte_(x_) >> 5, 0, 7);
  expect_right(byte_(x_) & 7, 0, 7);
  expect_right(clamp(byte_(x_), 3, 9), 3, 9);
  expect_right(cast(Int(32), byte_(x_)) - cast(Int(32), byte_(39 - x_)), -255, 255);
  expect_right(byte_(x_) % 10, 0, 9);
  expect_right(cast(Int(32), cast(Int(8), byte_(x_))) >> 4, -8, 7);
}

TEST_F(IndexBounds, OfWideUnsignedIntegers) {
  for (const Expr& e : {word_(x_), long_(x_)}) {
    const int bits = e.type().bits;
    expect_right(cast(Int(32), e >> (bits - 5)), 0, 31);
    expect_right(cast(Int(32), e & 7), 0, 7);
    expect_right(cast(Int(32), e % 8), 0, 7);
    expect_right(cast(Int(32), e % 10) - 3, -3, 6);
    expect_right(cast(Int(32), (e & 63) / 10), 0, 6);
    expect_right(cast(Int(32), 7 - (e & 7)), 0, 7);
    expect_right(cast(Int(32), (e & 7) + (e % 3)), 0, 9);
    expect_right(cast(Int(32), (e & 3) | ((e >> (bits - 2)) << 2)), 0, 15);
    expect_right(cast(Int(32), ((e * 2654435761u) ^ (e >> 7)) >> (bits - 4)), 0, 15);
    expect_right(cast(Int(32), clamp(e, 3, 9)), 3, 9);
    expect_right(clamp(cast(Int(32), e), 3, 9), 3, 9);
    expect_right(cast(Int(8), e) >> 4, -8, 7);
    expect_right(cast(Int(32), min(e, 5)) + cast(Int(32), select(e > 9, Expr(4u), Expr(2u))), 2, 9);
  }
  expect_right(cast(Int(32), word_(x_) / (1 << 27)), 0, 31);
  expect_right(cast(Int(32), long_(x_) / (std::uint64_t{1} << 60)), 0, 15);
  expect_right(cast(Int(32), cast(UInt(32), x_) % 5), 0, 4);
  expect_right(x_ + cast(Int(32), Expr(0xffffffffu)), -1, 38);
  expect_right(cast(Int(32), cast(UInt(32), clamp(real_(x_), 0.0F, 9.0F))), 0, 9);
}

TEST_F(IndexBounds, OfWideUnsignedIntegersByWhatTheRunKnows) {
  Param<std::uint32_t> size("size", 12);
  expect_right(cast(Int(32), word_(x_) % size), 0, 11);
  expect_right(cast(Int(32), min(word_(x_), size)), 0, 12);
  expect_right(cast(Int(32), word_(x_) % cast(UInt(32), byte_.dim(0).extent())), 0, 39);
  expect_right(cast(Int(32), size) + (x_ & 1), 12, 13);
  Func table("table"), f("f");
  table(x_) = x_ * x_;
  f(x_) = table(cast(Int(32), word_(x_) % size)) + table(cast(Int(32), long_(x_) >> 58));
  table.compute_root();
  EXPECT_TRUE(check_all_targets({f}, {{0, 40}}));
  size.set(4000000000U);
  f.clear_schedule();
  table.clear_schedule();
  table.compute_root();
  Buffer<std::int32_t> out(40);
  EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); },
                         {"table would be computed from index 0 for 4000000000 points"}));
}

TEST_F(IndexBounds, OfACastThatMayWrapThereAreNone) {
  const ImageParam lut(Float(32), 1, "lut");
  const ImageParam signed_long(Int(64), 1, "signed_long");
  for (const Expr& at :
       {cast(Int(32), word_(x_)), cast(Int(32), word_(x_) + 1), cast(Int(32), long_(x_) / 2),
        cast(Int(32), clamp(signed_long(x_), 0, std::int64_t{1} << 32)),
        min(cast(Int(32), max(signed_long(x_), 0)), 3)}) {
    Func f("f");
    f(x_) = lut(at);
    EXPECT_TRUE(fails_with([&] { (void)compile(f, Target::host()); }, {"lut", "clamp"}))
        << to_string(at);
  }
}

TEST_F(IndexBounds, OfMasksShiftsAndRemaindersOfAnything) {
  expect_right(number_(x_) & 15, 0, 15);
  expect_right((number_(x_) * 7919 + 3) & 15, 0, 15);
  expect_right(number_(x_) % 12, 0, 11);
  expect_right(number_(x_) % -12, -11, 0);
  expect_right(clamp(number_(x_), -3, 3) >> 1, -2, 1);
  expect_right(abs(clamp(number_(x_), -5, 3)), 0, 5);
}

TEST_F(IndexBounds, OfShiftsAndBitsOfACoordinate) {
  expect_right(x_ >> 1, 0, 19);
  expect_right((x_ - 7) >> 2, -2, 8);
  expect_right(x_ << 1, 0, 78);
  expect_right(x_ ^ 1, 0, 39);
  expect_right((x_ - 5) ^ 2, -8, 35);
  expect_right(x_ | 1, 0, 39);
  expect_right((x_ - 5) | 6, -5, 39);
  expect_right(x_ & 3, 0, 3);
  expect_right(x_ & ~1, 0, 38);
  expect_right(x_ & ~5, -5, 39);
  p_.set(9);
  expect_right((x_ & 7) ^ p_, -9, 16);
}

TEST_F(IndexBounds, OfProductsAndQuotientsWithAParam) {
  for (const int p : {3, 1, -2}) {
    p_.set(p);
    expect_right(x_ * p_, p > 0 ? 0 : 39 * p, p > 0 ? 39 * p : 0);
    expect_right(x_ / p_, p > 0 ? 0 : -20, p > 0 ? 39 / p : 0);
    expect_right(x_ / (p_ * p_), 0, 39 / (p * p));
  }
  p_.set(0);
  expect_right(x_ * p_ + 2, 2, 2);
  expect_right(x_ / p_ + 2, 2, 2);
  p_.set(2);
  expect_right(x_ >> p_, 0, 9);
}

TEST_F(IndexBounds, OfClampedFloats) {
  expect_right(cast(Int(32), clamp(real_(x_), 0.0F, 7.0F)), 0, 7);
  expect_right(cast(Int(32), clamp(real_(x_), -2.5F, 7.9F)), -2, 7);
  expect_right(cast(Int(32), floor(clamp(real_(x_), -2.5F, 7.9F))), -3, 7);
  // NaN becomes 0.
  expect_right(cast(Int(32), clamp(real_(x_), 3.0F, 7.0F)), 0, 7);
  Param<float> top("top");
  top.set(11.5F);
  expect_right(cast(Int(32), clamp(real_(x_), 0.0F, top)), 0, 11);
}

TEST_F(IndexBounds, OfFloatsComputedFromBoundedOnes) {
  const auto index = [](const Expr& e) { return cast(Int(32), e); };
  const Expr unit = clamp(real_(x_), 0.0F, 1.0F);
  expect_right(index(cast(Float(32), x_) * 0.5F), 0, 19);
  expect_right(index(cast(Float(32), byte_(x_)) / 255.0F * 15.0F + 0.5F), 0, 15);
  expect_right(index(cast(Float(64), byte_(x_)) * -0.1), -25, 0);
  expect_right(index(sqrt(cast(Float(32), byte_(x_)))), 0, 15);
  expect_right(index(abs(clamp(real_(x_), -7.5F, 3.0F))), 0, 7);
  expect_right(index(-clamp(real_(x_), -7.5F, 3.0F)), -3, 7);
  expect_right(index(sin(real_(x_)) * 4.0F), -4, 4);
  expect_right(index(tanh(real_(x_)) * 3.5F + 3.5F), 0, 7);
  expect_right(index(exp(-abs(real_(x_))) * 7.0F), 0, 7);
  expect_right(index(fmod(real_(x_), 8.0F)), -8, 8);
  expect_right(index(atan2(real_(x_), 2.0F)), -3, 3);
  // By a factor whose sign the launch knows.
  Param<float> scale("scale");
  for (const float by : {5.5F, -5.5F}) {
    scale.set(by);
    expect_right(index(floor(unit * scale + 0.5F)), by > 0 ? 0 : -5, by > 0 ? 6 : 0);
    expect_right(index(cast(Float(32), x_) * scale), by > 0 ? 0 : -214, by > 0 ? 214 : 0);
  }
  scale.set(std::numeric_limits<float>::infinity());
  const ImageParam lut(Float(32), 1, "lut");
  const auto memory = bind_random(lut, {{0, 8}}, 4);
  Func f("f");
  f(x_) = lut(index(unit * scale));
  Buffer<float> out(40);
  EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); }, {"lut starts at"}));
}

TEST_F(IndexBounds, OfClampsByUniformValues) {
  Param<std::int32_t> low("low");
  low.set(-4);
  p_.set(9);
  expect_right(clamp(number_(x_), low, p_), -4, 9);
  expect_right(max(min(number_(x_), p_ * 2 - 1), low + 1), -3, 17);
  const Param<std::int64_t> wide("wide", 5);
  expect_right(cast(Int(32), clamp(cast(Int(64), number_(x_)), cast(Int(64), 0), wide)), 0, 5);
}

TEST_F(IndexBounds, OfWhatNothingBoundsAreRefusedByName) {
  const ImageParam lut(Float(32), 1, "lut");
  for (const Expr& at : {Expr(number_(x_)), number_(x_) + 1, cast(Int(32), real_(x_)),
                         number_(x_) >> 30 << 30, max(number_(x_), 0) * 2, number_(x_) * number_(x_)}) {
    Func f("f");
    f(x_) = lut(at);
    EXPECT_TRUE(fails_with([&] { compile({f}, Target::host()); }, {"nothing bounds it", "clamp"}))
        << to_string(at);
  }
}

}  // namespace
}  // namespace mica::test
