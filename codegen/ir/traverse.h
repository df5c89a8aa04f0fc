// Walking and rebuilding statements. The functions for the expressions inside are in
// dsl/expr/traverse.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/ir/stmt.h"
#include "dsl/expr/traverse.h"

namespace mica::ir {

using VisitStmt = std::function<void(const Stmt&)>;
using VisitExpr = std::function<void(const Expr&)>;
using RewriteStmt = std::function<Stmt(const Stmt&)>;
using RewriteExpr = std::function<Expr(const Expr&)>;

/// Calls `on_stmt` on each direct child statement of `s` and `on_expr` on each expression that `s`
/// itself holds (not on expressions inside expressions), in evaluation order. Undefined children
/// are passed over. Either function may be null.
void for_each_child(const Stmt& s, const VisitStmt& on_stmt, const VisitExpr& on_expr);

/// `s` with direct child statements and own expressions replaced; `s` itself when none changed.
/// A null function keeps that kind of child. A rewrite to the undefined Stmt removes the child: it
/// leaves its Block or else_case; a For, LetStmt, Allocate or Produce without body (but not the mark
/// of a plane), an If without cases and a Block without statements become undefined.
Stmt map_children(const Stmt& s, const RewriteStmt& on_stmt, const RewriteExpr& on_expr);

/// Calls `on_stmt` on every statement of `s` and `on_expr` on every node of every expression in it,
/// parents before children. Either function may be null. An undefined `s` has no nodes.
void walk(const Stmt& s, const VisitStmt& on_stmt, const VisitExpr& on_expr);

/// Every expression held by a statement of `s` (For bounds, indices, values, ...) replaced by
/// `rewrite(expression)`; `s` itself when none changed.
Stmt map_exprs(const Stmt& s, const RewriteExpr& rewrite);

/// Replaces free VarRefs named `name`; For and LetStmt that bind `name` again hide it in their body.
/// Requires that no statement of `s` binds a name that `value` uses.
Stmt substitute(const Stmt& s, const std::string& name, const Expr& value);
/// Replaces every VarRef, bound or free, for which `lookup` gives a defined Expr. Meant for symbols
/// that nothing binds; names that For and LetStmt bind are renamed by map_children.
Stmt substitute(const Stmt& s, const std::function<Expr(const std::string&)>& lookup);

/// True if a free VarRef `name` occurs in `s`.
bool uses_var(const Stmt& s, const std::string& name);
/// What a statement itself does with one array.
struct ArrayUse {
  enum class Kind : std::uint8_t { Read, Write, Synchronize };
  const std::string& array;
  Kind kind;
};
/// The arrays that `s` itself reads, writes or waits at, its children and the Loads inside its
/// expressions left out. The names live as long as `s`.
std::vector<ArrayUse> array_uses(const Stmt& s);
/// True if `s` loads from, stores to, copies from or to, or waits at `buffer`.
bool uses_buffer(const Stmt& s, const std::string& buffer);
/// True if `e` loads from `buffer`.
bool loads_from(const Expr& e, const std::string& buffer);

}  // namespace mica::ir
