// pmpp/*: the kernels of the stencil notes, from one thread per point to tiles in shared memory.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

void naive(Func& f, const Parameters& p) {
  tile_gpu(f, {p.at("block_x"), p.at("block_y"), p.at("block_z")}, p.at("vec"));
  if (p.at("planes") > 1) f.unroll(f.args().back(), static_cast<int>(p.at("planes")));
  if (p.at("min_blocks") > 0) f.launch_bounds(static_cast<int>(p.at("min_blocks")));
}

void shared_tile(Func& f, const Parameters& p) {
  tile_gpu(f, {p.at("tile_x"), p.at("tile_y"), p.at("tile_z")});
  for (const auto& input : inputs_of(f)) stage_source(f, input, LoadPolicy::HaloThreads);
}

}  // namespace

std::vector<Recipe> pmpp_family() {
  return {
      {"pmpp/naive",
       kDocumentStencil,
       "one thread per point (or per vec neighbouring points); every tap from global memory",
       1,
       4,
       true,
       {{"block_x", 32, 1, 1024, "threads in x"},
        {"block_y", 8, 1, 1024, "threads in y"},
        {"block_z", 1, 1, 64, "threads in z"},
        {"vec", 1, 1, 16, "points of x a thread, in one vector; a power of two"},
        {"planes", 1, 1, 16, "points of the slowest dimension a thread"},
        {"min_blocks", 0, 0, 32, "blocks that shall fit on a multiprocessor; 0: no promise"}},
       naive},
      {"pmpp/shared-tile",
       kDocumentStencil,
       "a box of the input with its halo in shared memory, one thread per input point: the threads of "
       "the halo idle while the others compute",
       1,
       4,
       true,
       {{"tile_x", 8, 1, 1024, "output points of a block in x"},
        {"tile_y", 8, 1, 1024, "output points of a block in y"},
        {"tile_z", 8, 1, 64, "output points of a block in z"}},
       shared_tile},
  };
}

}  // namespace mica::schedules
