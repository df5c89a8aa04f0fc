#include "codegen/passes/emit/shared_rows.h"

#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/plan/plan_edges.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {

using planning::Around;
using planning::kRowPlaces;
using planning::LoopVars;
using planning::MarchStage;

namespace {

constexpr std::int64_t kWarp = 32;

/// The loops of one dimension of the frame.
struct Line {
  std::size_t dim = 0;
  std::string thread;  ///< its loop over threads; empty: none
  std::int64_t threads = 1;
  std::string points;      ///< its loop over a thread's points; empty: one point
  std::int64_t count = 1;  ///< of those
  bool plain = true;       ///< a thread's points stand side by side, and threads beside one another
  [[nodiscard]] bool exists() const { return !thread.empty(); }
};

Line line_of(const FunctionData& func, const LoopVars& vars, std::size_t dim) {
  Line line;
  line.dim = dim;
  analysis::Linear form = analysis::linearize(vars.value(func.args[dim]));
  for (const auto& loop : vars.loops()) {
    const std::int64_t step = form.take(loop.name);
    if (step == 0 || loop.kind == LoopKind::GpuBlock || loop.kind == LoopKind::March) continue;
    const auto* extent = as_int(loop.extent);
    std::string& name = loop.kind == LoopKind::GpuThread ? line.thread : line.points;
    std::int64_t& count = loop.kind == LoopKind::GpuThread ? line.threads : line.count;
    line.plain = line.plain && name.empty() && extent != nullptr &&
                 step == (loop.kind == LoopKind::GpuThread ? line.count : 1);
    name = loop.name;
    count = extent != nullptr ? *extent : 0;
  }
  return line;
}

ir::Stmt loop(const std::string& name, std::int64_t count, LoopKind kind, const ir::Stmt& body) {
  return body.defined() && count > 0
             ? ir::make_stmt(ir::For{name, constant(0), constant(count), kind, body})
             : ir::Stmt();
}

/// Threads of a block that stand beside one another, and what they give each other of one Func.
class Neighbours {
 public:
  /// `copied`: the Func in shared memory whose plane `stage` copies in each step, or null.
  Neighbours(const FunctionData& marched, const LoopVars& vars, const MarchStage& stage,
             const FunctionData* copied, const SourceLocation& where)
      : marched_(marched),
        vars_(vars),
        stage_(stage),
        func_(*stage.func),
        copied_(copied),
        where_(where) {
    const LoopVars::Loop* first = vars.lanes();
    for (std::size_t d = 0; d < func_.args.size(); ++d) {
      const Line line = line_of(marched, vars, d);
      const bool of_warp = first != nullptr && line.thread == first->name;
      if (of_warp) row_ = line;
      if (stage.kept.beside[d] == Around()) continue;
      check(line, of_warp);
      if (!of_warp) column_ = line;
    }
    rows_ = func_.name + ".rows";
  }

  [[nodiscard]] bool in_row() const { return row_.exists() && beside(row_) != Around(); }
  [[nodiscard]] bool in_column() const { return column_.exists(); }
  /// Do rows pass from thread to thread through memory of their own?
  [[nodiscard]] bool passes_rows() const { return in_column() && copied_ == nullptr; }

  /// The threads' own points beside one another in a row.
  [[nodiscard]] ir::Stmt exchanged(const Expr& plane) const {
    if (!in_row()) return {};
    return in_threads(over_rows(0, column_.count, plane));
  }
  /// The rows at the edges of the threads' points, in shared memory.
  [[nodiscard]] ir::Stmt stored(const Expr& plane) const {
    const auto [before, after] = beside(column_);
    const auto rows = [&](std::int64_t first, std::int64_t place, std::int64_t count) {
      const std::string name = func_.name + ".edge";
      const Expr k = make_var(name);
      return loop(name, count, LoopKind::Unrolled, each_value([&](std::size_t i) {
                    ir::Store store;
                    store.buffer = array(rows_, i);
                    store.index = place_of(k + constant(place), make_var(column_.thread), plane);
                    store.value = own(i, k + constant(first), plane);
                    return ir::make_stmt(std::move(store));
                  }));
    };
    return ir::make_stmt(ir::Produce{
        func_.name,
        in_threads(ir::make_block({rows(0, 0, after), rows(column_.count - before, after, before)})),
        true, ir::Kept::Rows});
  }
  /// The rows of other threads beside the own ones, and what stands beside them.
  [[nodiscard]] ir::Stmt loaded(const Expr& plane) const {
    const auto [before, after] = beside(column_);
    const Expr thread = make_var(column_.thread);
    std::vector<ir::Stmt> stmts = {
        taken(-before, after, before, max(thread - 1, constant(0)), plane),
        taken(column_.count, 0, after, min(thread + 1, constant(column_.threads - 1)), plane)};
    if (in_row() && stage_.kept.corners) {
      stmts.push_back(over_rows(-before, before, plane));
      stmts.push_back(over_rows(column_.count, after, plane));
    }
    return in_threads(ir::make_block(std::move(stmts)));
  }

