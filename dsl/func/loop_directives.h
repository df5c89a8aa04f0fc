// The directives on the loops of one definition, which Func and Stage have in common.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "dsl/func/function.h"

namespace mica {

class RDom;
class RVar;
class Stage;

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
  VarOrName(const RVar& v, CallSite at = CallSite::current());  // NOLINT
  /// A reduction domain of one dimension stands for that; a UserError if it has more.
  VarOrName(const RDom& r, CallSite at = CallSite::current());  // NOLINT
};

/// What stands for a loop in a call that takes several.
template <typename T>
concept Names = std::convertible_to<T, VarOrName>;

/// One definition of a Func, or a specialization of it. Directives are recorded and nothing of them is
/// checked but that there is a definition: a schedule is judged as a whole, when it is compiled.
class OneDefinition {
 public:
  OneDefinition(const OneDefinition&) = default;  // no move: what was moved from stays a handle
  OneDefinition& operator=(const OneDefinition&) = default;
  [[nodiscard]] const std::shared_ptr<FunctionData>& function() const { return function_; }

 protected:
  ~OneDefinition() = default;
  /// UserError for null or a definition that the Func does not have.
  OneDefinition(std::shared_ptr<FunctionData> function, int definition,
                CallSite at = CallSite::current());
  void record(directive::AnyOp op, const SourceLocation& where);
  /// Where the first of the names stands.
  static SourceLocation where_of(std::initializer_list<VarOrName> vars);
  static std::vector<std::string> names_of(std::initializer_list<VarOrName> vars);
  /// In the data, 0 means the whole loop; in a call it is a mistake.
  static void check_not_zero(int value, const char* directive, const char* what, const VarOrName& v);
  void set_color(const Expr& color, const SourceLocation& where);
  Stage specialized(const Expr& condition, CallSite at);

  std::shared_ptr<FunctionData> function_;
  int definition_ = 0;
  int specialization_ = -1;  ///< which of the definition's; -1: none
};

/// `Self` is the handle, Func or Stage, that each directive gives back, so that a chain goes on.
template <typename Self>
class LoopDirectives : public OneDefinition {
 public:
  /// Loop v becomes two: before `for v`, after `for outer: for inner in [0, factor)` with
  /// v = outer*factor + inner. Errors: unknown v, names taken, factor < 1.
  Self& split(const VarOrName& v, const VarOrName& outer, const VarOrName& inner, int factor,
              TailStrategy tail = TailStrategy::Auto) {
    return add(directive::Split{v.name, outer.name, inner.name, factor, tail}, v.where);
  }
  /// Splits x and y and orders them xo, yo outside xi, yi.
  Self& tile(const VarOrName& x, const VarOrName& y, const VarOrName& xo, const VarOrName& yo,
             const VarOrName& xi, const VarOrName& yi, int tx, int ty,
             TailStrategy tail = TailStrategy::Auto) {
    record(directive::Split{x.name, xo.name, xi.name, tx, tail}, x.where);
    record(directive::Split{y.name, yo.name, yi.name, ty, tail}, x.where);
    return add(directive::Reorder{{xi.name, yi.name, xo.name, yo.name}}, x.where);
  }
  /// Two loops, outer directly around inner, become one of extent outer*inner.
  Self& fuse(const VarOrName& inner, const VarOrName& outer, const VarOrName& fused) {
    return add(directive::Fuse{inner.name, outer.name, fused.name}, inner.where);
  }
  /// The named loops, innermost first, in the places they hold together.
  Self& reorder(std::initializer_list<VarOrName> vars) {
    return add(directive::Reorder{names_of(vars)}, where_of(vars));
  }
  template <Names Second, Names... V>
  Self& reorder(const VarOrName& first, const Second& second, const V&... rest) {
    return reorder({first, VarOrName(second), VarOrName(rest)...});
  }
  /// Iterations one after the other, the default.
  Self& serial(const VarOrName& v) { return mark({v}, LoopKind::Serial); }
  /// Iterations on the CPU's threads; with a chunk, v is split by it into v and `v.chunk` first.
  Self& parallel(const VarOrName& v) { return mark({v}, LoopKind::Parallel); }
  Self& parallel(const VarOrName& v, int chunk) {
    record(directive::Split{v.name, v.name, v.name + ".chunk", chunk, TailStrategy::Auto}, v.where);
    return parallel(v);
  }
  /// v in one vector instruction; with a width, v is split by it first (the inner loop is `v.vec`, the
  /// outer keeps the name). The loop's extent must be a constant power of two up to 64.
  Self& vectorize(const VarOrName& v) {
    return add(directive::Vectorize{v.name, 0, TailStrategy::Auto}, v.where);
  }
  Self& vectorize(const VarOrName& v, int width, TailStrategy tail = TailStrategy::Auto) {
    check_not_zero(width, "vectorize", "width", v);
    return add(directive::Vectorize{v.name, width, tail}, v.where);
  }
  /// The loop's iterations written out; with a factor, v is split by it first into v and `v.unroll`.
  /// The loop's extent must be a constant up to 256.
  Self& unroll(const VarOrName& v) {
    return add(directive::Unroll{v.name, 0, TailStrategy::Auto}, v.where);
  }
  Self& unroll(const VarOrName& v, int factor, TailStrategy tail = TailStrategy::Auto) {
    check_not_zero(factor, "unroll", "factor", v);
    return add(directive::Unroll{v.name, factor, tail}, v.where);
  }

