// Expressions: immutable, shared trees over a closed set of node kinds.
//
// The same tree serves the user's algorithm and the compiler's intermediate code; the nodes below
// the line "made by lowering" never appear in an algorithm.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "dsl/expr/type.h"

namespace mica {

struct ExprNode;
class FunctionData;  // dsl/func/function.h: what a Func handle points to
struct ImageData;    // dsl/func/function.h: what an ImageParam handle points to
struct ParamData;    // dsl/func/function.h
struct RDomData;     // dsl/func/function.h

/// A handle on an immutable expression node. Copying is cheap; a default-made Expr is undefined.
/// Numbers convert implicitly: an int to i32, an int64 to i64, an unsigned to u32, a uint64 to u64, a
/// float to f32, a double to f64.
/// A *literal* operand takes the other operand's type in arithmetic (`u8expr + 1` is u8,
/// `f32expr * 0.5` is f32) when it can hold the value.
class Expr {
 public:
  Expr() = default;
  /// Takes bool only: a pointer must not turn into a condition.
  template <std::same_as<bool> B>
  Expr(B value) : Expr(from_bool(value)) {}  // NOLINT: implicit conversions are the language
  Expr(std::int8_t value);                   // NOLINT
  Expr(std::uint8_t value);                  // NOLINT
  Expr(std::int16_t value);                  // NOLINT
  Expr(std::uint16_t value);                 // NOLINT
  Expr(std::uint32_t value);                 // NOLINT
  Expr(std::int32_t value);                  // NOLINT
  Expr(std::uint64_t value);                 // NOLINT
  Expr(std::int64_t value);                  // NOLINT
  /// The other integers of 64 bits that C++ has, such as that of 1ull.
  template <std::integral I>
  requires(sizeof(I) == 8 && !std::same_as<I, std::int64_t> && !std::same_as<I, std::uint64_t>)
      Expr(I value)  // NOLINT
      : Expr(static_cast<std::conditional_t<std::signed_integral<I>, std::int64_t, std::uint64_t>>(
            value)) {}
  Expr(float value);     // NOLINT
  Expr(double value);    // NOLINT
  Expr(float16 value);   // NOLINT
  Expr(bfloat16 value);  // NOLINT
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  [[nodiscard]] bool defined() const { return node_ != nullptr; }
  /// These three: UserError if the Expr is undefined.
  [[nodiscard]] const ExprNode& node(CallSite at = CallSite::current()) const;
  [[nodiscard]] const ExprNode* operator->() const;
  [[nodiscard]] Type type(CallSite at = CallSite::current()) const;
  /// The node's payload if it is of kind T, else null.
  template <typename T>
  [[nodiscard]] const T* as() const;
  /// Identity, not value: see `equal` in dsl/expr/traverse.h.
  [[nodiscard]] bool same_as(const Expr& other) const { return node_ == other.node_; }
  [[nodiscard]] const std::shared_ptr<const ExprNode>& ptr() const { return node_; }

 private:
  static Expr from_bool(bool value);
  [[noreturn]] static void undefined(const SourceLocation& where);

  std::shared_ptr<const ExprNode> node_;
};

enum class UnaryOp : std::uint8_t {
  Neg,
  Not,
  BitNot,
  Abs,
  Sqrt,
  Floor,
  Ceil,
  Round,
  Exp,
  Log,
  Sin,
  Cos,
  Tanh
};
enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  Pow,
  Atan2,
  Fmod,
  And,
  Or,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr
};
/// A function of two floats that kernels compute by arithmetic made for it
/// (codegen/passes/math/expand_math.h), and nothing else evaluates.
constexpr bool is_math_function(BinaryOp op) {
  return op == BinaryOp::Pow || op == BinaryOp::Atan2 || op == BinaryOp::Fmod;
}
enum class CompareOp : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

