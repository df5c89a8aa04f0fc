// The PTX of rows that begin anywhere: pieces are loaded, and whole ones of 16 bytes stored.
#include <string>

#include <gtest/gtest.h>

#include "tests/ptx/func_ptx.h"
#include "tests/ptx/ptxas.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Variant kAnyRows{.aligned = false};

void check(const Func& f, const std::string& load, const std::string& store) {
  const std::string ptx = ptx_of(f, kAnyRows);
  for (const std::string& part : {load, store, std::string("shfl.sync.up")}) {
    EXPECT_NE(ptx.find(part), std::string::npos) << part << "\n" << ptx;
  }
  EXPECT_EQ(ptx.find(".local"), std::string::npos) << ptx;
  expect_assembles(ptx);
}

TEST(UnalignedPtx, RowsAreLoadedAndStoredInPieces) {
  for (const auto& [type, lanes] : {std::pair(UInt(8), 16), std::pair(UInt(16), 8),
                                    std::pair(Float(16), 8), std::pair(Float(32), 4)}) {
    SCOPED_TRACE(to_string(type));
    TestPipeline p = star(type, 2, 1);
    p.output().gpu_tile("x", "y", 32, 1).vectorize("x", lanes);
    check(p.output(), "ld.global.nc.v2.b32", "st.global.v4.b32");
  }
}

TEST(UnalignedPtx, TwoWideElementsAreLoadedByThemselves) {
  TestPipeline p = star(Float(64), 2, 1);
  p.output().gpu_tile("x", "y", 32, 1).vectorize("x", 2);
  check(p.output(), "ld.global.nc.b64", "st.global.v4.b32");
}

TEST(UnalignedPtx, NarrowElementsOfTilesAreRegisters) {
  struct Vector {
    Type type;
    int lanes;
    const char *load, *store;
  };
  for (const auto& [type, lanes, load, store] :
       {Vector{UInt(8), 16, "ld.global.nc.b32", "st.global.b32"},
        Vector{UInt(16), 8, "ld.global.nc.v2.b32", "st.global.v4.b32"},
        Vector{Int(16), 4, "ld.global.nc.b32", "st.global.v2.b32"}}) {
    SCOPED_TRACE(to_string(type));
    TestPipeline p = star(type, 2, 1);
    p.output().gpu_tile("x", "y", 32, 8).vectorize("x", lanes);
    check(p.output(), load, store);
  }
}

}  // namespace
}  // namespace mica::test