  /// Loops over the blocks of the grid, innermost first (the first is blockIdx.x).
  Self& gpu_blocks(const VarOrName& x) { return mark({x}, LoopKind::GpuBlock); }
  Self& gpu_blocks(const VarOrName& x, const VarOrName& y) { return mark({x, y}, LoopKind::GpuBlock); }
  Self& gpu_blocks(const VarOrName& x, const VarOrName& y, const VarOrName& z) {
    return mark({x, y, z}, LoopKind::GpuBlock);
  }
  /// Loops over the threads of a block, innermost first (the first is threadIdx.x).
  Self& gpu_threads(const VarOrName& x) { return mark({x}, LoopKind::GpuThread); }
  Self& gpu_threads(const VarOrName& x, const VarOrName& y) { return mark({x, y}, LoopKind::GpuThread); }
  Self& gpu_threads(const VarOrName& x, const VarOrName& y, const VarOrName& z) {
    return mark({x, y, z}, LoopKind::GpuThread);
  }
  /// Blocks of tx (x ty (x tz)) threads, named after the Var: for `x` the block loop is `x.block`
  /// and the thread loop `x.thread`. A following `vectorize(x, v)` or `unroll(x, r)` gives each
  /// thread v or r neighbouring points, so that the block covers tx*v points of x.
  Self& gpu_tile(const VarOrName& x, int tx, TailStrategy tail = TailStrategy::Auto) {
    return add(directive::GpuTile{{x.name}, {tx}, tail}, x.where);
  }
  Self& gpu_tile(const VarOrName& x, const VarOrName& y, int tx, int ty,
                 TailStrategy tail = TailStrategy::Auto) {
    return add(directive::GpuTile{{x.name, y.name}, {tx, ty}, tail}, x.where);
  }
  Self& gpu_tile(const VarOrName& x, const VarOrName& y, const VarOrName& z, int tx, int ty, int tz,
                 TailStrategy tail = TailStrategy::Auto) {
    return add(directive::GpuTile{{x.name, y.name, z.name}, {tx, ty, tz}, tail}, x.where);
  }
  /// The same with names of the user's for the loops over the threads, xi, yi and zi; those over the
  /// blocks keep the names x, y and z. Short for split, reorder, gpu_blocks and gpu_threads, whose
  /// errors hold; the threads of the block walk one point each, and vectorize and unroll take loops
  /// apart as elsewhere.
  Self& gpu_tile(const VarOrName& x, const VarOrName& xi, int tx,
                 TailStrategy tail = TailStrategy::Auto) {
    return gpu_tile(x, x, xi, tx, tail);
  }
  Self& gpu_tile(const VarOrName& x, const VarOrName& y, const VarOrName& xi, const VarOrName& yi,
                 int tx, int ty, TailStrategy tail = TailStrategy::Auto) {
    return gpu_tile(x, y, x, y, xi, yi, tx, ty, tail);
  }
  Self& gpu_tile(const VarOrName& x, const VarOrName& y, const VarOrName& z, const VarOrName& xi,
                 const VarOrName& yi, const VarOrName& zi, int tx, int ty, int tz,
                 TailStrategy tail = TailStrategy::Auto) {
    return gpu_tile(x, y, z, x, y, z, xi, yi, zi, tx, ty, tz, tail);
  }
  /// And for the loops over the blocks, xo, yo and zo.
  Self& gpu_tile(const VarOrName& x, const VarOrName& xo, const VarOrName& xi, int tx,
                 TailStrategy tail = TailStrategy::Auto) {
    return split(x, xo, xi, tx, tail).gpu_blocks(xo).gpu_threads(xi);
  }
  Self& gpu_tile(const VarOrName& x, const VarOrName& y, const VarOrName& xo, const VarOrName& yo,
                 const VarOrName& xi, const VarOrName& yi, int tx, int ty,
                 TailStrategy tail = TailStrategy::Auto) {
    return tile(x, y, xo, yo, xi, yi, tx, ty, tail).gpu_blocks(xo, yo).gpu_threads(xi, yi);
  }
  Self& gpu_tile(const VarOrName& x, const VarOrName& y, const VarOrName& z, const VarOrName& xo,
                 const VarOrName& yo, const VarOrName& zo, const VarOrName& xi, const VarOrName& yi,
                 const VarOrName& zi, int tx, int ty, int tz, TailStrategy tail = TailStrategy::Auto) {
    split(x, xo, xi, tx, tail).split(y, yo, yi, ty, tail).split(z, zo, zi, tz, tail);
    return reorder({xi, yi, zi, xo, yo, zo}).gpu_blocks(xo, yo, zo).gpu_threads(xi, yi, zi);
  }
  /// All loops run one after the other in one thread of a GPU, in a kernel of one block: for what is too
  /// small, or too ordered, to spread, where the host would have to wait for the GPU and copy. The loops
  /// around are `single.thread` and `single.block`. Errors: another loop is given to blocks, threads or
  /// CPU threads; the Func is computed inside another's loops.
  Self& gpu_single_thread(CallSite at = CallSite::current()) {
    return add(directive::GpuSingleThread{}, at);
  }
  /// Promise to ptxas that at least `min_blocks` blocks fit on a multiprocessor.
  Self& launch_bounds(int min_blocks, CallSite at = CallSite::current()) {
    return add(directive::LaunchBounds{min_blocks}, at);
  }
  /// A thread gets at most `count` 32-bit registers, 16 to 255, or as many as let a block start.
  Self& max_registers(int count, CallSite at = CallSite::current()) {
    return add(directive::MaxRegisters{count}, at);
  }

