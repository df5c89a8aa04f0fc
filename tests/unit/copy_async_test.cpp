// Streams, events, pinned memory, copies in streams and pipelines of them: on the host, and on the
// stand-in GPU, which does all work at once.
#include "runtime/buffer/copy_async.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/run/copy_pipeline.h"
#include "runtime/run/gpu_stream.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Stage = CopyPipeline::Stage;

/// 100 x + y at every point.
void number(Buffer<std::int32_t>& buffer) {
  buffer.for_each([](std::int32_t& value, const Coordinates& at) {
    value = static_cast<std::int32_t>(100 * at[0] + at[1]);
  });
}

/// Copies `box` of 9 x 7 points, in rows of 12, to the device and back to `out` of the same box; says
/// what is wrong.
std::string round_trip(const Target& target, const Box& box, bool transposed) {
  const GpuStream stream(target);
  auto from = Buffer<std::int32_t>::pinned({{0, 9, 1}, {0, 7, 12}}, target);
  auto back = Buffer<std::int32_t>::pinned({{0, 9, 7}, {0, 7, 1}}, target);
  Buffer<std::int32_t> there(16, 16);
  number(from);
  back.fill(-1);
  Buffer<std::int32_t> device = there.cropped({{2, box[0].second}, {3, box[1].second}});
  if (transposed) {
    device = there.cropped({{3, box[1].second}, {2, box[0].second}}).transposed(0, 1);
  }
  copy_to_device(from.cropped(box), device, target, stream);
  copy_to_host(device, back.cropped(box), target, stream);
  stream.synchronize();
  std::string wrong;
  const Buffer<std::int32_t> result = back;
  result.for_each([&](const std::int32_t& value, const Coordinates& at) {
    const bool copied = at[0] >= box[0].first && at[0] < box[0].first + box[0].second &&
                        at[1] >= box[1].first && at[1] < box[1].first + box[1].second;
    if (value == (copied ? 100 * at[0] + at[1] : -1)) return;
    wrong += " (" + std::to_string(at[0]) + ", " + std::to_string(at[1]) + ")";
  });
  return wrong;
}

const std::vector<Box>& boxes() {
  static const std::vector<Box> all = {{{0, 9}, {0, 7}}, {{1, 4}, {2, 3}}, {{3, 1}, {0, 7}},
                                       {{0, 9}, {6, 1}}, {{8, 1}, {6, 1}}, {{4, 0}, {1, 2}}};
  return all;
}

TEST(HostCopies, MoveEveryPointOfABoxAndNoOther) {
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    for (const Box& box : boxes()) {
      EXPECT_EQ(round_trip(target, box, false), "");
      EXPECT_EQ(round_trip(target, box, true), "");
    }
  }
}

TEST(HostEvents, HaveTimesBetweenThem) {
  GpuEvent first(Target::host()), second(Target::host());
  EXPECT_THROW((void)second.milliseconds_since(first), UserError);
  second.wait();  // for nothing
  first.record();
  second.record();
  EXPECT_GE(second.milliseconds_since(first), 0.0);
  EXPECT_LE(first.milliseconds_since(second), 0.0);
  const GpuEvent moved = std::move(first);
  EXPECT_THROW(first.record(), UserError);  // NOLINT: that is what is tested
}

TEST(HostPipelines, DoTheStagesOfItemsInTurn) {
  CopyPipeline pipeline(Target::host(), 2);
  std::string order;
  for (const char* item : {"0", "1", "2"}) {
    EXPECT_EQ(pipeline.next_slot(), pipeline.items() % 2);
    pipeline.add([&](Stream) { order += std::string("i") + item; },
                 [&](Stream) { order += std::string("w") + item; },
                 [&](Stream) { order += std::string("o") + item; }, pipeline.items() - 1);
  }
  pipeline.synchronize();
  EXPECT_EQ(order, "i0w0o0i1w1o1i2w2o2");
  const auto spans = pipeline.spans();
  ASSERT_EQ(spans.size(), 9U);
  EXPECT_EQ(spans[5].item, 1);
  EXPECT_EQ(spans[5].stage, Stage::Out);
  for (std::size_t s = 1; s < spans.size(); ++s) EXPECT_GE(spans[s].begin, spans[s - 1].end);
}

