// Checks that code keeps the invariants of its level. The driver runs it after every pass.
//
// At every level
//   names    a VarRef is bound around it by For, LetStmt or Let, or is a symbol of the Environment,
//            and has the binder's type; a Load, Store names a buffer allocated around it or in the
//            Environment, of its element type; a buffer is not allocated inside its own lifetime
//   types    operands of Binary, Compare, Fma and the branches of Select agree in type and lanes; an
//            operation is defined for its type; Compare and conditions are bool; Cast keeps lanes,
//            Reinterpret the total bits, Ramp and Broadcast are of scalars, Shuffle takes existing
//            lanes; For, its min and extent are scalar i32 or i64 of one type; If tests a scalar
//   dims     a Load or Store has one index for each dimension of its buffer where that is known
//            (below Flat), integers of the access's lanes or scalars
//   loops    Vectorized and Unrolled extents are constants of at least 1; GpuBlock is not inside
//            GpuThread; Parallel is not inside either of them
//   memory   an Allocate is not Auto, mins and extents count the same dimensions, extents are
//            constants unless Heap; parameters that are not written have no Store
//   barriers every thread of a block meets the same barriers: no Barrier under an If or loop whose
//            condition or bounds depend on the thread (its axes, a GpuThread loop's variable, or
//            memory read at a place that depends on it), and so all threads of a cluster those of
//            the cluster; named barriers have numbers from 1 to 15 and take whole warps of the block
//   clusters have 1 to 8 blocks; a store to another block's memory is to a Shared array
//   copies   AsyncCopy and BulkCopy read a parameter and write a Shared array of the same type, at
//            places of one element; an AsyncCopy is of 4, 8 or 16 bytes; CopyWait leaves no negative
//            number pending; transaction barriers are cells of Shared i64 arrays, and slots, counts,
//            bytes and parities scalar integers
//   textures of a kernel are arrays of f32, i32 or u32 that it only loads from, each with an origin
//   shuffles a WarpShuffle reaches less than 32 threads away and keeps the type
//   stores   atomic ones are of a scalar i32, u32, i64 or u64
//   nodes    ParamRef, RVarRef and ImageField have become VarRefs
// Level Loads adds:   Access has become Load
// Level Flat adds:    Allocates have a stride a dimension; Load and Store have exactly one index,
//                     of the access's lanes; alignments are powers of two
// Level BackEnd adds: no Vectorized or Unrolled loop, no Strict; f16 and bf16 values are only loaded,
//                     stored, cast, selected, shuffled and reinterpreted; no Exp, Log, Sin, Cos,
//                     Tanh, Pow, Atan2 or Fmod; without mapped axes no barriers and no WarpShuffle
// With mapped axes:   no GpuBlock, GpuThread or Parallel loop; Shared Allocates stand under no For,
//                     If or Block with other statements; no Heap. The axis names (kGpuAxisNames)
//                     are symbols.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"

namespace mica::ir {

enum class Level : std::uint8_t { LoopNest, Loads, Flat, BackEnd };

/// What a statement may use without binding it itself.
struct Environment {
  struct BufferInfo {
    Type type;
    int dimensions = 0;  ///< 0: not known, not checked
    bool writable = true;
    std::optional<MemoryType> allocated = {};  ///< none: a parameter
  };
  /// Without a type: any integer type.
  std::map<std::string, std::optional<Type>> symbols;
  std::map<std::string, BufferInfo> buffers;
  /// The code of one GPU thread: axis names are symbols, GpuBlock and GpuThread loops are gone.
  bool axes_mapped = false;

  /// Adds the buffer and its symbols "<name>.min.<d>", "<name>.extent.<d>" and "<name>.stride.<d>".
  void add_buffer(const std::string& name, Type type, int dimensions, bool writable = true);
};

/// Violations in the order met, each naming the node and its place; empty when `s` is sound.
std::vector<std::string> verify(const Stmt& s, Level level, const Environment& environment);
/// Of several statements, each for itself.
std::vector<std::string> verify(const std::vector<Stmt>& each, Level level,
                                const Environment& environment);
/// The body with the parameters as environment; axes are mapped when the kernel is on_device.
std::vector<std::string> verify(const Kernel& kernel, Level level);
/// Throws InternalError with all violations, naming `after` (a pass), when there are any.
void throw_if_unsound(const std::vector<std::string>& violations, const std::string& after);

}  // namespace mica::ir
