// Prepared runs of hand-written plans, on a device that writes down what it is asked.
#include "runtime/run/prepared_run.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/fake_pipeline.h"

namespace mica {
namespace {

using test::FakeKernel;
using test::FakePipeline;
using Log = std::vector<std::string>;

const Target kGpu{Backend::Cuda, 0};

struct Prepared {
  Prepared() {
    pipeline.on_device();
    pipeline.set_u(u);
    u.fill(1.0F);
    run = pipeline.executable(kGpu);
  }
  FakePipeline pipeline;
  Buffer<float> u{16}, next{16};
  Executable run;
};

TEST(PreparedRun, MakesMemoryWhenItIsPreparedAndOnlyLaunchesThen) {
  Prepared s;
  PreparedRun prepared = s.run.prepare(s.next);
  EXPECT_EQ(s.pipeline.device->take_log(), (Log{"allocate 64", "upload 64", "allocate 64"}));
  EXPECT_TRUE(s.pipeline.next().take().empty()) << "nothing is launched before run()";
  EXPECT_FALSE(s.next.device_dirty());
  for (int n = 0; n < 3; ++n) prepared.run();
  EXPECT_EQ(s.pipeline.device->take_log(), Log{});
  EXPECT_EQ(s.pipeline.next().take().size(), 3U);
  EXPECT_TRUE(s.next.device_dirty());
}

TEST(PreparedRun, InAStreamOfTheUsersWaitsForMicasOwnBeforeItsFirstRun) {
  Prepared s;
  s.run.run(s.next);
  s.pipeline.device->take_log();
  int stream = 0;
  PreparedRun prepared = s.run.prepare(s.next, {.stream = {&stream}});
  EXPECT_EQ(s.pipeline.device->take_log(), Log{"synchronize"});
  s.pipeline.next().take();
  prepared.run();
  EXPECT_EQ(s.pipeline.device->take_log(), Log{}) << "a stream that is captured may not wait";
  EXPECT_EQ(s.pipeline.next().take().front().stream, &stream);
}

TEST(PreparedRun, WorksOnWhatItWasPreparedWith) {
  Prepared s;
  PreparedRun prepared = s.run.prepare(s.next);
  prepared.run();
  const auto first = s.pipeline.next().take().front();
  Buffer<float> other(16);
  s.pipeline.set_u(other);
  s.u = Buffer<float>();
  prepared.run();
  EXPECT_EQ(s.pipeline.next().take().front().arguments, first.arguments);
}

TEST(PreparedRun, BringsBuffersUpToDateThatTheHostHasChanged) {
  Prepared s;
  PreparedRun prepared = s.run.prepare(s.next);
  s.pipeline.device->take_log();
  s.u.fill(2.0F);
  prepared.run();
  EXPECT_EQ(s.pipeline.device->take_log(), Log{"upload 64"});
}

TEST(PreparedRun, OfAnEmptyOutputDoesNothing) {
  Prepared s;
  Buffer<float> empty(0);
  PreparedRun prepared = s.run.prepare(empty);
  prepared.run();
  EXPECT_EQ(prepared.launches(), 0U);
  EXPECT_TRUE(s.pipeline.next().take().empty());
}

TEST(PreparedRun, Errors) {
  PreparedRun nothing;
  EXPECT_FAILS(nothing.run(), "never made", "Executable::prepare");
  Prepared s;
  EXPECT_THROW((void)s.run.prepare(s.u), UserError) << "the output is the input";
  PreparedRun prepared = s.run.prepare(s.next);
  const Param<float> other("other");
  EXPECT_FAILS(prepared.set({other, 1.0F}), "Param other", "they are c");
}

}  // namespace
}  // namespace mica