  /// `body` in the memory of the rows.
  [[nodiscard]] ir::Stmt allocated(ir::Stmt body, const analysis::Interval& row) const {
    const auto [before, after] = beside(column_);
    for (std::size_t i = func_.types.size(); i-- > 0;) {
      ir::Allocate alloc;
      alloc.buffer = array(rows_, i);
      alloc.type = func_.types[i];
      alloc.memory = MemoryType::Shared;
      alloc.mins = {row.min, constant(0), constant(0), constant(0)};
      alloc.extents = {constant(row_.count * row_.threads), constant(before + after),
                       constant(column_.threads), constant(kRowPlaces)};
      alloc.folds = {0, 0, 0, kRowPlaces};
      alloc.stage = func_.name;
      alloc.kept = ir::Kept::Rows;
      alloc.places = kRowPlaces;
      alloc.body = body;
      body = ir::make_stmt(std::move(alloc));
    }
    return body;
  }
  [[nodiscard]] std::size_t row_dim() const { return row_.dim; }

 private:
  [[nodiscard]] Around beside(const Line& line) const { return stage_.kept.beside[line.dim]; }
  [[nodiscard]] std::string array(const std::string& name, std::size_t value) const {
    return storage_name(name, static_cast<int>(value), func_.types.size());
  }

  [[noreturn]] void refuse(const Line& line, const std::string& why) const {
    const Around far = beside(line);
    throw UserError(func_.name + " is kept in registers along the march of " + marched_.name +
                        " and read up to " + std::to_string(std::max(far.before, far.after)) +
                        " points beside a thread's own along " + func_.args[line.dim] + ", " + why +
                        "; or keep it in MemoryType::Shared",
                    where_);
  }

  void check(const Line& line, bool of_warp) const {
    const Around far = beside(line);
    const std::int64_t most = std::max(far.before, far.after);
    const std::string& dim = func_.args[line.dim];
    if (!line.exists()) refuse(line, "and no thread loop walks " + dim + ": add gpu_tile over it");
    if (!line.plain)
      refuse(line,
             "and a thread's points do not stand side by side there: use gpu_tile, vectorize "
             "and unroll alone");
    if (of_warp && line.threads != kWarp) {
      refuse(line, "which come from the other threads of its warp: a row of the block has " +
                       std::to_string(line.threads) + " threads, and must have " +
                       std::to_string(kWarp));
    }
    if (!of_warp && column_.exists()) {
      refuse(line, "and along " + func_.args[column_.dim] +
                       ": in one dimension besides that of the warps at most");
    }
    if (line.count < most) {
      refuse(line, "where the next thread has " + std::to_string(line.count) + ": give each thread " +
                       std::to_string(most) + " by " + (of_warp ? "vectorize" : "unroll"));
    }
  }

  /// `count` rows from `first` on, counted from a thread's first one: those from `place` on of what
  /// thread `from` of the column gave, or those of the plane in shared memory, within the frame.
  [[nodiscard]] ir::Stmt taken(std::int64_t first, std::int64_t place, std::int64_t count,
                               const Expr& from, const Expr& plane) const {
    const std::string name = func_.name + ".edge";
    const Expr k = make_var(name);
    return loop(name, count, LoopKind::Unrolled, each_value([&](std::size_t i) {
                  Load load;
                  if (copied_ == nullptr) {
                    load.buffer = array(rows_, i);
                    load.index = place_of(k + constant(place), from, plane);
                  } else {
                    load.buffer = array(copied_->name, i);
                    load.index = at(make_var(lane()), k + constant(first), plane);
                    Expr& row = load.index[column_.dim];
                    const analysis::Interval frame = column_frame();
                    row = max(min(row, frame.max), frame.min);
                  }
                  return put(i, k + constant(first), make_expr(func_.types[i], std::move(load)), plane);
                }));
  }
  /// The rows of the frame.
  [[nodiscard]] analysis::Interval column_frame() const {
    const Expr first = substitute(first_of(column_), column_.thread, constant(0));
    return {first, simplify(first + constant(column_.threads * column_.count - 1))};
  }

