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

/// A Var or the name of a loop (LoopLevel says what names mean), with its line; what directives take.
struct VarOrName {
  std::string name;
  SourceLocation where;
  VarOrName(const Var& v, CallSite at = CallSite::current())  // NOLINT
      : name(v.name()), where(at) {}
  VarOrName(const char* v, CallSite at = CallSite::current())  // NOLINT
      : name(v), where(at) {}
  VarOrName(std::string v, CallSite at = CallSite::current())  // NOLINT
      : name(std::move(v)), where(at) {}
  /// A dimension of a reduction domain.
  VarOrName(const class RVar& v, CallSite at = CallSite::current());  // NOLINT
  /// A reduction domain of one dimension stands for that; a UserError if it has more.
  VarOrName(const class RDom& r, CallSite at = CallSite::current());  // NOLINT
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

/// The directives that act on one definition's loops. Func is the Stage of its pure definition,
/// `f.update(i)` that of update i.
class Stage {
 public:
  /// UserError for null or a definition that the Func does not have.
  Stage(std::shared_ptr<FunctionData> function, int definition, CallSite at = CallSite::current());
  Stage(const Stage&) = default;
  Stage& operator=(const Stage&) = default;

  /// Loop v becomes two: before `for v`, after `for outer: for inner in [0, factor)` with
  /// v = outer*factor + inner. Errors: unknown v, names taken, factor < 1.
  Stage& split(VarOrName v, VarOrName outer, VarOrName inner, int factor,
               TailStrategy tail = TailStrategy::Auto);
  /// Splits x and y and orders them xo, yo outside xi, yi.
  Stage& tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi, int tx,
              int ty, TailStrategy tail = TailStrategy::Auto);
  /// Two loops, outer directly around inner, become one of extent outer*inner.
  Stage& fuse(VarOrName inner, VarOrName outer, VarOrName fused);
  /// The named loops, innermost first, in the places they hold together.
  Stage& reorder(std::initializer_list<VarOrName> vars);
  template <typename... V>
  requires(sizeof...(V) > 0 &&
           (std::convertible_to<V, VarOrName> && ...)) Stage& reorder(VarOrName first, V... rest) {
    return reorder({first, VarOrName(rest)...});
  }
  Stage& serial(VarOrName v);
  /// Iterations on the CPU's threads; with a chunk, v is split by it into v and `v.chunk` first.
  Stage& parallel(VarOrName v);
  Stage& parallel(VarOrName v, int chunk);
  /// v in one vector instruction; with a width, v is split by it first (the inner loop is `v.vec`, the
  /// outer keeps the name). The loop's extent must be a constant power of two up to 64.
  Stage& vectorize(VarOrName v);
  Stage& vectorize(VarOrName v, int width, TailStrategy tail = TailStrategy::Auto);
  /// The loop's iterations written out; with a factor, v is split by it first into v and `v.unroll`.
  /// The loop's extent must be a constant up to 256.
  Stage& unroll(VarOrName v);
  Stage& unroll(VarOrName v, int factor, TailStrategy tail = TailStrategy::Auto);
  /// Loops over the blocks of the grid, innermost first (the first is blockIdx.x).
  Stage& gpu_blocks(VarOrName x);
  Stage& gpu_blocks(VarOrName x, VarOrName y);
  Stage& gpu_blocks(VarOrName x, VarOrName y, VarOrName z);
  /// Loops over the threads of a block, innermost first (the first is threadIdx.x).
  Stage& gpu_threads(VarOrName x);
  Stage& gpu_threads(VarOrName x, VarOrName y);
  Stage& gpu_threads(VarOrName x, VarOrName y, VarOrName z);
  /// Blocks of tx (x ty (x tz)) threads, named after the Var: for `x` the block loop is `x.block`
  /// and the thread loop `x.thread`. A following `vectorize(x, v)` or `unroll(x, r)` gives each
  /// thread v or r neighbouring points, so that the block covers tx*v points of x.
  Stage& gpu_tile(VarOrName x, int tx, TailStrategy tail = TailStrategy::Auto);
  Stage& gpu_tile(VarOrName x, VarOrName y, int tx, int ty, TailStrategy tail = TailStrategy::Auto);
  Stage& gpu_tile(VarOrName x, VarOrName y, VarOrName z, int tx, int ty, int tz,
                  TailStrategy tail = TailStrategy::Auto);
  /// All loops run one after the other in one thread of a GPU, in a kernel of one block: for what is too
  /// small, or too ordered, to spread, where the host would have to wait for the GPU and copy. The loops
  /// around are `single.thread` and `single.block`. Errors: another loop is given to blocks, threads or
  /// CPU threads; the Func is computed inside another's loops.
  Stage& gpu_single_thread(CallSite at = CallSite::current());
  /// The iterations of an update over its reduction domain may run in any order, and at once: loops over
  /// the domain then take parallel, vectorize, gpu_tile and the like.
  ///   h(clamp(u(r.x, r.y), 0, 255)) += 1;  h.update().atomic().gpu_tile(r.x, r.y, 32, 8);
  /// Each iteration combines one value with the Func's at one point, in one step: `atom` and `red` on a
  /// GPU. Of i32, u32, i64 and u64 with +, -, min, max, &, | and ^, whose result no order changes; not
  /// of floats, whose sums round. Errors when it is compiled: no update over a domain; another operation
  /// or type; a value that reads the Func at all; a Func that is computed inside another's loops.
  Stage& atomic(CallSite at = CallSite::current());
  /// The same with names of the user's for the loops over the threads, xi, yi and zi; those over the
  /// blocks keep the names x, y and z. Short for split, reorder, gpu_blocks and gpu_threads, whose
  /// errors hold; the threads of the block walk one point each, and vectorize and unroll take loops
  /// apart as elsewhere.
  Stage& gpu_tile(VarOrName x, VarOrName xi, int tx, TailStrategy tail = TailStrategy::Auto);
  Stage& gpu_tile(VarOrName x, VarOrName y, VarOrName xi, VarOrName yi, int tx, int ty,
                  TailStrategy tail = TailStrategy::Auto);
  Stage& gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xi, VarOrName yi, VarOrName zi,
                  int tx, int ty, int tz, TailStrategy tail = TailStrategy::Auto);
  /// And for the loops over the blocks, xo, yo and zo.
  Stage& gpu_tile(VarOrName x, VarOrName xo, VarOrName xi, int tx,
                  TailStrategy tail = TailStrategy::Auto);
  Stage& gpu_tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi,
                  int tx, int ty, TailStrategy tail = TailStrategy::Auto);
  Stage& gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xo, VarOrName yo, VarOrName zo,
                  VarOrName xi, VarOrName yi, VarOrName zi, int tx, int ty, int tz,
                  TailStrategy tail = TailStrategy::Auto);
  /// In which order an update computes its points, so that it may read the Func at neighbours: those
  /// whose color is 0 first, all at once, then those of color 1, ... (red-black order with two). A part
  /// of the algorithm, not of its schedule. `color` is a sum of constants times Vars, modulo a constant:
  ///   p(x, y) = (p(x - 1, y) + p(x + 1, y) + p(x, y - 1) + p(x, y + 1)) * 0.25f;
  ///   p.update().color((x + y) % 2);
  /// Points at which a read would leave the box that is computed keep their values: those at the rim of
  /// an output. The box of another Func is made so much larger that its readers see none of them.
  /// UserErrors: no update; another form of color; a reduction domain; 1 or more than 64 colors. When
  /// the Func is compiled: a read of the Func whose point may have the color of the point that is
  /// computed.
  Stage& color(Expr color, CallSite at = CallSite::current());
  /// Promise to ptxas that at least `min_blocks` blocks fit on a multiprocessor.
  Stage& launch_bounds(int min_blocks, CallSite at = CallSite::current());
  /// A thread gets at most `count` 32-bit registers, 16 to 255, or as many as let a block start.
  Stage& max_registers(int count, CallSite at = CallSite::current());

  /// Another set of loops for runs in which `condition` holds: a bool of constants, Params and inputs'
  /// mins and extents. The result begins with the directives that this definition has so far, and what
  /// is called on it is for those runs alone; directives that this definition gets later, other than on
  /// its loops (compute_at, stage, ...), are for both. Of several conditions of a definition the first
  /// that holds counts. All loops compute the same bits.
  ///   f.vectorize(x, 8);
  ///   f.specialize(u.dim(0).extent() < 8).serial(x);
  /// Code for a condition is made by the first run in which it holds; what is wrong with its schedule is
  /// found when the Func is compiled. clear_schedule, and apply of another schedule, take
  /// specializations away, and schedule() does not list them. UserErrors: no bool; a condition that a
  /// launch does not know; a Stage that is itself a specialization; more than 16 combinations in a
  /// pipeline, when it is compiled.
  Stage specialize(const Expr& condition, CallSite at = CallSite::current());

  [[nodiscard]] const std::shared_ptr<FunctionData>& function() const { return function_; }

 protected:
  void add(Directive directive);
  std::shared_ptr<FunctionData> function_;
  int definition_ = 0;
  int specialization_ = -1;  ///< which of the definition's; -1: none
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
class Func : public Stage {
 public:
  explicit Func(std::string name = "f", CallSite at = CallSite::current());
  explicit Func(std::shared_ptr<FunctionData> function, CallSite at = CallSite::current())
      : Stage(std::move(function), 0, at) {}

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

