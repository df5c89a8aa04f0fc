// The PTX of schedules that stage by LoadPolicy::Bulk, judged by ptxas for sm_90.
#include <string>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/ptx/ptx_text.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

struct BulkSchedule {
  int vec = 1, rows = 1, ahead = 0;
  bool window = false, scatter = false, march = true;
};

TestPipeline staged(Type type, int radius, const BulkSchedule& s) {
  TestPipeline p = star(type, 3, radius);
  Func& f = p.output();
  if (s.march) {
    f.gpu_tile("x", "y", 32, 8);
  } else {
    f.gpu_tile("x", "y", "z", 32, 4, 2);
  }
  if (s.vec > 1) f.vectorize("x", s.vec);
  if (s.rows > 1) f.unroll("y", s.rows);
  if (s.march) f.march("z", 64);
  f.stage(p.inputs[0], MemoryType::Shared, LoadPolicy::Bulk);
  if (s.window) f.register_window(p.inputs[0], "z");
  if (s.scatter) f.scatter("z");
  if (s.ahead > 0) f.pipeline(p.inputs[0], s.ahead);
  return p;
}

TEST(BulkPtx, SchedulesAssembleWithoutSpills) {
  const BulkSchedule schedules[] = {
      {},
      {.ahead = 2},
      {.ahead = 2, .window = true},
      {.vec = 4, .rows = 1, .ahead = 1, .window = true},
      {.vec = 2, .rows = 2, .ahead = 2, .scatter = true},
      {.march = false},
  };
  int number = 0;
  for (const auto& s : schedules) {
    SCOPED_TRACE("schedule " + std::to_string(number++));
    const std::string ptx = compile_to_ptx(staged(Float(32), 4, s).output(), 90);
    EXPECT_GT(count(ptx, "cp.async.bulk.shared"), 0U);
    expect_assembles(ptx);
  }
}

TEST(BulkPtx, DoublesAssembleToo) {
  const std::string ptx = compile_to_ptx(staged(Float(64), 2, {.ahead = 2}).output(), 90);
  EXPECT_GT(count(ptx, "cp.async.bulk.shared"), 0U);
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output << ptx;
  EXPECT_EQ(result.largest("bytes spill stores"), 0) << result.output;
}

TEST(BulkPtx, NothingOfThePlanePassesByTheThreads) {
  const std::string ptx = compile_to_ptx(staged(Float(32), 4, {.ahead = 1}).output(), 90);
  EXPECT_EQ(count(ptx, "st.shared"), 0U) << ptx;
  EXPECT_GT(count(ptx, "cp.async.bulk"), 0U) << ptx;
  EXPECT_GT(count(ptx, "cp.async.cg"), 0U) << "by blocks at the edge\n" << ptx;
  EXPECT_EQ(count(ptx, "fence.proxy.async"), 1U) << "threads only read what is copied\n" << ptx;
}

TEST(BulkPtx, OlderDevicesAreToldWhatTheyHave) {
  const TestPipeline p = staged(Float(32), 4, {});
  try {
    compile_to_ptx(p.outputs.front(), 80);
    FAIL() << "sm_80 has no bulk copies";
  } catch (const UserError& e) {
    const std::string what = e.what();
    for (const char* word : {"compute capability 9.0", "sm_80", "LoadPolicy::AsyncCopy"}) {
      EXPECT_NE(what.find(word), std::string::npos) << what;
    }
  }
}

}  // namespace
}  // namespace mica::test
