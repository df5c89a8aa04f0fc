// An algorithm as a value: what a random generator draws, a search shrinks and a printer writes as C++.
//
// Any program whose indices name what exists can be built: operands of another type than an operation
// needs are converted, so that a term may be replaced by any of its operands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/type.h"
#include "fuzz/case_names.h"
#include "fuzz/test_pipeline.h"

namespace mica::test {

/// Index::var of a dimension of the enclosing reduction; kReduction + 1 is its second.
inline constexpr int kReduction = 4;
/// Term::source of a definition's own Func.
inline constexpr int kSelf = -1;

struct Term;

/// A coordinate: ((scale*v + offset) / divisor >> shift & mask) % modulus, or `offset` alone without a
/// variable; then held inside `limits`. With a modulus the dividend may leave 32 bits and wrap.
struct Index {
  int var = -1;  ///< -1: none; 0 ... 3: x, y, z, w; from kReduction: the reduction's
  int scale = 1, offset = 0, divisor = 1;
  std::optional<std::pair<int, int>> limits{};
  std::optional<int> modulus{};  ///< of either sign, or 0
  int shift = 0;
  std::optional<int> mask{};  ///< not negative
  /// None, or one in the variable's place: an integer of 8 or 16 bits, a u32 or u64, that wraps as such.
  /// Scale, offset and mask are such integers, too.
  std::vector<Term> looked_up{};
  [[nodiscard]] bool is_constant() const { return var < 0 && looked_up.empty(); }
  friend bool operator==(const Index& a, const Index& b);
};

enum class Operation : std::uint8_t {
  // One operand.
  Neg,
  Abs,
  Sqrt,
  Floor,
  Round,
  Exp,
  Strict,
  Cast,
  // Two.
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  BitAnd,
  BitXor,
  Shl,
  Shr,
  // Two, with a bool result.
  Less,
  AtMost,
  Equal,
  Differs,
  Both,    ///< &&
  Either,  ///< ||
  // Three.
  Select,
  Clamp,
  Fma,
  // One, over Term::domain.
  Sum,
  Least,
  Greatest,
};

/// (min, extent) of each dimension of a reduction.
using Domain = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// An expression: a tree, but for what its definition names and uses several times.
struct Term {
  enum class Kind : std::uint8_t { Constant, Coordinate, Parameter, Tap, Apply, Shared };
  Kind kind = Kind::Constant;
  Type type = Float(32);
  double value = 0;         ///< Constant
  int source = 0;           ///< Tap: an input, or from inputs.size() on a stage, or kSelf
  int element = 0;          ///< Tap: of a Tuple; Shared: of ProgramStage::shared
  std::vector<Index> at{};  ///< Tap; Coordinate: the one
  Operation operation{};    ///< Apply
  Domain domain{};          ///< Sum, Least, Greatest
  bool of_params = false;   ///< the domain's bounds are Params
  std::vector<Term> operands{};
  friend bool operator==(const Term&, const Term&) = default;
};

Term constant_term(Type type, double value);
/// Are there Params of the type in programs?
bool may_be_param(Type type);
/// The number that a constant of u32 or u64 is: `value`, which is 0 or more, or the greatest of the
/// type.
std::uint64_t natural_number(Type type, double value);
/// `operation` of `operands`, of type `type`.
Term applied(Operation operation, Type type, std::vector<Term> operands);

/// The functions of BoundaryConditions.
enum class Boundary : std::uint8_t {
  RepeatEdge,
  ConstantExterior,
  RepeatImage,
  MirrorImage,
  MirrorInterior
};

/// Of a boundary condition, along one dimension.
struct BoundaryExtent {
  enum class Kind : std::uint8_t {
    None,   ///< no condition
    Own,    ///< the range of the input behind it
    Given,  ///< [min, min + extent); an extent below 1 counts as 1
  };
  Kind kind = Kind::Own;
  int min = 0, extent = 1;
  bool of_params = false;
  friend bool operator==(const BoundaryExtent&, const BoundaryExtent&) = default;
};

/// One Func.
struct ProgramStage {
  /// (factors[0]*x + factors[1]*y + ...) % count.
  struct Color {
    std::vector<int> factors{};
    int count = 2;
    friend bool operator==(const Color&, const Color&) = default;
  };
  struct Update {
    std::vector<Index> at{};
    Domain domain{};
    bool of_params = false;  ///< the domain's bounds are Params
    std::vector<Term> values{};
    std::optional<Color> color{};
    friend bool operator==(const Update&, const Update&) = default;
  };
  /// Of a Func whose values read itself: along which dimension, and where it starts, if it says so.
  struct Walk {
    int dim = 0;
    bool ahead = false;
    std::optional<int> start{};
    friend bool operator==(const Walk&, const Walk&) = default;
  };
  std::string name;
  int dimensions = 1;
  std::vector<Term> values{};  ///< of a Tuple when several
  std::vector<Term> shared{};  ///< expressions that the values use, and those behind them here
  std::vector<Update> updates{};
  std::optional<Walk> walk{};
  /// A boundary condition of `source`, an input or a stage of one value, in place of `values`.
  std::optional<Boundary> boundary{};
  int source = 0;
  /// One a dimension; of an input also none at all, for its own range along each.
  std::vector<BoundaryExtent> extents{};
  /// It keeps its values: it is not computed inline.
  [[nodiscard]] bool is_kept() const { return !updates.empty() || walk.has_value(); }
  friend bool operator==(const ProgramStage&, const ProgramStage&) = default;
};

struct Program {
  struct Input {
    std::string name;
    Type type;
    int dimensions = 1;
    friend bool operator==(const Input&, const Input&) = default;
  };
  std::vector<Input> inputs;
  std::vector<ProgramStage> stages;  ///< each reads inputs and stages before it
  std::vector<int> outputs;          ///< stages
  friend bool operator==(const Program&, const Program&) = default;

