// substitute (dsl/expr/traverse.h) of several expressions that share their parts.
#pragma once

#include <string>

#include "dsl/expr/traverse.h"

namespace mica {

/// Replaces free VarRefs for which `lookup` gives a defined Expr. What expressions share is rewritten
/// once and stays shared, so `lookup`, which must outlive this, has to go on giving the same.
class Substitution {
 public:
  explicit Substitution(FunctionRef<Expr(const std::string&)> lookup) : lookup_(lookup) {}
  Expr operator()(const Expr& e);

 private:
  Expr of_let(const Expr& e, const Let& let);

  FunctionRef<Expr(const std::string&)> lookup_;
  RewriteMemo memo_;
};

}  // namespace mica
