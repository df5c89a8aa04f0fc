// Kernels with copies that go on while the code does, written by hand; each part of a pipeline can be
// left out or made wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "runtime/run/device.h"

namespace mica::test {

ir::Stmt async_copy(const std::string& to, const Expr& to_index, const std::string& from,
                    const Expr& from_index, int count);
ir::Stmt bulk_copy(const std::string& to, const Expr& to_index, const std::string& from,
                   const Expr& from_index, const Expr& count, const std::string& barriers,
                   const Expr& slot);

/// The elements of a row (a tile) and the rows (tiles) that a block goes through.
inline constexpr int kPipelineThreads = 64;
inline constexpr int kPipelineTiles = 6;
inline constexpr int kPipelineSlots = 2;

/// What may be wrong with a pipeline.
struct PipelineFaults {
  bool no_wait = false;          ///< nobody waits for the copies
  bool no_barrier = false;       ///< no barrier between the wait and the reads
  int pending = 0;               ///< more groups left under way than is right
  bool no_last_barrier = false;  ///< none between the reads and the next copy into the slot
  int more_bytes = 0;            ///< expected beyond those copied
  bool no_commit = false;
  bool own_writes = false;  ///< threads write to the first tile before, with no fence
};

/// A block goes through kPipelineTiles tiles of kPipelineThreads elements of u with a double buffer:
/// while tile t is used tile t + 1 is copied, by a cp.async of one element a thread. Every element of
/// `out` is that of u plus its neighbour to the right in the tile (of the last one, the first).
/// Parameters u and out, each kPipelineTiles * kPipelineThreads f32 a block, in one dimension.
ir::Kernel async_pipeline(const PipelineFaults& faults);
/// The same by bulk copies of whole tiles, with one transaction barrier a slot.
ir::Kernel bulk_pipeline(const PipelineFaults& faults);

/// u and out of a launch of either, or of any kernel of the same parameters.
struct PipelineRun {
  int blocks;
  std::vector<float> u, out;

  explicit PipelineRun(int blocks = 3);
  /// By the emulator with blocks of `threads` threads.
  void emulate(const ir::Kernel& kernel, std::uint64_t seed, int threads = kPipelineThreads);
  /// By the host back end; the kernel has block and thread loops.
  void run_on_host(const ir::Kernel& kernel);
  /// What the emulator finds, "" for nothing.
  std::string fault(const ir::Kernel& kernel, std::uint64_t seed, int threads = kPipelineThreads);
  /// The pipelines' results.
  [[nodiscard]] std::vector<float> expected() const;

 private:
  void launch(LoadedKernel& kernel, const LaunchShape& shape, std::size_t parameters);
};

/// A kernel of the pipelines' parameters.
ir::Kernel pipeline_kernel(const std::string& name, const ir::Stmt& body);
/// out[x] = u[x] + u[x + 1 in the tile] by one thread an element, u being read as a texture. Its last
/// parameter is u's origin.
ir::Kernel texture_kernel();

}  // namespace mica::test