  /// The iterations of an update over its reduction domain may run in any order, and at once: loops over
  /// the domain then take parallel, vectorize, gpu_tile and the like.
  ///   h(clamp(u(r.x, r.y), 0, 255)) += 1;  h.update().atomic().gpu_tile(r.x, r.y, 32, 8);
  /// Each iteration combines one value with the Func's at one point, in one step: `atom` and `red` on a
  /// GPU. Of i32, u32, i64 and u64 with +, -, min, max, &, | and ^, whose result no order changes; not
  /// of floats, whose sums round. Errors when it is compiled: no update over a domain; another operation
  /// or type; a value that reads the Func at all; a Func that is computed inside another's loops.
  Self& atomic(CallSite at = CallSite::current()) { return add(directive::Atomic{}, at); }
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
  Self& color(const Expr& color, CallSite at = CallSite::current()) {
    set_color(color, at);
    return self();
  }

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

 protected:
  using OneDefinition::OneDefinition;
  Self& add(directive::AnyOp op, const SourceLocation& where) {
    record(std::move(op), where);
    return self();
  }

 private:
  Self& mark(std::initializer_list<VarOrName> vars, LoopKind kind) {
    for (const VarOrName& v : vars) record(directive::MarkLoop{v.name, kind}, v.where);
    return self();
  }
  Self& self() { return static_cast<Self&>(*this); }
};

/// One definition's loops: `f.update(i)` is that of update i. A Func stands for its pure definition.
class Stage : public LoopDirectives<Stage> {
 public:
  /// UserError for null or a definition that the Func does not have.
  Stage(std::shared_ptr<FunctionData> function, int definition, CallSite at = CallSite::current())
      : LoopDirectives(std::move(function), definition, at) {}

 private:
  friend class OneDefinition;  // which makes specializations
};

template <typename Self>
Stage LoopDirectives<Self>::specialize(const Expr& condition, CallSite at) {
  return specialized(condition, at);
}

}  // namespace mica
