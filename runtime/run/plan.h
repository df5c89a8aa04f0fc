// What one run of a compiled pipeline does, as data: symbols to bind, memory to make, kernels to
// launch. The compiler writes a Plan, Executable (runtime/run/executable.h) carries it out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/func/function.h"

namespace mica {

/// An array argument of the pipeline. Its symbols in host expressions are "<name>.min.<d>",
/// "<name>.extent.<d>" and "<name>.stride.<d>".
struct PlanBuffer {
  std::string name;
  Type type;
  int dimensions = 0;
  bool is_output = false;
  std::shared_ptr<const ImageData> image;  ///< inputs
  SourceLocation where = {};               ///< outputs: the Func's
  std::string traced = {};                 ///< outputs: see PlanTemporary
  std::string why_type = {};               ///< outputs: what a wide type comes from, or nothing
};

/// A number that a run works out once and other expressions of the plan name, kernels' arguments
/// included: an end of a box that would otherwise stand in them as a large expression.
struct PlanValue {
  std::string name;
  Expr value;  ///< i32 or i64; of symbols of buffers, scalars and values before it
};

/// Memory of a Func computed at root, made anew each run from the pool. It has the same symbols as
/// a PlanBuffer: mins and extents as given here, strides dense (dimension 0 fastest) after padding
/// extent d to a multiple of `align[d]`.
struct PlanTemporary {
  std::string name;
  Type type;
  std::vector<Expr> mins, extents;
  std::vector<int> align;
  SourceLocation where = {};  ///< the Func's
  /// The name of the Func, where lines say when the storage of all its values begins and ends
  /// (Func::trace_realizations); otherwise empty.
  std::string traced = {};
};

/// One argument of a kernel, in the order of its parameters.
struct KernelArgument {
  enum class Kind : std::uint8_t {
    Pointer,  ///< address of `buffer`'s element at `at`
    Scalar,   ///< `value`, evaluated on the host, as `type`
    /// Pointer for host kernels and the emulator; on a GPU a texture object over `buffer`'s elements, of
    /// `type`. The argument after it is the TextureOrigin.
    Texture,
    TextureOrigin,  ///< i64: which element of the texture is the one at `at`; 0 elsewhere
    PrintLines,     ///< i64: the address of the run's LineSink (runtime/run/print_line.h)
  };
  Kind kind = Kind::Scalar;
  std::string name;
  std::string buffer;
  bool written = false;
  Type type;
  Expr value;
  /// Of a Pointer or Texture: coordinates, which need not lie in the array; none: 0 in every dimension.
  std::vector<Expr> at = {};
};

/// A launch of one kernel.
struct PlanLaunch {
  std::string kernel;
  bool on_device = false;
  std::vector<KernelArgument> arguments;
  /// Device launches: blocks in x, y, z (i32 or i64 expressions), threads, shared bytes.
  std::vector<Expr> grid;
  int block[3] = {1, 1, 1};
  int shared_bytes = 0;
  /// Nothing is launched when this is false (an empty domain).
  Expr when;
};

/// A condition on a run's arguments that only their values decide. When `holds` is false the run
/// throws a UserError with `message`, in which "{k}" is replaced by the value of values[k].
struct PlanCheck {
  Expr holds;
  std::string message;
  std::vector<Expr> values;
  SourceLocation where;
};

/// A constant of at most this magnitude may be taken out of a 32-bit index: what is left of an index
/// that Variant::index32 allows does not overflow.
constexpr std::int64_t kLargestConstant32 = std::int64_t{1} << 24;  // elements

/// What a compiled variant assumes about a run's arguments; Executable compiles another variant
/// when a run does not satisfy the one at hand.
struct Variant {
  /// Flat element offsets from each kernel's KernelArgument::at are at most 2^31 - 1 -
  /// kLargestConstant32 in magnitude.
  bool index32 = true;
  /// Vector accesses through pointers may assume 16-byte alignment: see Plan::alignments.
  bool aligned = true;
  /// The grid fits 2^31-1 x 65,535 x 65,535; otherwise blocks are numbered along x alone.
  bool grid3 = true;
  /// Every array's dimension 0 has stride 1.
  bool unit_stride = true;
  /// No output shares memory with an input.
  bool separate = true;
  /// The run is part of a graph, and each of its launches has few blocks (kMostOverlapped): its kernels
  /// start while those ahead of them end. Each block then asks twice for leave, which costs a grid of
  /// many short blocks more than it gains.
  bool overlapped = false;
  /// Where unit_stride is off, of each of the plan's buffers: the stride of dimension 0 if it is 1 to 4,
  /// else 0, and the dimension of stride 1 if it is another, else 0. So pixels of interleaved channels
  /// have {3, 2}. Empty where all strides are unknown.
  struct Inner {
    std::uint8_t stride = 0, unit = 0;
    friend auto operator<=>(const Inner&, const Inner&) = default;
  };
  std::vector<Inner> inner = {};
  /// Of each of the plan's buffers and temporaries, the first with the same mins, extents and strides,
  /// whose symbols stand for its own: of kFewestAlike arrays and more. Empty where there are none.
  std::vector<std::uint16_t> alike = {};
  /// Which specialization of each of Plan::choices' definitions holds, from 1; 0: none. Empty: none at
  /// all.
  std::vector<std::uint8_t> chosen = {};
  friend auto operator<=>(const Variant&, const Variant&) = default;
};

/// Arrays of one shape for Variant::alike, at least: of fewer there is little to gain.
constexpr std::size_t kFewestAlike = 3;
/// Blocks of a launch for Variant::overlapped, at most: those that a large GPU runs in one or two
/// rounds. (H200, 512^3: 524,288 blocks of one point a thread take 0.64 ms overlapped, 0.47 ms else.)
constexpr std::int64_t kMostOverlapped = 2048;

/// For Variant::aligned: the element of `buffer` at logical coordinates `at` must stand at an
/// address divisible by `bytes`, and so must every stride but the first.
struct PlanAlignment {
  std::string buffer;
  std::vector<Expr> at;
  int bytes = 16;
};

/// May an output be the same memory as an input of its element type and number of dimensions, each
/// element of the one in the place of the element of the other that has its coordinates?
struct PlanSharing {
  std::string output, input;
  std::string obstacle;       ///< why not; empty: it may
  SourceLocation where = {};  ///< of the obstacle
};

/// A definition that has specializations: the first of these conditions that holds counts.
struct PlanChoice {
  std::vector<Expr> conditions;
};

/// One run of a pipeline. All names are unique in it.
struct Plan {
  std::vector<PlanBuffer> buffers;
  struct Scalar {
    std::string name;
    std::shared_ptr<const ParamData> param;
  };
  std::vector<Scalar> scalars;
  std::vector<PlanValue> values;
  std::vector<PlanTemporary> temporaries;
  std::vector<PlanLaunch> launches;
  std::vector<PlanCheck> checks;
  std::vector<PlanChoice> choices;
  std::vector<PlanAlignment> alignments;
  std::vector<PlanSharing> sharing;  ///< a pair that is not here has nothing in common
};

/// "index32 aligned grid3 unit_stride", or the words of the assumptions that are off; and "in_place"
/// where an output may share memory with an input.
std::string to_string(const Variant& variant);
/// One line an array, scalar, value, check, alignment, pair that may share memory, and launch, in the
/// plan's order.
std::string to_string(const Plan& plan);

}  // namespace mica
