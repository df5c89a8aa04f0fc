// Func, ImageParam, Param and Tuple, and with dsl/func/rdom.h and dsl/func/boundary.h RDom and boundary
// conditions: the handles with which users write algorithms and schedules. Copies of a handle stand for
// one thing; a handle that was moved from stays what it was, which is why these classes declare copies
// only.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/expr/operators.h"
#include "dsl/func/function.h"
#include "dsl/func/image_param.h"
#include "dsl/func/loop_directives.h"

namespace mica {

class AnyBuffer;  // runtime/buffer/buffer.h
template <typename T>
class Buffer;       // runtime/buffer/buffer.h
struct Target;      // runtime/run/target.h
class Realization;  // runtime/buffer/buffer.h: the buffers of a Func's Tuple
struct RunOptions;  // runtime/run/run_options.h: inputs and scalars of one run, its stream
class Func;

/// The number of an element or dimension, with the user's line; what [] takes. Made implicitly.
class ElementIndex {
 public:
  template <std::integral I>
  ElementIndex(I index, CallSite at = CallSite::current())  // NOLINT: an index is written as a number
      : value_(static_cast<std::int64_t>(index)), where_(at) {}
  [[nodiscard]] std::int64_t value() const { return value_; }
  [[nodiscard]] const CallSite& where() const { return where_; }

 private:
  std::int64_t value_;
  CallSite where_;
};

/// Several values of one Func: `f(x) = Tuple(a, b)`, read back as `f(x)[0]`.
class Tuple {
 public:
  template <typename... E>
  requires(sizeof...(E) > 0 && (std::convertible_to<E, Expr> && ...)) explicit Tuple(E... e)
      : values_{Expr(e)...} {}
  explicit Tuple(std::vector<Expr> values) : values_(std::move(values)) {}
  /// UserError for an element that it does not have.
  [[nodiscard]] const Expr& operator[](ElementIndex i) const;
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const std::vector<Expr>& values() const { return values_; }

 private:
  std::vector<Expr> values_;
};

/// `f(x, y)`: an Expr when read, a definition when assigned to.
class FuncRef {
 public:
  FuncRef(std::shared_ptr<FunctionData> function, std::vector<Expr> args, SourceLocation where);
  /// Defines the Func (plain Vars, first time) or adds an update. UserErrors: a Func defined twice,
  /// an undefined or unknown variable, a type that does not match, more than kMaxDimensions, a Func that
  /// is read before it is defined other than in its own definition, reads of itself that are no
  /// recurrence.
  Func operator=(Expr value);
  Func operator=(const Tuple& values);
  Func operator=(const FuncRef& value);
  /// Update definitions; an undefined Func starts from 0 (+=, -=) or 1 (*=, /=).
  Func operator+=(Expr value);
  Func operator-=(Expr value);
  Func operator*=(Expr value);
  Func operator/=(Expr value);
  operator Expr() const;  // NOLINT: reading a one-valued Func
  /// Element i of a Func with several values. Const: one element alone cannot be defined.
  [[nodiscard]] const Expr operator[](ElementIndex i) const;  // NOLINT(readability-const-return-type)
  [[nodiscard]] int size() const;
  FuncRef(const FuncRef&) = default;

 private:
  /// Element `element`; -1: the only one of a Func that is not defined yet.
  [[nodiscard]] Expr read(int element, Type type) const;
  std::shared_ptr<FunctionData> function_;
  std::vector<Expr> args_;
  SourceLocation where_;
};

/// A function on an integer grid of 1 to kMaxDimensions dimensions: a pure definition, then updates.
///
/// The pure definition may read the Func itself a constant number of points behind along one dimension,
/// or ahead, as a recurrence:
///   c(x, y, z) = select(z == 0, b(x, y, z), b(x, y, z) - a(x, y, z) * c(x, y, z - 1));
/// Points are computed along that dimension one after the other, upwards for reads behind and downwards
/// for reads ahead, and columns independently of each other. It starts at the point that a `select`
/// around the reads compares the dimension with (here z = 0; of several the first on the way), and a
/// read of the Func beyond the start is 0, at whatever point it stands. So a value does not depend on
/// the box that is computed, which reaches from the start to all points that are read. Without such a
/// `select` it starts at the first point of the realized box; only an output may do so. A box of an
/// output that lies past the start without holding it is refused when it is realized.
class Func : public LoopDirectives<Func> {
 public:
  explicit Func(std::string name = "f", CallSite at = CallSite::current());
  explicit Func(std::shared_ptr<FunctionData> function, CallSite at = CallSite::current())
      : LoopDirectives(std::move(function), 0, at) {}

