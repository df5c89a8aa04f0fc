// time/*: steps of an Iteration, several of them at once.
#include <algorithm>

#include "schedules/families.h"

namespace mica::schedules {
namespace {

Parameter steps_at_once(std::int64_t usual) {
  return {kStepsAtOnce, usual, 1, 64, "steps at once, as Iteration::time_tile has them"};
}

// The march in whose registers all levels stand: in three dimensions warps beside each other in y, in
// two one warp a block, which waits for nobody.
void march(Func& f, const Parameters& p) {
  constexpr std::int64_t kWarp = 32, kVectorBytes = 16, kRowsOfStep = 16, kPlanes = 64;
  const bool rows = f.dimensions() == 2;
  const std::int64_t vec =
      p.at("vec") > 0 ? p.at("vec") : std::max<std::int64_t>(1, kVectorBytes / widest_bytes(f.types()));
  const std::int64_t chunk = p.at("chunk") > 0 ? p.at("chunk")
                             : rows            ? kRowsOfStep * p.at(kStepsAtOnce)
                                               : kPlanes;
  march_gpu(f, {kWarp, p.at("tile_y"), chunk, vec, p.at("rows"), p.at("halves")});
  if (p.at("scatter") > 0) scatter_sum_of(f, Partials::EveryPlane);
  constexpr std::int64_t kFewest = 16;
  if (const std::int64_t most = p.at("registers"); most > 0) {
    f.max_registers(static_cast<int>(std::max(most, kFewest)));
  }
  if (p.at("ahead") == 0) return;
  for (const auto& input : marched_inputs_of(f)) {
    stage_source(f, input, LoadPolicy::AsyncCopy);
    prefetch_source(f, input, p.at("ahead"));
  }
}

// Of a step alone; several at once have tiles of their own on the CPU.
void tiles(Func& f, const Parameters&) {
  constexpr int kVectorBytes = 64;
  const std::vector<Var> v = f.args();
  if (v.size() > 1) f.parallel(v.back());
  f.vectorize(v.front(), std::max(1, kVectorBytes / widest_bytes(f.types())));
}

}  // namespace

std::vector<Recipe> time_family() {
  return {
      {"time/march",
       "several steps of an Iteration at once, in the registers of one march",
       "blocks walk the slowest dimension; each thread keeps of every level the planes that the next "
       "one "
       "reads",
       2,
       3,
       true,
       {steps_at_once(3),
        {"tile_y", 8, 1, 32, "threads in y (3-D); 32 in x"},
        {"rows", 4, 1, 16, "points of y a thread (3-D)"},
        {"chunk", 0, 0, 4096, "planes or rows a block walks; 0: 64 planes, or 16 rows a step"},
        {"halves", 0, 0, 6, "how often the last chunks are halved, so that blocks end together"},
        {"vec", 0, 0, 16, "points of x a thread, in one vector, a power of two; 0: 16 bytes"},
        {"scatter", 1, 0, 1, "1: partial sums of every plane, where a value is a sum; 0: gather"},
        {"registers", 0, 0, 255, "of a thread at most; 0: as many as there are"},
        {"ahead", 0, 0, 8, "planes or rows by which fields are asked for early; 0: as is usual"}},
       march},
      {"time/tiles",
       "several steps of an Iteration at once, tile by tile",
       "the CPU's tiles of several steps; a step alone in vectors, the slowest dimension over the "
       "threads",
       1,
       4,
       false,
       {steps_at_once(4)},
       tiles},
  };
}

}  // namespace mica::schedules
