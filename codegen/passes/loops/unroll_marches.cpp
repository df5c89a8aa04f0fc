#include "codegen/passes/loops/unroll_marches.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

class Unroller {
 public:
  /// `plan`: of the nest; null on the host where nothing marches.
  Unroller(bool on_device, const planning::KernelPlan* plan) : on_device_(on_device), plan_(plan) {}

  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* alloc = s.as<ir::Allocate>()) {
      const auto saved = std::pair(must_, may_);
      const bool registers = alloc->memory == MemoryType::Register && alloc->per_thread;
      const planning::Stage* stage = plan_ != nullptr ? plan_->find(alloc->stage) : nullptr;
      const bool several_planes =
          stage != nullptr && stage->step && stage->step->oldest_lag > stage->step->newest_lag;
      for (const auto fold : alloc->folds) {
        if (fold == 0 || !on_device_) continue;
        if (registers) must_.push_back(fold);
        if (!registers && several_planes) may_.push_back(fold);
      }
      ir::Allocate copy = *alloc;
      copy.body = run(alloc->body);
      std::tie(must_, may_) = saved;
      return ir::make_stmt(std::move(copy));
    }
    const auto* loop = s.as<ir::For>();
    if (loop && loop->kind == LoopKind::March) return unrolled(*loop);
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
  }

 private:
  // Steps to write out: a common period of all rings in registers, and of the others where it and the
  // code of all steps stay short and the loop is not to stay one.
  [[nodiscard]] std::int64_t period(std::int64_t loads, bool rolled) const {
    constexpr std::int64_t kMostSteps = 12;
    std::int64_t period = 1;
    for (const auto fold : must_) period = std::lcm(period, fold);
    if (rolled) return period;
    for (const auto fold : may_) {
      const auto longer = std::lcm(period, fold);
      if (longer <= kMostSteps && longer * loads <= kMostLoads) period = longer;
    }
    return period;
  }

  /// Loads that stand in the code of `s` once its unrolled loops are written out; of equal expressions
  /// of one loop one.
  static std::int64_t loads_of(const ir::Stmt& s) {
    std::int64_t loads = 0;
    std::vector<Expr> values;
    const std::function<void(const ir::Stmt&)> look = [&](const ir::Stmt& at) {
      const auto* loop = at.as<ir::For>();
      const bool unrolls = loop != nullptr && loop->kind == LoopKind::Unrolled;
      if (const auto* times = unrolls ? as_int(loop->extent) : nullptr) {
        loads += *times * loads_of(loop->body);
      } else {
        ir::for_each_child(at, look, [&](const Expr& e) { values.push_back(e); });
      }
    };
    look(s);
    visit_nodes(values, [&](const Expr& e) { loads += e.as<Load>() != nullptr ? 1 : 0; });
    return loads;
  }

  ir::Stmt unrolled(const ir::For& loop) const {
    const std::int64_t loads = on_device_ ? loads_of(loop.body) : 0;
    const std::int64_t steps_a_turn = period(loads, loop.rolled);
    const auto* min = as_int(loop.min);
    internal_check(min && *min <= 0, "a march starts at a constant step");
    const Expr planes = simplify(loop.extent + constant(*min));
    const Expr step = make_var(loop.name);
    std::int64_t beyond = 0;
    const ir::Stmt undisturbed = always(loop.body, step, planes, std::nullopt, &beyond);
    const bool overlaps = on_device_ && plan_ != nullptr && plan_->frame.common.has_value();
    // In one loop where they are more code than it is worth to save what changes from step to step.
    const bool at_once = steps_a_turn == 1 && must_.empty() && *min < -1 && -*min * loads > kMostLoads;
    std::vector<ir::Stmt> stmts = first_steps(
        loop, *min, at_once || (overlaps && is_one_warp()) ? steps_a_turn : 0, at_once, planes);
    if (steps_a_turn == 1 && beyond == 0) {
      stmts.push_back(
          ir::make_stmt(ir::For{loop.name, constant(0), planes, LoopKind::Serial, loop.body}));
      return ir::make_block(std::move(stmts));
    }
    const std::string turn = loop.name + ".turn", left = loop.name + ".left";
    const std::string whole = loop.name + ".whole";
    const auto at = [&](const std::string& of, std::int64_t k) {
      return make_var(of) * constant(steps_a_turn) + constant(k);
    };
    std::vector<ir::Stmt> steps;
    for (std::int64_t k = 0; k < steps_a_turn; ++k) {
      steps.push_back(ir::substitute(undisturbed, loop.name, at(turn, k)));
    }
    const LoopKind kind = overlaps ? LoopKind::March : LoopKind::Serial;  // for split_blocks
    stmts.push_back(ir::make_stmt(
        ir::For{turn, constant(0), make_var(whole), kind, ir::make_block(std::move(steps))}));
    // Fewer than steps_a_turn + beyond steps are left.
    const std::int64_t most_left = steps_a_turn - 1 + beyond;
    ir::Stmt rest;
    for (std::int64_t k = std::min(steps_a_turn, most_left); k-- > 0;) {
      const ir::Stmt last =
          ir::substitute(never(loop.body, step, planes, most_left - k), loop.name, at(left, k));
      if (steps_a_turn == 1) {  // every turn left is one step
        rest = last;
        break;
      }
      rest = ir::make_stmt(ir::If{at(left, k) < planes, ir::make_block({last, rest}), {}});
    }
    const Expr turns = (planes + constant(steps_a_turn - 1)) / constant(steps_a_turn);
    stmts.push_back(
        ir::make_stmt(ir::For{left, make_var(whole), simplify(turns - make_var(whole)), kind, rest}));
    const Expr undisturbed_turns = max(planes - constant(beyond), constant(0)) / constant(steps_a_turn);
    return ir::make_stmt(
        ir::LetStmt{whole, simplify(undisturbed_turns), ir::make_block(std::move(stmts))});
  }

  // Blocks of several warps have planes in their registers, and none to spare.
  [[nodiscard]] bool is_one_warp() const {
    constexpr std::int64_t kWarp = 32;
    const auto& threads = plan_->frame.threads;
    return threads[0] * threads[1] * threads[2] == kWarp;
  }

  // The steps [min, 0): written out, or in loops of so many steps a turn, or all in one loop
  // (`at_once`), in which a condition stays where it holds in some steps only. 0: no loops.
  static std::vector<ir::Stmt> first_steps(const ir::For& loop, std::int64_t min,
                                           std::int64_t steps_a_turn, bool at_once, const Expr& planes) {
    const Expr step = make_var(loop.name);
    const auto up = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit; };
    const std::int64_t turns = steps_a_turn > 0 ? up(-min, steps_a_turn) : 0;
    const std::int64_t each = at_once            ? turns
                              : steps_a_turn > 0 ? up(kFirstStepsOfALoop, steps_a_turn)
                                                 : 1;
    std::vector<ir::Stmt> stmts;
    const bool few = -min < kManyFirstSteps || 2 * up(turns, each) * steps_a_turn > -min;
    if (turns == 0 || (few && !at_once)) {
      for (std::int64_t s = min; s < 0; ++s) {
        // A block has one plane at least.
        stmts.push_back(ir::substitute(always(loop.body, step, planes, -s), loop.name, constant(s)));
      }
      return stmts;
    }
    const ir::Stmt body = always(loop.body, step, planes, 1);
    for (std::int64_t turn = -turns; turn < 0; turn += each) {
      const std::string first = loop.name + ".first" + std::to_string(stmts.size());
      std::vector<ir::Stmt> steps;
      for (std::int64_t k = 0; k < steps_a_turn; ++k) {
        const Expr at = make_var(first) * constant(steps_a_turn) + constant(k);
        const ir::Stmt one = ir::substitute(body, loop.name, at);
        const bool exists = turn * steps_a_turn + k >= min;
        steps.push_back(exists ? one : ir::make_stmt(ir::If{at >= constant(min), one, {}}));
      }
      stmts.push_back(ir::make_stmt(ir::For{first, constant(turn), constant(std::min(each, -turn)),
                                            LoopKind::Serial, ir::make_block(std::move(steps))}));
    }
    return stmts;
  }

  // `s` with the conditions step + c < planes taken as true for c up to `most`; `largest` becomes the
  // largest c met.
  static ir::Stmt always(const ir::Stmt& s, const Expr& step, const Expr& planes,
                         std::optional<std::int64_t> most, std::int64_t* largest = nullptr) {
    return decided(s, step, planes, [&](std::int64_t c) -> std::optional<bool> {
      if (most && c > *most) return std::nullopt;
      if (largest) *largest = std::max(*largest, c);
      return true;
    });
  }
  // The same, taken as false from c = `least` on.
  static ir::Stmt never(const ir::Stmt& s, const Expr& step, const Expr& planes, std::int64_t least) {
    return decided(s, step, planes,
                   [&](std::int64_t c) { return c >= least ? std::optional(false) : std::nullopt; });
  }
  static ir::Stmt decided(const ir::Stmt& s, const Expr& step, const Expr& planes,
                          const std::function<std::optional<bool>(std::int64_t)>& decide) {
    std::function<Expr(const Expr&)> rewrite = [&](const Expr& e) -> Expr {
      const auto* compare = e.as<Compare>();
      if (compare && compare->op == CompareOp::Lt && equal(compare->b, planes)) {
        const auto c = analysis::constant_difference(compare->a, step);
        const auto value = c ? decide(*c) : std::nullopt;
        if (value) return make_const(Bool(), std::int64_t{*value ? 1 : 0});
      }
      return e.type().is_bool() ? map_children(e, rewrite) : e;
    };
    return ir::map_exprs(s, rewrite);
  }

  // ptxas took 1.1 s for 3.1 over eight steps of 5 points in f64 at once, which ran 2 % faster; with one
  // loop for all of them 0.7 s, but then registers spill in twelve steps of f32.
  static constexpr std::int64_t kManyFirstSteps = 8, kFirstStepsOfALoop = 6;
  // 1,100 are four rows of 25 points, whose ring is of eleven planes. Of 3,900 (84 points of nine taps,
  // a ring of eight) compiling took 33 s, and 1.5 where the march stays a loop.
  static constexpr std::int64_t kMostLoads = 1200;

  bool on_device_;
  const planning::KernelPlan* plan_;
  std::vector<std::int64_t> must_,
      may_;  ///< places of the rings around, in registers and in shared memory
};

}  // namespace

void unroll_marches(Program& program) {
  for (auto& nest : program.nests) {
    nest.body = simplify(Unroller(nest.on_device, plan_of(program, nest)).run(nest.body));
  }
}

}  // namespace mica::passes
