#include "runtime/run/trace.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/run/plan.h"
#include "tests/support/fake_pipeline.h"

namespace mica {
namespace {

TEST(Trace, NestedSpansLieWithinEachOther) {
  Trace trace;
  {
    const TraceScope outer("run", &trace);
    const TraceScope inner("compile \"next\"", &trace);
  }
  const auto events = nlohmann::json::parse(trace.to_json()).at("traceEvents");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].at("name"), "compile \"next\"") << "in the order in which they end";
  EXPECT_EQ(events[1].at("name"), "run");
  EXPECT_LE(events[1].at("ts").get<double>(), events[0].at("ts").get<double>());
  EXPECT_GE(events[1].at("dur").get<double>(), events[0].at("dur").get<double>());
  EXPECT_EQ(events[0].at("tid"), events[1].at("tid"));
}

TEST(Plan, IsPrintedOneItemALine) {
  test::FakePipeline p;
  p.on_device();
  EXPECT_EQ(to_string(p.plan),
            "input u: f32, dimensions 1\n"
            "output next: f32, dimensions 1\n"
            "scalar c: f32\n"
            "launch next on the device, grid ((next.extent.0 + 31)/32, 1, 1), block (32, 1, 1), "
            "0 bytes of shared memory\n"
            "  u: f32* u\n"
            "  next: f32* next (written)\n"
            "  n: i32 = next.extent.0\n"
            "  c: f32 = c\n");
  EXPECT_EQ(to_string(Variant{}), "index32 aligned grid3 unit_stride");
  EXPECT_EQ(to_string(Variant{.index32 = false, .grid3 = false}), "index64 aligned grid1 unit_stride");
}

}  // namespace
}  // namespace mica
