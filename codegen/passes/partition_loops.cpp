#include "codegen/passes/partition_loops.h"

#include "codegen/ir/traverse.h"
#include "codegen/passes/simplify.h"
#include "dsl/operators.h"
#include "dsl/traverse.h"

namespace mica::passes {
namespace {

// The number of iterations v = 0, 1, ... for which `condition` holds, when it is of the form
// k*v + c <= 0 with k > 0.
std::optional<Expr> leading_iterations(const Expr& condition, const std::string& v) {
  const auto* op = condition.as<Compare>();
  if (!op || !op->a.type().is_int()) return std::nullopt;
  analysis::Linear form = analysis::linearize(op->a);
  form.add(analysis::linearize(op->b), -1);
  if (op->op == CompareOp::Lt)
    form.constant += 1;
  else if (op->op != CompareOp::Le)
    return std::nullopt;
  std::int64_t k = form.take(v);
  if (k <= 0) return std::nullopt;
  for (const auto& term : form.terms) {
    if (uses_var(term.first, v)) return std::nullopt;
  }
  return simplify(analysis::to_expr(form.scaled(-1)) / make_const(Int(32), k) + 1);
}

ir::Stmt run(const ir::Stmt& s) {
  ir::Stmt r = ir::map_children(
      s, [](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
  const auto* loop = r.as<ir::For>();
  if (!loop || loop->kind != LoopKind::Serial || !is_const(loop->min, 0)) return r;
  const auto* branch = loop->body.as<ir::If>();
  if (!branch) return r;
  auto count = leading_iterations(branch->condition, loop->name);
  if (!count) return r;
  const std::string split = loop->name + ".whole";
  Expr whole = simplify(max(0, min(*count, loop->extent)));
  Expr at = make_var(split);
  std::vector<ir::Stmt> halves;
  halves.push_back(ir::make_stmt(
      ir::For{loop->name, make_const(Int(32), std::int64_t{0}), at, loop->kind, branch->then_case}));
  if (branch->else_case.defined()) {
    halves.push_back(ir::make_stmt(
        ir::For{loop->name, at, simplify(loop->extent - at), loop->kind, branch->else_case}));
  }
  return ir::make_stmt(ir::LetStmt{split, whole, ir::make_block(std::move(halves))});
}

}  // namespace

void partition_loops(Program& program) {
  for (auto& nest : program.nests) {
    if (!nest.on_device) nest.body = run(nest.body);
  }
}

}  // namespace mica::passes
