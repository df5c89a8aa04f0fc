// Quotients and remainders of all numbers of 16 bits, which are made of a reciprocal there
// (codegen/llvm/rewrites/avoid_ptxas_faults_llvm.h), beside those of 32 bits.
#include <string>

#include <gtest/gtest.h>
#include <mica/mica.h>

#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

/// How many of all pairs of numbers of the type have other quotients or remainders than in 32 bits.
std::int64_t wrong_ones(Type type) {
  constexpr int kNumbers = 1 << 16;
  const Var x("x");
  const RDom r({{0, kNumbers}}, "r");
  const Expr a = cast(type, x), b = cast(type, r.x);
  const Expr wide_a = cast(Int(32), a), wide_b = cast(Int(32), b);
  Func wrong("wrong");
  wrong(x) = 0;
  wrong(x) += select(a / b != cast(type, wide_a / wide_b), 1, 0) +
              select(a % b != cast(type, wide_a % wide_b), 1, 0);
  wrong.gpu_tile(x, 64);
  wrong.update().gpu_tile(x, 64);
  Buffer<int> counts(kNumbers);
  counts.fill(-1);
  wrong.realize(counts, Target::cuda());
  std::int64_t all = 0;
  for (int i = 0; i < kNumbers; ++i) all += counts(i);
  return all;
}

TEST(GpuNarrowQuotients, OfAllNumbersAreThoseOf32Bits) {
  const std::string why = why_no_cuda();
  if (!why.empty()) GTEST_SKIP() << why;
  for (const Type type : {Int(16), UInt(16), Int(8), UInt(8)})
    EXPECT_EQ(wrong_ones(type), 0) << to_string(type);
}

}  // namespace
}  // namespace mica::test
