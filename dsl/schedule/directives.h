// The directives, each described once: its fields, what they mean, and what it belongs to. Text, JSON,
// renaming, checks of names and random directives are made from the descriptions.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "dsl/expr/limits.h"

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

/// What a directive belongs to: a Func as a whole, or one of its definitions.
enum class Of : std::uint8_t { Func, Definition };
/// What a directive decides about: Loops, which it makes, orders or marks; the Kernel that the loops
/// become; or Values, where and how they are computed, stored and loaded.
enum class ActsOn : std::uint8_t { Loops, Kernel, Values };

/// What is said of a directive as a whole.
struct Traits {
  const char* word;  // of "do" in JSON; the member of Func, unless a field has Role::Method
  Of of{};
  ActsOn acts{};
  /// The loops that it makes besides those that its fields name: ".vec" after the name of each loop
  /// that it names, others as they stand.
  std::array<const char*, 4> makes{};
};

/// What a field of a directive means.
///   Loop        loops that the definition has by then
///   NewLoop     a loop that the directive makes
///   Dimension   dimensions of the Func
///   Func        another Func
///   LoopOfFunc  one of that Func's loops
///   Source      a Func or input that the Func reads
///   Input       an input that it reads
///   Wrapper     the wrapper Func that reads the source for it
///   Value       a number, numbers, or a word
///   Option      a Value that is not written, nor what follows it, where it is the usual one
///   Method      a word that decides which member of Func writes the directive
enum class Role : std::uint8_t {
  Loop,
  NewLoop,
  Dimension,
  Func,
  LoopOfFunc,
  Source,
  Input,
  Wrapper,
  Value,
  Option,
  Method
};

/// The numbers that a field may have, and what they are: "the extent".
struct Limits {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  const char* what = "";
};

/// A field by its key in JSON, in the order in which users write them. `get` is a pointer to a member or
/// a function that std::invoke takes a directive with.
template <typename Get, typename Usual>
struct Field {
  const char* key;
  Role role;
  Get get;
  Usual usual;  // of an Option
  Limits limits{};
};
/// What the usual value of an Option is where its description does not say: 0, or the first word.
struct Zero {};
template <typename Get, typename Usual = Zero>
constexpr Field<Get, Usual> field(const char* key, Role role, Get get, Usual usual = {}) {
  return {key, role, get, usual};
}
/// A number, and how small and large it may be.
template <typename Get>
constexpr Field<Get, Zero> number(const char* key, Get get, const Limits& limits) {
  return {key, Role::Value, get, {}, limits};
}

/// One of the two names of the `level` of a directive.
struct PartOfLevel {
  std::string LoopLevel::*part;
  constexpr auto& operator()(auto& directive) const { return directive.level.*part; }
};

