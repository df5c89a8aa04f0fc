// Func, ImageParam, Param, RDom and Tuple: the handles with which users write algorithms and
// schedules.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/function.h"
#include "dsl/operators.h"

namespace mica {

class AnyBuffer;  // runtime/buffer.h
template <typename T>
class Buffer;       // runtime/buffer.h
struct Target;      // runtime/target.h
class Realization;  // runtime/buffer.h: the buffers of a Func's Tuple
class Func;

/// Several values of one Func: `f(x) = Tuple(a, b)`, read back as `f(x)[0]`.
class Tuple {
 public:
  template <typename... E>
  requires(sizeof...(E) > 0 && (std::convertible_to<E, Expr> && ...)) explicit Tuple(E... e)
      : values_{Expr(e)...} {}
  explicit Tuple(std::vector<Expr> values) : values_(std::move(values)) {}
  [[nodiscard]] const Expr& operator[](std::size_t i) const;
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const std::vector<Expr>& values() const { return values_; }

 private:
  std::vector<Expr> values_;
};

/// A Var or the name of a loop (LoopLevel says what names mean), with its line; what directives take.
struct VarOrName {
  std::string name;
  SourceLocation where;
  VarOrName(const Var& v, std::source_location at = std::source_location::current())  // NOLINT
      : name(v.name()), where(at) {}
  VarOrName(const char* v, std::source_location at = std::source_location::current())  // NOLINT
      : name(v), where(at) {}
  VarOrName(std::string v, std::source_location at = std::source_location::current())  // NOLINT
      : name(std::move(v)), where(at) {}
  /// A dimension of a reduction domain.
  VarOrName(const class RVar& v, std::source_location at = std::source_location::current());  // NOLINT
  /// A reduction domain of one dimension stands for that; a UserError if it has more.
  VarOrName(const class RDom& r, std::source_location at = std::source_location::current());  // NOLINT
};

/// An input: a `dimensions`-dimensional array of `type` (1 to 4 dimensions).
class ImageParam {
 public:
  /// UserError if the type is no user type or dimensions is outside 1..4.
  ImageParam(Type type, int dimensions, std::string name,
             std::source_location at = std::source_location::current());
  [[nodiscard]] const std::string& name() const { return data_->name; }
  [[nodiscard]] Type type() const { return data_->type; }
  [[nodiscard]] int dimensions() const { return data_->dimensions; }
  /// The buffer that runs read from now on; a UserError if type or dimensions differ.
  void set(const AnyBuffer& buffer, std::source_location at = std::source_location::current());
  void reset();
  /// The value at integer coordinates.
  Expr operator()(Expr x, std::source_location at = std::source_location::current()) const;
  Expr operator()(Expr x, Expr y, std::source_location at = std::source_location::current()) const;
  Expr operator()(Expr x, Expr y, Expr z,
                  std::source_location at = std::source_location::current()) const;
  Expr operator()(Expr x, Expr y, Expr z, Expr w,
                  std::source_location at = std::source_location::current()) const;
  Expr operator()(std::vector<Expr> args,
                  std::source_location at = std::source_location::current()) const;

  /// One dimension's bounds, as expressions known at launch.
  class Dimension {
   public:
    [[nodiscard]] Expr min() const;
    [[nodiscard]] Expr extent() const;
    /// min + extent - 1.
    [[nodiscard]] Expr max() const;
    [[nodiscard]] Expr stride() const;

   private:
    friend class ImageParam;
    Dimension(std::shared_ptr<const ImageData> image, int d) : image_(std::move(image)), d_(d) {}
    std::shared_ptr<const ImageData> image_;
    int d_;
  };
  [[nodiscard]] Dimension dim(int d) const;
  [[nodiscard]] Expr width() const { return dim(0).extent(); }
  [[nodiscard]] Expr height() const { return dim(1).extent(); }

