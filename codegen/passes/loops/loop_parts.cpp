#include "codegen/passes/loops/loop_parts.h"

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/operators.h"

namespace mica::passes {
namespace {

using analysis::Inequality;

/// The largest or the smallest of them all, as a tree: LLVM's time grows with the depth.
Expr extreme(BinaryOp op, std::vector<Expr> of) {
  for (; of.size() > 1; of.resize((of.size() + 1) / 2)) {
    const std::size_t half = of.size() / 2, left = of.size() - half;
    for (std::size_t i = 0; i < half; ++i) {
      of[i] = op == BinaryOp::Max ? max(of[i], of[left + i]) : min(of[i], of[left + i]);
    }
  }
  return of.front();
}

}  // namespace

std::size_t size_of(const ir::Stmt& s) {
  std::size_t nodes = 0;
  ir::walk(s, nullptr, [&](const Expr&) { ++nodes; });
  return nodes;
}

Expr wide(const Expr& e) { return cast(Int(64), e); }
Expr wide(std::int64_t value) { return make_const(Int(64), value); }
Expr wide(const analysis::Linear& form) { return analysis::to_wide_expr(form); }

ir::Stmt let(const std::string& name, const Expr& value, const ir::Stmt& body) {
  return ir::make_stmt(ir::LetStmt{name, value, body});
}

std::pair<Expr, Expr> range_where(const std::vector<Inequality>& inequalities, const Expr& begin,
                                  const Expr& last, const Expr& none) {
  std::vector<Expr> low{begin}, high{last}, still;
  for (const auto& [factor, rest] : inequalities) {
    if (factor > 0) low.push_back((wide(factor - 1) - wide(rest)) / wide(factor));
    if (factor < 0) high.push_back(wide(rest) / wide(-factor));
    if (factor == 0) still.push_back(wide(rest));
  }
  const Expr end = extreme(BinaryOp::Min, high);
  return {extreme(BinaryOp::Max, low),
          still.empty() ? end : select(extreme(BinaryOp::Min, still) >= wide(0), end, none)};
}

std::pair<Expr, Expr> ends_of(const ir::For& loop, const std::vector<Inequality>& inequalities) {
  const Expr begin = wide(loop.min), end = wide(loop.min) + wide(loop.extent);
  const auto [from, to] = range_where(inequalities, begin, end - wide(1), begin - wide(1));
  const Expr first = min(from, end);
  return {cast(Int(32), first), cast(Int(32), max(to + wide(1), first))};
}

std::string first_of(const ir::For& loop) { return loop.name + ".inside"; }
std::string last_of(const ir::For& loop) { return loop.name + ".outside"; }
ir::Stmt let_ends(const ir::For& loop, const std::pair<Expr, Expr>& ends, const ir::Stmt& body) {
  return let(first_of(loop), ends.first, let(last_of(loop), ends.second, body));
}

ir::Stmt part(const ir::For& loop, const Expr& from, const Expr& to, const ir::Stmt& body) {
  return ir::make_stmt(ir::For{loop.name, from, simplify(to - from), loop.kind, body, loop.rolled});
}

ir::Stmt in_parts(const ir::For& loop, const ir::Stmt& inside, const Expr& stop, Edges edges,
                  const std::function<ir::Stmt(const Expr& left)>& edge) {
  const Expr begin = make_var(first_of(loop)), end = make_var(last_of(loop));
  const ir::Stmt interior = part(loop, begin, end, inside);
  if (edges != Edges::Shared) {
    const ir::Stmt at_left = part(loop, loop.min, begin, edge(make_const(Bool(), 1)));
    const ir::Stmt at_right = part(loop, end, stop, edge(make_const(Bool(), 0)));
    return edges == Edges::LeftLast ? ir::make_block({interior, at_right, at_left})
                                    : ir::make_block({at_left, interior, at_right});
  }
  const std::string name = loop.name + ".part";
  const Expr left = make_var(name) == 0, is_interior = make_var(name) == 1;
  const ir::Stmt beside = part(loop, select(left, loop.min, end), select(left, begin, stop), edge(left));
  return ir::make_stmt(ir::For{name, Expr(0), Expr(3), LoopKind::Serial,
                               ir::make_stmt(ir::If{is_interior, interior, beside})});
}

}  // namespace mica::passes