/// v -> (outer, inner) with inner in [0, factor).
struct Split {
  std::string old_var, outer, inner;
  int factor = 1;
  TailStrategy tail{};
  static constexpr Traits traits{"split", Of::Definition, ActsOn::Loops};
  static constexpr auto fields() {
    return std::tuple{
        field("var", Role::Loop, &Split::old_var), field("outer", Role::NewLoop, &Split::outer),
        field("inner", Role::NewLoop, &Split::inner), field("factor", Role::Value, &Split::factor),
        field("tail", Role::Option, &Split::tail)};
  }
  friend bool operator==(const Split&, const Split&) = default;
};
/// (outer, inner) adjacent -> fused, inner fastest.
struct Fuse {
  std::string inner, outer, fused;
  static constexpr Traits traits{"fuse", Of::Definition, ActsOn::Loops};
  static constexpr auto fields() {
    return std::tuple{field("inner", Role::Loop, &Fuse::inner), field("outer", Role::Loop, &Fuse::outer),
                      field("fused", Role::NewLoop, &Fuse::fused)};
  }
  friend bool operator==(const Fuse&, const Fuse&) = default;
};
/// Named loops take this order, innermost first, in the positions they occupy.
struct Reorder {
  std::vector<std::string> vars;
  static constexpr Traits traits{"reorder", Of::Definition, ActsOn::Loops};
  static constexpr auto fields() { return std::tuple{field("vars", Role::Loop, &Reorder::vars)}; }
  friend bool operator==(const Reorder&, const Reorder&) = default;
};
/// The loop over `var` is Serial, Parallel, Vectorized, Unrolled, GpuBlock or GpuThread.
struct MarkLoop {
  std::string var;
  LoopKind kind{};
  static constexpr Traits traits{"mark_loop", Of::Definition, ActsOn::Loops};
  static constexpr auto fields() {
    return std::tuple{field("var", Role::Loop, &MarkLoop::var),
                      field("kind", Role::Method, &MarkLoop::kind)};
  }
  friend bool operator==(const MarkLoop&, const MarkLoop&) = default;
};
/// Each var v of `vars`, innermost first, becomes v.block and v.thread with sizes[i] threads; see
/// dsl/schedule/loop_dims.h for the loops and for Vectorize and Unroll of a tiled var.
struct GpuTile {
  std::vector<std::string> vars;
  std::vector<int> sizes;
  TailStrategy tail{};
  static constexpr Traits traits{
      "gpu_tile", Of::Definition, ActsOn::Loops, {".block", ".thread", ".vec", ".unroll"}};
  static constexpr auto fields() {
    return std::tuple{field("vars", Role::Loop, &GpuTile::vars),
                      field("sizes", Role::Value, &GpuTile::sizes),
                      field("tail", Role::Option, &GpuTile::tail)};
  }
  friend bool operator==(const GpuTile&, const GpuTile&) = default;
};
/// The loop over `var` (width 0) or `width` of its iterations, split off as var.vec, in one vector.
struct Vectorize {
  std::string var;
  int width = 0;
  TailStrategy tail{};
  static constexpr Traits traits{"vectorize", Of::Definition, ActsOn::Loops, {".vec"}};
  static constexpr auto fields() {
    return std::tuple{field("var", Role::Loop, &Vectorize::var),
                      field("width", Role::Option, &Vectorize::width),
                      field("tail", Role::Option, &Vectorize::tail)};
  }
  friend bool operator==(const Vectorize&, const Vectorize&) = default;
};
/// The loop over `var` (factor 0) or `factor` of its iterations, split off as var.unroll, written out.
struct Unroll {
  std::string var;
  int factor = 0;
  TailStrategy tail{};
  static constexpr Traits traits{"unroll", Of::Definition, ActsOn::Loops, {".unroll"}};
  static constexpr auto fields() {
    return std::tuple{field("var", Role::Loop, &Unroll::var),
                      field("factor", Role::Option, &Unroll::factor),
                      field("tail", Role::Option, &Unroll::tail)};
  }
  friend bool operator==(const Unroll&, const Unroll&) = default;
};
/// The Func is computed anew wherever it is read.
struct ComputeInline {
  static constexpr Traits traits{"compute_inline", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple<>{}; }
  friend bool operator==(const ComputeInline&, const ComputeInline&) = default;
};
/// The Func is computed whole, before its readers.
struct ComputeRoot {
  static constexpr Traits traits{"compute_root", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple<>{}; }
  friend bool operator==(const ComputeRoot&, const ComputeRoot&) = default;
};
/// The Func is computed inside the loop `level`, over the box that one iteration reads.
struct ComputeAt {
  LoopLevel level;
  static constexpr Traits traits{"compute_at", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("func", Role::Func, PartOfLevel{&LoopLevel::func}),
                      field("var", Role::LoopOfFunc, PartOfLevel{&LoopLevel::var})};
  }
  friend bool operator==(const ComputeAt&, const ComputeAt&) = default;
};
/// The Func's values are stored at the loop `level`, around the one where they are computed.
struct StoreAt {
  LoopLevel level;
  static constexpr Traits traits{"store_at", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("func", Role::Func, PartOfLevel{&LoopLevel::func}),
                      field("var", Role::LoopOfFunc, PartOfLevel{&LoopLevel::var})};
  }
  friend bool operator==(const StoreAt&, const StoreAt&) = default;
};
/// The Func's values are stored outside all loops.
struct StoreRoot {
  static constexpr Traits traits{"store_root", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple<>{}; }
  friend bool operator==(const StoreRoot&, const StoreRoot&) = default;
};
/// The Func's values lie in `memory`.
struct StoreIn {
  MemoryType memory{};
  static constexpr Traits traits{"store_in", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple{field("memory", Role::Value, &StoreIn::memory)}; }
  friend bool operator==(const StoreIn&, const StoreIn&) = default;
};
/// The Func reads `source` (a Func or input) through a wrapper Func named `wrapper`, which has
/// directives of its own.
struct In {
  std::string source, wrapper;
  static constexpr Traits traits{"in", Of::Definition, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("source", Role::Source, &In::source),
                      field("wrapper", Role::Wrapper, &In::wrapper)};
  }
  friend bool operator==(const In&, const In&) = default;
};
/// Row pitch of the Func's storage in dimension `var` is a multiple of `elements`.
struct AlignStorage {
  std::string var;
  int elements = 1;
  static constexpr Traits traits{"align_storage", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{
        field("var", Role::Dimension, &AlignStorage::var),
        number("elements", &AlignStorage::elements, {1, kLargestFactor, "the number of elements"})};
  }
  friend bool operator==(const AlignStorage&, const AlignStorage&) = default;
};
/// Of dimension `var` the Func's storage holds `factor` indices, index i in the place of i modulo that.
struct FoldStorage {
  std::string var;
  int factor = 1;
  static constexpr Traits traits{"fold_storage", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("var", Role::Dimension, &FoldStorage::var),
                      number("factor", &FoldStorage::factor, {1, kLargestFactor, "the factor"})};
  }
  friend bool operator==(const FoldStorage&, const FoldStorage&) = default;
};
/// Named dimensions lie in memory in this order, neighbours of the first side by side, in the positions
/// that they occupy.
struct ReorderStorage {
  std::vector<std::string> vars;
  static constexpr Traits traits{"reorder_storage", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("vars", Role::Dimension, &ReorderStorage::vars)};
  }
  friend bool operator==(const ReorderStorage&, const ReorderStorage&) = default;
};
/// The Func is computed over exactly [min, min + extent) of `var`.
struct Bound {
  std::string var;
  std::int64_t min = 0, extent = 1;
  static constexpr Traits traits{"bound", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("var", Role::Dimension, &Bound::var),
                      number("min", &Bound::min, {-kLargestMin, kLargestMin, "the min"}),
                      number("extent", &Bound::extent, {1, kLargestExtent, "the extent"})};
  }
  friend bool operator==(const Bound&, const Bound&) = default;
};
/// `source` is held for the block in `memory`, filled with its halo by the block's threads.
struct StagedSource {
  std::string source;
  MemoryType memory{};
  LoadPolicy load{};
  static constexpr Traits traits{"stage", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("source", Role::Source, &StagedSource::source),
                      field("memory", Role::Value, &StagedSource::memory),
                      field("load", Role::Option, &StagedSource::load, LoadPolicy::TwoStep)};
  }
  friend bool operator==(const StagedSource&, const StagedSource&) = default;
};
/// Loads of `source` use the non-coherent read-only path.
struct ReadOnly {
  std::string source;
  static constexpr Traits traits{"read_only", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple{field("source", Role::Input, &ReadOnly::source)}; }
  friend bool operator==(const ReadOnly&, const ReadOnly&) = default;
};
/// At least `min_blocks` blocks shall fit on a multiprocessor at once (0: no promise).
struct LaunchBounds {
  int min_blocks = 0;
  static constexpr Traits traits{"launch_bounds", Of::Definition, ActsOn::Kernel};
  static constexpr auto fields() {
    return std::tuple{number("min_blocks", &LaunchBounds::min_blocks, {1, 32, "min_blocks"})};
  }
  friend bool operator==(const LaunchBounds&, const LaunchBounds&) = default;
};
/// At most `count` registers a thread.
struct MaxRegisters {
  int count = 0;
  static constexpr Traits traits{"max_registers", Of::Definition, ActsOn::Kernel};
  static constexpr auto fields() {
    return std::tuple{number("count", &MaxRegisters::count, {16, 255, "the number of registers"})};
  }
  friend bool operator==(const MaxRegisters&, const MaxRegisters&) = default;
};

