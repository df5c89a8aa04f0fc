// CPU code stays within its arrays; builds with the address sanitizer see what it touches.
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/llvm/backend.h"
#include "dsl/expr/operators.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

/// An outer loop's rest is split again, with loops between: what is computed in the inner one ends where
/// the outer one's storage does, though the loop's last steps are beyond the extent.
TEST(HostGuard, WhatAnInnerLoopReadsIsKeptAroundIt) {
  const Var x("x"), y("y"), z("z"), zo("zo"), zi("zi"), zoo("zoo"), zoi("zoi");
  Func f("f"), g("g"), h("h");
  f(x, y, z) = cast<float>(x + 10 * y + 100 * z);
  g(x, y, z) = f(x, y, z);
  h(x, y, z) = g(x, y, z);
  f.compute_at(h, zi);
  g.compute_at(h, zoo);
  h.split(z, zo, zi, 2).split(zo, zoo, zoi, 2).reorder(zoo, y).reorder(zoi, zi).reorder(zoi, x);
  Buffer<float> out(std::vector<BufferDim>{{0, 3, 1}, {0, 1, 3}, {0, 6, 3}});
  compile(h, Target::host()).run(out);
  out.for_each([](const float& value, const auto& at) {
    EXPECT_EQ(value, static_cast<float>(at[0] + 10 * at[1] + 100 * at[2]));
  });
}

#if defined(__SANITIZE_ADDRESS__)

constexpr int kExtent = 20;

/// out[x] = u[x + offset] for x from 0 to 19.
void copy_from(int offset) {
  ir::Kernel kernel;
  kernel.name = "copy";
  kernel.params = {test::pointer("u", Float(32)), test::pointer("out", Float(32), true)};
  kernel.body =
      test::loop(LoopKind::Serial, "x", 0, kExtent,
                 test::store("out", make_var("x"), test::load("u", Float(32), make_var("x") + offset)));
  ir::Module module;
  module.name = "test";
  module.kernels = {kernel};
  const auto loaded = llvm_backend::load_host_kernels(module);
  std::vector<float> u(kExtent, 1.0F), out(kExtent);
  float* u_data = u.data();
  float* out_data = out.data();
  void* arguments[] = {&u_data, &out_data};
  loaded.at(0).second->launch({}, arguments, 2, {});
  EXPECT_EQ(out, u);
}

TEST(HostGuardDeathTest, AReadBesideAnArrayEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  copy_from(0);
  EXPECT_DEATH(copy_from(1), "heap-buffer-overflow");
  EXPECT_DEATH(copy_from(-1), "heap-buffer-overflow");
}

#endif

}  // namespace
}  // namespace mica
