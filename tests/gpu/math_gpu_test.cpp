// Functions of every single-precision number on a GPU. Their accuracy is the host's matter
// (tests/numeric/math_test.cpp): here the bits are compared.
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/compare_memory.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

struct Function {
  const char* name;
  std::function<Expr(const Expr&)> of;
};

// All 2^32 floats.
void compare_all(const std::vector<Function>& functions) {
  constexpr std::int64_t kRow = std::int64_t{1} << 16, kRows = std::int64_t{1} << 10;
  const Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Buffer<float> in(kRow, kRows), on_host(kRow, kRows), on_gpu(kRow, kRows);
  u.set(in);
  std::vector<Executable> host, gpu;
  for (const Function& f : functions) {
    Func value(f.name);
    value(x, y) = f.of(u(x, y));
    value.vectorize(x, 8).parallel(y);
    host.push_back(compile(value, Target::host()));
    value.clear_schedule();
    value.gpu_tile(x, y, 256, 1);
    gpu.push_back(compile(value, Target::cuda()));
  }
  for (std::uint64_t first = 0; first < std::uint64_t{1} << 32; first += kRow * kRows) {
    float* values = in.data();
    for (std::int64_t i = 0; i < kRow * kRows; ++i) {
      values[i] =
          std::bit_cast<float>(static_cast<std::uint32_t>(first + static_cast<std::uint64_t>(i)));
    }
    for (std::size_t f = 0; f < functions.size(); ++f) {
      host[f].run(on_host);
      gpu[f].run(on_gpu);
      const float* a = static_cast<const Buffer<float>&>(on_host).data();
      const float* b = static_cast<const Buffer<float>&>(on_gpu).data();
      if (std::memcmp(a, b, kRow * kRows * sizeof(float)) == 0) continue;
      ASSERT_EQ(differing_bits(on_host, on_gpu), "") << functions[f].name << ", from the bits " << first;
    }
  }
}

// Some minutes. Run with MICA_EXHAUSTIVE_MATH=1 in the environment.
class MathOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    if (std::getenv("MICA_EXHAUSTIVE_MATH") == nullptr)
      GTEST_SKIP() << "MICA_EXHAUSTIVE_MATH is not set";
  }
};

TEST_F(MathOnGpu, EverySingleHasTheHostsBitsWhenAskedFor) {
  compare_all({{"exp", [](const Expr& a) { return exp(a); }},
               {"log", [](const Expr& a) { return log(a); }},
               {"sin", [](const Expr& a) { return sin(a); }},
               {"cos", [](const Expr& a) { return cos(a); }},
               {"tanh", [](const Expr& a) { return tanh(a); }},
               {"sqrt", [](const Expr& a) { return sqrt(a); }}});
}

TEST_F(MathOnGpu, EverySingleIsDividedAndRoundedAsOnTheHostWhenAskedFor) {
  compare_all({{"third", [](const Expr& a) { return a / 3.0F; }},
               {"tenfold", [](const Expr& a) { return a / -0.1F; }},
               {"seventh", [](const Expr& a) { return a / 0.7F; }},
               {"bfloat", [](const Expr& a) { return cast<float>(cast<bfloat16>(a)); }}});
}

}  // namespace
}  // namespace mica::test
