// Visits and rewrites that handle each shared node of an expression once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/expr/node_map.h"

namespace mica {

/// Calls `visit` once on every distinct node of `roots`, parents first, in the order first met.
void visit_nodes(const std::vector<Expr>& roots, const std::function<void(const Expr&)>& visit);

/// How many distinct operations `roots` have, conversions among them, but for those on i32, which are
/// taken for coordinates.
std::int64_t arithmetic_in(const std::vector<Expr>& roots);

/// Rebuilds expressions from the leaves: every node, its children already rebuilt, is replaced by
/// what `replace` gives for it, or kept when that is undefined. Shared nodes stay shared.
class NodeRewriter {
 public:
  explicit NodeRewriter(std::function<Expr(const Expr&)> replace) : replace_(std::move(replace)) {}
  Expr operator()(const Expr& e);

 private:
  std::function<Expr(const Expr&)> replace_;
  // Keyed by address for lookup only; the first Expr of a value keeps the node alive.
  NodeMap<std::pair<Expr, Expr>> done_;
};

/// `value` if it is of `type`; a literal converted to `type` when it can hold it (an integer exactly,
/// a float rounded); else undefined.
Expr match_type(const Expr& value, Type type);

/// Argument `i` (from 0) of an access of `callee` as an i32 coordinate; literals and narrower integers
/// convert. UserError for an undefined Expr or another type.
Expr coordinate(const std::string& callee, std::size_t i, const Expr& arg, const SourceLocation& where);

/// `e` as an i32 that is known when a run begins: of constants, Params and inputs' fields. UserErrors,
/// which start with `what` and end with `advice`: an undefined Expr, another type, a Var, an RVar, a
/// Func or the values of an input.
Expr launch_bound(const Expr& e, const std::string& what, const std::string& advice,
                  const SourceLocation& where);

/// `e` as a bool that is known when a run begins; the errors are those of launch_bound.
Expr launch_condition(const Expr& e, const std::string& what, const std::string& advice,
                      const SourceLocation& where);

/// "x", "y", "z", "w", "d4", "d5": the names of dimensions that the user gave no Vars for.
const std::vector<std::string>& default_dimension_names();

}  // namespace mica
