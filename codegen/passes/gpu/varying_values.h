// What the threads of a warp may see different values of. A part of exchange_taps.
#pragma once

#include <set>
#include <string>

#include "codegen/ir/stmt.h"

namespace mica::passes {

class VaryingValues {
 public:
  /// `thread`: the name by which a thread knows its place in the warp.
  explicit VaryingValues(const std::string& thread) : names_{thread} {}
  /// Memory may hold another value for each of them.
  [[nodiscard]] bool has(const Expr& e) const;
  /// Inside of `let` its name varies if its value does.
  void enter(const ir::LetStmt& let);

 private:
  std::set<std::string> names_;
};

}  // namespace mica::passes
