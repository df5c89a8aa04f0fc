#include "codegen/passes/gpu/fuse_thread_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "codegen/plan/plan_edges.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using Names = std::set<std::string>;

bool has_thread_loops(const ir::Stmt& s) {
  bool found = false;
  ir::walk(
      s,
      [&](const ir::Stmt& child) {
        const auto* loop = child.as<ir::For>();
        if (loop && loop->kind == LoopKind::GpuThread) found = true;
      },
      [](const Expr&) {});
  return found;
}

// The thread loops directly around each other, outermost first, and what stands inside.
std::vector<const ir::For*> thread_nest(const ir::Stmt& s, ir::Stmt& inside) {
  std::vector<const ir::For*> nest;
  ir::Stmt at = s;
  for (;;) {
    if (const auto* produce = at.as<ir::Produce>()) {
      at = produce->body;
      continue;
    }
    const auto* loop = at.as<ir::For>();
    if (!loop || loop->kind != LoopKind::GpuThread) break;
    nest.push_back(loop);
    at = loop->body;
  }
  inside = at;
  return nest;
}

// Arrays that a piece of code reads and writes. Bulk copies write too, but whoever uses what they bring
// has waited at their transaction barriers: that orders them, and no barrier need follow.
struct Effects {
  Names reads, writes, bulk_writes;
};

// The memories of a block, by their arrays' names.
struct Memory {
  std::string stage;
  ir::Kept kept = ir::Kept::Points;
  planning::MemoryOrder order;
  /// The age of an access from which on it is like all older ones.
  [[nodiscard]] std::int64_t oldest() const {
    constexpr std::int64_t kLongestRing = 64;
    std::int64_t oldest = 0;
    for (const std::int64_t distance : {order.filled, order.reused, order.refilled}) {
      if (distance <= kLongestRing) oldest = std::max(oldest, distance);  // longer: never met
    }
    return oldest;
  }
};
using Memories = std::map<std::string, Memory>;

// Who waits at a barrier, the fewest first.
enum class Meets : std::uint8_t { Nobody, Tile, Block };

// Do the threads of the tile alone touch it, in a kernel with further warps?
bool is_of_tile(const Memory& memory) { return memory.order.at.barrier > 0; }

// Shared arrays that were read and written since the last barrier, each with the ages of the accesses:
// how many planes of its memory were begun since.
class Pending {
 public:
  void add(const Pending& other) {
    keep(reads_, other.reads_);
    keep(writes_, other.writes_);
  }
  void add(const Effects& effects) {
    for (const auto& name : effects.reads) reads_[name].insert(0);
    for (const auto& name : effects.writes) writes_[name].insert(0);
  }
  // A barrier orders everything but copies of planes that no code asks for yet: they may still be under
  // way. One of the tile's threads alone orders what no further warps touch.
  void meet(const Memories& memories, Meets meets) {
    if (meets == Meets::Tile) {
      for (auto* accesses : {&reads_, &writes_}) {
        std::erase_if(*accesses,
                      [&](const auto& entry) { return is_of_tile(memories.at(entry.first)); });
      }
      return;
    }
    reads_.clear();
    for (auto& [name, ages] : writes_) {
      const planning::MemoryOrder& order = memories.at(name).order;
      std::erase_if(ages, [&](auto age) { return !order.copied || age >= order.filled; });
    }
    std::erase_if(writes_, [](const auto& entry) { return entry.second.empty(); });
  }
  // The threads have waited for their copies of a plane that the next step reads: the next barrier shows
  // it to all, as it does with older ones.
  void arrive(const Memories& memories) {
    for (auto& [name, ages] : writes_) {
      const planning::MemoryOrder& order = memories.at(name).order;
      if (order.arrives_early && ages.erase(order.filled - 1) > 0) {
        ages.insert(memories.at(name).oldest());
      }
    }
  }
  // Another plane is begun.
  void begin_plane(const ir::Produce& plane, const Memories& memories) {
    for (auto* accesses : {&reads_, &writes_}) {
      for (auto& [name, ages] : *accesses) {
        const Memory& memory = memories.at(name);
        if (memory.stage != plane.func || memory.kept != plane.kept) continue;
        std::set<std::int64_t> older;
        for (auto age : ages) older.insert(std::min(age + 1, memory.oldest()));
        ages = std::move(older);
      }
    }
  }
  friend bool operator==(const Pending&, const Pending&) = default;
  // Who has to meet before `next`.
  [[nodiscard]] Meets conflicts(const Effects& next, const Memories& memories) const {
    using planning::MemoryOrder;
    const auto meets = [&](const Ages& accesses, const std::string& name,
                           std::int64_t MemoryOrder::*distance) {
      const auto it = accesses.find(name);
      if (it == accesses.end()) return false;
      const MemoryOrder& order = memories.at(name).order;
      if (order.at.hands_over) return false;  // the crews say so themselves
      return order.each || *it->second.rbegin() >= order.*distance;
    };
    Meets who = Meets::Nobody;
    const auto ask = [&](const std::string& name) {
      who = std::max(who, is_of_tile(memories.at(name)) ? Meets::Tile : Meets::Block);
    };
    for (const auto& name : next.reads) {
      if (meets(writes_, name, &MemoryOrder::filled)) ask(name);
    }
    for (const auto* names : {&next.writes, &next.bulk_writes}) {
      for (const auto& name : *names) {
        if (meets(writes_, name, &MemoryOrder::refilled)) ask(name);
        if (meets(reads_, name, &MemoryOrder::reused)) ask(name);
      }
    }
    return who;
  }