  /// Coordinates of the Func: `along` and `across` count from a thread's first point.
  [[nodiscard]] std::vector<Expr> at(const Expr& along, const Expr& across, const Expr& plane) const {
    std::vector<Expr> index;
    for (std::size_t d = 0; d < func_.args.size(); ++d) {
      if (static_cast<int>(d) == stage_.dim) {
        index.push_back(plane);
      } else if (row_.exists() && d == row_.dim) {
        index.push_back(simplify(first_of(row_) + along));
      } else if (column_.exists() && d == column_.dim) {
        index.push_back(simplify(first_of(column_) + across));
      } else {
        index.push_back(vars_.value(marched_.args[d]));
      }
    }
    return index;
  }
  [[nodiscard]] Expr first_of(const Line& line) const {
    const Expr value = vars_.value(marched_.args[line.dim]);
    return line.points.empty() ? value : substitute(value, line.points, constant(0));
  }
  [[nodiscard]] std::string lane() const { return func_.name + ".lane"; }
  [[nodiscard]] Expr own(std::size_t i, const Expr& across, const Expr& plane) const {
    return element(i, make_var(lane()), across, plane);
  }
  [[nodiscard]] Expr element(std::size_t i, const Expr& along, const Expr& across,
                             const Expr& plane) const {
    Load load;
    load.buffer = array(func_.name, i);
    load.index = at(along, across, plane);
    return make_expr(func_.types[i], std::move(load));
  }
  [[nodiscard]] ir::Stmt put(std::size_t i, const Expr& across, const Expr& value, const Expr& plane,
                             const Expr& along = {}) const {
    ir::Store store;
    store.buffer = array(func_.name, i);
    store.index = at(along.defined() ? along : make_var(lane()), across, plane);
    store.value = value;
    return ir::make_stmt(std::move(store));
  }
  [[nodiscard]] std::vector<Expr> place_of(const Expr& k, const Expr& thread, const Expr& plane) const {
    return {simplify(first_of(row_) + make_var(lane())), simplify(k), thread, plane};
  }
  /// What `make` does for each of the Func's values, over the lanes of a thread's row.
  template <typename Make>
  [[nodiscard]] ir::Stmt each_value(const Make& make) const {
    std::vector<ir::Stmt> stmts;
    for (std::size_t i = 0; i < func_.types.size(); ++i) {
      stmts.push_back(loop(lane(), row_.count, LoopKind::Vectorized, make(i)));
    }
    return ir::make_block(std::move(stmts));
  }

  /// Of `count` rows from `first` on, the points that the next threads of the warp have beside this
  /// one's.
  [[nodiscard]] ir::Stmt over_rows(std::int64_t first, std::int64_t count, const Expr& plane) const {
    const std::string name = func_.name + ".row";
    const Expr across = make_var(name) + constant(first);
    const auto [before, after] = beside(row_);
    std::vector<ir::Stmt> stmts;
    const auto take = [&](std::size_t i, std::int64_t to, std::int64_t from, int delta) {
      WarpShuffle shuffle;
      shuffle.value = element(i, constant(from), across, plane);
      shuffle.delta = delta;
      stmts.push_back(
          put(i, across, make_expr(func_.types[i], std::move(shuffle)), plane, constant(to)));
    };
    for (std::size_t i = 0; i < func_.types.size(); ++i) {
      for (std::int64_t k = 1; k <= before; ++k) take(i, -k, row_.count - k, -1);
      for (std::int64_t k = 0; k < after; ++k) take(i, row_.count + k, k, 1);
    }
    return loop(name, count, LoopKind::Unrolled, ir::make_block(std::move(stmts)));
  }

  /// `stmt` for all threads, and the points that they have along further dimensions.
  [[nodiscard]] ir::Stmt in_threads(ir::Stmt stmt) const {
    for (const auto& l : vars_.loops()) {
      if (l.kind == LoopKind::GpuBlock || l.kind == LoopKind::March) continue;
      if (l.name == row_.points || l.name == column_.points) continue;
      stmt = ir::make_stmt(ir::For{l.name, constant(0), l.extent, l.kind, stmt});
    }
    return stmt;
  }

  const FunctionData& marched_;
  const LoopVars& vars_;
  const MarchStage& stage_;
  const FunctionData& func_;
  const FunctionData* copied_;
  const SourceLocation& where_;
  Line row_, column_;  // of the lanes of a warp, and of rows that other warps have
  std::string rows_;
};

bool takes_from_others(const MarchStage& stage) { return stage.per_thread && stage.kept.is_beside(); }

// What the stage copies plane by plane in the step that reads it.
const FunctionData* copied_by(const Program& program, const MarchStage& stage) {
  return stage.newest == stage.ahead ? planning::copied_plane(program, *stage.func) : nullptr;
}

}  // namespace

GivenRows exchange_rows(const Program& program, const FunctionData& marched, const LoopVars& vars,
                        const MarchStage& stage, const Expr& plane) {
  // On the host one array holds the points of all threads.
  if (!takes_from_others(stage) || !program.options.target.is_gpu()) return {};
  const Neighbours threads(marched, vars, stage, copied_by(program, stage),
                           program.placement.at(stage.func->name).where);
  const Expr at = simplify(plane + constant(stage.newest));
  if (!threads.in_column()) return {{}, threads.exchanged(at)};
  return {threads.passes_rows() ? threads.stored(at) : ir::Stmt(),
          ir::make_block({threads.exchanged(at), threads.loaded(at)})};
}

ir::Stmt in_shared_rows(const Program& program, const FunctionData& marched, const LoopVars& vars,
                        const std::set<std::string>& around, const MarchStage& stage,
                        const ir::Stmt& body) {
  if (!takes_from_others(stage) || !program.options.target.is_gpu()) return body;
  const Neighbours threads(marched, vars, stage, copied_by(program, stage),
                           program.placement.at(stage.func->name).where);
  if (!threads.passes_rows()) return body;
  return threads.allocated(body, vars.interval(marched.args[threads.row_dim()], around));
}

}  // namespace mica::passes
