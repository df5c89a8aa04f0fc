// The part of verify (codegen/ir/verify.h) that looks at expressions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/verify.h"

namespace mica::ir {

/// What is visible at one place of the code.
struct Scope {
  struct Name {
    std::optional<Type> type;  ///< none: any integer type
    bool divergent = false;    ///< differs between the threads of a block
  };
  /// Bindings of each name, innermost last.
  std::map<std::string, std::vector<Name>> names;
  std::map<std::string, Environment::BufferInfo> buffers;
  /// The code of one GPU thread.
  bool axes_mapped = false;
  /// Buffers of which each thread has its own.
  std::set<std::string> thread_private;

  [[nodiscard]] const Name* find(const std::string& name) const;
  /// May `e` have different values in the threads of one block?
  [[nodiscard]] bool divergent(const Expr& e) const;
};

/// Appends the violations of the invariants of `level` in `e` and the expressions inside it.
void verify_expr(const Expr& e, Level level, Scope& scope, std::vector<std::string>& found);
/// Checks buffer, indices and alignment of a load or store of a value of type `type`.
void verify_indices(const std::string& buffer, const std::vector<Expr>& index, int alignment, Type type,
                    Level level, const Scope& scope, std::vector<std::string>& found);

}  // namespace mica::ir
