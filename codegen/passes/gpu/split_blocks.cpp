#include "codegen/passes/gpu/split_blocks.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

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

/// Of a march (unroll_marches) the loop over the turns that do not ask how many are left: the first.
const ir::For* main_loop(const ir::Stmt& s) {
  const ir::For* found = nullptr;
  ir::walk(
      s,
      [&](const ir::Stmt& child) {
        const auto* loop = child.as<ir::For>();
        if (found == nullptr && loop != nullptr && loop->kind == LoopKind::March) found = loop;
      },
      nullptr);
  return found;
}

/// Is it a march, with its first and last steps?
bool is_march(const ir::Stmt& s) {
  const auto is_loop = [](const ir::Stmt& child) {
    const auto* loop = child.as<ir::For>();
    return loop != nullptr && loop->kind == LoopKind::March;
  };
  const auto* block = s.as<ir::Block>();
  return block == nullptr ? is_loop(s) : std::any_of(block->stmts.begin(), block->stmts.end(), is_loop);
}

/// `s` with serial loops for marches, and `chosen` in the place of its loop `main`.
ir::Stmt without_marches(const ir::Stmt& s, const ir::For* main = nullptr, const ir::Stmt& chosen = {}) {
  const auto* loop = s.as<ir::For>();
  if (loop != nullptr && loop == main) return chosen;
  const ir::Stmt r = ir::map_children(
      s, [&](const ir::Stmt& child) { return without_marches(child, main, chosen); }, nullptr);
  if (loop == nullptr || loop->kind != LoopKind::March) return r;
  const auto& march = *r.as<ir::For>();
  return ir::make_stmt(
      ir::For{march.name, march.min, march.extent, LoopKind::Serial, march.body, march.rolled});
}