  /// A Func that stands for this input where `consumer` reads it, to be scheduled on its own
  /// (before: consumer reads u; after: consumer reads w, w(x, ...) = u(x, ...)).
  Func in(Func& consumer, std::source_location at = std::source_location::current()) const;

  [[nodiscard]] const std::shared_ptr<const ImageData>& data() const { return data_; }

 private:
  std::shared_ptr<const ImageData> data_;
};

/// A scalar that is set at run time without recompiling.
template <typename T>
class Param {
 public:
  explicit Param(std::string name, std::source_location at = std::source_location::current())
      : Param(std::move(name), T{}, at) {}
  Param(std::string name, T value, std::source_location at = std::source_location::current())
      : data_(std::make_shared<ParamData>()) {
    if (name.empty()) throw UserError("a Param's name is empty", at);
    auto data = std::const_pointer_cast<ParamData>(data_);
    data->name = std::move(name);
    data->type = type_of<T>();
    set(value);
  }
  void set(T value) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    data_->bits = bits;
  }
  [[nodiscard]] T get() const {
    T value;
    std::memcpy(&value, &data_->bits, sizeof(T));
    return value;
  }
  [[nodiscard]] const std::string& name() const { return data_->name; }
  operator Expr() const { return make_expr(data_->type, ParamRef{data_}); }  // NOLINT
  [[nodiscard]] const std::shared_ptr<const ParamData>& data() const { return data_; }

 private:
  std::shared_ptr<const ParamData> data_;
};

/// One dimension of an RDom.
class RVar {
 public:
  RVar(std::shared_ptr<const RDomData> domain, int index) : domain_(std::move(domain)), index_(index) {}
  [[nodiscard]] const std::string& name() const {
    return domain_->dims[static_cast<std::size_t>(index_)].name;
  }
  operator Expr() const { return make_expr(Int(32), RVarRef{domain_, index_}); }  // NOLINT

 private:
  std::shared_ptr<const RDomData> domain_;
  int index_;
};

/// A box of integers with constant bounds to sum or iterate over: {{min, extent}, ...}.
class RDom {
 public:
  /// UserError for an empty list, more than 4 dimensions or an extent below 1.
  RDom(std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges, std::string name = "r",
       std::source_location at = std::source_location::current());
  [[nodiscard]] int dimensions() const { return static_cast<int>(data_->dims.size()); }
  [[nodiscard]] RVar operator[](int i) const;
  operator Expr() const { return (*this)[0]; }  // NOLINT: a 1-D domain is its variable
  [[nodiscard]] const std::shared_ptr<const RDomData>& data() const { return data_; }

 private:
  std::shared_ptr<const RDomData> data_;

 public:
  RVar x, y, z, w;  // the dimensions by name; those a domain lacks repeat its last
};

/// The sum of `value` over `domain`, terms in the domain's order (first dimension fastest), written
/// out term by term: at most 4,096 terms; a UserError beyond says to use an update definition.
Expr sum(const RDom& domain, Expr value, std::source_location at = std::source_location::current());
/// The same with min / max as the operator.
Expr minimum(const RDom& domain, Expr value, std::source_location at = std::source_location::current());
Expr maximum(const RDom& domain, Expr value, std::source_location at = std::source_location::current());

/// `f(x, y)`: an Expr when read, a definition when assigned to.
class FuncRef {
 public:
  FuncRef(std::shared_ptr<FunctionData> function, std::vector<Expr> args, SourceLocation where);
  /// Defines the Func (plain Vars, first time) or adds an update. UserErrors: a Func defined twice,
  /// an undefined or unknown variable, a type that does not match, more than 4 dimensions.
  Func operator=(Expr value);
  Func operator=(const Tuple& values);
  Func operator=(const FuncRef& value);
  /// Update definitions; an undefined Func starts from 0 (+=, -=) or 1 (*=).
  Func operator+=(Expr value);
  Func operator-=(Expr value);
  Func operator*=(Expr value);
  operator Expr() const;  // NOLINT: reading a one-valued Func
  /// Element i of a Func with several values.
  [[nodiscard]] Expr operator[](int i) const;
  [[nodiscard]] int size() const;
  FuncRef(const FuncRef&) = default;

