// Kernels written by hand in which some threads of a block, or the blocks of a cluster, meet. Parameters
// and sizes are those of the pipelines in tests/support/async_kernels.h.
#pragma once

#include <vector>

#include "codegen/ir/kernel.h"
#include "tests/support/async_kernels.h"

namespace mica::test {

/// The threads of a block of warp_pipeline.
inline constexpr int kWarpPipelineThreads = 2 * kPipelineThreads;

/// Half of a block's warps put the tiles of u into a double buffer, and the others add each element and
/// its right neighbour. They meet at two named barriers a slot, one for "full" and one for "empty", at
/// which one side arrives and the other waits; if `users_wait`, both wait for "empty". Results are
/// PipelineRun::expected().
ir::Kernel warp_pipeline(bool users_wait = false);

/// The blocks of a cluster of cluster_ring.
inline constexpr int kRingBlocks = 2;

/// Each block puts a tile of u into its shared memory, and the first element into that of the block to
/// its left in the cluster, the first block's into the last one's; then adds neighbours. Once for each
/// tile. Results are ring_expected(run).
ir::Kernel cluster_ring();
std::vector<float> ring_expected(const PipelineRun& run);

}  // namespace mica::test