class Splitter {
 public:
  /// `frame`: the kernel's marches stand in a common frame; else only blocks without marches are split.
  /// `places`: the names by which a block knows its chunk of a march.
  Splitter(bool frame, std::set<std::string> places) : frame_(frame), places_(std::move(places)) {}

  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* let = s.as<ir::LetStmt>()) {
      analysis::push_let(ranges_, let->name, let->value);
      const ir::Stmt body = run(let->body);
      ranges_.pop();
      return body.same_as(let->body) ? s : ir::make_stmt(ir::LetStmt{let->name, let->value, body});
    }
    if (is_march(s)) return split(s);
    const auto* loop = s.as<ir::For>();
    const bool is_block = loop != nullptr && loop->kind == LoopKind::GpuBlock;
    if (!frame_ && !is_block && !blocks_.empty()) return split_threads(s);
    if (loop == nullptr) {
      return ir::map_children(
          s, [this](const ir::Stmt& child) { return run(child); }, nullptr);
    }
    analysis::push_loop(ranges_, loop->name, loop->min, loop->extent);
    if (loop->kind == LoopKind::GpuBlock) blocks_.insert(loop->name);
    const ir::Stmt body = run(loop->body);
    blocks_.erase(loop->name);
    ranges_.pop();
    if (body.same_as(loop->body)) return s;
    return ir::make_stmt(ir::For{loop->name, loop->min, loop->extent, loop->kind, body, loop->rolled});
  }

 private:
  /// The loops over blocks, and what stands for some.
  [[nodiscard]] std::set<std::string> variables() const {
    std::set<std::string> all = blocks_;
    all.insert(places_.begin(), places_.end());
    return all;
  }

  // Of a march, apart from the others, that of blocks which lie inside along the dimensions across it;
  // and of each, the turns of its main loop whose planes lie inside.
  [[nodiscard]] ir::Stmt split(const ir::Stmt& march) const {
    const ir::For& main = *main_loop(march);
    if (blocks_.empty() || size_of(main.body) > kLargestSplitMarch) {
      return without_marches(march);
    }
    // Turns whose number is a constant are not told apart.
    const auto* turns = main.extent.as<VarRef>();
    const bool is_short = turns != nullptr && size_of(main.body) <= kLargestSplitPlanes;
    const std::set<std::string> along = is_short ? blocks_along(main) : std::set<std::string>();
    std::set<std::string> across = variables();
    std::erase_if(across, [&](const std::string& block) { return along.count(block) > 0; });
    // `from` where blocks lie inside along the dimensions of `blocks`.
    const auto apart = [&](const std::set<std::string>& blocks, const ir::Stmt& from,
                           const std::set<std::string>& planes, const ir::Stmt& otherwise) {
      analysis::Interior interior = analysis::Interior::of_blocks(blocks, from, ranges_);
      const ir::Stmt inside = interior.run(from);
      return where(interior, with_planes_inside(inside, planes), otherwise);
    };
    // Where no point is more than a period outside, remainders are choices.
    analysis::Interior near = analysis::Interior::within_a_period(variables(), march, ranges_);
    const ir::Stmt chosen = near.run(march);
    ir::Stmt result = with_planes_inside(chosen, along);
    if (is_short && !across.empty()) result = apart(across, chosen, along, result);
    if (!near.inequalities().empty()) result = where(near, result, without_marches(march));
    // In two dimensions chunks have many first steps, which without tests are worth another copy.
    if (!is_short || (blocks_.size() == 2 && !along.empty()))
      result = apart(variables(), march, {}, result);
    return result;
  }

  // The loops over blocks that say which planes a march's `main` loop walks.
  [[nodiscard]] std::set<std::string> blocks_along(const ir::For& main) const {
    const ir::Stmt loop = ir::make_stmt(main);
    const std::set<std::string> blocks = variables();
    analysis::Interior planes = analysis::Interior::of_blocks(blocks, loop, ranges_);
    planes.run(loop);
    std::set<std::string> along;
    for (analysis::Inequality holds : planes.inequalities()) {
      if (holds.rest.take(main.extent.as<VarRef>()->name) >= 0) continue;
      for (const auto& term : holds.rest.terms) {
        const auto* var = term.first.as<VarRef>();
        if (var != nullptr && blocks.count(var->name) > 0) along.insert(var->name);
      }
    }
    return along;
  }

  // In the turns of the main loop of `march` whose planes lie inside nothing asks whether they do.
  [[nodiscard]] ir::Stmt with_planes_inside(const ir::Stmt& march,
                                            const std::set<std::string>& along) const {
    if (along.empty()) return without_marches(march);
    const ir::For& main = *main_loop(march);
    const std::string& turns = main.extent.as<VarRef>()->name;
    const ir::Stmt loop = ir::make_stmt(main);
    analysis::Interior planes = analysis::Interior::of_blocks(along, loop, ranges_);
    const ir::Stmt inside = planes.run(loop);
    if (planes.inequalities().empty()) return without_marches(march);
    const Expr none = make_const(Int(64), 0);
    Expr count = cast(Int(64), main.extent);
    for (analysis::Inequality holds : planes.inequalities()) {
      const std::int64_t each = -holds.rest.take(turns);
      const Expr rest = analysis::to_wide_expr(holds.rest);
      count =
          each > 0 ? min(count, rest / make_const(Int(64), each)) : select(rest >= none, count, none);
    }
    const Expr first = make_var(main.name + ".inside");
    const auto part = [&](const Expr& from, const Expr& extent, const ir::Stmt& body) {
      return ir::make_stmt(ir::For{main.name, from, extent, LoopKind::Serial, body, main.rolled});
    };
    const ir::Stmt both = ir::make_block({part(main.min, first, simplify(inside.as<ir::For>()->body)),
                                          part(first, main.extent - first, main.body)});
    return without_marches(march, &main,
                           ir::make_stmt(ir::LetStmt{main.name + ".inside",
                                                     simplify(cast(Int(32), max(count, none))), both}));
  }

  // Blocks that lie inside; those of which no point is more than a period outside, where remainders are
  // choices; and what is left, which few launches have any of.
  [[nodiscard]] ir::Stmt split_threads(const ir::Stmt& work) const {
    const std::size_t bends = is_staged(work) ? 0 : bends_of(work);
    if (bends == 0 || size_of(work) > kLargestSplitMarch) return work;
    analysis::Interior near = analysis::Interior::within_a_period(variables(), work, ranges_);
    const ir::Stmt chosen = near.run(work);
    const ir::Stmt result =
        near.inequalities().empty() ? work : where(near, rolled(chosen, false), rolled(work, true));
    analysis::Interior interior = analysis::Interior::of_blocks(variables(), work, ranges_);
    const ir::Stmt inside = interior.run(work);
    return bends_of(inside) < bends ? where(interior, inside, result) : result;
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
  std::set<std::string> places_;
  std::set<std::string> blocks_;  // loops over blocks around
  analysis::Ranges ranges_;
};

}  // namespace

void split_blocks(Program& program) {
  for (auto& nest : program.nests) {
    const planning::KernelPlan* plan = plan_of(program, nest);
    if (!nest.on_device) continue;
    std::set<std::string> places;
    if (plan != nullptr) {
      for (const auto& place : plan->frame.vars.places()) places.insert(place.name);
    }
    const bool frame = plan != nullptr && plan->frame.common.has_value();
    nest.body = Splitter(frame, std::move(places)).run(nest.body);
  }
}

}  // namespace mica::passes
