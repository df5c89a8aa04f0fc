#include "tests/support/mutants.h"

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::test {

namespace {

constexpr const char* kParameter = "mutant";
constexpr const char* kProbe = "mutant.probe";
constexpr int kBulkBytes = 16;

std::string first_line(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return text;
  return text.substr(begin, text.find('\n', begin) - begin);
}

bool is_integer_constant(const Expr& e, std::int64_t value) {
  const std::int64_t* constant = as_int(e);
  return constant != nullptr && *constant == value;
}

class Mutator {
 public:
  Mutator(const ir::Kernel& kernel, const std::set<Mutation>& wanted, std::vector<Mutant>& mutants)
      : kernel_(kernel), wanted_(wanted), mutants_(mutants) {
    for (const ir::KernelParam& p : kernel.params) types_.emplace(p.name, p.type);
    ir::walk(
        kernel.body,
        [this](const ir::Stmt& s) {
          if (const auto* a = s.as<ir::Allocate>()) {
            allocated_.emplace(a->buffer, a);
            types_.emplace(a->buffer, a->type);
          }
        },
        nullptr);
  }

  ir::Stmt run() {
    ir::Allocate probe;
    probe.buffer = kProbe;
    probe.type = Int(32);
    probe.memory = MemoryType::Register;
    probe.mins = {Expr(0)};
    probe.extents = {Expr(1)};
    probe.strides = {1};
    probe.body = rewrite(kernel_.body);
    return ir::make_stmt(std::move(probe));
  }

 private:
  static bool uses_threads(const Expr& e) {
    return uses_var(e, "thread.x") || uses_var(e, "thread.y") || uses_var(e, "thread.z");
  }

  ir::Stmt rewrite(const ir::Stmt& s) {
    const auto* branch = s.as<ir::If>();
    const bool guards = branch != nullptr && uses_threads(branch->condition);
    guards_ += guards ? 1 : 0;
    std::vector<Site> around;
    around.swap(sites_);
    const std::size_t place = met_++;
    RewriteMemo met;
    const ir::Stmt below = ir::map_children(
        s, [this](const ir::Stmt& child) { return rewrite(child); },
        [&](const Expr& e) {
          place_ = place;
          return taps(e, s, met);
        });
    guards_ -= guards ? 1 : 0;
    place_ = place;
    const ir::Stmt made = changed(below, s);
    const ir::Stmt probed = ir::make_block({probes(), made});
    sites_.swap(around);
    return probed;
  }

  // ---- probes --------------------------------------------------------------------------------------
  /// The mutant `number` acts where its statement is reached and `acts`, if defined, holds.
  struct Site {
    int number;
    Expr acts;
  };
  /// A store outside its array where a thread comes to something that the mutant -"mutant" changes.
  [[nodiscard]] ir::Stmt probes() const {
    Expr any;
    for (std::size_t i = 0; i < sites_.size();) {
      std::size_t end = i + 1;
      const bool always = !sites_[i].acts.defined();
      while (always && end < sites_.size() && !sites_[end].acts.defined() &&
             sites_[end].number == sites_[end - 1].number + 1) {
        ++end;
      }
      Expr one =
          make_var(kParameter) <= -sites_[i].number && make_var(kParameter) >= -sites_[end - 1].number;
      if (!always) one = one && sites_[i].acts;
      any = any.defined() ? any || one : one;
      i = end;
    }
    if (!any.defined()) return {};
    const ir::Store outside{kProbe, {Expr(0)}, Expr(0), {Expr(1)}, 1};
    // Two conditions, so that a run of a mutant or of the code as it is pays for one.
    const ir::Stmt inner = ir::make_stmt(ir::If{any, ir::make_stmt(outside), {}});
    return ir::make_stmt(ir::If{make_var(kParameter) < 0, inner, {}});
  }

  // ---- switches ------------------------------------------------------------------------------------
  /// Is the mutant made now the one to run? Undefined if such mutants are not wanted.
  Expr active(Mutation mutation, const ir::Stmt& original, const std::string& detail = {},
              const Expr& acts = {}) {
    if (wanted_.count(mutation) == 0) return {};
    mutants_.push_back({mutation, kernel_, original, place_, detail, false});
    const int number = static_cast<int>(mutants_.size());
    sites_.push_back({number, acts});
    return make_var(kParameter) == number;
  }
  /// Is the check of the mutant made last to run?
  Expr check_of_last() {
    mutants_.back().has_check = true;
    return make_var(kParameter) == static_cast<int>(mutants_.size()) + kCheck;
  }
  /// `e` plus `step` where `on` holds; `e` itself where it is undefined.
  static Expr moved(const Expr& e, const Expr& on, std::int64_t step) {
    if (!on.defined()) return e;
    const Type element = e.type().element();
    Expr by = make_expr(element, Select{on, make_const(element, step), make_const(element, 0)});
    if (!e.type().is_scalar()) by = make_expr(e.type(), Broadcast{by});
    return make_expr(e.type(), Binary{BinaryOp::Add, e, by});
  }
  ir::Stmt without(Mutation mutation, const ir::Stmt& s, const ir::Stmt& original,
                   const std::string& detail = {}, const Expr& where = {}) {
    Expr on = active(mutation, original, detail, where);
    if (!on.defined()) return s;
    if (where.defined()) on = on && where;
    return ir::make_stmt(ir::If{!on, s, {}});
  }

  // ---- what arrays are -----------------------------------------------------------------------------
  [[nodiscard]] const ir::Allocate* allocation(const std::string& buffer) const {
    const auto found = allocated_.find(buffer);
    return found == allocated_.end() ? nullptr : found->second;
  }
  [[nodiscard]] bool is_shared(const std::string& buffer) const {
    const ir::Allocate* a = allocation(buffer);
    return a != nullptr && a->memory == MemoryType::Shared;
  }
  [[nodiscard]] bool is_private(const std::string& buffer) const {
    return allocation(buffer) != nullptr && !is_shared(buffer);
  }
  /// (elements of a place, of all places) of an array that is a ring, else of one place.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> places(const std::string& buffer,
                                                             std::int64_t lanes) const {
    const ir::Allocate* a = allocation(buffer);
    if (a == nullptr) return {1, 1};
    const std::int64_t all = ir::element_count(*a);
    if (a->memory != MemoryType::Shared) return {lanes, all};
    if (a->type == Int(64)) return {1, 1};  // transaction barriers
    return a->places > 1 && all % a->places == 0 ? std::pair{all / a->places, all} : std::pair{all, all};
  }

  bool writes_shared(const ir::Stmt& s) const {
    bool found = false;
    const auto visit = [&](const ir::Stmt& child) {
      for (const ir::ArrayUse& use : ir::array_uses(child)) {
        found = found || (use.kind == ir::ArrayUse::Kind::Write && is_shared(use.array));
      }
    };
    ir::walk(s, visit, nullptr);
    return found;
  }

  // ---- expressions ---------------------------------------------------------------------------------
  /// `met`: the nodes of the statement that were met, so that shared ones are changed once.
  Expr taps(const Expr& e, const ir::Stmt& in, RewriteMemo& met) {
    return met(e, [&] { return tap(e, in, met); });
  }
  Expr tap(const Expr& e, const ir::Stmt& in, RewriteMemo& met) {
    const Expr below = mica::map_children(e, [&](const Expr& child) { return taps(child, in, met); });
    const auto* load = below.as<Load>();
    if (load == nullptr) return below;
    Load changed = *load;
    const std::string what = to_string(e);
    if (!is_private(load->buffer)) {
      move_tap(changed.index, changed.logical, load->buffer, load->alignment,
               active(Mutation::ShiftTap, in, what));
    }
    const Expr before = changed.index.front();
    changed.index.front() = next_place(before, load->buffer, in, what);
    const bool moves = !changed.index.front().same_as(before);
    const Expr value = make_expr(below.type(), std::move(changed));
    if (!moves || value.type().is_bool()) return value;
    constexpr int kAny = 77;
    return make_expr(value.type(), Select{check_of_last(), make_const(value.type(), kAny), value});
  }
  void move_tap(std::vector<Expr>& index, std::vector<Expr>& logical, const std::string& buffer,
                std::int64_t step, const Expr& on) const {
    const ir::Allocate* a = allocation(buffer);
    const std::int64_t stride = a != nullptr ? a->strides.front() : 1;
    index.front() = moved(index.front(), on, step * stride);
    if (!logical.empty()) logical.front() = moved(logical.front(), on, step);
  }
  /// The index in the next place of a ring, from the last one in the first.
  Expr next_place(const Expr& index, const std::string& buffer, const ir::Stmt& in,
                  const std::string& detail) {
    if (const auto* ramp = index.as<Ramp>()) {
      if (!is_integer_constant(ramp->stride, 1)) return index;
      const Expr base = next_place_of(ramp->base, index.type().lanes, buffer, in, detail);
      return base.same_as(ramp->base) ? index : make_expr(index.type(), Ramp{base, ramp->stride});
    }
    return index.type().is_scalar() ? next_place_of(index, 1, buffer, in, detail) : index;
  }
  Expr next_place_of(const Expr& index, std::int64_t lanes, const std::string& buffer,
                     const ir::Stmt& in, const std::string& detail) {
    const auto [step, all] = places(buffer, lanes);
    if (all <= step) return index;
    const Expr on = active(Mutation::ShiftSlot, in, detail);
    if (!on.defined()) return index;
    return make_expr(
        index.type(),
        Select{on, (index + make_const(index.type(), step)) % make_const(index.type(), all), index});
  }
  Expr next_slot(const Expr& slot, const std::string& barriers, const ir::Stmt& in) {
    const std::int64_t count = ir::element_count(*allocation(barriers));
    if (count < 2) return slot;
    const Expr on = active(Mutation::ShiftSlot, in, "the transaction barrier");
    if (!on.defined()) return slot;
    return make_expr(
        slot.type(),
        Select{on, (slot + make_const(slot.type(), 1)) % make_const(slot.type(), count), slot});
  }
  /// Conditions of threads and planes that take part, each of them one tighter.
  Expr tightened(const Expr& condition, const ir::Stmt& in) {
    if (const auto* both = condition.as<Binary>(); both != nullptr && both->op == BinaryOp::And) {
      return make_expr(condition.type(),
                       Binary{BinaryOp::And, tightened(both->a, in), tightened(both->b, in)});
    }
    const auto* compare = condition.as<Compare>();
    if (compare == nullptr || !compare->a.type().is_scalar() || compare->a.type().is_float()) {
      return condition;
    }
    const bool upper = compare->op == CompareOp::Lt || compare->op == CompareOp::Le;
    const bool lower = compare->op == CompareOp::Gt || compare->op == CompareOp::Ge;
    if (!upper && !lower) return condition;
    const Expr step = make_const(compare->b.type(), upper ? -1 : 1);
    const Expr tight = make_expr(condition.type(), Compare{compare->op, compare->a, compare->b + step});
    const Expr on =
        active(Mutation::ShrinkHalo, in, to_string(condition), in.as<ir::If>()->condition && !tight);
    return on.defined() ? condition && (!on || tight) : condition;
  }

  // ---- statements ----------------------------------------------------------------------------------
  /// `s` is `original` with what is below it changed.
  ir::Stmt changed(const ir::Stmt& s, const ir::Stmt& original) {
    if (s.as<ir::Barrier>() != nullptr || s.as<ir::NamedBarrier>() != nullptr) {
      return without(Mutation::DropBarrier, s, original);
    }
    if (s.as<ir::CopyCommit>() != nullptr) return without(Mutation::DropCommit, s, original);
    if (s.as<ir::BulkInit>() != nullptr) return without(Mutation::DropSetUp, s, original);
    if (const auto* wait = s.as<ir::CopyWait>()) return changed_wait(*wait, s, original);
    if (const auto* wait = s.as<ir::BulkWait>()) return changed_bulk_wait(*wait, original);
    if (const auto* expect = s.as<ir::BulkExpect>()) return changed_expect(*expect, original);
    if (const auto* store = s.as<ir::Store>()) return changed_store(*store, original);
    if (const auto* copy = s.as<ir::AsyncCopy>()) return changed_copy(*copy, copy->count, original);
    if (const auto* copy = s.as<ir::BulkCopy>()) return changed_bulk_copy(*copy, original);
    if (const auto* branch = s.as<ir::If>()) return changed_if(*branch, original);
    if (const auto* loop = s.as<ir::For>()) return changed_loop(*loop, original);
    return s;
  }

  ir::Stmt changed_wait(const ir::CopyWait& wait, const ir::Stmt& s, const ir::Stmt& original) {
    const ir::Stmt left_out = without(Mutation::DropWait, s, original);
    const Expr on = active(Mutation::DropWait, original, "one group too many");
    if (!on.defined()) return left_out;
    return ir::make_stmt(ir::If{on, ir::make_stmt(ir::CopyWait{wait.pending + 1}), left_out});
  }
  ir::Stmt changed_bulk_wait(ir::BulkWait wait, const ir::Stmt& original) {
    wait.slot = next_slot(wait.slot, wait.barriers, original);
    const Expr on = active(Mutation::ShiftSlot, original, "the other parity");
    if (on.defined()) {
      wait.parity = make_expr(wait.parity.type(), Select{on, 1 - wait.parity, wait.parity});
    }
    return without(Mutation::DropWait, ir::make_stmt(wait), original);
  }
  ir::Stmt changed_expect(ir::BulkExpect expect, const ir::Stmt& original) {
    expect.slot = next_slot(expect.slot, expect.barriers, original);
    for (const int more : {kBulkBytes, -kBulkBytes}) {
      expect.bytes =
          moved(expect.bytes, active(Mutation::CountBytes, original, std::to_string(more)), more);
    }
    return without(Mutation::DropSetUp, ir::make_stmt(expect), original);
  }
  ir::Stmt changed_store(ir::Store store, const ir::Stmt& original) {
    const ir::Stmt s = to_next_place(store, store.index, store.buffer, original);
    if (is_private(store.buffer)) return without(Mutation::StaleWindow, s, original);
    return is_shared(store.buffer) ? shrunk(s, original) : s;
  }
  /// `index`, a part of `op`, goes to the next place of `buffer`.
  template <typename Op>
  ir::Stmt to_next_place(Op& op, std::vector<Expr>& index, const std::string& buffer,
                         const ir::Stmt& original) {
    const Expr before = index.front();
    index.front() = next_place(before, buffer, original, "the target");
    const ir::Stmt s = ir::make_stmt(op);
    if (index.front().same_as(before)) return s;
    return ir::make_stmt(ir::If{!check_of_last(), s, {}});
  }
  template <typename Copy>
  ir::Stmt changed_copy(Copy copy, std::int64_t elements, const ir::Stmt& original) {
    move_tap(copy.from_index, copy.from_logical, copy.from, elements,
             active(Mutation::ShiftTap, original));
    return shrunk(to_next_place(copy, copy.to_index, copy.to, original), original);
  }
  ir::Stmt changed_bulk_copy(ir::BulkCopy copy, const ir::Stmt& original) {
    const std::int64_t elements = kBulkBytes / types_.at(copy.to).bytes();
    copy.slot = next_slot(copy.slot, copy.barriers, original);
    copy.count = moved(copy.count, active(Mutation::CountBytes, original), -elements);
    return changed_copy(copy, elements, original);
  }
  /// The first and the last thread of a row write nothing.
  ir::Stmt shrunk(const ir::Stmt& s, const ir::Stmt& original) {
    const Expr x = make_var(ir::kGpuAxisNames[static_cast<std::size_t>(ir::GpuAxis::ThreadX)]);
    const ir::Stmt first = without(Mutation::ShrinkHalo, s, original, "first thread", x == 0);
    // Under a guard of threads the guard itself is tightened.
    if (kernel_.block[0] == 1 || guards_ > 0) return first;
    return without(Mutation::ShrinkHalo, first, original, "last thread", x == kernel_.block[0] - 1);
  }
  ir::Stmt changed_if(ir::If branch, const ir::Stmt& original) {
    const Expr condition = original.as<ir::If>()->condition;
    // An else has the code of blocks at the edge, which is right anywhere.
    if (!branch.else_case.defined() && writes_shared(branch.then_case))
      branch.condition = tightened(branch.condition, original);
    const Expr on = active(Mutation::DropGuard, original, to_string(condition), !condition);
    if (on.defined()) branch.condition = branch.condition || on;
    return ir::make_stmt(branch);
  }
  ir::Stmt changed_loop(ir::For loop, const ir::Stmt& original) {
    if (!writes_shared(loop.body)) return ir::make_stmt(loop);
    const Expr runs = original.as<ir::For>()->extent > 0;
    const Expr first = active(Mutation::ShrinkHalo, original, "first step", runs);
    loop.min = moved(loop.min, first, 1);
    loop.extent = moved(moved(loop.extent, first, -1),
                        active(Mutation::ShrinkHalo, original, "last step", runs), -1);
    return ir::make_stmt(loop);
  }

  const ir::Kernel& kernel_;
  const std::set<Mutation>& wanted_;
  std::vector<Mutant>& mutants_;
  std::map<std::string, const ir::Allocate*> allocated_;
  std::map<std::string, Type> types_;
  std::vector<Site> sites_;  ///< of the statement at hand
  std::size_t met_ = 0;      ///< statements so far
  std::size_t place_ = 0;    ///< of the statement at hand
  int guards_ = 0;           ///< conditions on threads around the statement at hand
};

}  // namespace

