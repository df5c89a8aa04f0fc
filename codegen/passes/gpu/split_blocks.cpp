#include "codegen/passes/gpu/split_blocks.h"

#include <set>
#include <string>

#include "codegen/analysis/interiors.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

class Splitter {
 public:
  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* let = s.as<ir::LetStmt>()) {
      analysis::push_let(ranges_, let->name, let->value);
      const ir::Stmt body = run(let->body);
      ranges_.pop();
      return body.same_as(let->body) ? s : ir::make_stmt(ir::LetStmt{let->name, let->value, body});
    }
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) {
      return ir::map_children(
          s, [this](const ir::Stmt& child) { return run(child); }, nullptr);
    }
    if (loop->kind == LoopKind::March) return split(s);
    analysis::push_loop(ranges_, loop->name, loop->min, loop->extent);
    if (loop->kind == LoopKind::GpuBlock) blocks_.insert(loop->name);
    const ir::Stmt body = run(loop->body);
    blocks_.erase(loop->name);
    ranges_.pop();
    if (body.same_as(loop->body)) return s;
    return ir::make_stmt(ir::For{loop->name, loop->min, loop->extent, loop->kind, body, loop->rolled});
  }

 private:
  // Blocks that lie inside along every dimension; of two dimensions, then those that do along one: they
  // are most of the others. With three the code of five marches costs more than it saves.
  ir::Stmt split(const ir::Stmt& march) const {
    std::size_t nodes = 0;
    ir::walk(march, nullptr, [&](const Expr&) { ++nodes; });
    if (blocks_.empty() || nodes > kLargestSplitMarch) return march;
    ir::Stmt result = march;
    const bool edges = blocks_.size() == 2 && nodes <= kLargestSplitEdges;
    for (const std::string& edge : edges ? blocks_ : std::set<std::string>()) {
      std::set<std::string> others = blocks_;
      others.erase(edge);
      result = apart(march, others, result);
    }
    return apart(march, blocks_, result);
  }

  // `march` where blocks lie inside along the dimensions of `blocks`, `otherwise` elsewhere.
  [[nodiscard]] ir::Stmt apart(const ir::Stmt& march, const std::set<std::string>& blocks,
                               const ir::Stmt& otherwise) const {
    analysis::Interior interior = analysis::Interior::of_blocks(blocks, march, ranges_);
    const ir::Stmt inside = interior.run(march);
    Expr condition;
    for (const analysis::Inequality& holds : interior.inequalities()) {
      const Expr one = analysis::to_wide_expr(holds.rest) >= make_const(Int(64), 0);
      condition = condition.defined() ? condition && one : one;
    }
    if (!condition.defined()) return otherwise;
    return ir::make_stmt(ir::If{simplify(condition), simplify(inside), otherwise});
  }

  std::set<std::string> blocks_;  // loops over blocks around
  analysis::Ranges ranges_;
};

}  // namespace

void split_blocks(Program& program) {
  for (auto& nest : program.nests) {
    const planning::KernelPlan* plan = plan_of(program, nest);
    if (!nest.on_device || plan == nullptr || !plan->frame.common) continue;
    nest.body = Splitter().run(nest.body);
  }
}

}  // namespace mica::passes
