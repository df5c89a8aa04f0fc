#include "codegen/passes/gpu/pair_stores.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/analysis/lane_of.h"
#include "codegen/analysis/linear.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/gpu/varying_values.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

constexpr int kWarp = 32, kSector = 32,
              kWidest = 16;  // threads, bytes, bytes of an instruction a thread

Expr ramp(const Expr& base, int lanes) {
  return make_expr(base.type().with_lanes(lanes), Ramp{base, make_const(base.type(), std::int64_t{1})});
}

class Pairer {
 public:
  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* branch = s.as<ir::If>()) {
      const auto* store = branch->then_case.as<ir::Store>();
      if (store != nullptr && !branch->else_case.defined()) return paired(s, *store, branch->condition);
      return varying_.has(branch->condition) ? s : children(s);
    }
    if (const auto* store = s.as<ir::Store>()) return paired(s, *store, {});
    if (const auto* loop = s.as<ir::For>()) {
      return varying_.has(loop->min) || varying_.has(loop->extent) ? s : children(s);
    }
    if (const auto* let = s.as<ir::LetStmt>()) {
      varying_.enter(*let);
      return children(s);
    }
    if (const auto* alloc = s.as<ir::Allocate>()) {
      const bool own = alloc->memory == MemoryType::Register || alloc->memory == MemoryType::Stack;
      (own ? private_ : shared_).insert(alloc->buffer);
    }
    return children(s);
  }

 private:
  ir::Stmt children(const ir::Stmt& s) {
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); }, nullptr);
  }

  /// Is it a function of the thread's number and of what all threads of a warp agree on?
  [[nodiscard]] bool is_of_thread(const Expr& e) const {
    return !e.defined() || !varying_.has(substitute(e, kThread, make_const(Int(32), std::int64_t{0})));
  }
  /// Is it made of what the thread holds?
  [[nodiscard]] bool is_held(const Expr& e) const {
    bool held = true;
    walk(e, [&](const Expr& node) {
      const auto* load = node.as<Load>();
      held = held && (load == nullptr || private_.count(load->buffer) > 0);
    });
    return held;
  }

  /// Half of `coordinates` of a row's vector, moved by `by` elements; empty where they are no row's.
  static std::vector<Expr> moved(const std::vector<Expr>& coordinates, int lanes, const Expr& by) {
    std::vector<Expr> result;
    for (const Expr& at : coordinates) {
      const Expr first = analysis::lane_of(at, 0);
      const auto step = analysis::constant_difference(analysis::lane_of(at, 1), first);
      const bool along = result.empty();
      if (!step || *step != (along ? 1 : 0)) return {};
      if (along) {
        result.push_back(ramp(simplify(first + cast(first.type(), by)), lanes));
      } else if (at.type().is_scalar()) {
        result.push_back(at);
      } else {
        result.push_back(make_expr(at.type().with_lanes(lanes), Broadcast{simplify(first)}));
      }
    }
    return result;
  }

  ir::Stmt paired(const ir::Stmt& s, const ir::Store& store, const Expr& condition) const {
    const Type type = store.value.type();
    const int bytes = type.element().bytes(), lanes = type.lanes, half = lanes / 2;
    const auto* row = store.index.size() == 1 ? store.index.front().as<Ramp>() : nullptr;
    if (row == nullptr || !is_const(row->stride, 1) || lanes * bytes != kSector || bytes > kWidest / 2 ||
        store.alignment * bytes < kWidest || store.atomic || store.block.defined() || store.pieces ||
        private_.count(store.buffer) + shared_.count(store.buffer) > 0 || !is_of_thread(condition) ||
        !is_of_thread(row->base) || !is_held(store.value)) {
      return s;
    }
    analysis::Linear place = analysis::linearize(row->base);
    if (place.take(kThread) != lanes) return s;
    for (const auto& term : place.terms) {
      if (uses_var(term.first, kThread)) return s;
    }

    const Expr thread = make_var(kThread), odd = thread % 2;
    const auto number = [](int n) { return make_const(Int(32), std::int64_t{n}); };
    const std::string both = store.buffer + ".pair";
    const auto element = [&](int k) { return std::vector<Expr>{number(k)}; };
    const auto held = [&](int first) {
      return make_expr(type.with_lanes(half), Load{both, {ramp(number(first), half)}, {}, half});
    };
    std::vector<ir::Stmt> stmts;
    stmts.push_back(ir::make_stmt(ir::Store{both, {ramp(number(0), lanes)}, store.value, {}, half}));
    for (int k = 0; k < lanes;
         ++k) {  // the first half from the thread behind, the second from the one before
      const Expr own = make_expr(type.element(), Load{both, element(k), {}});
      const Expr theirs = make_expr(type.element(), WarpShuffle{own, k < half ? 1 : -1});
      stmts.push_back(ir::make_stmt(ir::Store{both, element(lanes + k), theirs, {}}));
    }
    const Expr is_odd = make_expr(Bool().with_lanes(half), Broadcast{odd == 1});
    for (const bool second : {false, true}) {
      const Expr by = simplify(number(second ? lanes : 0) - odd * number(half));
      ir::Store piece = store;
      piece.index = moved(store.index, half, by);
      piece.logical = moved(store.logical, half, by);
      if (piece.index.empty() || piece.logical.size() != store.logical.size()) return s;
      piece.value =
          second ? select(is_odd, held(half), held(lanes)) : select(is_odd, held(lanes + half), held(0));
      piece.alignment = kWidest / bytes;
      ir::Stmt made = ir::make_stmt(std::move(piece));
      if (condition.defined()) {
        const Expr owner = second ? thread + 1 - odd : thread - odd;
        made = ir::make_stmt(ir::If{simplify(substitute(condition, kThread, owner)), made, {}});
      }
      stmts.push_back(made);
    }
    ir::Allocate alloc;
    alloc.buffer = both;
    alloc.type = type.element();
    alloc.memory = MemoryType::Register;
    alloc.mins = {number(0)};
    alloc.extents = {number(2 * lanes)};
    alloc.strides = {1};
    alloc.body = ir::make_block(std::move(stmts));
    return ir::make_stmt(std::move(alloc));
  }

  static inline const std::string kThread =
      ir::kGpuAxisNames[static_cast<std::size_t>(ir::GpuAxis::ThreadX)];
  VaryingValues varying_{kThread};
  std::set<std::string> private_, shared_;
};

}  // namespace

void pair_stores(Program& program) {
  for (auto& nest : program.nests) {
    const planning::KernelPlan* plan = nest.on_device ? plan_of(program, nest) : nullptr;
    const bool frame = plan != nullptr && plan->frame.common.has_value();
    if (frame && nest.kernel.block[0] % kWarp == 0) nest.body = Pairer().run(nest.body);
  }
}

}  // namespace mica::passes