const char* to_string(Mutation mutation) {
  switch (mutation) {
    case Mutation::DropBarrier: return "drop a barrier";
    case Mutation::DropWait: return "drop a wait";
    case Mutation::DropCommit: return "drop a commit";
    case Mutation::DropSetUp: return "drop a set-up";
    case Mutation::CountBytes: return "count other bytes";
    case Mutation::ShrinkHalo: return "shrink a halo";
    case Mutation::ShiftSlot: return "shift a slot";
    case Mutation::StaleWindow: return "stale registers";
    case Mutation::ShiftTap: return "shift a tap";
    case Mutation::DropGuard: return "drop a guard";
  }
  return "";
}

std::string to_string(const Mutant& mutant) {
  return std::string(to_string(mutant.mutation)) + " in " + mutant.kernel.name + ": " +
         first_line(ir::to_string(mutant.original)) + (mutant.detail.empty() ? "" : " (") +
         mutant.detail + (mutant.detail.empty() ? "" : ")");
}

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> all;
  for (int i = 0; i <= static_cast<int>(Mutation::DropGuard); ++i) all.push_back(Mutation(i));
  return all;
}

MutatedModule with_mutants(const ir::Module& module, const std::set<Mutation>& wanted) {
  MutatedModule result{module, {}};
  for (ir::Kernel& kernel : result.module.kernels) {
    if (!kernel.on_device) continue;
    const ir::Kernel original = kernel;
    kernel.body = Mutator(original, wanted, result.mutants).run();
    ir::KernelParam parameter;
    parameter.name = kParameter;
    parameter.type = Int(32);
    kernel.params.push_back(parameter);
  }
  for (PlanLaunch& launch : result.module.plan.launches) {
    if (!launch.on_device) continue;
    KernelArgument argument;
    argument.name = kParameter;
    argument.type = Int(32);
    argument.value = Expr(0);
    launch.arguments.push_back(argument);
  }
  return result;
}

Plan plan_of_mutant(const Plan& plan, int number) {
  Plan changed = plan;
  for (PlanLaunch& launch : changed.launches) {
    if (launch.on_device) launch.arguments.back().value = Expr(number);
  }
  return changed;
}

}  // namespace mica::test