/// The block walks the loop over `var` serially, `chunk` iterations a block (0: all of them), and fewer
/// in the last blocks: half of what the one before has, down to `shortest` (0: all have the same).
struct March {
  std::string var;
  int chunk = 0;
  int shortest = 0;
  static constexpr Traits traits{"march", Of::Func, ActsOn::Loops, {".block", ".march"}};
  static constexpr auto fields() {
    return std::tuple{field("var", Role::Loop, &March::var), field("chunk", Role::Option, &March::chunk),
                      field("shortest", Role::Option, &March::shortest)};
  }
  friend bool operator==(const March&, const March&) = default;
};
/// Each thread keeps the values of `source` at its own points in registers along the march of `var`.
struct RegisterWindow {
  std::string source, var;
  static constexpr Traits traits{"register_window", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("source", Role::Source, &RegisterWindow::source),
                      field("var", Role::Dimension, &RegisterWindow::var)};
  }
  friend bool operator==(const RegisterWindow&, const RegisterWindow&) = default;
};
/// Planes of staged or windowed `source` are asked for `depth` steps of the march ahead.
struct PipelineDepth {
  std::string source;
  int depth = 1;
  static constexpr Traits traits{"pipeline", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("source", Role::Source, &PipelineDepth::source),
                      field("depth", Role::Value, &PipelineDepth::depth)};
  }
  friend bool operator==(const PipelineDepth&, const PipelineDepth&) = default;
};
/// The sum is computed in parts as the planes of the march over `var` arrive.
struct Scatter {
  std::string var;
  Partials partials{};
  static constexpr Traits traits{"scatter", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("var", Role::Dimension, &Scatter::var),
                      field("partials", Role::Option, &Scatter::partials)};
  }
  friend bool operator==(const Scatter&, const Scatter&) = default;
};
/// Neighbours of `source` along `var` come from the warp's other threads.
struct Shuffle {
  std::string source, var;
  static constexpr Traits traits{"shuffle", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("source", Role::Source, &Shuffle::source),
                      field("var", Role::Dimension, &Shuffle::var)};
  }
  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};
