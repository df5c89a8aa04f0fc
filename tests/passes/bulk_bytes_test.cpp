// What transaction barriers of lowered kernels wait for is what is copied, to the byte, for rows of any
// number of pieces of 16 bytes of any type.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/passes/lowered.h"
#include "tests/support/count_accesses.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

constexpr std::int64_t kPiece = 16;  // bytes

struct BulkSchedule {
  std::string name;
  std::function<void(Func&, const ImageParam&)> apply;
};

std::vector<BulkSchedule> schedules() {
  const auto stage = [](Func& f, const ImageParam& u) {
    f.stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  };
  return {
      {"tile", [=](Func& f, const ImageParam& u) { stage(f.gpu_tile("x", "y", "z", 32, 2, 2), u); }},
      {"tile of more rows than threads",
       [=](Func& f, const ImageParam& u) {
         stage(f.gpu_tile("x", "y", "z", 4, 1, 2).vectorize("x", 8), u);
       }},
      {"march",
       [=](Func& f, const ImageParam& u) { stage(f.gpu_tile("x", "y", 32, 2).march("z", 3), u); }},
      {"march ahead with a window",
       [=](Func& f, const ImageParam& u) {
         stage(f.gpu_tile("x", "y", 32, 2).march("z", 4), u);
         f.register_window(u, "z").pipeline(u, 2);
       }},
      {"march of whole columns by warps of its own",
       [=](Func& f, const ImageParam& u) {
         stage(f.gpu_tile("x", "y", 32, 2).march("z", 0), u);
         f.pipeline(u, 1).warp_split(1);
       }},
  };
}

/// Taps a piece to the left and, with two of them, one to the right.
Func stencil(const ImageParam& u, Type type, int pieces) {
  const std::vector<Var> v = grid_vars(3);
  const auto lanes = static_cast<int>(kPiece / type.bytes());
  Func f("f");
  Expr total = u(shifted(v, 0, -lanes)) + u(shifted(v, 1, 1)) + u(shifted(v, 1, -1)) +
               u(shifted(v, 2, 1)) + u(shifted(v, 2, -1));
  if (pieces == 2) total = total + u(shifted(v, 0, lanes));
  f(shifted(v, 0, 0)) = total;
  return f;
}

const std::vector<Type>& types() {
  static const std::vector<Type> all{Float(32), Float(64), Float(16), BFloat(16), Int(8),
                                     UInt(8),   Int(16),   UInt(16),  Int(32),    Int(64)};
  return all;
}

TEST(BulkBytes, ABarrierWaitsForWhatIsCopied) {
  for (const BulkSchedule& schedule : schedules()) {
    for (const Type type : types()) {
      for (const int pieces : {1, 2}) {
        SCOPED_TRACE(schedule.name + ", " + to_string(type) + ", " + std::to_string(pieces));
        const ImageParam u(type, 3, "u");
        Func f = stencil(u, type, pieces);
        schedule.apply(f, u);
        const Program program = lowered(f, Backend::Cuda, "simplify_loops");
        std::map<std::string, std::int64_t> symbols;
        const std::int64_t extents[] = {32, 2, 12};
        for (std::size_t d = 0; d < 3; ++d) {
          symbols["f.min." + std::to_string(d)] = 0;
          symbols["f.extent." + std::to_string(d)] = extents[d];
        }
        const CountedKernel counted = count_accesses(program.nests.front(), symbols);
        EXPECT_FALSE(counted.bulk.empty());
        for (const auto& [barrier, bytes] : counted.bulk) {
          EXPECT_EQ(bytes.expected, bytes.copied) << barrier.first << "(" << barrier.second << ")";
          EXPECT_GT(bytes.copied, 0);
          // Rows are the tile's 32 points and the taps' pieces.
          EXPECT_EQ(bytes.copied % (32 * type.bytes() + pieces * kPiece), 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mica::test