 private:
  using Ages = std::map<std::string, std::set<std::int64_t>>;
  static void keep(Ages& into, const Ages& other) {
    for (const auto& [name, ages] : other) into[name].insert(ages.begin(), ages.end());
  }
  Ages reads_, writes_;
};

class Fuser {
 public:
  /// Of the kernel of `func`; `where`: what its blocks are as large as they are for.
  /// `plan`: whose edges say who waits for whom; null: of no memory is anything known.
  Fuser(const DeviceLimits& limits, const FunctionData& func, const SourceLocation& where,
        const planning::KernelPlan* plan)
      : limits_(limits), kernel_(func.name), where_(where), plan_(plan) {}

  ir::Stmt run(const ir::Stmt& s, int (&block)[3]) {
    measure(s);
    const std::int64_t threads = block_[0] * block_[1] * block_[2];
    if (threads > limits_.threads_per_block) {
      throw UserError("a block of " + kernel_ + " has " + std::to_string(block_[0]) + " x " +
                          std::to_string(block_[1]) + " x " + std::to_string(block_[2]) + " = " +
                          std::to_string(threads) + " threads, and the device allows " +
                          std::to_string(limits_.threads_per_block) +
                          "; use smaller tiles, or another LoadPolicy than HaloThreads for staged boxes",
                      where_);
    }
    if (block_[2] > limits_.threads_z) {
      throw UserError("a block of " + kernel_ + " has " + std::to_string(block_[2]) +
                          " threads in z, and the device allows " + std::to_string(limits_.threads_z) +
                          "; put the longest axis first in gpu_threads",
                      where_);
    }
    for (int i = 0; i < 3; ++i) block[i] = static_cast<int>(block_[i]);
    ir::Stmt fused = run_grid(s);
    return fused;
  }

 private:
  // ---- extents of the block ------------------------------------------------------------------------
  void measure(const ir::Stmt& s) {
    ir::Stmt inside;
    auto nest = thread_nest(s, inside);
    for (std::size_t i = 0; i < nest.size(); ++i) {
      const auto* extent = as_int(nest[nest.size() - 1 - i]->extent);
      internal_check(extent && i < 3, "thread loops have constant extents and three axes");
      block_[i] = std::max(block_[i], *extent);
    }
    if (!inside.defined()) return;
    ir::for_each_child(
        inside, [this](const ir::Stmt& child) { measure(child); }, [](const Expr&) {});
  }

