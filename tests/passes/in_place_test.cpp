// Kernels whose output may be the memory of an input: what they are told, and what they must not do.
#include <string>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

constexpr Variant kInPlace{.separate = false};

/// f(x) = e(x) + h(x - 1) on a GPU.
class InPlaceKernel : public ::testing::Test {
 protected:
  InPlaceKernel() {
    f_(x_) = e_(x_) + h_(x_ - 1);
    f_.gpu_tile(x_, 32);
  }
  std::string ptx(const Variant& variant) {
    return llvm_backend::emit_ptx(to_module(lowered(f_, Backend::Cuda, {}, variant)), 90, 0);
  }
  const Var x_{"x"};
  const ImageParam e_{Float(32), 1, "e"}, h_{Float(32), 1, "h"};
  Func f_{"f"};
};

TEST_F(InPlaceKernel, SharesThatInputAndTheOutputOnly) {
  const Program program = lowered(f_, Backend::Cuda, {}, kInPlace);
  ASSERT_EQ(program.nests.size(), 1U);
  for (const ir::KernelParam& p : program.nests[0].kernel.params) {
    EXPECT_EQ(p.shared, p.name == "e" || p.name == "f") << p.name;
  }
  for (const ir::KernelParam& p : lowered(f_, Backend::Cuda).nests[0].kernel.params) {
    EXPECT_FALSE(p.shared) << p.name << " where nothing is shared";
  }
  EXPECT_NE(to_string(program.plan).find("output f may be input e\n"), std::string::npos);
  EXPECT_EQ(to_string(program.plan).find("may be input h"), std::string::npos);
}

TEST_F(InPlaceKernel, ReadsTheInputThroughTheCoherentPath) {
  EXPECT_EQ(count(ptx({}), "ld.global.nc"), 2);
  const std::string shared = ptx(kInPlace);
  EXPECT_EQ(count(shared, "ld.global.nc"), 1) << shared;
  EXPECT_EQ(count(shared, "ld.global"), 2) << shared;
  f_.stream_loads(e_);
  EXPECT_EQ(count(ptx({}), "ld.global.cs.nc"), 1);
  EXPECT_EQ(count(ptx(kInPlace), "ld.global.cs.nc"), 0);
}

}  // namespace
}  // namespace mica::test
