// A schedule as plain data: which directives apply to which Func, comparable, printable, and saved
// and loaded as JSON. The members of Func (dsl/func/func.h) append to it and document each directive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "dsl/expr/diagnostics.h"

namespace mica {

/// Where a Func's (or staged input's) values live. Auto: heap for roots, shared memory inside a
/// block, registers or stack inside a thread.
enum class MemoryType : std::uint8_t { Auto, Heap, Stack, Shared, Register };

/// What happens when a split's factor does not divide the extent.
/// GuardWithIf: points past the end are skipped. ShiftInwards: the last tile moves back and
/// recomputes some points (GuardWithIf where the extent is below the factor, and on GPU loops).
/// RoundUp: an output's memory has room for whole tiles (other Funcs: GuardWithIf). Auto: GuardWithIf.
enum class TailStrategy : std::uint8_t { Auto, GuardWithIf, ShiftInwards, RoundUp };

/// How the threads of a block share the work of filling a staged box.
///   HaloThreads  one thread per point of the box: the block is enlarged to the box, and the
///                threads of the halo idle while the consumer computes
///   TwoStep      no load-only threads: points are dealt to the threads in linear order, every
///                thread takes one, then some take a second (third, ...)
///   Strided      threads walk the box in steps of the block's size in each dimension
///   AsyncCopy    points are dealt as in TwoStep and copied without passing through registers, up to
///                16 bytes at once (cp.async); rows of such pieces are padded to whole sectors of 32
///                bytes, and the tile's own columns are dealt before those beside it, where there are as
///                many on both sides
///   Bulk         whole rows are copied by the bulk-copy engine (TMA); rows must start and end at
///                multiples of 16 bytes, and the device must have compute capability 9.0. Arrays that
///                turn out to be aligned otherwise are copied as by AsyncCopy
enum class LoadPolicy : std::uint8_t { HaloThreads, TwoStep, Strided, AsyncCopy, Bulk };

/// How the iterations of one loop are carried out. March: serially by a whole block, which keeps
/// planes of its sources from one iteration to the next.
enum class LoopKind : std::uint8_t {
  Serial,
  Parallel,
  Vectorized,
  Unrolled,
  GpuBlock,
  GpuThread,
  March
};

/// Where `scatter` cuts a sum into partial sums.
///   EveryPlane   after the terms of each plane: only the arriving plane is read
///   Centre       once, after the terms of the centre plane: the planes before it and the centre are
///                added when the centre arrives, those after it when the point is stored
enum class Partials : std::uint8_t { EveryPlane, Centre };

/// A loop of a Func that another Func's computation is placed in.
///
/// Here and in all directives Funcs, inputs and loops go by the names that the user gave them, which may
/// be any text. A loop that a directive makes and names itself, as "x.block" of gpu_tile or "z.march" of
/// march, is meant by that text unless the user has called a loop or Var of the definition so. Of
/// several Funcs of one name the second is "f·2".
struct LoopLevel {
  std::string func;
  std::string var;
  friend bool operator==(const LoopLevel&, const LoopLevel&) = default;
};

namespace directive {

/// v -> (outer, inner) with inner in [0, factor).
struct Split {
  std::string old_var, outer, inner;
  int factor = 1;
  TailStrategy tail{};
  friend bool operator==(const Split&, const Split&) = default;
};
/// (outer, inner) adjacent -> fused, inner fastest.
struct Fuse {
  std::string inner, outer, fused;
  friend bool operator==(const Fuse&, const Fuse&) = default;
};
/// Named loops take this order, innermost first, in the positions they occupy.
struct Reorder {
  std::vector<std::string> vars;
  friend bool operator==(const Reorder&, const Reorder&) = default;
};
/// The loop over `var` is Serial, Parallel, Vectorized, Unrolled, GpuBlock or GpuThread.
struct MarkLoop {
  std::string var;
  LoopKind kind{};
  friend bool operator==(const MarkLoop&, const MarkLoop&) = default;
};
/// Each var v of `vars`, innermost first, becomes v.block and v.thread with sizes[i] threads; see
/// dsl/schedule/loop_dims.h for the loops and for Vectorize and Unroll of a tiled var.
struct GpuTile {
  std::vector<std::string> vars;
  std::vector<int> sizes;
  TailStrategy tail{};
  friend bool operator==(const GpuTile&, const GpuTile&) = default;
};
/// The loop over `var` (width 0) or `width` of its iterations, split off as var.vec, in one vector.
struct Vectorize {
  std::string var;
  int width = 0;
  TailStrategy tail{};
  friend bool operator==(const Vectorize&, const Vectorize&) = default;
};
/// The loop over `var` (factor 0) or `factor` of its iterations, split off as var.unroll, written out.
struct Unroll {
  std::string var;
  int factor = 0;
  TailStrategy tail{};
  friend bool operator==(const Unroll&, const Unroll&) = default;
};
struct ComputeInline {
  friend bool operator==(const ComputeInline&, const ComputeInline&) = default;
};
struct ComputeRoot {
  friend bool operator==(const ComputeRoot&, const ComputeRoot&) = default;
};
struct ComputeAt {
  LoopLevel level;
  friend bool operator==(const ComputeAt&, const ComputeAt&) = default;
};
struct StoreAt {
  LoopLevel level;
  friend bool operator==(const StoreAt&, const StoreAt&) = default;
};
struct StoreRoot {
  friend bool operator==(const StoreRoot&, const StoreRoot&) = default;
};
struct StoreIn {
  MemoryType memory{};
  friend bool operator==(const StoreIn&, const StoreIn&) = default;
};
/// The Func reads `source` (a Func or input) through a wrapper Func named `wrapper`, which has
/// directives of its own.
struct In {
  std::string source, wrapper;
  friend bool operator==(const In&, const In&) = default;
};
/// Row pitch of the Func's storage in dimension `var` is a multiple of `elements`.
struct AlignStorage {
  std::string var;
  int elements = 1;
  friend bool operator==(const AlignStorage&, const AlignStorage&) = default;
};
/// Of dimension `var` the Func's storage holds `factor` indices, index i in the place of i modulo that.
struct FoldStorage {
  std::string var;
  int factor = 1;
  friend bool operator==(const FoldStorage&, const FoldStorage&) = default;
};
/// Named dimensions lie in memory in this order, neighbours of the first side by side, in the positions
/// that they occupy.
struct ReorderStorage {
  std::vector<std::string> vars;
  friend bool operator==(const ReorderStorage&, const ReorderStorage&) = default;
};
/// The Func is computed over exactly [min, min + extent) of `var`.
struct Bound {
  std::string var;
  std::int64_t min = 0, extent = 1;
  friend bool operator==(const Bound&, const Bound&) = default;
};
/// `source` is held for the block in `memory`, filled with its halo by the block's threads.
struct Stage {
  std::string source;
  MemoryType memory{};
  LoadPolicy load{};
  friend bool operator==(const Stage&, const Stage&) = default;
};
/// Loads of `source` use the non-coherent read-only path.
struct ReadOnly {
  std::string source;
  friend bool operator==(const ReadOnly&, const ReadOnly&) = default;
};
/// At least `min_blocks` blocks shall fit on a multiprocessor at once (0: no promise).
struct LaunchBounds {
  int min_blocks = 0;
  friend bool operator==(const LaunchBounds&, const LaunchBounds&) = default;
};
/// At most `count` registers a thread.
struct MaxRegisters {
  int count = 0;
  friend bool operator==(const MaxRegisters&, const MaxRegisters&) = default;
};

/// The block walks the loop over `var` serially, `chunk` iterations a block (0: all of them).
struct March {
  std::string var;
  int chunk = 0;
  friend bool operator==(const March&, const March&) = default;
};
/// Each thread keeps the values of `source` at its own points in registers along the march of `var`.
struct RegisterWindow {
  std::string source, var;
  friend bool operator==(const RegisterWindow&, const RegisterWindow&) = default;
};
/// Planes of staged or windowed `source` are asked for `depth` steps of the march ahead.
struct Prefetch {
  std::string source;
  int depth = 1;
  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};
/// The sum is computed in parts as the planes of the march over `var` arrive.
struct Scatter {
  std::string var;
  Partials partials{};
  friend bool operator==(const Scatter&, const Scatter&) = default;
};
/// Neighbours of `source` along `var` come from the warp's other threads.
struct Exchange {
  std::string source, var;
  friend bool operator==(const Exchange&, const Exchange&) = default;
};
/// Block loops in the order in which the grid visits them, fastest first.
struct OrderBlocks {
  std::vector<std::string> vars;
  friend bool operator==(const OrderBlocks&, const OrderBlocks&) = default;
};
/// Loads of `source` are marked as not to be read again soon.
struct StreamLoads {
  std::string source;
  friend bool operator==(const StreamLoads&, const StreamLoads&) = default;
};
/// The Func's stores are marked likewise.
struct StreamStores {
  friend bool operator==(const StreamStores&, const StreamStores&) = default;
};
/// Loads of `source` go through a texture object.
struct Texture {
  std::string source;
  friend bool operator==(const Texture&, const Texture&) = default;
};
/// `warps` further warps of the block fill the staged planes while the others compute.
struct WarpSplit {
  int warps = 1;
  friend bool operator==(const WarpSplit&, const WarpSplit&) = default;
};

/// The update's iterations over its reduction domain run in any order, at once where their loops say so:
/// each combines a value with the Func's in one step that no other comes between.
struct Atomic {
  friend bool operator==(const Atomic&, const Atomic&) = default;
};
/// All loops of the definition run in one thread of a GPU: loops "single.thread" and "single.block" of
/// one iteration stand around them.
struct GpuSingleThread {
  friend bool operator==(const GpuSingleThread&, const GpuSingleThread&) = default;
};

}  // namespace directive

/// One directive with the user's line.
struct Directive {
  std::variant<directive::Split, directive::Fuse, directive::Reorder, directive::MarkLoop,
               directive::GpuTile, directive::Vectorize, directive::Unroll, directive::ComputeInline,
               directive::ComputeRoot, directive::ComputeAt, directive::StoreAt, directive::StoreRoot,
               directive::StoreIn, directive::In, directive::AlignStorage, directive::Bound,
               directive::Stage, directive::ReadOnly, directive::LaunchBounds, directive::MaxRegisters,
               directive::March, directive::RegisterWindow, directive::Prefetch, directive::Scatter,
               directive::Exchange, directive::OrderBlocks, directive::StreamLoads,
               directive::StreamStores, directive::Texture, directive::WarpSplit, directive::FoldStorage,
               directive::ReorderStorage, directive::Atomic, directive::GpuSingleThread>
      op;
  SourceLocation where;
  friend bool operator==(const Directive&, const Directive&) = default;
};

/// The directives of one definition of a Func: `update` 0 is the pure definition, 1 the first
/// update. Directives apply in order.
struct StageSchedule {
  std::string func;
  int update = 0;
  std::vector<Directive> directives;
  friend bool operator==(const StageSchedule&, const StageSchedule&) = default;
};

/// The schedule of a pipeline, in the order Funcs were met from inputs to outputs.
/// Stages without directives are left out.
struct Schedule {
  std::vector<StageSchedule> stages;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The directive as the user would write it after a Func's name: `.split(x, xo, xi, 32)`. Loop names
/// that are no C++ identifiers are quoted. In is `source.in(consumer)`, a statement of its own.
std::string to_string(const Directive& directive);
/// C++ that makes the schedule again, given handles named as the Funcs, inputs and Vars are: one
/// chained statement a definition, `next.gpu_tile(x, y, 32, 8)\n    .vectorize(x, 4);`. A handle of a
/// wrapper is written `u.in(next)`; characters that an identifier cannot have become `_`.
std::string to_string(const Schedule& schedule);
/// The same with `handle_of` for Funcs and inputs, by their names in the schedule, and no Vars: loops
/// are named by strings.
std::string to_string(const Schedule& schedule,
                      const std::function<std::string(const std::string&)>& handle_of);
std::string to_string(MemoryType memory);
std::string to_string(TailStrategy tail);
std::string to_string(LoadPolicy policy);
std::string to_string(LoopKind kind);
std::string to_string(Partials partials);

/// JSON text with a format version. from_json throws UserError that names the offending key.
std::string to_json(const Schedule& schedule);
Schedule schedule_from_json(const std::string& text);
/// File forms of the same; UserError naming the path when it cannot be read or written.
void save_schedule(const Schedule& schedule, const std::string& path);
Schedule load_schedule(const std::string& path);

}  // namespace mica