  // ---- where values are computed and stored ------------------------------------------------------
  /// Recomputed at every use (the default of Funcs that are not outputs and have no updates).
  Func& compute_inline(CallSite at = CallSite::current());
  /// Computed whole before its consumers, in memory of its own.
  Func& compute_root(CallSite at = CallSite::current());
  /// Computed inside `consumer`'s loop over `var`, just the box that one iteration reads.
  Func& compute_at(const Func& consumer, VarOrName var);
  /// Storage made at an outer loop of the compute level, for the box that one iteration of it reads. The
  /// loops between the two are serial or unrolled. On the host such a loop computes each value once: an
  /// iteration fills in what earlier ones have not, where the box moves one way along one dimension, and
  /// that dimension's storage is folded to what an iteration reads, rounded up to a power of two:
  ///   f(x, y) = g(x, y - 1) + g(x, y + 1);  g.compute_at(f, y).store_root();
  ///   y = 0   computes rows -1, 0, 1 of g      of rows r = -1, 0, 1, ... row r is in place (r + 1) mod
  ///   4 y = 1   computes row 2                   y = 2   computes row 3, over row -1
  /// print_loop_nest says what slides, or why nothing does.
  Func& store_at(const Func& consumer, VarOrName var);
  /// Storage outside all loops, for all that the pipeline reads. The loops around the compute level are
  /// serial or unrolled, or each of their iterations has points of the Func to itself: then they may be
  /// a kernel's, and several recurrences walk a thread's column one after the other,
  ///   next.gpu_tile(x, y, 32, 4);  forward.compute_at(next, "x.thread").store_root();
  /// with forward's levels in global memory. In a thread this is where a Func of more points than are
  /// known to be constant is kept by default.
  Func& store_root(CallSite at = CallSite::current());
  Func& store_in(MemoryType memory, CallSite at = CallSite::current());
  /// A Func that stands for this one where `consumer` reads it.
  Func in(Func& consumer, CallSite at = CallSite::current());
  /// `source`'s box for one block, with its halo, held in `memory` and filled by the block's
  /// threads as `load` says; this Func's taps then read the box.
  Func& stage(const ImageParam& source, MemoryType memory, LoadPolicy load = LoadPolicy::TwoStep,
              CallSite at = CallSite::current());
  Func& stage(const Func& source, MemoryType memory, LoadPolicy load = LoadPolicy::TwoStep,
              CallSite at = CallSite::current());
  /// Loads of `source` through the non-coherent read-only path (ld.global.nc).
  Func& read_only(const ImageParam& source, CallSite at = CallSite::current());
  // ---- kernels that walk a dimension (dsl/func/func_march.cpp; docs/marching.md draws them)
  /// Every block walks `v` serially, `chunk` planes of it, and keeps what it will read again (chunk 0:
  /// one block walks all of v). Before: `for v`. After: block loop `v.block` outside the others, and
  /// `v.march` directly inside the blocks; a Func with compute_at(f, "v.march") is computed one plane a
  /// step, ahead of f by the largest offset at which it is read, into a ring of planes.
  /// Errors: v is tiled or vectorized; f has no block loops, or updates; a source kept along the march
  /// is read at another place than v + constant.
  Func& march(VarOrName v, int chunk = 0);
  /// Taps of `source` at the thread's own points, u(x, y, v + c), come from registers that are filled
  /// once a plane and turned from step to step; other taps from a stage of `source` or from memory.
  /// With stage(source), a plane's own points are written from the registers and only its halo is read.
  /// Errors: v is not marched; no tap of `source` stands at the point's own column.
  Func& register_window(const ImageParam& source, VarOrName v);
  Func& register_window(const Func& source, VarOrName v);
  /// Planes of the staged or windowed `source` are asked for `depth` steps before they are read.
  /// Errors: `source` is neither, there is no march, a depth below 0 or above 16.
  Func& pipeline(const ImageParam& source, int depth, CallSite at = CallSite::current());
  Func& pipeline(const Func& source, int depth, CallSite at = CallSite::current());
  /// This Func's sum is computed in parts as the planes of the march arrive: what a point has so far
  /// waits in a register, so that a plane is read in one step only. The terms keep their order and the
  /// result its bits. Partials::Centre cuts the sum once, after the terms of the point's own plane.
  /// Errors: v is not marched; the value is no sum of terms that each read one plane of v (a strict sum,
  /// a Tuple).
  Func& scatter(VarOrName v, Partials partials = Partials::EveryPlane);
  /// Taps of `source` along v beside the thread's points come from the neighbouring threads of the warp,
  /// in blocks inside the domain, and not where LoadPolicy::HaloThreads makes blocks wider. Errors: v is
  /// not the first dimension of gpu_tile, or has not a multiple of 32 threads.
  Func& shuffle(const ImageParam& source, VarOrName v);
  /// The order in which the grid's blocks are numbered, fastest first; loops left out stay behind those
  /// named: order_blocks("z.block", "x.block"). Errors: a loop that is no block loop.
  Func& order_blocks(std::initializer_list<VarOrName> vars);
  template <typename... V>
  requires(std::convertible_to<V, VarOrName>&&...) Func& order_blocks(VarOrName first, V... rest) {
    return order_blocks({first, VarOrName(rest)...});
  }
  /// Loads of an input, or this Func's stores, that pass by the caches (ld.global.cs, st.global.cs).
  Func& stream_loads(const ImageParam& source, CallSite at = CallSite::current());
  Func& stream_stores(CallSite at = CallSite::current());
  /// Loads of a 4-byte input through a texture object.
  Func& texture(const ImageParam& source, CallSite at = CallSite::current());
  /// `warps` further warps fill the staged planes at their own pace, and the threads of the tile only
  /// compute: each of the two waits only for what it needs of the other. With a tile of 32 x 8:
  ///   before  block 32 x 8   step z: all 256 copy a part of plane z + 2, then compute plane z
  ///   after   block 32 x 9   rows 0-7 compute plane z, row 8 copies what the ring has places for
  /// Errors: nothing is staged along a march; LoadPolicy::HaloThreads or Strided, which deal planes to
  /// the tile's threads; warps that are no whole rows of the block, a tile of no whole warps; copies in
  /// bulk that pipeline() lets be farther ahead than a block has named barriers.
  Func& warp_split(int warps, CallSite at = CallSite::current());

