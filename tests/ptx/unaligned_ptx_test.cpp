// The PTX of rows that begin anywhere: whole pieces of 16 bytes are loaded and stored.
#include <string>

#include <gtest/gtest.h>

#include "tests/ptx/func_ptx.h"
#include "tests/ptx/ptxas.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Variant kAnyRows{.aligned = false};

TEST(UnalignedPtx, RowsAreLoadedAndStoredInPieces) {
  for (const auto& [type, lanes] :
       {std::pair(UInt(8), 16), std::pair(UInt(16), 8), std::pair(Float(16), 8), std::pair(Float(32), 4),
        std::pair(Float(64), 2)}) {
    SCOPED_TRACE(to_string(type));
    TestPipeline p = star(type, 2, 1);
    p.output().gpu_tile("x", "y", 32, 8).vectorize("x", lanes);
    const std::string ptx = ptx_of(p.output(), kAnyRows);
    EXPECT_NE(ptx.find("ld.global.nc.v4.b32"), std::string::npos) << ptx;
    EXPECT_NE(ptx.find("st.global.v4.b32"), std::string::npos) << ptx;
    EXPECT_NE(ptx.find("shfl.sync.up"), std::string::npos) << ptx;
    EXPECT_EQ(ptx.find(".local"), std::string::npos) << ptx;
    const Assembled result = assemble(ptx, 90);
    if (!result.available) GTEST_SKIP() << "there is no ptxas";
    EXPECT_TRUE(result.ok) << result.output << ptx;
    EXPECT_EQ(result.largest("bytes spill stores"), 0) << result.output;
    EXPECT_EQ(result.largest("bytes stack frame"), 0) << result.output;
  }
}

}  // namespace
}  // namespace mica::test
