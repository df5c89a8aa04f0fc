// Expressions compiled once for the oracle: a list of steps in evaluation order, a shared
// sub-expression once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsl/expr/expr.h"
#include "fuzz/oracle_ops.h"
#include "runtime/buffer/buffer.h"

namespace mica::test {

using Point = std::array<std::int64_t, kMaxDimensions>;

/// What the steps of a tape see: results of earlier steps and the values of the tape's variables.
struct TapeFrame {
  const Value* slots = nullptr;
  const std::int64_t* variables = nullptr;
};

/// How a tape reaches the world around an expression.
struct TapeEnvironment {
  /// Position of a variable of the definition in TapeFrame::variables, or -1.
  std::function<int(const std::string& name)> variable;
  /// Value of a name that stays the same during a run: a Param, "u.min.0", ...
  std::function<Value(const std::string& name, Type type)> symbol;
  /// A reader of the accessed Func or input at a point.
  std::function<std::function<Value(const Point&)>(const Access& access, Type type)> access;
};

/// Values of several expressions at once.
class Tape {
 public:
  Tape() = default;
  Tape(const std::vector<Expr>& results, const TapeEnvironment& environment);
  /// The results in the order of the constructor.
  void evaluate(const std::int64_t* variables, std::vector<Value>& results) const;

 private:
  using Step = std::function<Value(const TapeFrame&)>;
  std::vector<Step> steps_;
  std::vector<std::size_t> results_;
};

}  // namespace mica::test