/// Block loops in the order in which the grid visits them, fastest first.
struct OrderBlocks {
  std::vector<std::string> vars;
  static constexpr Traits traits{"order_blocks", Of::Func, ActsOn::Loops};
  static constexpr auto fields() { return std::tuple{field("vars", Role::Loop, &OrderBlocks::vars)}; }
  friend bool operator==(const OrderBlocks&, const OrderBlocks&) = default;
};
/// Loads of `source` are marked as not to be read again soon.
struct StreamLoads {
  std::string source;
  static constexpr Traits traits{"stream_loads", Of::Func, ActsOn::Values};
  static constexpr auto fields() {
    return std::tuple{field("source", Role::Input, &StreamLoads::source)};
  }
  friend bool operator==(const StreamLoads&, const StreamLoads&) = default;
};
/// The Func's stores are marked likewise.
struct StreamStores {
  static constexpr Traits traits{"stream_stores", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple<>{}; }
  friend bool operator==(const StreamStores&, const StreamStores&) = default;
};
/// Loads of `source` go through a texture object.
struct Texture {
  std::string source;
  static constexpr Traits traits{"texture", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple{field("source", Role::Input, &Texture::source)}; }
  friend bool operator==(const Texture&, const Texture&) = default;
};
/// `warps` further warps of the block fill the staged planes while the others compute.
struct WarpSplit {
  int warps = 1;
  static constexpr Traits traits{"warp_split", Of::Func, ActsOn::Values};
  static constexpr auto fields() { return std::tuple{field("warps", Role::Value, &WarpSplit::warps)}; }
  friend bool operator==(const WarpSplit&, const WarpSplit&) = default;
};

/// The update's iterations over its reduction domain run in any order, at once where their loops say so:
/// each combines a value with the Func's in one step that no other comes between.
struct Atomic {
  static constexpr Traits traits{"atomic", Of::Definition, ActsOn::Values};
  static constexpr auto fields() { return std::tuple<>{}; }
  friend bool operator==(const Atomic&, const Atomic&) = default;
};
/// All loops of the definition run in one thread of a GPU: loops "single.thread" and "single.block" of
/// one iteration stand around them.
struct GpuSingleThread {
  static constexpr Traits traits{
      "gpu_single_thread", Of::Definition, ActsOn::Loops, {"single.thread", "single.block"}};
  static constexpr auto fields() { return std::tuple<>{}; }
  friend bool operator==(const GpuSingleThread&, const GpuSingleThread&) = default;
};

/// A directive of any kind.
using AnyOp = std::variant<Split, Fuse, Reorder, MarkLoop, GpuTile, Vectorize, Unroll, ComputeInline,
                           ComputeRoot, ComputeAt, StoreAt, StoreRoot, StoreIn, In, AlignStorage, Bound,
                           StagedSource, ReadOnly, LaunchBounds, MaxRegisters, March, RegisterWindow,
                           PipelineDepth, Scatter, Shuffle, OrderBlocks, StreamLoads, StreamStores,
                           Texture, WarpSplit, FoldStorage, ReorderStorage, Atomic, GpuSingleThread>;

}  // namespace directive

}  // namespace mica
