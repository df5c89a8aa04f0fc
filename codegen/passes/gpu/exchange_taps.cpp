#include "codegen/passes/gpu/exchange_taps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using planning::KernelPlan;
using planning::Residence;
using planning::Server;
using planning::Stage;
using planning::Tap;

constexpr std::int64_t kWarp = 32;

ir::Stmt loop_over(const std::string& name, std::int64_t count, const ir::Stmt& body) {
  return ir::make_stmt(ir::For{name, constant(0), constant(count), LoopKind::Vectorized, body});
}

bool is_thread_loop(const ir::Stmt& s) {
  const auto* loop = s.as<ir::For>();
  return loop && loop->kind == LoopKind::GpuThread;
}

std::vector<std::string> arrays_of(const Pipeline& pipeline, const std::string& source) {
  const FunctionData* func = pipeline.find(source);
  if (func == nullptr) return {source};
  std::vector<std::string> arrays;
  for (std::size_t i = 0; i < func->types.size(); ++i) {
    arrays.push_back(storage_name(source, static_cast<int>(i), func->types.size()));
  }
  return arrays;
}

// Taps of a plan that the next lanes serve: of one input or Func, or of copies of it that stages hold,
// all along the same dimensions of it and of its readers.
struct Exchange {
  std::string of;
  std::size_t dim = 0, own_dim = 0;
  std::vector<const Tap*> taps;
};

std::vector<Exchange> exchanges_of(const KernelPlan& plan) {
  std::vector<Exchange> exchanges;
  for (const Tap& tap : plan.taps) {
    const Stage* source = plan.find(tap.source);
    // What threads hold in registers, in a common frame, they exchange when it is filled.
    if (tap.server != Server::Lane || (source != nullptr && source->is_in(Residence::Registers)))
      continue;
    const auto dim = static_cast<std::size_t>(tap.along);
    const auto own_dim = static_cast<std::size_t>(tap.at[dim].of);
    const std::string& of = source != nullptr ? source->copies : tap.source;
    auto same = std::find_if(exchanges.begin(), exchanges.end(), [&](const Exchange& other) {
      return other.of == of && other.dim == dim && other.own_dim == own_dim;
    });
    if (same == exchanges.end()) same = exchanges.insert(exchanges.end(), {of, dim, own_dim, {}});
    same->taps.push_back(&tap);
  }
  return exchanges;
}

// Taps of one row: the same array at the same place in all dimensions but the exchanged one.
struct Row {
  Load tap;  ///< one of them
  Type type;
  std::int64_t low = 0, high = 0;  ///< offsets from the thread's own points
  bool own = false;                ///< they are read too
  std::string name;                ///< of the array in registers: left, own and right points
};

class Exchanger {
 public:
  Exchanger(const Pipeline& pipeline, const KernelPlan& plan, const Exchange& exchange)
      : threads_(plan.frame.threads[0]),
        source_(exchange.of),
        dim_(exchange.dim),
        own_dim_(exchange.own_dim) {
    for (const Stage& stage : plan.stages) {
      const bool window = stage.is_in(Residence::Registers) && stage.copies == exchange.of;
      for (const std::string& array : arrays_of(pipeline, stage.func)) {
        stages_[array] = stage.func;
        if (window) windows_.insert(array);
      }
    }
    for (const Tap* tap : exchange.taps) {
      for (const std::string& array : arrays_of(pipeline, tap->source)) {
        offsets_[{tap->reader, array}].insert(tap->at[dim_].offset);
      }
    }
  }

