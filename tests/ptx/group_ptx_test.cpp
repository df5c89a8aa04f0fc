// The PTX of named barriers and clusters: the instructions are there, and NVIDIA's assembler takes them.
#include <string>

#include <gtest/gtest.h>

#include "dsl/expr/diagnostics.h"
#include "tests/ptx/ptx_text.h"
#include "tests/support/group_kernels.h"

namespace mica {
namespace {

using test::count;
using test::expect_assembles;
using test::kPipelineSlots;
using test::kPipelineTiles;
using test::ptx_of;

TEST(GroupPtx, WarpsArriveAndWaitAtBarriersOfTheirNumbers) {
  for (const int sm : {80, 90}) {
    const std::string ptx = ptx_of(test::warp_pipeline(), sm);
    EXPECT_EQ(count(ptx, "bar.arrive") + count(ptx, "barrier.cta.arrive.aligned"),
              2U * kPipelineTiles - kPipelineSlots)
        << ptx;
    EXPECT_EQ(count(ptx, "bar.sync") + count(ptx, "barrier.cta.sync.aligned"),
              2U * kPipelineTiles - kPipelineSlots)
        << ptx;
    for (const char* number : {"\t1, 128;", "\t2, 128;", "\t3, 128;", "\t4, 128;"}) {
      EXPECT_GT(count(ptx, number), 0U) << number << ptx;
    }
    expect_assembles(ptx, sm);
  }
}

TEST(GroupPtx, ClustersMeetAndStoreToEachOther) {
  const std::string ptx = ptx_of(test::cluster_ring());
  EXPECT_EQ(count(ptx, ".reqnctapercluster 2"), 1U) << ptx;
  EXPECT_EQ(count(ptx, "barrier.cluster.arrive.aligned"), 2U * kPipelineTiles) << ptx;
  EXPECT_EQ(count(ptx, "barrier.cluster.wait.aligned"), 2U * kPipelineTiles) << ptx;
  EXPECT_GE(count(ptx, "mapa.shared::cluster"), 1U) << ptx;
  EXPECT_EQ(count(ptx, "st.shared::cluster."), 1U * kPipelineTiles) << ptx;
  expect_assembles(ptx);
}

TEST(GroupPtx, ClustersNeedTheDevicesThatHaveThem) {
  try {
    ptx_of(test::cluster_ring(), 86);
    FAIL() << "no error";
  } catch (const UserError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("clusters of blocks"), std::string::npos) << text;
    EXPECT_NE(text.find("sm_90"), std::string::npos) << text;
    EXPECT_NE(text.find("sm_86"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace mica
