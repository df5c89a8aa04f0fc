// An algorithm as a value: what a random generator draws, a search shrinks and a printer writes as C++.
//
// Any program whose indices name what exists can be built: operands of another type than an operation
// needs are converted, so that a term may be replaced by any of its operands.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/type.h"
#include "fuzz/case_names.h"
#include "fuzz/test_pipeline.h"

namespace mica::test {

/// Index::var of a dimension of the enclosing reduction; kReduction + 1 is its second.
inline constexpr int kReduction = 4;
/// Term::source of a definition's own Func.
inline constexpr int kSelf = -1;

/// A coordinate: (scale*v + offset) / divisor % modulus, or `offset` alone without a variable; then held
/// inside `limits`. With a modulus the dividend may leave 32 bits and wrap.
struct Index {
  int var = -1;  ///< -1: none; 0 ... 3: x, y, z, w; from kReduction: the reduction's
  int scale = 1, offset = 0, divisor = 1;
  std::optional<std::pair<int, int>> limits{};
  std::optional<int> modulus{};  ///< of either sign, or 0
  friend bool operator==(const Index&, const Index&) = default;
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

/// An expression tree.
struct Term {
  enum class Kind : std::uint8_t { Constant, Coordinate, Parameter, Tap, Apply };
  Kind kind = Kind::Constant;
  Type type = Float(32);
  double value = 0;         ///< Constant
  int source = 0;           ///< Tap: an input, or from inputs.size() on a stage, or kSelf
  int element = 0;          ///< Tap: of a Tuple
  std::vector<Index> at{};  ///< Tap; Coordinate: the one
  Operation operation{};    ///< Apply
  Domain domain{};          ///< Sum, Least, Greatest
  bool of_params = false;   ///< the domain's bounds are Params
  std::vector<Term> operands{};
  friend bool operator==(const Term&, const Term&) = default;
};

Term constant_term(Type type, double value);
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
  std::vector<Update> updates{};
  std::optional<Walk> walk{};
  /// A boundary condition of `input` in place of `values`.
  std::optional<Boundary> boundary{};
  int input = 0;
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

/// All terms of a stage, updates included.
void for_each_term(const ProgramStage& stage, const std::function<void(const Term&)>& visit);
void for_each_term(const Term& term, const std::function<void(const Term&)>& visit);
/// Leaves out stages and inputs that no output needs, and renumbers the sources.
Program without_unused(Program program);

/// Boxes by source number that computing the outputs over `boxes` may read, from intervals of the
/// coordinates; empty for a source that is not read. Boundary conditions ask nothing of their input.
std::vector<Box> demanded_boxes(const Program& program, const std::vector<Box>& boxes);
/// `boxes`, with those outputs that other stages or their own updates read grown to what is read.
std::vector<Box> output_boxes(const Program& program, const std::vector<Box>& boxes);
/// Points of all stages in those boxes, reductions counted point by point.
std::int64_t points_to_compute(const Program& program, const std::vector<Box>& boxes);
/// Taps of each stage when all stages without updates that it reads are computed inline.
std::vector<std::int64_t> inlined_taps(const Program& program);

/// C++ statements that make inputs and Funcs, with no directives. Variables have the plain names.
std::string to_string(const Program& program, const CaseNames& names = {});

}  // namespace mica::test
