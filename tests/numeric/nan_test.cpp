// NaNs are equal to each other: neither the sign nor the payload of one that an operation reads shows in
// a result that is no NaN, whatever the schedule.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "fuzz/oracle_ops.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

const Var x("x");

class NaNs : public ::testing::TestWithParam<Type> {
 protected:
  NaNs() {
    const std::vector<std::uint64_t> nans = nan_bits(), others = other_bits();
    variants_ = static_cast<std::int64_t>(nans.size());
    extent_ = variants_ * static_cast<std::int64_t>(others.size());
    AnyBuffer nan_buffer(type_, {extent_}), other_buffer(type_, {extent_});
    auto* a_data = static_cast<unsigned char*>(nan_buffer.host_data_for_write());
    auto* b_data = static_cast<unsigned char*>(other_buffer.host_data_for_write());
    const auto bytes = static_cast<std::size_t>(type_.bytes());
    for (std::size_t i = 0; i < static_cast<std::size_t>(extent_); ++i) {
      std::memcpy(a_data + i * bytes, &nans[i % nans.size()], bytes);
      std::memcpy(b_data + i * bytes, &others[i / nans.size()], bytes);
    }
    a_.set(nan_buffer);
    b_.set(other_buffer);
  }

  [[nodiscard]] int significand_bits() const {
    if (type_.bits == 64) return 52;
    if (type_.bits == 32) return 23;
    return type_ == BFloat() ? 7 : 10;
  }
  [[nodiscard]] std::vector<std::uint64_t> nan_bits() const {
    const std::uint64_t sign = std::uint64_t{1} << (type_.bits - 1);
    const std::uint64_t quiet = std::uint64_t{1} << (significand_bits() - 1);
    const std::uint64_t infinity = sign - 2 * quiet;
    std::vector<std::uint64_t> result;
    for (const std::uint64_t payload : {quiet, quiet | 1, 2 * quiet - 1, std::uint64_t{1}, quiet - 1}) {
      result.push_back(infinity | payload);
      result.push_back(sign | infinity | payload);
    }
    return result;
  }
  /// Zeros, ones, infinities and NaNs of both signs, and some numbers.
  [[nodiscard]] std::vector<std::uint64_t> other_bits() const {
    const std::uint64_t sign = std::uint64_t{1} << (type_.bits - 1);
    const std::uint64_t infinity = sign - (std::uint64_t{1} << significand_bits());
    const std::uint64_t one = infinity / 2 & ~((std::uint64_t{1} << significand_bits()) - 1);
    std::vector<std::uint64_t> result;
    for (const std::uint64_t bits :
         {std::uint64_t{0}, std::uint64_t{1}, one, one + 1, infinity - 1, infinity}) {
      result.push_back(bits);
      result.push_back(sign | bits);
    }
    const std::vector<std::uint64_t> nans = nan_bits();
    result.insert(result.end(), nans.begin(), nans.begin() + 2);
    return result;
  }

  /// All values of `schedule`d f on `target`, of which those of one group are alike.
  std::vector<AnyBuffer> values(const Func& f, const Target& target) const {
    std::vector<AnyBuffer> made;
    std::vector<AnyBuffer*> pointers;
    for (const Type type : f.types()) made.emplace_back(type, std::vector<std::int64_t>{extent_});
    for (AnyBuffer& buffer : made) pointers.push_back(&buffer);
    compile(f, target).run(pointers);
    for (std::size_t i = 0; i < made.size(); ++i) {
      for (std::int64_t k = 0; k < variants_; ++k) {
        EXPECT_TRUE(same_bits(every(made[i], 0), every(made[i], k))) << "value " << i << ", NaN " << k;
      }
    }
    return made;
  }
  /// The elements whose NaN is number `k`.
  [[nodiscard]] AnyBuffer every(const AnyBuffer& buffer, std::int64_t k) const {
    AnyBuffer picked(buffer.type(), {extent_ / variants_});
    const auto bytes = static_cast<std::size_t>(buffer.type().bytes());
    const auto* from = static_cast<const unsigned char*>(buffer.host_data());
    auto* to = static_cast<unsigned char*>(picked.host_data_for_write());
    for (std::int64_t i = 0; i < picked.elements(); ++i) {
      std::memcpy(to + static_cast<std::size_t>(i) * bytes,
                  from + static_cast<std::size_t>(i * variants_ + k) * bytes, bytes);
    }
    return picked;
  }

  void check(const std::vector<Expr>& exprs) {
    Func f("f");
    f(x) = Tuple(exprs);
    const std::vector<AnyBuffer> expected = values(f, Target::host());
    const auto expect_the_same = [&](const Target& target) {
      const std::vector<AnyBuffer> actual = values(f, target);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(same_bits(expected[i], actual[i]))
            << "value " << i << " of\n"
            << to_string(f.schedule()) << " on " << to_string(target);
      }
    };
    for (const int width : {2, 4, 16}) {
      f.clear_schedule();
      f.vectorize(x, width);
      expect_the_same(Target::host());
    }
    for (const int width : {1, 2, 4}) {
      f.clear_schedule();
      f.gpu_tile(x, 32);
      if (width > 1) f.vectorize(x, width);
      for (const Target& target : gpu_targets()) expect_the_same(target);
    }
  }

  Type type_ = GetParam();
  std::int64_t variants_ = 0, extent_ = 0;
  ImageParam a_{type_, 1, "a"}, b_{type_, 1, "b"};
  Expr a = a_(x), b = b_(x);
};

TEST_P(NaNs, AreAlikeInArithmetic) {
  check({a + b, b - a, a * b, a / b, b / a, -a, abs(a), fma(a, b, b), fma(b, b, a), min(a, b), max(b, a),
         clamp(a, b, b), a + 0.0F, a * 1.0F, strict(a + b + a)});
}

TEST_P(NaNs, AreAlikeInComparisonsAndChoices) {
  check({a<b, a <= b, a> b, a >= b, a == b, a != b, !(a < b), a < 0.0F, -a<0.0F, abs(a)> 0.0F,
         select(a < 0.0F, 1, 2), select(-a > b, b, b + b), min(a, b) < 0.0F, max(a, b) == b});
}

TEST_P(NaNs, AreAlikeInCasts) {
  std::vector<Expr> casts;
  for (const Type to : number_types()) casts.push_back(cast(to, a));
  casts.push_back(cast(Bool(), a));
  for (const Type to : {Float(16), BFloat(), Float(32), Float(64)}) {
    casts.push_back(cast(Int(32), cast(to, a)));
    casts.push_back(cast(to, a) < cast(to, b));
  }
  check(casts);
}

TEST_P(NaNs, AreAlikeInFunctions) {
  check({sqrt(a), floor(a), ceil(a), round(a), exp(a), log(a), sin(a), cos(a), tanh(a), pow(a, b),
         pow(b, a), pow(a, a), pow(a, 0.0F), cast(Int(32), pow(b, a)), sqrt(-abs(b) - 1.0F + a)});
}

INSTANTIATE_TEST_SUITE_P(FloatTypes, NaNs, ::testing::Values(Float(16), BFloat(), Float(32), Float(64)),
                         [](const auto& param) { return to_string(param.param); });

}  // namespace
}  // namespace mica::test
