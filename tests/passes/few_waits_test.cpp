// Barriers and waits stand where something needs them, and nowhere else.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/passes/lowered.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

std::string kernel_of(const std::function<void(Func&, const ImageParam&)>& schedule) {
  TestPipeline p = star(Float(32), 3, 1);
  schedule(p.output(), p.inputs[0]);
  return code(p.output(), Backend::GpuEmulator);
}

TEST(FewWaits, PiecesOfAStagedBoxAreFilledTogether) {
  for (const LoadPolicy load : {LoadPolicy::AsyncCopy, LoadPolicy::TwoStep, LoadPolicy::Strided}) {
    const std::string text = kernel_of([&](Func& f, const ImageParam& u) {
      f.gpu_tile("x", "y", "z", 8, 4, 2).stage(u, MemoryType::Shared, load);
    });
    EXPECT_EQ(count(inside(text), "barrier"), 1) << text;
    const int copies = count(text, "async_copy");
    EXPECT_EQ(copies > 1, load == LoadPolicy::AsyncCopy) << text;
  }
}

// A box that a serial loop of the block fills again waits for the reads of the last turn.
TEST(FewWaits, ABoxFilledAgainIsWaitedFor) {
  const std::string text = kernel_of([&](Func& f, const ImageParam& u) {
    f.tile("x", "y", "bx", "by", "tx", "ty", 8, 4)
        .reorder("tx", "ty", "z", "bx", "by")
        .gpu_blocks("bx", "by")
        .gpu_threads("tx", "ty");
    u.in(f).compute_at(f, "z").store_in(MemoryType::Shared).gpu_threads("x", "y");
  });
  EXPECT_GE(count(text, "barrier"), 2) << text;
}

TEST(FewWaits, PlanesBeforeTheFirstStepAreCopiedWithoutWaits) {
  for (const int ahead : {0, 1, 2}) {
    const std::string text = kernel_of([&](Func& f, const ImageParam& u) {
      f.gpu_tile("x", "y", 8, 4).march("z", 8).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
      f.pipeline(u, ahead);
    });
    const std::string before = text.substr(0, text.find("for next.z.march.turn"));
    EXPECT_EQ(count(before, "copy_commit"), 2 + ahead) << text;
    EXPECT_EQ(count(before, "copy_wait"), 0) << text;
  }
  // Partial sums are begun before the first step, and read planes.
  const std::string sums = kernel_of([](Func& f, const ImageParam& u) {
    f.gpu_tile("x", "y", 8, 4).march("z", 8).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
    f.scatter("z");
  });
  EXPECT_GT(count(sums.substr(0, sums.find("for next.z.march.turn")), "copy_wait"), 0) << sums;
}

// After the whole turns of three steps at most two steps are left; a plane ahead makes it three, of
// which the last begins no plane.
TEST(FewWaits, StepsAndPlanesThatAreNeverLeftAreNotWritten) {
  const auto end_of = [](int ahead) {
    const std::string text = kernel_of([&](Func& f, const ImageParam& u) {
      f.gpu_tile("x", "y", 8, 4).march("z", 8).stage(u, MemoryType::Shared);
      f.pipeline(u, ahead);
    });
    const std::string whole = inside(text);
    return whole.substr(whole.rfind("for next.z.march.left"));
  };
  EXPECT_EQ(count(end_of(0), "  next["), 2) << end_of(0);
  EXPECT_EQ(count(end_of(1), "  next["), 4) << end_of(1);
  EXPECT_EQ(count(end_of(1), "produce u.staged"), 3) << end_of(1);
}

}  // namespace
}  // namespace mica::test
