// Marches of two crews: no step waits for all threads of a block, and each way between the crews has
// named barriers.
#include <map>

#include <gtest/gtest.h>

#include "tests/passes/march_code.h"

namespace mica::test {
namespace {

const LoadPolicy kLoads[] = {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy, LoadPolicy::Bulk};

/// Rows whose ends are whole pieces of 16 bytes.
March wide() {
  March m;
  m.next(x, y, z) = m.u(x - 4, y, z) + m.u(x + 4, y - 1, z) + m.u(x, y + 1, z - 1) + m.u(x, y, z + 1);
  m.next.gpu_tile(x, y, 16, 4).march(z, 32);
  return m;
}

ir::Stmt inside_of(const Func& f) { return split_of(nest_after(f, "fuse_thread_loops")).interior; }

/// Barriers of the block, in loops and elsewhere.
struct BlockBarriers {
  int in_loops = 0, elsewhere = 0;
};
BlockBarriers block_barriers(const ir::Stmt& s) {
  BlockBarriers found{0, barriers(s)};
  visit(s, [&](const ir::Stmt& child) {
    const auto* loop = child.as<ir::For>();
    if (loop != nullptr) found.in_loops = std::max(found.in_loops, barriers(loop->body));
  });
  found.elsewhere -= found.in_loops;
  return found;
}

TEST(Crews, NoStepWaitsForAllThreads) {
  for (const LoadPolicy load : kLoads) {
    for (const int ahead : {0, 1, 3}) {
      SCOPED_TRACE(to_string(load) + ", " + std::to_string(ahead) + " ahead");
      March m = wide().stage(load).ahead(ahead);
      m.next.warp_split(2);
      const ir::Stmt nest = nest_after(m.next, "fuse_thread_loops");
      const BlockBarriers inside = block_barriers(split_of(nest).interior);
      EXPECT_EQ(inside.in_loops, 0);
      EXPECT_EQ(inside.elsewhere, load == LoadPolicy::Bulk ? 1 : 0) << "behind a set-up";
      EXPECT_EQ(barriers(split_of(nest).edge), 0);
    }
  }
}

TEST(Crews, PartBehindABarrierForWhatIsFilledOnce) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy}) {
    ImageParam u(Float(32), 3, "u"), w(Float(32), 2, "w");
    Func next("next");
    next(x, y, z) = u(x, y + 1, z - 1) + u(x, y, z + 1) * w(x, y - 1) + w(x + 1, y);
    next.gpu_tile(x, y, 16, 4).march(z, 32).stage(u, MemoryType::Shared, load);
    next.stage(w, MemoryType::Shared, load).warp_split(2);
    const BlockBarriers inside = block_barriers(inside_of(next));
    EXPECT_EQ(inside.in_loops, 0) << to_string(load);
    EXPECT_EQ(inside.elsewhere, 1) << to_string(load);
  }
}

/// How often each crew comes to the barriers of a way, by the first of them: waiting, arriving.
std::map<int, std::pair<int, int>> meetings(const ir::Stmt& s) {
  std::map<int, std::pair<int, int>> all;
  visit(s, [&](const ir::Stmt& child) {
    const auto* barrier = child.as<ir::NamedBarrier>();
    if (barrier == nullptr) return;
    auto& [waiting, arriving] = all[barrier->number];
    (barrier->waits ? waiting : arriving) += 1;
  });
  return all;
}

TEST(Crews, OneWaitsWhereTheOtherArrives) {
  for (const LoadPolicy load : kLoads) {
    March m = wide().stage(load).ahead(2);
    m.next.warp_split(1);
    const auto found = meetings(inside_of(m.next));
    // The copy engine says itself that planes are full.
    EXPECT_EQ(found.size(), load == LoadPolicy::Bulk ? 1U : 2U) << to_string(load);
    for (const auto& [first, ways] : found) {
      EXPECT_GT(ways.first, 0) << first;
      EXPECT_GT(ways.second, 0) << first;
    }
  }
}

// In its first steps the tile waits for planes that were asked for longer ago than others are.
TEST(Crews, FurtherWarpsSayWhatTheCopyEngineDoesNotSayInTime) {
  for (const int ahead : {1, 3}) {
    ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
    Func next("next"), once("once");
    once(x, y, z) = u(x - 4, y, z) + u(x + 4, y, z);
    next(x, y, z) = once(x, y, z - 2) + once(x, y, z + 2) + w(x - 4, y, z) * w(x + 4, y, z);
    next.gpu_tile(x, y, 16, 4).march(z, 32).stage(w, MemoryType::Shared, LoadPolicy::Bulk);
    next.pipeline(w, 1).warp_split(1);
    once.compute_at(next, "z.march").stage(u, MemoryType::Shared, LoadPolicy::Bulk).pipeline(u, ahead);
    std::size_t ways = 0;
    for (const auto& [first, both] : meetings(inside_of(next))) ways += both.second > 0 ? 1 : 0;
    EXPECT_EQ(ways, ahead > 1 ? 2U : 1U) << ahead;
  }
}

TEST(Crews, PlacesThatTheCopyEngineFillsAreFencedBeforeTheyAreGivenBack) {
  for (const LoadPolicy load : kLoads) {
    March m = wide().stage(load).ahead(1);
    m.next.warp_split(1);
    int fenced = 0, bare = 0;
    visit(inside_of(m.next), [&](const ir::Stmt& s) {
      const auto* barrier = s.as<ir::NamedBarrier>();
      if (barrier == nullptr || barrier->waits) return;
      (barrier->fences_copies ? fenced : bare) += 1;
    });
    EXPECT_EQ(fenced > 0, load == LoadPolicy::Bulk);
    EXPECT_EQ(bare > 0, load != LoadPolicy::Bulk);
  }
}

TEST(Crews, AStageThatTheTileComputesIsWaitedForByTheTileAlone) {
  ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
  Func next("next"), once("once");
  once(x, y, z) = u(x, y, z) + u(x, y, z + 1);
  next(x, y, z) = once(x - 1, y, z) + once(x + 1, y, z) + w(x, y - 1, z);
  next.gpu_tile(x, y, 16, 4).march(z, 32).stage(w, MemoryType::Shared).warp_split(2);
  once.compute_at(next, "z.march");
  const ir::Stmt block = inside_of(next);
  EXPECT_EQ(block_barriers(block).in_loops, 0);
  int own = 0;
  visit(block, [&](const ir::Stmt& s) {
    const auto* branch = s.as<ir::If>();
    const auto* barrier = branch ? branch->then_case.as<ir::NamedBarrier>() : nullptr;
    if (barrier == nullptr || barrier->threads != 64) return;
    ++own;
    EXPECT_TRUE(barrier->waits);
    EXPECT_EQ(to_string(branch->condition), "thread.y < 4");
  });
  EXPECT_GE(own, 2) << "once is filled before it is read, and read before it is filled again";
}

}  // namespace
}  // namespace mica::test
