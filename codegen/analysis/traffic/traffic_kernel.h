// The parts of traffic.h's analysis of one kernel, on its pieces.
#pragma once

#include <set>
#include <string>

#include "codegen/analysis/traffic/piece_sums.h"
#include "codegen/analysis/traffic/traffic.h"

namespace mica::analysis {

/// One kernel: its pieces, and the array that its Func (the first value) is stored to.
struct KernelPieces {
  Pieces pieces;
  int target = 0;
  /// By the array's name, the index of dimension 0 at which its rows start on a sector, where not 0.
  Symbols origins;

  /// Pieces that `wanted` takes.
  [[nodiscard]] PieceList select(const std::function<bool(const Piece&)>& wanted) const;
  [[nodiscard]] bool is_block(const Piece& piece, std::size_t place) const {
    return pieces.kind(piece.region[place]) == LoopKind::GpuBlock;
  }
  [[nodiscard]] bool is_step(const Piece& piece, std::size_t place) const {
    return pieces.kind(piece.region[place]) == LoopKind::March;
  }
  /// Outer loops of the code that is written out for one thread: all but innermost vector and unrolled
  /// loops.
  [[nodiscard]] bool is_around_thread_code(const Piece& piece, std::size_t place) const;
};

/// Bytes that the pieces ask for, as `l1` and `shared` of traffic.h.
Moved asked_for(const KernelPieces& kernel, const PieceList& pieces);

/// Fills in grid, threads and points, staged and held arrays, and the steady step.
void measure_block(const KernelPieces& kernel, KernelTraffic& out);
/// Fills in the bytes of every level; after measure_block.
void measure_levels(const KernelPieces& kernel, const TrafficDevice& device, KernelTraffic& out);

}  // namespace mica::analysis