  Func& align_storage(VarOrName var, int elements);
  /// Of dimension `var` just `factor` indices are stored, where store_at would choose the factor itself
  /// (of the first dimension it would not fold any). Errors: the Func does not slide along `var`; an
  /// iteration reads more indices than that.
  Func& fold_storage(VarOrName var, int factor);
  /// The order of dimensions in memory, neighbours of the first side by side; those that are left out
  /// keep their positions. Errors: outputs and inline Funcs, whose memory is the caller's or none.
  Func& reorder_storage(std::initializer_list<VarOrName> vars);
  template <typename... V>
  requires(sizeof...(V) > 0 && (std::convertible_to<V, VarOrName> &&
                                ...)) Func& reorder_storage(VarOrName first, V... rest) {
    return reorder_storage({first, VarOrName(rest)...});
  }
  Func& bound(VarOrName var, std::int64_t min, std::int64_t extent);

  // ---- Stage's directives again, giving back the Func so that a chain goes on with Func's own -------
  Func& split(VarOrName v, VarOrName outer, VarOrName inner, int factor,
              TailStrategy tail = TailStrategy::Auto);
  Func& tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi, int tx,
             int ty, TailStrategy tail = TailStrategy::Auto);
  Func& fuse(VarOrName inner, VarOrName outer, VarOrName fused);
  Func& reorder(std::initializer_list<VarOrName> vars);
  template <typename... V>
  requires(sizeof...(V) > 0 && (std::convertible_to<V, VarOrName> && ...)) Func& reorder(VarOrName first,
                                                                                         V... rest) {
    return reorder({first, VarOrName(rest)...});
  }
  Func& serial(VarOrName v);
  Func& parallel(VarOrName v);
  Func& parallel(VarOrName v, int chunk);
  Func& vectorize(VarOrName v);
  Func& vectorize(VarOrName v, int width, TailStrategy tail = TailStrategy::Auto);
  Func& unroll(VarOrName v);
  Func& unroll(VarOrName v, int factor, TailStrategy tail = TailStrategy::Auto);
  Func& gpu_blocks(VarOrName x);
  Func& gpu_blocks(VarOrName x, VarOrName y);
  Func& gpu_blocks(VarOrName x, VarOrName y, VarOrName z);
  Func& gpu_threads(VarOrName x);
  Func& gpu_threads(VarOrName x, VarOrName y);
  Func& gpu_threads(VarOrName x, VarOrName y, VarOrName z);
  Func& gpu_tile(VarOrName x, int tx, TailStrategy tail = TailStrategy::Auto);
  Func& gpu_tile(VarOrName x, VarOrName y, int tx, int ty, TailStrategy tail = TailStrategy::Auto);
  Func& gpu_tile(VarOrName x, VarOrName y, VarOrName z, int tx, int ty, int tz,
                 TailStrategy tail = TailStrategy::Auto);
  Func& gpu_single_thread(CallSite at = CallSite::current());
  Func& gpu_tile(VarOrName x, VarOrName xi, int tx, TailStrategy tail = TailStrategy::Auto);
  Func& gpu_tile(VarOrName x, VarOrName y, VarOrName xi, VarOrName yi, int tx, int ty,
                 TailStrategy tail = TailStrategy::Auto);
  Func& gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xi, VarOrName yi, VarOrName zi, int tx,
                 int ty, int tz, TailStrategy tail = TailStrategy::Auto);
  Func& gpu_tile(VarOrName x, VarOrName xo, VarOrName xi, int tx,
                 TailStrategy tail = TailStrategy::Auto);
  Func& gpu_tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi,
                 int tx, int ty, TailStrategy tail = TailStrategy::Auto);
  Func& gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xo, VarOrName yo, VarOrName zo,
                 VarOrName xi, VarOrName yi, VarOrName zi, int tx, int ty, int tz,
                 TailStrategy tail = TailStrategy::Auto);
  Func& launch_bounds(int min_blocks, CallSite at = CallSite::current());
  Func& max_registers(int count, CallSite at = CallSite::current());

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