  ir::Stmt run(const ir::Stmt& s) {
    if (!s.defined()) return s;
    if (is_thread_loop(s) && !is_thread_loop(s.as<ir::For>()->body)) {
      const auto& loop = *s.as<ir::For>();
      if (as_int(loop.extent) == nullptr || *as_int(loop.extent) != threads_) return s;
      varying_ = {loop.name};
      thread_ = loop.name;
      ir::Stmt body = run(loop.body);
      thread_.clear();
      return ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled});
    }
    if (thread_.empty()) return below(s);
    if (const auto* branch = s.as<ir::If>()) return varies(branch->condition) ? s : below(s);
    if (const auto* let = s.as<ir::LetStmt>()) {
      if (varies(let->value)) varying_.insert(let->name);
      return below(s);
    }
    if (const auto* store = s.as<ir::Store>()) return exchanged(s, *store, "", 1);
    if (const auto* loop = s.as<ir::For>()) {
      if (varies(loop->min) || varies(loop->extent)) return s;
      if (loop->kind != LoopKind::Vectorized) return below(s);
      const auto* store = loop->body.as<ir::Store>();
      return store ? exchanged(s, *store, loop->name, *as_int(loop->extent)) : s;
    }
    return below(s);
  }

 private:
  ir::Stmt below(const ir::Stmt& s) {
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); }, nullptr);
  }

  // May threads of a warp see different values?
  [[nodiscard]] bool varies(const Expr& e) const {
    bool found = false;
    walk(e, [&](const Expr& node) {
      const auto* var = node.as<VarRef>();
      found = found || node.as<Load>() || (var && varying_.count(var->name) > 0);
    });
    return found;
  }

  static bool same_place(const Load& a, const Load& b, std::size_t but) {
    if (a.index.size() != b.index.size()) return false;
    for (std::size_t d = 0; d < a.index.size(); ++d) {
      if (d != but && analysis::constant_difference(a.index[d], b.index[d]) != std::int64_t{0}) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::optional<std::int64_t> offset_of(const Load& load, const Expr& own) const {
    return dim_ < load.index.size() ? analysis::constant_difference(load.index[dim_], own)
                                    : std::nullopt;
  }
  // The offset of a load that another lane serves, or that the thread's own points are.
  [[nodiscard]] std::optional<std::int64_t> served(const Load& load, const Expr& own) const {
    const auto offsets = offsets_.find({reader_, load.buffer});
    if (offsets == offsets_.end()) return std::nullopt;
    const auto offset = offset_of(load, own);
    const bool known = offset && (*offset == 0 || offsets->second.count(*offset) > 0);
    return known ? offset : std::nullopt;
  }

  // The rows that `value` reads beside the thread's points from `own` on.
  std::vector<Row> rows_of(const Expr& value, const Expr& own) const {
    std::vector<Row> rows;
    walk(value, [&](const Expr& e) {
      const auto* load = e.as<Load>();
      const auto offset = load != nullptr ? served(*load, own) : std::nullopt;
      if (!offset) return;
      auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
        return r.tap.buffer == load->buffer && same_place(r.tap, *load, dim_);
      });
      if (row == rows.end()) row = rows.insert(rows.end(), Row{*load, e.type(), 0, 0, false, ""});
      row->low = std::min(row->low, *offset);
      row->high = std::max(row->high, *offset);
      row->own = row->own || *offset == 0;
    });
    std::erase_if(rows, [](const Row& r) { return r.low == 0 && r.high == 0; });
    return rows;
  }

  // The load of the row's own points: from a register window, or from where the taps are. Nothing
  // where they may lie outside what is there.
  std::optional<Load> own_points(const Row& row, const Expr& value, const Expr& own) const {
    std::optional<Load> held;
    walk(value, [&](const Expr& e) {
      const auto* load = e.as<Load>();
      if (!load || windows_.count(load->buffer) == 0 || !same_place(row.tap, *load, dim_)) return;
      if (offset_of(*load, own) == std::int64_t{0}) held = *load;
    });
    if (held) return held;
    if (!row.own && (row.low == 0 || row.high == 0)) return std::nullopt;
    return at(row.tap, own);
  }

  [[nodiscard]] Load at(Load load, const Expr& index) const {
    load.index[dim_] = simplify(index);
    return load;
  }

  ir::Stmt exchanged(const ir::Stmt& s, const ir::Store& store, const std::string& lane,
                     std::int64_t width) {
    const auto stage = stages_.find(store.buffer);
    if (stage == stages_.end() || own_dim_ >= store.index.size()) return s;
    reader_ = stage->second;
    lane_ = lane;
    const Expr own = store.index[own_dim_];
    analysis::Linear form = analysis::linearize(own);
    if (form.take(thread_) != width || (!lane.empty() && form.take(lane) != 1)) return s;
    if (varies(analysis::to_expr(form))) return s;

    ir::Stmt result = s;
    for (auto& row : rows_of(store.value, own)) {
      const auto points = own_points(row, store.value, own);
      if (!points) continue;
      row.name = source_ + ".row" + std::to_string(made_++);
      RewriteMemo memo;
      const ir::Stmt from_row =
          ir::map_exprs(result, [&](const Expr& e) { return read_row(e, row, own, width, memo); });
      result = ir::make_block({filled(row, *points, own, width), from_row});
      ir::Allocate alloc;
      alloc.buffer = row.name;
      alloc.type = row.type;
      alloc.memory = MemoryType::Register;
      alloc.mins = {constant(0)};
      alloc.extents = {constant(3 * width)};
      alloc.body = result;
      result = ir::make_stmt(std::move(alloc));
    }
    return result;
  }

  Expr read_row(const Expr& e, const Row& row, const Expr& own, std::int64_t width,
                RewriteMemo& memo) const {
    return memo(e, [&] {
      const auto* load = e.as<Load>();
      if (load && load->buffer == row.tap.buffer && same_place(*load, row.tap, dim_)) {
        if (const auto offset = served(*load, own))
          return element(row, own_place(width) + constant(*offset));
      }
      return map_children(e, [&](const Expr& child) { return read_row(child, row, own, width, memo); });
    });
  }

  // Where in the row the point at hand stands.
  [[nodiscard]] Expr own_place(std::int64_t width) const {
    return lane_.empty() ? constant(width) : make_var(lane_) + constant(width);
  }

  static Expr element(const Row& row, const Expr& index) {
    Load load;
    load.buffer = row.name;
    load.index = {simplify(index)};
    return make_expr(row.type, std::move(load));
  }
  static ir::Stmt put(const Row& row, const Expr& index, const Expr& value) {
    ir::Store store;
    store.buffer = row.name;
    store.index = {simplify(index)};
    store.value = value;
    return ir::make_stmt(std::move(store));
  }

  // The row's own points, and beside them what the neighbours hold.
  [[nodiscard]] ir::Stmt filled(const Row& row, const Load& points, const Expr& own,
                                std::int64_t width) const {
    const Expr first = lane_.empty() ? own : substitute(own, lane_, constant(0));
    const auto load_at = [&](const Expr& index) { return make_expr(row.type, at(row.tap, index)); };
    ir::Stmt mine = put(row, own_place(width), make_expr(row.type, points));
    if (!lane_.empty()) mine = loop_over(lane_, width, mine);
    std::vector<ir::Stmt> stmts = {mine};
    for (const bool left : {true, false}) {
      const std::int64_t count = left ? -row.low : row.high;
      // Place, in the row, of the first value that comes from the neighbour, and of it there.
      const std::int64_t begin = left ? width - count : 2 * width;
      const std::int64_t theirs = left ? 2 * width - count : width;
      std::vector<ir::Stmt> missed;
      for (std::int64_t k = 0; k < count; ++k) {
        WarpShuffle shuffle;
        shuffle.value = element(row, constant(theirs + k));
        shuffle.delta = left ? -1 : 1;
        stmts.push_back(put(row, constant(begin + k), make_expr(row.type, std::move(shuffle))));
        missed.push_back(put(row, constant(begin + k), load_at(first + constant(begin + k - width))));
      }
      if (count == 0) continue;
      ir::Stmt load = ir::make_block(missed);
      if (count == width && !lane_.empty()) {
        const Expr v = make_var(lane_);
        load = loop_over(lane_, width,
                         put(row, constant(begin) + v, load_at(first + constant(begin - width) + v)));
      }
      const Expr at_edge = make_var(thread_) % constant(kWarp) == constant(left ? 0 : kWarp - 1);
      stmts.push_back(ir::make_stmt(ir::If{at_edge, load, {}}));
    }
    return ir::make_block(std::move(stmts));
  }

  std::int64_t threads_;
  std::string source_;
  std::size_t dim_, own_dim_;
  std::map<std::string, std::string> stages_;  // by array
  std::set<std::string> windows_;              // arrays in registers with points of the source
  std::map<std::pair<std::string, std::string>, std::set<std::int64_t>>
      offsets_;                    // of a reader's taps on an array
  std::string thread_, lane_;      // the loops around: of the threads in x, of a vector (or none)
  std::string reader_;             // the stage of the statement at hand
  std::set<std::string> varying_;  // names that differ between the threads of a warp
  int made_ = 0;
};

}  // namespace

void exchange_taps(Program& program) {
  for (auto& nest : program.nests) {
    const KernelPlan* plan = plan_of(program, nest);
    if (!nest.on_device || plan == nullptr) continue;
    for (const Exchange& exchange : exchanges_of(*plan)) {
      nest.body = Exchanger(program.pipeline, *plan, exchange).run(nest.body);
    }
  }
}

}  // namespace mica::passes