  [[nodiscard]] bool is_stage(int source) const { return source >= static_cast<int>(inputs.size()); }
  [[nodiscard]] const ProgramStage& stage(int source) const {
    return stages[static_cast<std::size_t>(source) - inputs.size()];
  }
  /// The type of a source's value.
  [[nodiscard]] Type type_of(int source, int element = 0) const;
  [[nodiscard]] int dimensions_of(int source) const;
  /// The input behind boundary conditions of boundary conditions, or `source` itself.
  [[nodiscard]] int origin_of(int source) const;
  [[nodiscard]] int source_of_stage(std::size_t i) const { return static_cast<int>(inputs.size() + i); }
};

/// How many operands an operation takes.
int operand_count(Operation operation);
/// Has it a bool result of operands of any type?
bool is_comparison(Operation operation);
/// Can it be applied to operands of this type?
bool takes(Operation operation, Type type);
/// The type in which `term` takes operand i.
Type operand_type(const Term& term, std::size_t i);

/// The Funcs of a program, without directives; handles as TestPipeline has them, by the stages' names or
/// what `names` calls them.
TestPipeline build(const Program& program, const CaseNames& names = {});
/// The same values of the same inputs, with boundary conditions defined by period and parity here rather
/// than by the library.
TestPipeline build_reference(const Program& program, const std::vector<ImageParam>& inputs);

/// The terms of a stage that are parts of no others: values, what they share, those of updates and of
/// the places that updates write.
void for_each_root(ProgramStage& stage, const std::function<void(Term&)>& visit);
/// The operands of a term, and what is looked up in its coordinates.
void for_each_part(Term& term, const std::function<void(Term&)>& visit);
/// All terms of a stage, updates included.
void for_each_term(const ProgramStage& stage, const std::function<void(const Term&)>& visit);
void for_each_term(const Term& term, const std::function<void(const Term&)>& visit);
/// Leaves out stages and inputs that no output needs, and renumbers the sources.
Program without_unused(Program program);

/// Boxes by source number that computing the outputs over `boxes` may read, from intervals of the
/// coordinates; empty for a source that is not read. Boundary conditions ask nothing of the ranges that
/// are their input's own: those are at least the ones that `bounded` has by the input's name.
std::vector<Box> demanded_boxes(const Program& program, const std::vector<Box>& boxes,
                                const std::map<std::string, Box>& bounded = {});
/// `boxes`, with those outputs that other stages or their own updates read grown to what is read.
std::vector<Box> output_boxes(const Program& program, const std::vector<Box>& boxes);
/// Points of all stages in those boxes, reductions counted point by point.
std::int64_t points_to_compute(const Program& program, const std::vector<Box>& boxes);
/// Taps of each stage when all stages without updates that it reads are computed inline. What is shared
/// counts once.
std::vector<std::int64_t> inlined_taps(const Program& program);

/// C++ statements that make inputs and Funcs, with no directives. Variables have the plain names.
std::string to_string(const Program& program, const CaseNames& names = {});

}  // namespace mica::test
