#include "codegen/passes/emit/step_meetings.h"

#include "codegen/analysis/simplify.h"
#include "codegen/passes/loops/index_constants.h"
#include "dsl/expr/operators.h"

namespace mica::passes {

using planning::Handover;
using planning::Meeting;

namespace {

// Steps and what they count from.
struct Steps {
  Expr step, count;
  std::int64_t warm_up;

  // `stmt` in steps from `first` on that have `behind` steps behind them.
  [[nodiscard]] ir::Stmt in(std::int64_t first, std::int64_t behind, const ir::Stmt& stmt) const {
    Expr condition;
    if (-warm_up < first) condition = step >= constant(first);
    if (behind > 0) {
      const Expr in_time = step + constant(behind) < count;
      condition = condition.defined() ? condition && in_time : in_time;
    }
    return condition.defined() ? ir::make_stmt(ir::If{condition, stmt, {}}) : stmt;
  }
};

// The barrier of the step that has number `turn`, counted from 0.
ir::NamedBarrier meet(const Meeting& meeting, const Expr& turn, bool waits) {
  ir::NamedBarrier barrier;
  barrier.number = meeting.barrier;
  barrier.threads = static_cast<int>(meeting.threads);
  barrier.waits = waits;
  barrier.turns = meeting.turns;
  if (meeting.turns > 1) barrier.turn = simplify(turn % constant(meeting.turns));
  return barrier;
}

}  // namespace

StepMeetings step_meetings(const Handover& handover, const std::string& prefix, const Expr& step,
                           std::int64_t warm_up, const Expr& count) {
  const Steps steps{step, count, warm_up};
  const auto filling = [&](const ir::Stmt& stmt) {
    return handover.filling.around(prefix + ".filling", stmt);
  };
  const auto computing = [&](const ir::Stmt& stmt) {
    return handover.computing.around(prefix + ".computing", stmt);
  };
  const std::int64_t first = handover.first;
  StepMeetings all;

  const std::int64_t from = first + handover.left;  // the first step whose places have been read
  const Expr emptied = simplify(step - constant(from));
  all.before_fills = steps.in(from, 0, filling(ir::make_stmt(meet(handover.empty, emptied, true))));

  std::vector<ir::Stmt> ends;
  if (handover.pending) ends.push_back(filling(ir::make_stmt(ir::CopyCommit{})));
  if (handover.says_full) {
    const std::int64_t ahead = handover.lead - handover.late;
    std::vector<ir::Stmt> says;
    if (handover.pending) says.push_back(ir::make_stmt(ir::CopyWait{*handover.pending}));
    const Expr filled = simplify(step + constant(ahead - first));
    says.push_back(ir::make_stmt(meet(handover.full, filled, false)));
    ends.push_back(steps.in(first - ahead, ahead, filling(ir::make_block(std::move(says)))));
    const Expr read = simplify(step - constant(first));
    all.before_reads = steps.in(first, 0, computing(ir::make_stmt(meet(handover.full, read, true))));
  }
  all.after_fills = ir::make_block(std::move(ends));

  ir::NamedBarrier empty = meet(handover.empty, simplify(step - constant(first)), false);
  // What the threads have read of a place comes before what the copy engine brings there.
  empty.fences_copies = handover.by_engine;
  all.after_reads = steps.in(first, handover.left, computing(ir::make_stmt(std::move(empty))));
  return all;
}

}  // namespace mica::passes
