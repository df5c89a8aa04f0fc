// The loops of one definition, expanded from its directives.
//
// Initial loops, innermost first: a pure definition has its dimensions in argument order; an update
// has its reduction domain's dimensions, then its pure Vars. Directives apply in order:
//
//   split(v, o, i, 8)            v -> i inside o, in v's place; v = o*8 + i
//   fuse(i, o, f)                i, o -> f; i = f mod extent(i), o = f / extent(i)
//   parallel(v, n)               split(v, v, v.chunk, n), v parallel (recorded so by Stage)
//   vectorize(v, n)              split(v, v, v.vec, n), v.vec vectorized; v keeps its kind
//   unroll(v, n)                 split(v, v, v.unroll, n), v.unroll unrolled; v keeps its kind
//   gpu_tile(x, y, tx, ty)       x = x.block*tx + x.thread, y alike. With vectorize(x, v) and
//                                unroll(y, r) after it:  x = (x.block*tx + x.thread)*v + x.vec and
//                                y = (y.block*ty + y.thread)*r + y.unroll
//
// The loop over a recurrence's dimension stands inside a tile's threads wherever it stood before.
//
// A tail of gpu_tile's is that of the block's whole tile of points, tx*v: the splits inside it divide.
// A tail given to the vectorize or unroll itself is that of one vector or group of rows.
//
// gpu_single_thread() puts loops of one iteration, single.thread and single.block, around all others.
//
// gpu_tile orders loops, innermost first:
//
//   [x.vec y.vec] [x.unroll y.unroll] [loops that stood inside x and y: a reduction's]
//   [x.thread y.thread] [x.block y.block] [other loops, in the order they had]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/func/function.h"

namespace mica {

/// Iterations that an unroll writes out at most.
inline constexpr std::int64_t kMostUnrolled = 256;

/// One loop as it will run.
struct LoopDim {
  std::string name;
  LoopKind kind = LoopKind::Serial;
  /// Its iterations are (part of) a reduction domain's, whose order is part of the algorithm.
  bool is_rvar = false;
  /// The extent if it is a constant, else 0. Where a split's factor does not divide, this counts
  /// the iterations past the end too.
  std::int64_t extent = 0;
  /// The directive that gave the loop its name or kind.
  SourceLocation where;
  /// Its iterations are (part of) the dimension along which the Func reads itself: each uses values of
  /// ones before.
  bool recurs = false;

  /// They are a reduction domain's, and run in any order: they write different points, or are atomic.
  bool any_order = false;
  /// Of gpu_single_thread: no dimension's, of one iteration.
  bool is_single = false;

  /// Is the order of its iterations part of the algorithm?
  [[nodiscard]] bool is_ordered() const { return (is_rvar && !any_order) || recurs; }
};

/// One change of variables.
struct SplitStep {
  enum Kind { Split, Fuse };
  Kind kind = Split;
  /// Split: the variable taken apart. Fuse: the variable that replaces `outer` and `inner`.
  std::string old_var;
  /// A Split's `outer` or `inner` may be `old_var` again: later steps then mean the new one.
  std::string outer, inner;
  int factor = 1;
  /// Never Auto.
  TailStrategy tail = TailStrategy::GuardWithIf;
  /// A Split into chunks of `factor`, of which the last are shorter, each half of the one before it and
  /// two of them so long; 0: they are not. Then factor is this times a power of two.
  int shortest = 0;
};

struct LoopNestSpec {
  std::vector<LoopDim> dims;     ///< innermost first
  std::vector<SplitStep> steps;  ///< in order of application; from names of dimensions to `dims`
};

/// The loops of definition `definition` of `f`. A directive that does not apply (no such loop, a name
/// taken, a factor out of range, ...) is left out and adds a finding that lists the legal choices;
/// without findings the result is exact.
LoopNestSpec expand_loops(const FunctionData& f, int definition, Diagnostics& findings);

/// Does `directive` make, order or mark loops of the definition that it is given to?
bool acts_on_loops(const Directive& directive);
/// Does one of the definition's directives?
bool has_loop_directives(const Definition& definition);

/// The names of the loops that gpu_single_thread makes, innermost first.
inline constexpr const char* kSingleLoops[] = {"single.thread", "single.block"};

/// "next" or "next.update(0)".
std::string definition_name(const FunctionData& f, int definition);
/// The constant range that `bound` gives dimension `var` of `f`, as (min, extent); extent 0 if none.
std::pair<std::int64_t, std::int64_t> bounded_range(const FunctionData& f, const std::string& var);

}  // namespace mica