 private:
  std::shared_ptr<FunctionData> function_;
  std::vector<Expr> args_;
  SourceLocation where_;
};

/// The directives that act on one definition's loops. Func is the Stage of its pure definition,
/// `f.update(i)` that of update i.
class Stage {
 public:
  Stage(std::shared_ptr<FunctionData> function, int definition)
      : function_(std::move(function)), definition_(definition) {}

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
  /// Promise to ptxas that at least `min_blocks` blocks fit on a multiprocessor.
  Stage& launch_bounds(int min_blocks, std::source_location at = std::source_location::current());
  /// A thread gets at most `count` 32-bit registers, 16 to 255, or as many as let a block start.
  Stage& max_registers(int count, std::source_location at = std::source_location::current());

  [[nodiscard]] const std::shared_ptr<FunctionData>& function() const { return function_; }

 protected:
  void add(Directive directive);
  std::shared_ptr<FunctionData> function_;
  int definition_ = 0;
};

/// A function on an integer grid of 1 to 4 dimensions: a pure definition, then updates.
class Func : public Stage {
 public:
  explicit Func(std::string name = "f", std::source_location at = std::source_location::current());
  explicit Func(std::shared_ptr<FunctionData> function) : Stage(std::move(function), 0) {}

  [[nodiscard]] const std::string& name() const { return function_->name; }
  [[nodiscard]] bool defined() const { return function_->defined(); }
  [[nodiscard]] int dimensions() const { return function_->dimensions(); }
  [[nodiscard]] const std::vector<Type>& types() const { return function_->types; }
  [[nodiscard]] std::vector<Var> args() const;

  FuncRef operator()(Expr x, std::source_location at = std::source_location::current()) const;
  FuncRef operator()(Expr x, Expr y, std::source_location at = std::source_location::current()) const;
  FuncRef operator()(Expr x, Expr y, Expr z,
                     std::source_location at = std::source_location::current()) const;
  FuncRef operator()(Expr x, Expr y, Expr z, Expr w,
                     std::source_location at = std::source_location::current()) const;
  FuncRef operator()(std::vector<Expr> args,
                     std::source_location at = std::source_location::current()) const;

  /// The i-th update's loops.
  Stage update(int i = 0, std::source_location at = std::source_location::current());