  // ---- block loops ---------------------------------------------------------------------------------
  ir::Stmt run_grid(const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop && loop->kind == LoopKind::GpuBlock) {
      return ir::make_stmt(
          ir::For{loop->name, loop->min, loop->extent, loop->kind, run_grid(loop->body), loop->rolled});
    }
    if (has_block_loops(s)) {
      return ir::map_children(
          s, [this](const ir::Stmt& child) { return run_grid(child); }, [](const Expr& e) { return e; });
    }
    collect_shared(s);
    Pending pending;
    ir::Stmt body = run_block(s, pending);
    for (auto it = allocs_.rbegin(); it != allocs_.rend(); ++it) {
      it->body = body;
      body = ir::make_stmt(*it);
    }
    return body;
  }

  static bool has_block_loops(const ir::Stmt& s) {
    bool found = false;
    ir::walk(
        s,
        [&](const ir::Stmt& child) {
          const auto* loop = child.as<ir::For>();
          if (loop && loop->kind == LoopKind::GpuBlock) found = true;
        },
        [](const Expr&) {});
    return found;
  }

  void collect_shared(const ir::Stmt& s) {
    ir::walk(
        s,
        [&](const ir::Stmt& child) {
          const auto* alloc = child.as<ir::Allocate>();
          if (alloc == nullptr) return;
          if (alloc->memory != MemoryType::Shared) {
            private_.insert(alloc->buffer);
            return;
          }
          Memory& memory = memories_[alloc->buffer];
          memory = {alloc->stage, alloc->kept, {}};
          if (plan_ != nullptr) memory.order = planning::order_of(*plan_, alloc->stage, alloc->kept);
        },
        [](const Expr&) {});
  }

  Effects effects(const ir::Stmt& s) const {
    Effects all;
    ir::walk(
        s, [&](const ir::Stmt& child) { add_effects(child, all); }, nullptr);
    return all;
  }
  // Those on shared memory: no thread reads what another wrote to global memory in the same kernel. Of
  // statements that live as long as this; loops ask for theirs several times.
  const Effects& shared_effects(const ir::Stmt& s) {
    const auto [known, is_new] = effects_.try_emplace(&s.node());
    if (is_new) known->second = in_shared(effects(s));
    return known->second;
  }
  /// What `s` itself does, statements inside it left out.
  const Effects& own_shared_effects(const ir::Stmt& s) {
    const auto [known, is_new] = own_effects_.try_emplace(&s.node());
    if (is_new) {
      Effects own;
      add_effects(s, own);
      known->second = in_shared(std::move(own));
    }
    return known->second;
  }
  void add_effects(const ir::Stmt& s, Effects& p) const {
    for (const ir::ArrayUse& use : ir::array_uses(s)) {
      if (private_.count(use.array)) continue;
      if (use.kind == ir::ArrayUse::Kind::Write) {
        (s.as<ir::BulkCopy>() ? p.bulk_writes : p.writes).insert(use.array);
      }
      if (use.kind == ir::ArrayUse::Kind::Read) p.reads.insert(use.array);
      // A copy needs its transaction barriers set up; waiting there orders nothing else.
      if (use.kind == ir::ArrayUse::Kind::Synchronize && s.as<ir::BulkCopy>()) {
        p.reads.insert(use.array);
      }
    }
    ir::for_each_child(s, nullptr, [&](const Expr& e) {
      walk(e, [&](const Expr& node) {
        const auto* load = node.as<Load>();
        if (load && !private_.count(load->buffer)) p.reads.insert(load->buffer);
      });
    });
  }

  // ---- inside a block ------------------------------------------------------------------------------
  // Nothing is `made` where only what is pending is asked for: the result is then of no use.
  ir::Stmt run_block(const ir::Stmt& s, Pending& pending) {
    if (!s.defined()) return s;
    if (const auto* block = s.as<ir::Block>()) {
      std::vector<ir::Stmt> stmts;
      for (const auto& child : block->stmts) stmts.push_back(run_block(child, pending));
      return ir::make_block(std::move(stmts));
    }
    if (s.as<ir::CopyWait>()) pending.arrive(memories_);
    if (s.as<ir::Barrier>()) {
      if (pending == Pending()) return {};
      pending.meet(memories_, Meets::Block);
      return s;
    }
    if (const auto* alloc = s.as<ir::Allocate>()) {
      ir::Allocate hoisted = *alloc;
      hoisted.body = {};
      // One array may be made in several places, one after the other.
      for (const auto& a : allocs_) {
        if (a.buffer == alloc->buffer) return run_block(alloc->body, pending);
      }
      allocs_.push_back(hoisted);
      return run_block(alloc->body, pending);
    }
    if (const auto* produce = s.as<ir::Produce>()) {
      pending.begin_plane(*produce, memories_);
      ir::Stmt body = run_block(produce->body, pending);
      return body.defined() ? ir::make_stmt(ir::Produce{produce->func, body, false, produce->kept})
                            : body;
    }
    if (!has_thread_loops(s)) return stage(s, pending, [&] { return one_thread(s); });
    ir::Stmt inside;
    if (auto nest = thread_nest(s, inside); !nest.empty()) {
      return stage(s, pending, [&] { return thread_code(nest, inside); });
    }
    if (const auto* let = s.as<ir::LetStmt>()) {
      return ir::make_stmt(ir::LetStmt{let->name, let->value, run_block(let->body, pending)});
    }
    if (const auto* branch = s.as<ir::If>()) return run_branch(s, *branch, pending);
    const auto* loop = s.as<ir::For>();
    internal_check(loop != nullptr, "a loop is left among block statements");
    // What one iteration leaves pending meets the next iteration's start.
    Pending start = pending;
    Pending before;
    const bool made = std::exchange(made_, false);
    do {
      before = start;
      Pending end = start;
      run_block(loop->body, end);
      start.add(end);
    } while (before != start);
    made_ = made;
    ir::Stmt body = run_block(loop->body, start);
    pending.add(start);
    return ir::make_stmt(ir::For{loop->name, loop->min, loop->extent, loop->kind, body, loop->rolled});
  }

  // A barrier before the branch serves what follows it too, unless the branch waits for copies first.
  ir::Stmt run_branch(const ir::Stmt& s, const ir::If& branch, Pending& pending) {
    ir::Stmt barrier;
    if (const Meets who = meets_in_order(s, pending); who != Meets::Nobody) {
      pending.meet(memories_, who);
      barrier = barrier_of(who);
    }
    Pending other = pending;
    ir::Stmt a = run_block(branch.then_case, pending);
    ir::Stmt b = run_block(branch.else_case, other);
    pending.add(other);
    return ir::make_block({barrier, ir::make_stmt(ir::If{branch.condition, a, b})});
  }

  /// Does a statement of a branch conflict with what is pending before it? Not if the branch waits for
  /// copies.
  Meets meets_in_order(const ir::Stmt& branch, Pending pending) {
    Meets meets = Meets::Nobody;
    bool waits = false;
    const auto check = [&](const ir::Stmt& s) {
      if (const auto* made = s.as<ir::Produce>()) pending.begin_plane(*made, memories_);
      waits = waits || s.as<ir::CopyWait>() || s.as<ir::BulkWait>();
      meets = std::max(meets, pending.conflicts(own_shared_effects(s), memories_));
    };
    ir::walk(branch, check, nullptr);
    return waits ? Meets::Nobody : meets;
  }

  [[nodiscard]] Effects in_shared(Effects effects) const {
    for (auto* names : {&effects.reads, &effects.writes, &effects.bulk_writes}) {
      std::erase_if(*names, [this](const std::string& name) { return memories_.count(name) == 0; });
    }
    return effects;
  }

  ir::Stmt stage(const ir::Stmt& s, Pending& pending, FunctionRef<ir::Stmt()> make) {
    const Effects& effects = shared_effects(s);
    const ir::Stmt code = made_ ? make() : s;
    const Meets who = pending.conflicts(effects, memories_);
    if (who == Meets::Nobody) {
      pending.add(effects);
      return code;
    }
    pending.meet(memories_, who);
    pending.add(effects);
    return ir::make_block({barrier_of(who), code});
  }

  // The named barrier of the tile's threads is the same for all memory that they alone touch.
  [[nodiscard]] ir::Stmt barrier_of(Meets who) const {
    if (who == Meets::Block) return ir::make_stmt(ir::Barrier{});
    const auto own = std::find_if(memories_.begin(), memories_.end(), [](const auto& entry) {
      return is_of_tile(entry.second) && !entry.second.order.at.hands_over;
    });
    const planning::Meeting& at = own->second.order.at;
    const ir::Stmt meet = ir::make_stmt(ir::NamedBarrier{at.barrier, static_cast<int>(at.threads)});
    Expr condition;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t threads = plan_->frame.threads[axis];
      if (threads == block_[axis]) continue;
      const Expr in_tile = make_var(axis_name(axis)) < make_const(Int(32), threads);
      condition = condition.defined() ? condition && in_tile : in_tile;
    }
    return ir::make_stmt(ir::If{condition, meet, {}});
  }

  ir::Stmt thread_code(const std::vector<const ir::For*>& nest, const ir::Stmt& inside) const {
    ir::Stmt body = inside;
    Expr condition;
    auto require = [&](const Expr& c) { condition = condition.defined() ? condition && c : c; };
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Expr thread = make_var(axis_name(axis));
      if (axis >= nest.size()) {
        if (block_[axis] > 1) require(thread == 0);
        continue;
      }
      const ir::For& loop = *nest[nest.size() - 1 - axis];
      const std::int64_t extent = *as_int(loop.extent);
      if (extent < block_[axis]) require(thread < make_const(Int(32), extent));
      Expr value = block_[axis] == 1 ? loop.min : loop.min + thread;
      body = ir::substitute(body, loop.name, value);
    }
    return condition.defined() ? ir::make_stmt(ir::If{condition, body, {}}) : body;
  }

  ir::Stmt one_thread(const ir::Stmt& s) const {
    const Effects done = effects(s);
    if (done.writes.empty() && done.bulk_writes.empty() && !expects_copies(s)) return s;
    Expr condition;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (block_[axis] == 1) continue;
      Expr first = make_var(axis_name(axis)) == 0;
      condition = condition.defined() ? condition && first : first;
    }
    return condition.defined() ? ir::make_stmt(ir::If{condition, s, {}}) : s;
  }

  /// A BulkExpect is one thread's.
  static bool expects_copies(const ir::Stmt& s) {
    bool found = false;
    ir::walk(
        s, [&](const ir::Stmt& child) { found = found || child.as<ir::BulkExpect>(); }, nullptr);
    return found;
  }

  static std::string axis_name(std::size_t axis) {
    return ir::kGpuAxisNames[static_cast<std::size_t>(ir::GpuAxis::ThreadX) + axis];
  }

  const DeviceLimits& limits_;
  std::string kernel_;
  SourceLocation where_;
  std::int64_t block_[3] = {1, 1, 1};
  std::vector<ir::Allocate> allocs_;
  Names private_;
  const planning::KernelPlan* plan_;
  Memories memories_;
  std::map<const void*, Effects> effects_, own_effects_;
  bool made_ = true;
};

}  // namespace

void fuse_thread_loops(Program& program) {
  for (auto& nest : program.nests) {
    if (!nest.on_device) continue;
    const FunctionData* func = program.pipeline.find(nest.func);
    internal_check(func != nullptr, "a nest computes a Func of the pipeline");
    const SourceLocation& where = schedule_of(program, *func).block;
    nest.body = Fuser(program.options.limits, *func, where, plan_of(program, nest))
                    .run(nest.body, nest.kernel.block);
  }
}

}  // namespace mica::passes
