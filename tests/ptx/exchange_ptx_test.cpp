// The PTX of schedules that shuffle: values move between registers, and nothing of it is in memory.
#include <string>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/ptx/ptxas.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

TestPipeline shuffled(Type type, int radius, int vec, bool stage, bool window) {
  TestPipeline p = star(type, 3, radius);
  Func& f = p.output();
  f.gpu_tile("x", "y", 32, 8);
  if (vec > 1) f.vectorize("x", vec);
  f.march("z", 64);
  if (stage) f.stage(p.inputs[0], MemoryType::Shared);
  if (window) f.register_window(p.inputs[0], "z");
  f.shuffle(p.inputs[0], "x");
  return p;
}

TEST(ExchangePtx, RowsStayInRegisters) {
  for (const bool stage : {false, true}) {
    for (const bool window : {false, true}) {
      for (const auto& [type, radius, vec] :
           {std::tuple(Float(32), 1, 1), std::tuple(Float(32), 4, 4), std::tuple(Float(32), 3, 4),
            std::tuple(Float(64), 2, 2)}) {
        SCOPED_TRACE(to_string(type) + " radius " + std::to_string(radius) + (stage ? " stage" : "") +
                     (window ? " window" : ""));
        const std::string ptx = compile_to_ptx(shuffled(type, radius, vec, stage, window).output(), 90);
        EXPECT_NE(ptx.find("shfl.sync.up"), std::string::npos);
        EXPECT_NE(ptx.find("shfl.sync.down"), std::string::npos);
        EXPECT_EQ(ptx.find(".local"), std::string::npos) << ptx;
        expect_assembles(ptx);
      }
    }
  }
}

}  // namespace
}  // namespace mica::test
