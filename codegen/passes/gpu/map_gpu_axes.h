// map_gpu_axes: block loops become the grid of the launch.
//
//   before  gpu_block y in [0, ny): gpu_block x in [0, nx): s        after  s with x = block.x, y =
//   block.y
//
// The innermost block loop is x. In the variant for grids beyond 65,535 blocks in y or z, blocks are
// numbered along x alone: x = block.x mod nx, y = block.x / nx mod ny, z = block.x / (nx*ny).
// Requires: fuse_thread_loops. Ensures: no GpuBlock loop is left; the launch of each device nest has
// its grid.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void map_gpu_axes(Program& program);

}  // namespace mica::passes
