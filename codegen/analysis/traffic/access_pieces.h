// A kernel's accesses as pieces: one access, in a box of loop iterations in which nothing on the way to
// it changes and its indices are affine. Together the pieces are every access that the grid makes, once.
//
//   for b in [0, 4): for t in [0, 32): if (b*32 + t < 100) f[b*32 + t] = u[b*32 + t - 1] + ...
//
//   f[32*b + t]         b 0..2, t 0..31      and      b 3..3, t 0..3
//   u[32*b + t - 1]     the same
//
// The loops are those of a nest after simplify_loops: blocks, the march, threads, vectors and unrolled
// rows are loops, and indices are logical coordinates.
#pragma once

#include <string>
#include <vector>

#include "codegen/analysis/traffic/affine_form.h"
#include "codegen/ir/stmt.h"

namespace mica::analysis {

struct PieceArray {
  std::string name;
  Type type;
  MemoryType memory = MemoryType::Heap;  ///< Heap: in global memory
  std::string func;                      ///< that its stores compute
  /// What allocates it, with the forms of its mins where it was first met (none if no
  /// block comes by); null in global memory.
  const ir::Allocate* allocate = nullptr;
  std::vector<Form> mins;
};

struct Piece {
  int array = 0;
  bool store = false;
  /// Loads and stores of `array[i] = other[j]`: the other array; -1 elsewhere.
  int copy = -1;
  Region region;
  std::vector<Form> index;
  /// Stores: arithmetic operations of the value; fma counts as two, index arithmetic not at all.
  std::int64_t operations = 0;
  [[nodiscard]] std::int64_t count() const { return volume(region); }
};

struct PieceLoop {
  std::string name;
  LoopKind kind = LoopKind::Serial;
};

struct Pieces {
  std::vector<PieceLoop> loops;
  std::vector<PieceArray> arrays;
  std::vector<Piece> pieces;
  std::int64_t threads[3] = {1, 1, 1};  ///< of a block
  /// Iterations of the block loops, innermost first: blocks along x, y, z.
  std::vector<std::int64_t> grid;
  /// Loops of the blocks, numbers into `loops`, innermost first.
  std::vector<int> block_loops;
  /// A condition, or an index, depends on data: the condition is taken to hold, the index to be 0.
  bool data_dependent = false;

  [[nodiscard]] LoopKind kind(const Span& span) const {
    return loops[static_cast<std::size_t>(span.loop)].kind;
  }
  [[nodiscard]] const PieceArray& array(const Piece& piece) const {
    return arrays[static_cast<std::size_t>(piece.array)];
  }
  [[nodiscard]] bool is_global(const Piece& piece) const {
    return array(piece).memory == MemoryType::Heap;
  }
};

/// The pieces of one kernel. `symbols` gives every extent and min that its loops and conditions use.
/// Of equal loads in one statement, one counts. Loads of registers are left out.
Pieces read_pieces(const ir::Stmt& body, const Symbols& symbols);

}  // namespace mica::analysis
