// What Func, ImageParam, Param and RDom handles point to: the algorithm and its schedule as data.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/schedule/schedule.h"

namespace mica {

class AnyBuffer;      // runtime/buffer/buffer.h
struct CompiledFunc;  // codegen/realize.cpp

/// The box a reduction runs over: dimension i takes min <= r < min + extent, none if extent is below 1.
struct RDomData {
  struct Dim {
    std::string name;
    /// i32, of constants, Params and inputs' fields: what a launch knows.
    Expr min, extent;
    /// The extent if it is a constant, else 0.
    [[nodiscard]] std::int64_t constant_extent() const;
    /// max(extent, 0).
    [[nodiscard]] Expr count() const;
  };
  std::string name;
  std::vector<Dim> dims;
  /// Undefined: all points. Definitions take it over when they are made. Where it reads the domain's own
  /// dimensions it does not own the domain, which would then own itself: see condition_of.
  mutable Expr condition;
  SourceLocation where;
};
/// The domain's condition for use beside it, as an expression that keeps it; undefined: all points.
Expr condition_of(const std::shared_ptr<const RDomData>& domain);
/// Makes `condition` the domain's.
void set_condition(const RDomData& domain, const Expr& condition);

/// An input array: its type and dimensionality, and the buffer that the next run reads.
struct ImageData {
  std::string name;
  Type type;
  int dimensions = 0;
  SourceLocation where;
  /// Set by ImageParam::set, at any time and by any thread: runs read it with std::atomic_load, and the
  /// buffer that it points to is not changed. Not part of the algorithm.
  mutable std::shared_ptr<AnyBuffer> bound;
  /// The input stands for the buffer that it is bound to (AnyBuffer::input), and is never set again.
  bool is_buffer = false;
};

/// A run-time scalar. `bits` holds the value's bytes in the low end; set by Param::set, at any time and
/// by any thread, and read once a run.
struct ParamData {
  std::string name;
  Type type;
  mutable std::atomic<std::uint64_t> bits = 0;
};

/// How a Func's first definition reads the Func itself: some points behind, or ahead, along one
/// dimension.
struct Recurrence {
  std::size_t dim = 0;     ///< the dimension; in all others reads are at the point's own coordinate
  bool ahead = false;      ///< reads are at larger coordinates, so the dimension is computed downwards
  std::int64_t reach = 1;  ///< the farthest read, in points
  /// The point where it starts, i32: reads beyond it are 0. Undefined: the first point of the computed
  /// box, which must then be an output's.
  Expr start;
};

/// `color(value % count)`: in which order the points of an update are computed.
struct Coloring {
  Expr value;  ///< a sum of constants times Vars of the update, of type i32
  int count = 2;
  SourceLocation where;
  /// Of one of the passes that split_colors makes of the update: the color it computes; -1: all of them.
  int only = -1;
};

/// One definition: `f(args...) = values` (pure) or an update of it.
struct Definition {
  /// Left-hand side. Pure definitions have one VarRef per dimension; updates any expressions.
  std::vector<Expr> args;
  /// One per Tuple element, of the Func's types.
  std::vector<Expr> values;
  /// Names of the pure Vars that range over the Func's domain, in argument order (updates may use
  /// fewer than the Func has dimensions).
  std::vector<std::string> pure_vars;
  /// The reduction domain of an update, if any; its loops are serial, first dimension innermost.
  std::shared_ptr<const RDomData> domain;
  /// Of an update that reads its own Func at the point that it writes alone: whoever made it knows that
  /// iterations over its domain write different points, which indices that are read do not show.
  bool is_distinct = false;
  /// Of a first definition that reads its own Func.
  std::optional<Recurrence> recurrence = {};
  /// Of an update that reads its own Func at neighbours along its Vars.
  std::optional<Coloring> coloring = {};
  /// Of the first definition of an output that nothing reads, for each value: the coordinates of the
  /// element that takes it, of the Func's Vars and inputs' boxes; no two points have one element. Empty:
  /// the element at the point.
  std::vector<std::vector<Expr>> places = {};
  SourceLocation where;
  std::vector<Directive> directives;
  /// Other directives for runs in which a condition holds, the first that does (Stage::specialize).
  struct Specialization {
    Expr condition;
    std::vector<Directive> directives;  ///< those of the definition when it was made, then its own
    std::size_t taken_over = 0;         ///< how many of the definition's directives it began with
    SourceLocation where;
  };
  std::vector<Specialization> specializations = {};
};

/// A Func's definitions and schedule. Mutable only through its Func handle.
class FunctionData {
 public:
  std::string name;
  /// Of a Func that Mica named after others: the texts between the dots, as {"u", "in", "f"}. Empty: the
  /// name is one text of the user's, dots and all.
  std::vector<std::string> made_of;
  SourceLocation where;
  /// Dimension names: the pure definition's Vars.
  std::vector<std::string> args;
  /// Written without arguments, f(): one dimension of one point.
  bool is_scalar = false;
  /// Of boundary conditions: the input whose box they keep to. Null: the box that the user gave.
  std::shared_ptr<const ImageData> box_of;
  /// Of a copy of an input, point by point, in a frame, which sees to it that reads stay within the
  /// input's box. What such a Func is beyond the box does not matter.
  struct Held {
    std::shared_ptr<const ImageData> of;  ///< that input; null: the Func is no such copy
    /// Along dimension 0 the input begins and ends where vectors of the consumer's points do, if
    /// kVectorBytes are a whole number of vectors.
    bool in_vectors = false;
    /// Dimensions, a bit each, along which it goes on beyond the box as if it repeated, and the input
    /// whose box repeats there. A read is at most one period beyond.
    std::uint32_t periods = 0;
    std::shared_ptr<const ImageData> box;
    static constexpr int kVectorBytes = 128;
  } held;
  /// Of the last level of a time tile: a row's first and last points are the same at all levels, so many
  /// of them as a step reads beside a point. Nothing beyond them counts.
  bool still_ends = false;
  std::vector<Type> types;
  /// [0] is the pure definition.
  std::vector<Definition> definitions;
  /// Wrappers made by `in`: source name -> the Func that reads it in the source's stead in this
  /// Func's definitions.
  std::vector<std::pair<std::string, std::shared_ptr<FunctionData>>> wrappers;
  /// Which of its values are printed when they are stored or read, whether its storage is, and the lines
  /// that asked for the first and the last.
  struct Traces {
    bool stores = false, loads = false, realizations = false;
    SourceLocation where, where_realizations;
  };
  Traces traces;
  /// What Func::realize compiled; no part of the algorithm, and not copied into a Pipeline.
  std::shared_ptr<CompiledFunc> compiled;

  [[nodiscard]] bool defined() const { return !definitions.empty(); }
  [[nodiscard]] int dimensions() const { return static_cast<int>(args.size()); }
};

}  // namespace mica
