// The PTX of marches in which further warps fill planes, judged by ptxas.
#include <string>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/ptx/ptx_text.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

std::string split_ptx(LoadPolicy load, int radius, int ahead, int warps, int vec, int sm) {
  TestPipeline p = star(Float(32), 3, radius);
  Func& f = p.output();
  f.gpu_tile("x", "y", 32, 4).vectorize("x", vec).march("z", 64);
  f.stage(p.inputs[0], MemoryType::Shared, load);
  if (warps > 0) f.warp_split(warps);
  if (ahead > 0) f.pipeline(p.inputs[0], ahead);
  return compile_to_ptx(f, sm);
}

TEST(CrewsPtx, AssemblesWithoutSpills) {
  for (const int sm : {80, 90}) {
    for (const int warps : {1, 4}) {
      SCOPED_TRACE("sm_" + std::to_string(sm) + ", " + std::to_string(warps) + " warps");
      for (const int ahead : {0, 2, 6}) {
        expect_assembles(split_ptx(LoadPolicy::TwoStep, 1, ahead, warps, 4, sm), sm);
        expect_assembles(split_ptx(LoadPolicy::AsyncCopy, 4, ahead, warps, 2, sm), sm);
      }
    }
  }
  for (const int ahead : {1, 3}) {
    expect_assembles(split_ptx(LoadPolicy::Bulk, 4, ahead, 1, 4, 90));
  }
}

TEST(CrewsPtx, CrewsArriveAndWaitAtNamedBarriers) {
  const std::string ptx = split_ptx(LoadPolicy::AsyncCopy, 1, 2, 1, 4, 80);
  EXPECT_GT(count(ptx, "bar.arrive"), 0U);
  EXPECT_GT(count(ptx, ", 160;"), 0U) << "128 threads and a warp\n" << ptx;
  EXPECT_EQ(count(ptx, "bar.sync \t0;") + count(ptx, "barrier.sync \t0;"), 0U) << "a barrier for all";
  const std::string all = split_ptx(LoadPolicy::AsyncCopy, 1, 2, 0, 4, 80);
  EXPECT_GT(count(all, "bar.sync \t0;") + count(all, "barrier.sync \t0;"), 0U) << all;
}

TEST(CrewsPtx, ReadsOfAPlaceComeBeforeTheCopyEngine) {
  const std::string ptx = split_ptx(LoadPolicy::Bulk, 4, 1, 1, 4, 90);
  const std::size_t arrive = ptx.find("bar.arrive");
  ASSERT_NE(arrive, std::string::npos) << ptx;
  const std::string before = ptx.substr(0, arrive);
  const std::size_t fence = before.rfind("fence.proxy.async.shared::cta");
  ASSERT_NE(fence, std::string::npos) << ptx;
  EXPECT_EQ(before.find("ld.shared", fence), std::string::npos) << "reads behind the fence\n" << ptx;
}

}  // namespace
}  // namespace mica::test
