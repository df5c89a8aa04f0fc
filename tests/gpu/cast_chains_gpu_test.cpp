// Conversions one after another, with shifts by parts of a word between them, on the GPU of this
// machine: the driver's assembler folds them into one instruction where it can, and has done so wrongly
// (docs/testing.md).
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

const Var x("x");
const Box kBox{{0, 512}};

class GpuCastChains : public testing::TestWithParam<Type> {
 protected:
  void SetUp() override {
    const std::string why = why_no_cuda();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

/// What one may do with a value between two conversions.
std::vector<Expr> changed(const Expr& e) {
  std::vector<Expr> values{e};
  if (e.type().is_float()) return values;
  const int bits = e.type().bits;
  for (const int by : {8, bits / 2, bits - 8}) {
    if (by <= 0 || by >= bits) continue;
    const Expr amount = make_const(e.type(), std::int64_t{by});
    values.insert(values.end(), {e >> amount, (e << amount) >> amount});
    if (by + 8 <= bits) values.push_back(e & (make_const(e.type(), std::int64_t{255}) << amount));
  }
  return values;
}

TEST_P(GpuCastChains, HaveTheBitsOfTheOracle) {
  const Type from = GetParam();
  ImageParam u(from, 1, "u");
  const auto memory = bind_random(u, kBox, 1, Contents::Special);
  std::vector<Type> types = number_types();
  types.push_back(Bool());
  for (const Type by : types) {
    std::vector<Expr> values;
    for (const Expr& middle : changed(cast(by, u(x)))) {
      for (const Type to : types) values.push_back(cast(to, middle));
    }
    constexpr std::size_t kMost = 32;  // values of a Func
    for (std::size_t first = 0; first < values.size(); first += kMost) {
      Func f("f");
      f(x) = Tuple(std::vector<Expr>(
          values.begin() + static_cast<std::ptrdiff_t>(first),
          values.begin() + static_cast<std::ptrdiff_t>(std::min(first + kMost, values.size()))));
      for (const int lanes : {1, 4}) {
        f.clear_schedule();
        f.gpu_tile(x, 64);
        if (lanes > 1) f.vectorize(x, lanes);
        EXPECT_TRUE(matches_oracle({f}, kBox, Target::cuda()))
            << to_string(from) << " to " << to_string(by) << ", values from " << first << ", " << lanes
            << " lanes";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, GpuCastChains, testing::ValuesIn(number_types()), type_name);

}  // namespace
}  // namespace mica::test