  [[nodiscard]] const std::string& name() const { return function_->name; }
  [[nodiscard]] bool defined() const { return function_->defined(); }
  [[nodiscard]] int dimensions() const { return function_->dimensions(); }
  [[nodiscard]] const std::vector<Type>& types() const { return function_->types; }
  [[nodiscard]] std::vector<Var> args() const;

  /// A Func without arguments is a single value, kept in one dimension of one point: realize it into a
  /// buffer of one element. total() += u(r.x, r.y).
  FuncRef operator()(CallSite at = CallSite::current()) const;
  FuncRef operator()(Expr x, CallSite at = CallSite::current()) const;
  FuncRef operator()(Expr x, Expr y, CallSite at = CallSite::current()) const;
  FuncRef operator()(Expr x, Expr y, Expr z, CallSite at = CallSite::current()) const;
  FuncRef operator()(Expr x, Expr y, Expr z, Expr w, CallSite at = CallSite::current()) const;
  FuncRef operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, CallSite at = CallSite::current()) const;
  FuncRef operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, Expr d5,
                     CallSite at = CallSite::current()) const;
  FuncRef operator()(std::vector<Expr> args, CallSite at = CallSite::current()) const;

  /// The i-th update's loops.
  Stage update(int i = 0, CallSite at = CallSite::current());
  /// The pure definition's.
  operator Stage() const { return {function_, 0}; }  // NOLINT(google-explicit-constructor)

  // ---- where values are computed and stored ------------------------------------------------------
  /// Recomputed at every use (the default of Funcs that are not outputs and have no updates).
  Func& compute_inline(CallSite at = CallSite::current()) { return add(directive::ComputeInline{}, at); }
  /// Computed whole before its consumers, in memory of its own.
  Func& compute_root(CallSite at = CallSite::current()) { return add(directive::ComputeRoot{}, at); }
  /// Computed inside `consumer`'s loop over `var`, just the box that one iteration reads.
  Func& compute_at(const Func& consumer, const VarOrName& var) {
    return add(directive::ComputeAt{{consumer.name(), var.name}}, var.where);
  }
  /// Storage made at an outer loop of the compute level, for the box that one iteration of it reads. The
  /// loops between the two are serial or unrolled. On the host such a loop computes each value once: an
  /// iteration fills in what earlier ones have not, where the box moves one way along one dimension, and
  /// that dimension's storage is folded to what an iteration reads, rounded up to a power of two:
  ///   f(x, y) = g(x, y - 1) + g(x, y + 1);  g.compute_at(f, y).store_root();
  ///   y = 0   computes rows -1, 0, 1 of g; row r is in place (r + 1) mod 4
  ///   y = 1   computes row 2
  ///   y = 2   computes row 3, over row -1
  /// print_loop_nest says what slides, or why nothing does.
  Func& store_at(const Func& consumer, const VarOrName& var) {
    return add(directive::StoreAt{{consumer.name(), var.name}}, var.where);
  }
  /// Storage outside all loops, for all that the pipeline reads. The loops around the compute level are
  /// serial or unrolled, or each of their iterations has points of the Func to itself: then they may be
  /// a kernel's, and several recurrences walk a thread's column one after the other,
  ///   next.gpu_tile(x, y, 32, 4);  forward.compute_at(next, "x.thread").store_root();
  /// with forward's levels in global memory. In a thread this is where a Func of more points than are
  /// known to be constant is kept by default.
  Func& store_root(CallSite at = CallSite::current()) { return add(directive::StoreRoot{}, at); }
  /// The kind of memory, where MemoryType::Auto would choose one that suits the box. Errors: one that
  /// cannot be had at the level where the Func is stored.
  Func& store_in(MemoryType memory, CallSite at = CallSite::current()) {
    return add(directive::StoreIn{memory}, at);
  }
  /// A Func that stands for this one where `consumer` reads it.
  Func in(Func& consumer, CallSite at = CallSite::current());
  /// `source`'s box for one block, with its halo, held in `memory` and filled by the block's
  /// threads as `load` says; this Func's taps then read the box.
  Func& stage(const ImageParam& source, MemoryType memory, LoadPolicy load = LoadPolicy::TwoStep,
              CallSite at = CallSite::current()) {
    return add(directive::StagedSource{source.name(), memory, load}, at);
  }
  Func& stage(const Func& source, MemoryType memory, LoadPolicy load = LoadPolicy::TwoStep,
              CallSite at = CallSite::current()) {
    return add(directive::StagedSource{source.name(), memory, load}, at);
  }
  /// Loads of `source` through the non-coherent read-only path (ld.global.nc).
  Func& read_only(const ImageParam& source, CallSite at = CallSite::current()) {
    return add(directive::ReadOnly{source.name()}, at);
  }
  // ---- kernels that walk a dimension (docs/marching.md draws them)
  /// Every block walks `v` serially, `chunk` planes of it, and keeps what it will read again (chunk 0:
  /// one block walks all of v). Before: `for v`. After: block loop `v.block` outside the others, and
  /// `v.march` directly inside the blocks; a Func with compute_at(f, "v.march") is computed one plane a
  /// step, ahead of f by the largest offset at which it is read, into a ring of planes.
  /// With `shortest` the last chunks are shorter, each half of the one before and two of them so long,
  /// so that multiprocessors run out of blocks at nearly the same time. march(z, 64, 8) of 330 planes:
  ///   blocks   10  64  64  64  64  32  16   8   8
  /// Errors: v is tiled or vectorized; f has no block loops, or updates; a source kept along the march
  /// is read at another place than v + constant; chunk is not shortest times 2, 4, 8, ...
  Func& march(const VarOrName& v, int chunk = 0, int shortest = 0) {
    return add(directive::March{v.name, chunk, shortest}, v.where);
  }
  /// Taps of `source` at the thread's own points, u(x, y, v + c), come from registers that are filled
  /// once a plane and turned from step to step; other taps from a stage of `source` or from memory.
  /// With stage(source), a plane's own points are written from the registers and only its halo is read.
  /// Errors: v is not marched; no tap of `source` stands at the point's own column.
  Func& register_window(const ImageParam& source, const VarOrName& v) {
    return add(directive::RegisterWindow{source.name(), v.name}, v.where);
  }
  Func& register_window(const Func& source, const VarOrName& v) {
    return add(directive::RegisterWindow{source.name(), v.name}, v.where);
  }
  /// Planes of the staged or windowed `source` are asked for `depth` steps before they are read.
  /// Errors: `source` is neither, there is no march, a depth below 0 or above 16.
  Func& pipeline(const ImageParam& source, int depth, CallSite at = CallSite::current()) {
    return add(directive::PipelineDepth{source.name(), depth}, at);
  }
  Func& pipeline(const Func& source, int depth, CallSite at = CallSite::current()) {
    return add(directive::PipelineDepth{source.name(), depth}, at);
  }
  /// This Func's sum is computed in parts as the planes of the march arrive: what a point has so far
  /// waits in a register, so that a plane is read in one step only. The terms keep their order and the
  /// result its bits. Partials::Centre cuts the sum once, after the terms of the point's own plane.
  /// Errors: v is not marched; the value is no sum of terms that each read one plane of v (a strict sum,
  /// a Tuple).
  Func& scatter(const VarOrName& v, Partials partials = Partials::EveryPlane) {
    return add(directive::Scatter{v.name, partials}, v.where);
  }
  /// Taps of `source` along v beside the thread's points come from the neighbouring threads of the warp,
  /// in blocks inside the domain, and not where LoadPolicy::HaloThreads makes blocks wider. Errors: v is
  /// not the first dimension of gpu_tile, or has not a multiple of 32 threads.
  Func& shuffle(const ImageParam& source, const VarOrName& v) {
    return add(directive::Shuffle{source.name(), v.name}, v.where);
  }
  /// The order in which the grid's blocks are numbered, fastest first; loops left out stay behind those
  /// named: order_blocks("z.block", "x.block"). Errors: a loop that is no block loop.
  Func& order_blocks(std::initializer_list<VarOrName> vars) {
    return add(directive::OrderBlocks{names_of(vars)}, where_of(vars));
  }
  template <Names... V>
  Func& order_blocks(const VarOrName& first, const V&... rest) {
    return order_blocks({first, VarOrName(rest)...});
  }
  /// Loads of an input, or this Func's stores, that pass by the caches (ld.global.cs, st.global.cs).
  Func& stream_loads(const ImageParam& source, CallSite at = CallSite::current()) {
    return add(directive::StreamLoads{source.name()}, at);
  }
  Func& stream_stores(CallSite at = CallSite::current()) { return add(directive::StreamStores{}, at); }
  /// Loads of a 4-byte input through a texture object.
  Func& texture(const ImageParam& source, CallSite at = CallSite::current()) {
    return add(directive::Texture{source.name()}, at);
  }
  /// `warps` further warps fill the staged planes at their own pace, and the threads of the tile only
  /// compute: each of the two waits only for what it needs of the other. With a tile of 32 x 8:
  ///   before  block 32 x 8   step z: all 256 copy a part of plane z + 2, then compute plane z
  ///   after   block 32 x 9   rows 0-7 compute plane z, row 8 copies what the ring has places for
  /// Errors: nothing is staged along a march; LoadPolicy::HaloThreads or Strided, which deal planes to
  /// the tile's threads; warps that are no whole rows of the block, a tile of no whole warps; copies in
  /// bulk that pipeline() lets be farther ahead than a block has named barriers.
  Func& warp_split(int warps, CallSite at = CallSite::current()) {
    return add(directive::WarpSplit{warps}, at);
  }

  /// In this Func's memory dimension `var` takes a multiple of `elements`: with align_storage(x, 32)
  /// rows of f32 begin multiples of 128 bytes apart. Of several of one dimension the last counts.
  /// Outputs lie as their buffers do.
  Func& align_storage(const VarOrName& var, int elements) {
    return add(directive::AlignStorage{var.name, elements}, var.where);
  }
  /// Of dimension `var` just `factor` indices are stored, where store_at would choose the factor itself
  /// (of the first dimension it would not fold any). Errors: the Func does not slide along `var`; an
  /// iteration reads more indices than that.
  Func& fold_storage(const VarOrName& var, int factor) {
    return add(directive::FoldStorage{var.name, factor}, var.where);
  }
  /// The order of dimensions in memory, neighbours of the first side by side; those that are left out
  /// keep their positions. Errors: outputs and inline Funcs, whose memory is the caller's or none.
  Func& reorder_storage(std::initializer_list<VarOrName> vars) {
    return add(directive::ReorderStorage{names_of(vars)}, where_of(vars));
  }
  template <Names Second, Names... V>
  Func& reorder_storage(const VarOrName& first, const Second& second, const V&... rest) {
    return reorder_storage({first, VarOrName(second), VarOrName(rest)...});
  }
  /// The Func is computed over indices min to min + extent - 1 of `var` and no others, and its loops
  /// know that. Errors: an extent below 1; in a run, readers or an output that need other indices.
  Func& bound(const VarOrName& var, std::int64_t min, std::int64_t extent) {
    return add(directive::Bound{var.name, min, extent}, var.where);
  }

  // ---- the schedule as data (dsl/schedule/schedule.h)
  /// The directives of this Func and all it calls.
  [[nodiscard]] Schedule schedule() const;
  /// The schedule with all that the compiler chooses for `target` where there is no directive: where
  /// Funcs are computed and which loops they have, to be read, changed and applied. UserErrors of
  /// compile.
  [[nodiscard]] Schedule schedule_for(const Target& target) const;
  /// Replaces the directives of this Func and all it calls. UserError for a name not in the pipeline.
  Func& apply(const Schedule& schedule);
  Func& clear_schedule();

  // ---- compile and run (codegen/realize.cpp) -------------------------------------------------------
  /// Computes the Func over `output`'s box into it; points outside the box of a cropped buffer stay
  /// untouched. Compiles on first use for each target. Target::best() when none is given, or the
  /// target the environment variable MICA_TARGET names. Several threads may realize one Func at once,
  /// into different outputs, with inputs and scalars of each's own where the options name them.
  /// Errors about the outputs stand at the line of the call; they and others are those of compile and
  /// Executable::run.
  void realize(AnyBuffer& output, CallSite at = CallSite::current());
  void realize(AnyBuffer& output, const Target& target, CallSite at = CallSite::current());
  void realize(AnyBuffer& output, const RunOptions& options, CallSite at = CallSite::current());
  void realize(AnyBuffer& output, const Target& target, const RunOptions& options,
               CallSite at = CallSite::current());
  /// Into the buffers of a Tuple's elements: f.realize({&a, &b}).
  void realize(const std::vector<AnyBuffer*>& outputs, CallSite at = CallSite::current());
  void realize(const std::vector<AnyBuffer*>& outputs, const Target& target,
               CallSite at = CallSite::current());
  void realize(const std::vector<AnyBuffer*>& outputs, const Target& target, const RunOptions& options,
               CallSite at = CallSite::current());
  void realize(std::initializer_list<AnyBuffer*> outputs, CallSite at = CallSite::current());
  void realize(std::initializer_list<AnyBuffer*> outputs, const Target& target,
               CallSite at = CallSite::current());
  void realize(std::initializer_list<AnyBuffer*> outputs, const Target& target,
               const RunOptions& options, CallSite at = CallSite::current());
  /// Into new buffers over [0, size) in each dimension: f.realize({512, 512}).
  Realization realize(const std::vector<int>& sizes, CallSite at = CallSite::current());
  Realization realize(const std::vector<int>& sizes, const Target& target,
                      CallSite at = CallSite::current());
  Realization realize(const std::vector<int>& sizes, const Target& target, const RunOptions& options,
                      CallSite at = CallSite::current());
  Realization realize(std::initializer_list<int> sizes, CallSite at = CallSite::current());
  /// A Func without arguments, into new buffers of one element. UserError for another Func.
  Realization realize(CallSite at = CallSite::current());
  Realization realize(const Target& target, CallSite at = CallSite::current());
  Realization realize(std::initializer_list<int> sizes, const Target& target,
                      CallSite at = CallSite::current());
  Realization realize(std::initializer_list<int> sizes, const Target& target, const RunOptions& options,
                      CallSite at = CallSite::current());
  // ---- lines about single values (dsl/expr/print.h says where they go)
  /// Prints "store f(3, 7) = 0.25" for each value that a definition of this Func computes, an update's
  /// too, before it is stored; "store f(3, 7)[1] = 2" for element 1 of a Tuple. A point that a schedule
  /// computes several times has as many lines. UserError when it is compiled with a schedule that
  /// inlines this Func, which then stores nothing.
  Func& trace_stores(CallSite at = CallSite::current());
  /// Prints "load f(3, 7) = 0.25" for each value of this Func that a definition of another Func or an
  /// update of its own reads, of an inlined Func, too. The lines of a definition come after the value
  /// that is computed from them; equal reads in one definition are one.
  Func& trace_loads();
  /// Prints "begin realization f {{0, 8}, {-1, 10}}" and "end realization f {{0, 8}, {-1, 10}}" around
  /// the time for which storage for values of this Func is there: once a run for a Func at the root, an
  /// output and storage at the root (store_root), once in each iteration of the loop that it is stored
  /// in for others. In braces stand the min and the extent of each dimension of the box that the storage
  /// serves, more than it holds at once where it is folded; of a ring along a march, the first planes.
  /// A Tuple has one line for all of its elements, and a box without points none.
  ///
  /// Lines of Funcs at the root come from the host, on a GPU when it enqueues the first kernel that
  /// uses the storage and has enqueued the last. UserErrors when it is compiled: a schedule that inlines
  /// this Func, or that keeps it inside a kernel on a GPU or on the emulated one, where a block's and a
  /// thread's storage is there from the first to the last of its instructions.
  Func& trace_realizations(CallSite at = CallSite::current());
  /// The scheduled loops as text, one line a loop, for Target::best() or a given one.
  [[nodiscard]] std::string print_loop_nest() const;
  [[nodiscard]] std::string print_loop_nest(const Target& target) const;
  /// What each kernel keeps where, which memory serves which tap and who waits for whom, as text, a line
  /// a Func, for Target::best() or a given one: codegen/plan/kernel_plan.h says how to read it. Kernels
  /// of the GPU, and on the host those whose loops march.
  [[nodiscard]] std::string print_plan() const;
  [[nodiscard]] std::string print_plan(const Target& target) const;
  /// The code after all passes, as text.
  [[nodiscard]] std::string compile_to_lowered_stmt(const Target& target) const;
};

/// The schedule of a pipeline of several outputs, as Func::schedule has that of one, and its
/// replacement, as Func::apply. UserErrors: no output, one given twice, a name not in the pipeline.
Schedule schedule_of(const std::vector<Func>& outputs);
void apply_schedule(const std::vector<Func>& outputs, const Schedule& schedule);

}  // namespace mica

#include "dsl/func/boundary.h"
#include "dsl/func/rdom.h"