/// An integer or bool constant of the node's type, sign- or zero-extended to 64 bits: a u64 of 2^63 or
/// more is negative here (dsl/expr/constant_math.h computes with such values).
struct IntImm {
  std::int64_t value = 0;
};
/// A floating-point constant, already rounded to the node's type.
struct FloatImm {
  double value = 0;
};
/// What is known of a dimension of an array.
enum class BufferField : std::uint8_t { Min, Extent, Stride };
/// A named scalar: a Var of a definition, a loop variable, a let-bound name, or a symbol that the
/// launch supplies ("u.min.0", "u.extent.1", "u.stride.2", a Param's name).
struct VarRef {
  std::string name;
  /// Keeps the name of a Var without one from being given to another.
  std::shared_ptr<const void> unnamed = {};
  /// What an array's symbol says of it ("u.extent.1").
  std::optional<BufferField> field = {};
};
/// A run-time scalar of the user's.
struct ParamRef {
  std::shared_ptr<const ParamData> param;
};
/// One dimension of a reduction domain.
struct RVarRef {
  std::shared_ptr<const RDomData> domain;
  int index = 0;
};
/// A dimension's min, extent or stride of an input as the user names it: `u.dim(0).min()`.
struct ImageField {
  std::shared_ptr<const ImageData> image;
  BufferField field;
  int dimension = 0;
};
/// Value conversion to the node's type. Float to integer truncates and saturates, NaN gives 0;
/// integer to narrower integer keeps the low bits; f64 to f16 or bf16 rounds through f32.
struct Cast {
  Expr value;
};
/// One operand of the node's type.
struct Unary {
  UnaryOp op;
  Expr a;
};
/// Both operands have one type, which is also the result's. Integers wrap (two's complement), in values
/// and in indices, under every schedule; an index that would leave 32 bits, or its array, is refused
/// when a run begins. Integer Div and Mod round toward minus infinity, and by zero give 0. Float Min and
/// Max are IEEE 754-2019 minimum and maximum: NaN if either is NaN, and -0 < +0. Shr is arithmetic on
/// signed types. All of these compare and divide unsigned types as what they are.
struct Binary {
  BinaryOp op;
  Expr a, b;
};
/// Result bool.
struct Compare {
  CompareOp op;
  Expr a, b;
};
/// `if_true` where `condition`, a bool, holds, else `if_false`; both have the node's type.
struct Select {
  Expr condition, if_true, if_false;
};
/// a*b + c with one rounding.
struct Fma {
  Expr a, b, c;
};
/// Keeps the written order and roundings of `value` (the user's `strict(e)`).
struct Strict {
  Expr value;
};
/// `value`; where `condition` (a bool) holds, a line is printed when the node is evaluated: texts[0],
/// operands[0], texts[1], operands[1], ..., texts.back(). One text more than operands, which are scalars
/// of any type or as wide as the value. In a Pipeline it is the outermost part of a definition's value
/// (dsl/pipeline/hoist_prints.h).
struct Print {
  Expr value, condition;
  std::vector<Expr> operands;
  std::vector<std::string> texts;
};
/// A value of a Func (element `value_index` of its Tuple) or of an input at `args`.
/// Exactly one of `function` and `image` is set. `name` is the callee's name; after Pipeline has
/// made names unique it identifies the callee.
struct Access {
  std::string name;
  std::shared_ptr<const FunctionData> function;  // owning, except in an update's reference to itself
  std::shared_ptr<const ImageData> image;
  int value_index = 0;
  std::vector<Expr> args;
  SourceLocation where;
  /// A Func's update refers to the Func itself; a null `function` and `image` with this set keeps
  /// the ownership graph free of cycles.
  bool is_self = false;
};

// ---- made by lowering --------------------------------------------------------------------------

/// `value` bound to `name` in `body`.
struct Let {
  std::string name;
  Expr value, body;
};
/// An element of `buffer`. Before flatten_storage `index` has one entry per dimension, in logical
/// coordinates; after it one flat element offset, with `logical` kept where checks ask for them.
struct Load {
  std::string buffer;
  std::vector<Expr> index;
  std::vector<Expr> logical;
  /// Elements by which the first lane's address is known to be aligned (1: nothing known).
  int alignment = 1;
  /// The element is not read again soon: a load that passes by the caches (ld.global.cs).
  bool streamed = false;
  /// The user's line that reads it, where lines are asked for (CompileOptions::line_info).
  SourceLocation where = {};
};
/// `value` as the thread `delta` further along the warp has it (shfl.sync over 32 threads that are
/// neighbours in thread.x); the thread's own where there is none. All threads of the warp get here.
struct WarpShuffle {
  Expr value;
  int delta = 0;
};
/// base, base + stride, base + 2*stride, ...: node type has `lanes` lanes.
struct Ramp {
  Expr base, stride;
};
/// One scalar in every lane.
struct Broadcast {
  Expr value;
};
/// Lanes picked from the concatenation of `vectors`.
struct Shuffle {
  std::vector<Expr> vectors;
  std::vector<int> lanes;
};
/// The same bits read as the node's type (equal width).
struct Reinterpret {
  Expr value;
};

