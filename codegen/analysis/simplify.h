// simplify: folds constants and puts integer index arithmetic into linear normal form.
//
//   (x.block*32 + x.thread) + 1 - 1      ->  x.block*32 + x.thread
//   (x.block*32 + x.thread)/32           ->  x.block                 x.thread in [0, 31]
//   select(true, a, b), min(x, x + 3)    ->  a, x
//   if (0 < 1) s                         ->  s
//
// Floating-point arithmetic is never touched: its order and rounding belong to the algorithm. Integers
// wrap: what holds for unbounded integers only is applied where codegen/analysis/value_ranges.h proves
// that nothing wraps. Requires nothing. Ensures: same values, and simplify(simplify(e)) == simplify(e).
#pragma once

#include <memory>

#include "codegen/analysis/value_ranges.h"
#include "codegen/ir/stmt.h"
#include "codegen/passes/loops/index_constants.h"

namespace mica::passes {

/// A coordinate, bound or extent, or a condition on some (Integers::Exact). `ranges` tells what is known
/// about free variables.
Expr simplify(const Expr& e, const analysis::Ranges& ranges);
Expr simplify(const Expr& e);
/// simplify of many expressions that are made of one another: what it has met or made is not looked at
/// again, so that a chain of them takes time in proportion to its length.
class SharedSimplifier {
 public:
  SharedSimplifier();
  ~SharedSimplifier();
  SharedSimplifier(const SharedSimplifier&) = delete;
  SharedSimplifier& operator=(const SharedSimplifier&) = delete;
  Expr operator()(const Expr& e);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
/// A value as code computes it (Integers::Wrap).
Expr simplify_value(const Expr& e, const analysis::Ranges& ranges);
Expr simplify_value(const Expr& e);
/// True or false when `condition`, on coordinates, is decided by `ranges`, else neither.
std::optional<bool> decide(const Expr& condition, const analysis::Ranges& ranges);
/// Simplifies all expressions: indices as coordinates, anything else as values. Loops give their
/// variable's range. Loops of extent 1 become lets of their variable, loops of extent 0 disappear.
ir::Stmt simplify(const ir::Stmt& stmt);

}  // namespace mica::passes
