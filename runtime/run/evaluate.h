// Scalar expressions of a launch plan (extents, grids, conditions, kernel arguments), evaluated on
// the host. Values follow dsl/expr/expr.h, and a symbol keeps the 64-bit value it was given. Integer
// operations of 32 and 64 bits either wrap to their type, or are exact, so that a plan's conditions see
// which values leave 32 bits: 64 bits wide, and at the ends of 64 bits they stay there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/expr.h"

namespace mica {

/// A value: `f` of a floating-point type, `i` of any other (bool is 0 or 1, unsigned zero-extended).
union HostValue {
  std::int64_t i;
  double f;
};

/// A value's bytes as a kernel argument of `type`, in the low end; and the inverse.
std::uint64_t pack_value(HostValue value, Type type);
HostValue unpack_value(std::uint64_t bits, Type type);
/// pack_value after conversion from one type to another.
std::uint64_t convert_and_pack(HostValue value, Type from, Type to);
/// "12", "true", "0.5".
std::string print_value(HostValue value, Type type);

/// Names of the scalars that expressions may use, numbered in the order they were added.
class SymbolTable {
 public:
  /// The number of a new symbol; InternalError if the name is taken.
  int add(const std::string& name, Type type);
  /// -1 if there is none.
  [[nodiscard]] int find(const std::string& name) const;
  [[nodiscard]] Type type(int slot) const { return types_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] int size() const { return static_cast<int>(types_.size()); }

 private:
  std::map<std::string, int> slots_;
  std::vector<Type> types_;
};

/// One expression as a postfix program over numbered symbols.
///
/// Requires: scalar types; nodes IntImm FloatImm VarRef Cast Unary Binary Compare Select Fma Strict
/// Print Let Reinterpret; no Exp, Log, Sin, Cos, Tanh, Pow, Atan2 or Fmod, whose bits only kernels
/// define; symbols of the table's kind (integer or float). InternalError names what is not so.
class HostProgram {
 public:
  enum class Op : std::uint8_t {
    Constant,
    Symbol,
    Local,
    SetLocal,
    Unary,
    Binary,
    Compare,
    Select,
    Fma,
    Cast,
    Reinterpret
  };
  /// Takes its operands off the stack, the last one from its top, and puts its result on it.
  struct Step {
    Op op;
    std::uint8_t sub = 0;  ///< the UnaryOp, BinaryOp or CompareOp
    Type type;             ///< of the result
    Type from;             ///< of the operands, where it differs
    int slot = 0;          ///< of the Symbol or local
    HostValue value{};     ///< of the Constant
    Integers integers = Integers::Wrap;
    /// Does it compute on unbounded integers?
    [[nodiscard]] bool is_exact() const { return integers == Integers::Exact && type.is_index(); }
  };

  HostProgram() = default;
  /// With Integers::Exact the dividends of remainders, and what becomes a u32, a u64 or a narrower
  /// integer, wrap all the same: they are no coordinates.
  HostProgram(const Expr& e, const SymbolTable& symbols, Integers integers = Integers::Wrap);

  [[nodiscard]] bool defined() const { return !code_.empty(); }
  [[nodiscard]] Type type() const { return type_; }
  /// `symbols[k]` is the value of the table's symbol k.
  [[nodiscard]] HostValue run(const HostValue* symbols) const;
  /// Numbers of the symbols that the expression uses, ascending.
  [[nodiscard]] const std::vector<int>& uses() const { return uses_; }
  /// What run() does, for those who make machine code of it.
  [[nodiscard]] const std::vector<Step>& steps() const { return code_; }

 private:
  friend class HostProgramBuilder;
  std::vector<Step> code_;
  std::vector<int> uses_;
  Type type_;
  std::size_t depth_ = 0;  // of the operand stack
  std::size_t locals_ = 0;
};

/// The value of an integer or bool expression over integer symbols.
std::int64_t evaluate_int(const Expr& e, const std::map<std::string, std::int64_t>& symbols = {},
                          Integers integers = Integers::Wrap);

}  // namespace mica
