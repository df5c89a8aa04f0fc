// jacobi2d/*: the fp64 4-point kernels.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

// A row of threads walks the rows of a shared tile and strides along x.
void strided_load(Func& f, const Parameters& p) {
  const std::vector<Var> v = f.args();
  const auto loop = [&](std::size_t i, const char* part) { return new_loop(f, v[i].name() + part); };
  const std::string block_x = loop(0, ".block"), block_y = loop(1, ".block"), tile = loop(0, ".tile"),
                    step = loop(0, ".step"), thread = loop(0, ".thread"), row = loop(1, ".row");
  f.split(v[0], block_x, tile, static_cast<int>(p.at("tile_x")))
      .split(tile, step, thread, static_cast<int>(p.at("threads")))
      .split(v[1], block_y, row, static_cast<int>(p.at("tile_y")))
      .reorder({step, row, thread, block_x, block_y})
      .gpu_blocks(block_x, block_y)
      .gpu_threads(thread);
  for (const auto& input : inputs_of(f)) stage_source(f, input, LoadPolicy::Strided);
}

// Each thread owns a square of points of a tile in shared memory.
void thread_tile(Func& f, const Parameters& p) {
  const std::vector<Var> v = f.args();
  const int side = static_cast<int>(p.at("square"));
  f.gpu_tile(v[0], v[1], static_cast<int>(p.at("tile_x")) / side,
             static_cast<int>(p.at("tile_y")) / side)
      .unroll(v[0], side)
      .unroll(v[1], side);
  for (const auto& input : inputs_of(f)) stage_source(f, input, LoadPolicy::Strided);
}

// A row of threads walks down the rows; shared memory holds the rows that a point reads.
void row_window(Func& f, const Parameters& p) {
  march_gpu(f, {p.at("tile_x"), 1, p.at("chunk"), p.at("vec"), 1});
  for (const auto& input : marched_inputs_of(f)) {
    stage_source(f, input, LoadPolicy::TwoStep);
    if (p.at("ahead") > 0) prefetch_source(f, input, p.at("ahead"));
  }
}

// The steps of a slab one after the other; what runs slabs copies those beside it meanwhile.
void overlapped_copy(Func& f, const Parameters& p) {
  kernel_a_stage(f, {p.at("tile_x"), p.at("tile_y")}, p.at("vec"));
}

}  // namespace

std::vector<Recipe> jacobi2d_family() {
  return {
      {"jacobi2d/thread-tile",
       kDocumentWhatYouMean,
       "a tile with its halo in shared memory, a small square of points a thread",
       2,
       2,
       true,
       {{"tile_x", 32, 1, 4096, "points of a block in x"},
        {"tile_y", 32, 1, 4096, "points of a block in y"},
        {"square", 2, 1, 8, "points of a thread along each side"}},
       thread_tile},
      {"jacobi2d/row-window",
       kDocumentWhatYouMean,
       "each block walks y with a sliding window of rows in shared memory",
       2,
       2,
       true,
       {{"tile_x", 128, 1, 1024, "threads of a block, all in x"},
        {"chunk", 64, 0, 4096, "rows a block walks; 0: all"},
        {"vec", 2, 1, 16, "points of x a thread, in one vector; a power of two"},
        {"ahead", 1, 0, 8, "steps between asking for a row and reading it"}},
       row_window},
      {"jacobi2d/strided-load",
       kDocumentWhatYouMean,
       "a row of threads fills a shared tile row by row, striding along x, and computes it likewise",
       2,
       2,
       true,
       {{"tile_x", 128, 1, 4096, "points of a block in x"},
        {"tile_y", 16, 1, 4096, "points of a block in y"},
        {"threads", 128, 1, 1024, "threads of a block, all in x"}},
       strided_load},
      {"jacobi2d/overlapped-copy",
       kDocumentWhatYouMean,
       "a slab's steps, a kernel each, while streams copy other slabs in and out "
       "(runtime/run/copy_pipeline.h)",
       2,
       2,
       true,
       {{"tile_x", 32, 1, 1024, "threads in x"},
        {"tile_y", 8, 1, 1024, "threads in y"},
        {"vec", 2, 1, 16, "points of x a thread, in one vector; a power of two"}},
       overlapped_copy},
  };
}

}  // namespace mica::schedules