  // ---- where values are computed and stored ------------------------------------------------------
  /// Recomputed at every use (the default of Funcs that are not outputs and have no updates).
  Func& compute_inline(std::source_location at = std::source_location::current());
  /// Computed whole before its consumers, in memory of its own.
  Func& compute_root(std::source_location at = std::source_location::current());
  /// Computed inside `consumer`'s loop over `var`, just the box that one iteration reads.
  Func& compute_at(const Func& consumer, VarOrName var);
  /// Storage made at an outer loop of the compute level, for the box that one iteration of it reads. The
  /// loops between the two are serial or unrolled.
  Func& store_at(const Func& consumer, VarOrName var);
  /// Storage outside all loops, for all that the pipeline reads. The loops around the compute level are
  /// serial or unrolled, so no kernel's.
  Func& store_root(std::source_location at = std::source_location::current());
  Func& store_in(MemoryType memory, std::source_location at = std::source_location::current());
  /// A Func that stands for this one where `consumer` reads it.
  Func in(Func& consumer, std::source_location at = std::source_location::current());
  /// `source`'s box for one block, with its halo, held in `memory` and filled by the block's
  /// threads as `load` says; this Func's taps then read the box.
  Func& stage(const ImageParam& source, MemoryType memory, LoadPolicy load = LoadPolicy::TwoStep,
              std::source_location at = std::source_location::current());
  Func& stage(const Func& source, MemoryType memory, LoadPolicy load = LoadPolicy::TwoStep,
              std::source_location at = std::source_location::current());
  /// Loads of `source` through the non-coherent read-only path (ld.global.nc).
  Func& read_only(const ImageParam& source, std::source_location at = std::source_location::current());
  // ---- kernels that walk a dimension (dsl/func_march.cpp; docs/marching.md draws them) --------------
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
  Func& pipeline(const ImageParam& source, int depth,
                 std::source_location at = std::source_location::current());
  Func& pipeline(const Func& source, int depth,
                 std::source_location at = std::source_location::current());
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
  Func& stream_loads(const ImageParam& source,
                     std::source_location at = std::source_location::current());
  Func& stream_stores(std::source_location at = std::source_location::current());
  /// Loads of a 4-byte input through a texture object.
  Func& texture(const ImageParam& source, std::source_location at = std::source_location::current());
  /// `warps` further warps fill the staged planes, and the threads of the tile only compute. They stand
  /// behind the tile in the block's last dimension; one barrier a step keeps the two together, so fills
  /// and arithmetic overlap where pipeline() lets planes run ahead. With a tile of 32 x 8 and one warp:
  ///   before  block 32 x 8   step z: all 256 copy a part of plane z + 2, then compute plane z
  ///   after   block 32 x 9   step z: rows 0-7 compute plane z, row 8 copies plane z + 2
  /// Errors: nothing is staged along a march; LoadPolicy::HaloThreads or Strided, which deal planes to
  /// the tile's threads; warps that are no whole rows of the block, a tile of no whole warps.
  Func& warp_split(int warps, std::source_location at = std::source_location::current());

  Func& align_storage(VarOrName var, int elements);
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
  Func& launch_bounds(int min_blocks, std::source_location at = std::source_location::current());
  Func& max_registers(int count, std::source_location at = std::source_location::current());

  // ---- the schedule as data (dsl/schedule.h) -------------------------------------------------------
  /// The directives of this Func and all it calls.
  [[nodiscard]] Schedule schedule() const;
  /// Replaces the directives of this Func and all it calls. UserError for a name not in the pipeline.
  Func& apply(const Schedule& schedule);
  Func& clear_schedule();

  // ---- compile and run (codegen/realize.cpp) -------------------------------------------------------
  /// Computes the Func over `output`'s box into it; points outside the box of a cropped buffer stay
  /// untouched. Compiles on first use for each target. Target::best() when none is given, or the
  /// target the environment variable MICA_TARGET names. Several threads may realize one Func at once,
  /// into different outputs.
  void realize(AnyBuffer& output);
  void realize(AnyBuffer& output, const Target& target);
  void realize(const std::vector<AnyBuffer*>& outputs, const Target& target);
  /// Into new buffers over [0, size) in each dimension.
  Realization realize(const std::vector<int>& sizes);
  Realization realize(const std::vector<int>& sizes, const Target& target);
  /// The scheduled loops as text, one line a loop, for Target::best() or a given one.
  [[nodiscard]] std::string print_loop_nest() const;
  [[nodiscard]] std::string print_loop_nest(const Target& target) const;
  /// The code after all passes, as text.
  [[nodiscard]] std::string compile_to_lowered_stmt(const Target& target) const;
};

/// Values of a Func outside an input's box. Each returns a Func of the input's dimensions.
namespace BoundaryConditions {
/// The nearest element: f(x) = u(clamp(x, min, max)).
Func repeat_edge(const ImageParam& source);
/// `value` outside.
Func constant_exterior(const ImageParam& source, Expr value);
/// The image repeated: u(min + (x - min) mod extent).
Func repeat_image(const ImageParam& source);
/// Mirrored with the edge element twice: ... b a | a b c | c b ...
Func mirror_image(const ImageParam& source);
/// Mirrored about the edge element: ... c b | a b c | b a ...
Func mirror_interior(const ImageParam& source);
}  // namespace BoundaryConditions

}  // namespace mica