/// One node of an expression: what it is, and the type of its value.
struct ExprNode {
  using Op = std::variant<IntImm, FloatImm, VarRef, ParamRef, RVarRef, ImageField, Cast, Unary, Binary,
                          Compare, Select, Fma, Strict, Access, Let, Load, Ramp, Broadcast, Shuffle,
                          Reinterpret, WarpShuffle, Print>;
  Type type;
  Op op;
  /// Of the structure, the same for nodes that are equal (dsl/expr/traverse.h): what tells two of them
  /// apart without a walk.
  std::size_t hash;

  ExprNode(Type of, Op what);
  ExprNode(const ExprNode&) = delete;
  ExprNode& operator=(const ExprNode&) = delete;
  /// Frees what only this node holds without a call for each level of it.
  ~ExprNode();
};

inline const ExprNode& Expr::node(CallSite at) const {
  if (node_ == nullptr) [[unlikely]]
    undefined(at);
  return *node_;
}
inline const ExprNode* Expr::operator->() const {
  if (node_ == nullptr) [[unlikely]]
    undefined({});
  return node_.get();
}
inline Type Expr::type(CallSite at) const { return node(at).type; }
template <typename T>
const T* Expr::as() const {
  return node_ ? std::get_if<T>(&node_->op) : nullptr;
}

/// Makes a node; the caller vouches for the type. Users compose with operators instead.
template <typename Op>
Expr make_expr(Type type, Op op) {
  return Expr(std::make_shared<ExprNode>(type, ExprNode::Op(std::move(op))));
}
/// A constant of `type` (integers wrap, floats round; lanes > 1 broadcasts). A double for an integer
/// type is truncated and saturates, NaN gives 0.
Expr make_const(Type type, std::int64_t value);
Expr make_const(Type type, std::uint64_t value);
Expr make_const(Type type, double value);
template <std::integral I>
Expr make_const(Type type, I value) {
  using Wide = std::conditional_t<std::signed_integral<I>, std::int64_t, std::uint64_t>;
  return make_const(type, static_cast<Wide>(value));
}
/// A scalar variable reference, i32 unless told.
Expr make_var(const std::string& name, Type type = Int(32));
/// What a launch knows of dimension `d` of an array (symbol_name, dsl/expr/names.h).
Expr make_symbol(const std::string& array, BufferField field, std::size_t d, Type type = Int(32));
/// The value of an integer constant (through Broadcast), as IntImm holds it, or null.
const std::int64_t* as_int(const Expr& e);
/// True if `e` is the integer constant `value`.
bool is_const(const Expr& e, std::int64_t value);

/// A named pure variable: the name of a Func's dimension and of the loop over it. Two Vars of one
/// name are the same variable (schedules are saved by name). A Var that was moved from keeps its name.
class Var {
 public:
  /// UserError for an empty name.
  explicit Var(std::string name, CallSite at = CallSite::current());
  /// Differs from every other Var. Its text is "v#" and a number that differs from run to run, "v" in
  /// loop nests: give a name to what a schedule file names.
  Var();
  Var(const Var&) = default;
  Var& operator=(const Var&) = default;
  [[nodiscard]] const std::string& name() const { return name_; }
  operator Expr() const { return make_expr(Int(32), VarRef{name_, unnamed_}); }  // NOLINT
  /// `a == b` is the language's comparison of their values, as for any Expr.
  [[nodiscard]] bool same_as(const Var& other) const { return name_ == other.name_; }

 private:
  std::string name_;
  std::shared_ptr<const void> unnamed_;
};

}  // namespace mica
