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

std::size_t size_of(const ir::Stmt& s) {
  std::size_t nodes = 0;
  ir::walk(s, nullptr, [&](const Expr&) { ++nodes; });
  return nodes;
}

/// Operations by which an index keeps to a box: each counts as often as it is written.
std::size_t bends_of(const ir::Stmt& s) {
  std::size_t bends = 0;
  ir::walk(s, nullptr, [&](const Expr& e) {
    const auto* op = e.as<Binary>();
    const bool bend =
        op != nullptr && (op->op == BinaryOp::Mod || op->op == BinaryOp::Min || op->op == BinaryOp::Max);
    bends += bend && e.type() == Int(32) ? 1 : 0;
  });
  return bends;
}

/// Planes that a block walks, or arrays of its own.
bool is_staged(const ir::Stmt& s) {
  bool staged = false;
  ir::walk(
      s,
      [&](const ir::Stmt& child) {
        const auto* loop = child.as<ir::For>();
        staged = staged || child.as<ir::Allocate>() != nullptr ||
                 (loop != nullptr && loop->kind == LoopKind::March);
      },
      nullptr);
  return staged;
}

/// The same with loops in the place of what is written out, and of vectors if `vectors`: little code and
/// few registers, since those of a kernel are those of its greediest part.
ir::Stmt rolled(const ir::Stmt& s, bool vectors) {
  const ir::Stmt r = ir::map_children(
      s, [&](const ir::Stmt& child) { return rolled(child, vectors); }, nullptr);
  const auto* loop = r.as<ir::For>();
  const bool rolls = loop != nullptr && (loop->kind == LoopKind::Unrolled ||
                                         (vectors && loop->kind == LoopKind::Vectorized));
  if (!rolls) return r;
  return ir::make_stmt(ir::For{loop->name, loop->min, loop->extent, LoopKind::Serial, loop->body, true});
}

class Splitter {
 public:
  /// `frame`: the kernel's marches stand in a common frame; else only blocks without marches are split.
  explicit Splitter(bool frame) : frame_(frame) {}

  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* let = s.as<ir::LetStmt>()) {
      analysis::push_let(ranges_, let->name, let->value);
      const ir::Stmt body = run(let->body);
      ranges_.pop();
      return body.same_as(let->body) ? s : ir::make_stmt(ir::LetStmt{let->name, let->value, body});
    }
    const auto* loop = s.as<ir::For>();
    const bool is_block = loop != nullptr && loop->kind == LoopKind::GpuBlock;
    if (!frame_ && !is_block && !blocks_.empty()) return split_threads(s);
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
    const std::size_t nodes = size_of(march);
    if (blocks_.empty() || nodes > kLargestSplitMarch) return march;
    ir::Stmt result = near(march);
    const bool edges = blocks_.size() == 2 && nodes <= kLargestSplitEdges;
    for (const std::string& edge : edges ? blocks_ : std::set<std::string>()) {
      std::set<std::string> others = blocks_;
      others.erase(edge);
      result = apart(march, others, result);
    }
    return apart(march, blocks_, result);
  }

  // `march`, and apart from it that of blocks of which no point is more than a period outside:
  // remainders are choices there.
  [[nodiscard]] ir::Stmt near(const ir::Stmt& march) const {
    analysis::Interior near = analysis::Interior::within_a_period(blocks_, march, ranges_);
    const ir::Stmt chosen = near.run(march);
    return where(near, chosen, march);
  }

  // Blocks that lie inside; those of which no point is more than a period outside, where remainders are
  // choices; and what is left, which few launches have any of.
  [[nodiscard]] ir::Stmt split_threads(const ir::Stmt& work) const {
    const std::size_t bends = is_staged(work) ? 0 : bends_of(work);
    if (bends == 0 || size_of(work) > kLargestSplitMarch) return work;
    analysis::Interior near = analysis::Interior::within_a_period(blocks_, work, ranges_);
    const ir::Stmt chosen = near.run(work);
    const ir::Stmt result =
        near.inequalities().empty() ? work : where(near, rolled(chosen, false), rolled(work, true));
    analysis::Interior interior = analysis::Interior::of_blocks(blocks_, work, ranges_);
    const ir::Stmt inside = interior.run(work);
    return bends_of(inside) < bends ? where(interior, inside, result) : result;
  }

  // `march` where blocks lie inside along the dimensions of `blocks`, `otherwise` elsewhere.
  [[nodiscard]] ir::Stmt apart(const ir::Stmt& march, const std::set<std::string>& blocks,
                               const ir::Stmt& otherwise) const {
    analysis::Interior interior = analysis::Interior::of_blocks(blocks, march, ranges_);
    const ir::Stmt inside = interior.run(march);
    return where(interior, inside, otherwise);
  }

  // `inside` where what `interior` takes for granted holds.
  static ir::Stmt where(const analysis::Interior& interior, const ir::Stmt& inside,
                        const ir::Stmt& otherwise) {
    Expr condition;
    for (const analysis::Inequality& holds : interior.inequalities()) {
      const Expr one = analysis::to_wide_expr(holds.rest) >= make_const(Int(64), 0);
      condition = condition.defined() ? condition && one : one;
    }
    if (!condition.defined()) return otherwise;
    return ir::make_stmt(ir::If{simplify(condition), simplify(inside), otherwise});
  }

  bool frame_;
  std::set<std::string> blocks_;  // loops over blocks around
  analysis::Ranges ranges_;
};

}  // namespace

void split_blocks(Program& program) {
  for (auto& nest : program.nests) {
    const planning::KernelPlan* plan = plan_of(program, nest);
    if (!nest.on_device) continue;
    nest.body = Splitter(plan != nullptr && plan->frame.common.has_value()).run(nest.body);
  }
}

}  // namespace mica::passes