TEST(HostPipelines, SayWhatTheyCannotDo) {
  EXPECT_THROW(CopyPipeline(Target::host(), 0), UserError);
  CopyPipeline pipeline(Target::host());
  const auto nothing = [](Stream) {};
  EXPECT_THROW(pipeline.add(nothing, nothing, nothing, 0), UserError) << "it would wait for itself";
  EXPECT_THROW(pipeline.add(nothing, nothing, nothing, -2), UserError);
}

TEST(PipelineTimes, AreSumsOverItemsAndTheOverlap) {
  const PipelineTimes times = times_of({{0, Stage::In, 1.0, 2.0},
                                        {0, Stage::Work, 2.0, 4.0},
                                        {1, Stage::In, 2.0, 3.0},
                                        {0, Stage::Out, 4.0, 4.5},
                                        {1, Stage::Work, 4.0, 5.0}});
  EXPECT_EQ(times.in, 2.0);
  EXPECT_EQ(times.work, 3.0);
  EXPECT_EQ(times.out, 0.5);
  EXPECT_EQ(times.wall, 4.0);
  EXPECT_EQ(times.overlap(), 5.5 / 4.0);
  EXPECT_EQ(times_of({}).overlap(), 0.0);
}

// The functions of a Target use the process's driver, so each test runs in a process of its own.
class FakeCopies : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(FakeCopies, MoveEveryPointOfABoxAndNoOther) {
  const auto body = [] {
    test::FakeGpuProcess process;
    for (const Box& box : boxes()) {
      for (const bool transposed : {false, true}) {
        const std::string wrong = round_trip(Target::cuda(0), box, transposed);
        process.expect(wrong.empty(), "points" + wrong);
      }
    }
    process.expect(process.fake().live().pinned == 0, "page-locked memory is given back");
    process.expect(process.fake().live().streams == 1, "and so are streams, but Mica's own");
    process.end();
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeCopies, AreOneCallWhereRowsLieEvenly) {
  const auto body = [] {
    test::FakeGpuProcess process;
    const Target gpu = Target::cuda(0);
    const GpuStream stream(gpu);
    auto from = Buffer<float>::pinned({{0, 30, 1}, {0, 20, 40}}, gpu);
    Buffer<float> rows(std::vector<BufferDim>{{0, 30, 1}, {0, 20, 32}});
    auto dense = Buffer<float>::pinned({{0, 30, 1}, {0, 20, 30}}, gpu);
    Buffer<float> box(30, 20);
    from.fill(1);
    dense.fill(2);
    copy_to_device(from, rows, gpu, stream);
    process.expect(process.fake().calls("cuMemcpy2DAsync_v2") == 1, "rows of other lengths");
    copy_to_device(dense, box, gpu, stream);
    process.expect(process.fake().calls("cuMemcpyHtoDAsync_v2") == 1, "all in one piece");
    copy_to_host(box, dense, gpu, stream);
    process.expect(process.fake().calls("cuMemcpyDtoHAsync_v2") == 1, "and back");
    process.expect(process.fake().calls("cuStreamSynchronize") == 2, "for the memory made for the two");
    process.end();
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeCopies, OfAPartLeaveWhatTheHostWroteElsewhere) {
  const auto body = [] {
    test::FakeGpuProcess process;
    const Target gpu = Target::cuda(0);
    Buffer<std::int32_t> from(2), to(4);
    from.fill(7);
    to.fill(1);
    copy_to_device(from, to.cropped({{1, 2}}), gpu, {});
    process.expect(to.device_dirty() && !to.host_dirty(), "the device's side is the newer");
    const Buffer<std::int32_t>& read = to;
    process.expect(read(0) == 1 && read(1) == 7 && read(2) == 7 && read(3) == 1, "all four");
    process.end();
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeCopies, SayHowMuchPageLockedMemoryThereIsNot) {
  const auto body = [] {
    test::FakeGpuProcess process;
    const Target gpu = Target::cuda(0);
    (void)device_for(gpu);
    process.fake().fail("cuMemHostAlloc", cuda::kErrorOutOfMemory, 0, -1);
    std::string said;
    try {
      (void)Buffer<float>::pinned({{0, 1 << 20, 1}}, gpu);
    } catch (const DeviceError& error) {
      said = error.what();
    }
    process.expect(said.find("4,096 KiB of page-locked host memory") != std::string::npos, said);
    process.end();
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeCopies, OfAPipelineWaitForWhatTheyNeed) {
  const auto body = [] {
    test::FakeGpuProcess process;
    const Target gpu = Target::cuda(0);
    {
      CopyPipeline pipeline(gpu, 3);
      const auto waits = [&] { return process.fake().calls("cuStreamWaitEvent"); };
      std::vector<void*> streams;
      const auto note = [&](Stream stream) { streams.push_back(stream.handle); };
      const auto add = [&](std::int64_t after) {
        const int before = waits();
        pipeline.add(note, note, note, after);
        return waits() - before;
      };
      process.expect(add(-1) == 2, "work waits for in, out for work");
      process.expect(add(0) == 3, "in waits for another item");
      process.expect(add(-1) == 2, "a slot is free");
      process.expect(add(-1) == 3, "in waits for the slot");
      process.expect(add(3) == 3, "for both at once");
      process.expect(streams[0] != streams[1] && streams[1] != streams[2] && streams[0] != streams[2] &&
                         streams[0] == streams[3],
                     "a stream a stage");
      process.expect(streams[1] == pipeline.stream(Stage::Work).handle, "which can be asked for");
      // The stand-in lets half a millisecond pass from one record to the next.
      const auto spans = pipeline.spans();
      process.expect(spans.size() == 15 && spans[4].begin == 4.0 * 1e-3 && spans[4].end == 4.5 * 1e-3,
                     "times");
    }
    process.expect(process.fake().live().events == 0, "events are given back");
    process.expect(process.fake().live().streams == 1, "and streams, but Mica's own");
    process.end();
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

// One call after the other fails: it is named, and nothing stays behind.
TEST_F(FakeCopies, GiveAllBackWhenACallFails) {
  const auto body = [] {
    test::FakeGpuProcess process;
    const Target gpu = Target::cuda(0);
    const auto pass = [&] {
      auto from = Buffer<float>::pinned({{0, 30, 1}, {0, 20, 40}}, gpu), back = from;
      Buffer<float> there(30, 20);
      CopyPipeline pipeline(gpu, 1);
      for (int item = 0; item < 2; ++item) {
        pipeline.add([&](Stream s) { copy_to_device(from, there, gpu, s); }, [](Stream) {},
                     [&](Stream s) { copy_to_host(there, back, gpu, s); });
      }
      pipeline.synchronize();
      (void)pipeline.spans();
    };
    pass();
    const FakeCudaLive before = process.fake().live();
    for (const char* function :
         {"cuMemHostAlloc", "cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent",
          "cuMemcpy2DAsync_v2", "cuStreamSynchronize", "cuEventSynchronize", "cuEventElapsedTime"}) {
      for (int skip = 0;; ++skip) {
        process.fake().fail(function, cuda::kErrorLaunchFailed, skip, 1);
        bool failed = false;
        try {
          pass();
        } catch (const DeviceError& error) {
          failed = true;
          process.expect(std::string(error.what()).find(function) != std::string::npos, error.what());
        }
        process.fake().fail(function, 0, 0, 0);
        const FakeCudaLive after = process.fake().live();
        process.expect(after.events == before.events && after.streams == before.streams &&
                           after.pinned == before.pinned,
                       std::string(function) + " leaves something behind");
        process.expect(failed || skip > 0, std::string(function) + " is never called");
        if (!failed || process.failed()) break;
      }
    }
    process.end();
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mica
