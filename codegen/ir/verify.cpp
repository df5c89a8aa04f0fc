#include "codegen/ir/verify.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "codegen/ir/verify_expr.h"
#include "dsl/check/update_order.h"
#include "dsl/expr/names.h"

namespace mica::ir {

namespace {

constexpr int kWarpThreads = 32;

bool is_axis_of_thread(const std::string& name) {
  return std::any_of(&kGpuAxisNames[static_cast<int>(GpuAxis::ThreadX)], std::end(kGpuAxisNames),
                     [&](const char* axis) { return name == axis; });
}

/// The first line of a statement, for messages.
std::string headline(const Stmt& s) {
  const std::string text = to_string(s);
  return text.substr(0, text.find('\n'));
}

class Verifier {
 public:
  Verifier(Level level, const Environment& environment)
      : level_(level), mapped_(environment.axes_mapped) {
    for (const auto& [name, type] : environment.symbols) scope_.names[name].push_back({type});
    for (const auto& [name, buffer] : environment.buffers) scope_.buffers[name] = buffer;
    scope_.axes_mapped = mapped_;
    if (mapped_) {
      for (const char* axis : kGpuAxisNames) {
        scope_.names[axis].push_back({Int(32), is_axis_of_thread(axis)});
      }
    }
  }

  void check(const Stmt& s) {
    if (!s.defined()) return;
    std::visit([&](const auto& op) { statement(s, op); }, s.node().op);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(found_); }

 private:
  void report(const Stmt& s, const std::string& what) {
    found_.push_back(what + ", in: " + headline(s));
  }
  void require(bool holds, const Stmt& s, const std::string& what) {
    if (!holds) report(s, what);
  }
  /// Checks an expression that `s` holds.
  void expression(const Stmt& s, const Expr& e) {
    if (!e.defined()) {
      found_.emplace_back("an undefined expression");
      return;
    }
    std::vector<std::string> findings;
    verify_expr(e, level_, scope_, findings);
    for (const std::string& finding : findings) report(s, finding);
  }
  [[nodiscard]] bool depends_on_thread(const Expr& e) const { return scope_.divergent(e); }

  void with_name(const std::string& name, Type type, bool divergent, const Stmt& body) {
    scope_.names[name].push_back({type, divergent});
    check(body);
    scope_.names[name].pop_back();
  }

  void statement(const Stmt& s, const For& loop) {
    expression(s, loop.min);
    expression(s, loop.extent);
    if (!loop.min.defined() || !loop.extent.defined()) return;
    const Type type = loop.min.type();
    require(type == Int(32) || type == Int(64), s,
            "loop variable " + loop.name + " is " + mica::to_string(type) + ", not i32 or i64");
    require(loop.extent.type() == type, s,
            "min and extent of " + loop.name + " are " + mica::to_string(type) + " and " +
                mica::to_string(loop.extent.type()));
    const bool fixed = loop.kind == LoopKind::Vectorized || loop.kind == LoopKind::Unrolled;
    const bool block = loop.kind == LoopKind::GpuBlock;
    const bool thread = loop.kind == LoopKind::GpuThread;
    const bool parallel = loop.kind == LoopKind::Parallel;
    if (fixed) {
      const std::int64_t* extent = as_int(loop.extent);
      // Baking may still make an unrolled loop's extent constant; unroll_loops asks for it.
      const bool allowed = extent != nullptr ? *extent >= 1 : loop.kind == LoopKind::Unrolled;
      require(allowed, s, "extent of " + loop.name + " is not a constant");
      require(level_ < Level::BackEnd, s,
              std::string(keyword(loop.kind)) + " loop " + loop.name + " is left for the back end");
    }
    require(!(block && in_thread_), s, "gpu_block loop " + loop.name + " inside a gpu_thread loop");
    require(!(parallel && (in_block_ || in_thread_)), s,
            "parallel loop " + loop.name + " inside gpu_block or gpu_thread loops");
    require(!(mapped_ && (block || thread || parallel)), s,
            std::string(keyword(loop.kind)) + " loop " + loop.name + " in the code of one thread");

    const bool divergent =
        !block && !thread && (depends_on_thread(loop.min) || depends_on_thread(loop.extent));
    const auto saved = std::tuple(in_block_, in_thread_, divergent_, at_top_);
    in_block_ = in_block_ || block;
    in_thread_ = in_thread_ || thread;
    divergent_ = divergent_ || divergent;
    at_top_ = false;
    with_name(loop.name, type, thread || divergent, loop.body);
    std::tie(in_block_, in_thread_, divergent_, at_top_) = saved;
  }

  void statement(const Stmt& s, const Store& store) {
    for (const Expr& e : store.index) expression(s, e);
    for (const Expr& e : store.logical) expression(s, e);
    expression(s, store.value);
    const auto buffer = scope_.buffers.find(store.buffer);
    if (buffer == scope_.buffers.end()) {
      report(s, "store to " + store.buffer + ", which is no buffer here");
      return;
    }
    require(buffer->second.writable, s, "store to " + store.buffer + ", which is only read");
    if (!store.value.defined()) return;
    std::vector<std::string> findings;
    verify_indices(store.buffer, store.index, store.alignment, store.value.type(), level_, scope_,
                   findings);
    for (const std::string& finding : findings) report(s, finding);
    const Type type = store.value.type();
    require(!store.atomic || is_atomic_type(type), s,
            "atomic store of " + mica::to_string(type) + ", which is no integer of 32 or 64 bits");
    if (!store.block.defined()) return;
    scalar(s, store.block);
    require(buffer->second.allocated == MemoryType::Shared, s,
            "store to another block's " + store.buffer + ", which is not shared memory");
  }

  void statement(const Stmt& /*s*/, const Block& block) {
    const bool saved = std::exchange(at_top_, at_top_ && block.stmts.size() <= 1);
    for (const Stmt& child : block.stmts) check(child);
    at_top_ = saved;
  }

  void statement(const Stmt& s, const If& branch) {
    expression(s, branch.condition);
    if (!branch.condition.defined()) return;
    require(branch.condition.type() == Bool(), s,
            "condition is " + mica::to_string(branch.condition.type()) + ", not bool");
    const auto saved = std::pair(divergent_, at_top_);
    divergent_ = divergent_ || depends_on_thread(branch.condition);
    at_top_ = false;
    check(branch.then_case);
    check(branch.else_case);
    std::tie(divergent_, at_top_) = saved;
  }

  void statement(const Stmt& s, const LetStmt& let) {
    expression(s, let.value);
    if (!let.value.defined()) return;
    with_name(let.name, let.value.type(), depends_on_thread(let.value), let.body);
  }

  void statement(const Stmt& s, const Allocate& a) {
    for (const Expr& e : a.mins) expression(s, e);
    for (const Expr& e : a.extents) expression(s, e);
    require(a.memory != MemoryType::Auto, s, "memory of " + a.buffer + " is not decided");
    require(a.mins.size() == a.extents.size(), s,
            a.buffer + " has " + std::to_string(a.mins.size()) + " mins and " +
                std::to_string(a.extents.size()) + " extents");
    if (a.memory != MemoryType::Heap) {
      for (const Expr& e : a.extents) {
        require(as_int(e) != nullptr, s, "an extent of " + a.buffer + " is not a constant");
      }
    }
    require(level_ < Level::Flat || a.strides.size() == a.extents.size(), s,
            a.buffer + " has " + std::to_string(a.strides.size()) + " strides for " +
                std::to_string(a.extents.size()) + " dimensions");
    if (mapped_) {
      require(a.memory != MemoryType::Shared || at_top_, s,
              "shared memory " + a.buffer + " is not at the top of the kernel");
      require(a.memory != MemoryType::Heap, s, "heap memory " + a.buffer + " in a GPU kernel");
    }
    require(scope_.buffers.count(a.buffer) == 0, s, a.buffer + " is allocated inside its lifetime");
    const bool mine = a.memory == MemoryType::Register || a.memory == MemoryType::Stack;
    const auto [at, is_new] = scope_.buffers.try_emplace(a.buffer);
    const Environment::BufferInfo outside = at->second;
    at->second = {a.type, static_cast<int>(a.extents.size()), true, a.memory};
    if (mine) scope_.thread_private.insert(a.buffer);
    check(a.body);
    scope_.thread_private.erase(a.buffer);
    if (is_new) {
      scope_.buffers.erase(at);
    } else {
      at->second = outside;
    }
  }

  void statement(const Stmt& s, const Barrier& /*barrier*/) {
    require(!divergent_, s, "barrier that only some threads reach");
    require(level_ < Level::BackEnd || mapped_, s, "barrier in host code");
  }
  void statement(const Stmt& s, const NamedBarrier& barrier) {
    require(barrier.number >= 1 && barrier.turns >= 1 &&
                barrier.number + barrier.turns - 1 <= kNamedBarriers,
            s, "named barriers have numbers from 1 to " + std::to_string(kNamedBarriers));
    require(barrier.threads > 0 && barrier.threads % kWarpThreads == 0, s,
            "barrier of " + std::to_string(barrier.threads) + " threads, which are no whole warps");
    if (barrier.turn.defined()) scalar(s, barrier.turn);
    if (const auto* turn = as_int(barrier.turn)) {
      require(*turn >= 0 && *turn < barrier.turns, s,
              "turn " + std::to_string(*turn) + " of " + std::to_string(barrier.turns) + " barriers");
    }
    require(level_ < Level::BackEnd || mapped_, s, "barrier in host code");
  }
  void statement(const Stmt& s, const ClusterBarrier& /*barrier*/) {
    require(!divergent_, s, "barrier of the cluster that only some threads reach");
    require(level_ < Level::BackEnd || mapped_, s, "barrier in host code");
  }
  void statement(const Stmt& /*s*/, const Produce& produce) { check(produce.body); }

  void statement(const Stmt& s, const AsyncCopy& copy) {
    places(s, copy);
    const auto to = scope_.buffers.find(copy.to);
    if (to == scope_.buffers.end()) return;
    const int bytes = copy.count * to->second.type.bytes();
    require(bytes == 4 || bytes == 8 || bytes == 16, s,
            "asynchronous copy of " + std::to_string(bytes) + " bytes, not 4, 8 or 16");
  }
  void statement(const Stmt& /*s*/, const CopyCommit& /*commit*/) {}
  void statement(const Stmt& s, const CopyWait& wait) {
    require(wait.pending >= 0, s, "wait that leaves a negative number of groups");
  }
  void statement(const Stmt& s, const BulkInit& init) {
    barriers(s, init.barriers);
    require(init.count >= 1, s, "no transaction barrier to set up");
  }
  void statement(const Stmt& s, const BulkExpect& expect) {
    barriers(s, expect.barriers);
    scalar(s, expect.slot);
    scalar(s, expect.bytes);
  }
  void statement(const Stmt& s, const BulkCopy& copy) {
    places(s, copy);
    barriers(s, copy.barriers);
    scalar(s, copy.slot);
    scalar(s, copy.count);
  }
  void statement(const Stmt& s, const BulkWait& wait) {
    barriers(s, wait.barriers);
    scalar(s, wait.slot);
    scalar(s, wait.parity);
  }
  void statement(const Stmt& s, const Evaluate& evaluate) { scalar(s, evaluate.value); }

  /// An expression that is a scalar integer.
  void scalar(const Stmt& s, const Expr& e) {
    expression(s, e);
    if (!e.defined()) return;
    if (e.type().is_scalar() && e.type().is_integer()) return;
    report(s, mica::to_string(e) + " is " + mica::to_string(e.type()) + ", not a scalar integer");
  }
  void barriers(const Stmt& s, const std::string& name) {
    const auto found = scope_.buffers.find(name);
    require(found != scope_.buffers.end() && found->second.allocated == MemoryType::Shared &&
                found->second.type == Int(64),
            s, name + " is no shared array of transaction barriers (i64)");
  }
  /// Both ends of an AsyncCopy or BulkCopy.
  template <typename Copy>
  void places(const Stmt& s, const Copy& copy) {
    for (const auto* list : {&copy.to_index, &copy.from_index, &copy.to_logical, &copy.from_logical}) {
      for (const Expr& e : *list) expression(s, e);
    }
    const auto to = scope_.buffers.find(copy.to);
    const auto from = scope_.buffers.find(copy.from);
    if (to == scope_.buffers.end() || from == scope_.buffers.end()) {
      report(s, "copy between " + copy.from + " and " + copy.to + ", of which one is no buffer here");
      return;
    }
    require(to->second.allocated == MemoryType::Shared, s,
            "asynchronous copy to " + copy.to + ", which is not shared memory");
    require(!from->second.allocated, s,
            "asynchronous copy from " + copy.from + ", which is no parameter");
    const Type type = to->second.type;
    std::vector<std::string> findings;
    verify_indices(copy.to, copy.to_index, 1, type, level_, scope_, findings);
    verify_indices(copy.from, copy.from_index, 1, type, level_, scope_, findings);
    for (const std::string& finding : findings) report(s, finding);
  }

  Level level_;
  bool mapped_;
  Scope scope_;
  bool in_block_ = false, in_thread_ = false;
  bool divergent_ = false;  ///< some threads of the block may not be here
  bool at_top_ = true;      ///< under lets, allocations and markers alone
  std::vector<std::string> found_;
};

/// A parameter that is read as a texture.
void verify_texture(const Kernel& kernel, const KernelParam& p, std::vector<std::string>& found) {
  if (!p.is_pointer || p.is_written || !has_textures(p.type)) {
    found.push_back("texture " + p.name + " is no array of f32, i32 or u32 that is only read");
  }
  const std::string origin = texture_origin(p.name);
  const bool has_origin = std::any_of(
      kernel.params.begin(), kernel.params.end(),
      [&](const KernelParam& o) { return o.name == origin && !o.is_pointer && o.type == Int(64); });
  if (!has_origin) found.push_back("texture " + p.name + " has no parameter " + origin);
  walk(
      kernel.body,
      [&](const Stmt& s) {
        for (const ArrayUse& use : array_uses(s)) {
          if (use.array == p.name)
            found.push_back("copy from texture " + p.name + ", in: " + headline(s));
        }
      },
      nullptr);
}

/// What the sizes of a kernel's blocks and clusters allow.
void verify_sizes(const Kernel& kernel, std::vector<std::string>& found) {
  const int blocks = cluster_blocks(kernel);
  const bool positive = *std::min_element(std::begin(kernel.cluster), std::end(kernel.cluster)) > 0;
  if (!positive || blocks > kMostClusterBlocks) {
    found.push_back("a cluster of " + std::to_string(blocks) + " blocks, not 1 to " +
                    std::to_string(kMostClusterBlocks));
  }
  const int threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
  walk(
      kernel.body,
      [&](const Stmt& s) {
        const auto* barrier = s.as<NamedBarrier>();
        if (barrier == nullptr || barrier->threads <= threads) return;
        found.push_back("a barrier of " + std::to_string(barrier->threads) + " threads in blocks of " +
                        std::to_string(threads) + ", in: " + headline(s));
      },
      nullptr);
}

}  // namespace

void Environment::add_buffer(const std::string& name, Type type, int dimensions, bool writable) {
  buffers[name] = {type, dimensions, writable};
  for (int d = 0; d < dimensions; ++d) {
    for (const auto field : {BufferField::Min, BufferField::Extent, BufferField::Stride}) {
      symbols[symbol_name(name, field, static_cast<std::size_t>(d))] = std::nullopt;
    }
  }
}

std::vector<std::string> verify(const Stmt& s, Level level, const Environment& environment) {
  return verify(std::vector<Stmt>{s}, level, environment);
}

std::vector<std::string> verify(const std::vector<Stmt>& each, Level level,
                                const Environment& environment) {
  Verifier verifier(level, environment);
  for (const Stmt& s : each) verifier.check(s);
  return verifier.take();
}

std::vector<std::string> verify(const Kernel& kernel, Level level) {
  Environment environment;
  environment.axes_mapped = kernel.on_device;
  std::vector<std::string> doubled;
  std::set<std::string> names;
  for (const KernelParam& p : kernel.params) {
    if (!names.insert(p.name).second) doubled.push_back("two parameters named " + p.name);
    if (p.is_pointer) {
      environment.buffers[p.name] = {p.type, 0, p.is_written};
    } else {
      environment.symbols[p.name] = p.type;
    }
  }
  std::vector<std::string> found = verify(kernel.body, level, environment);
  found.insert(found.begin(), doubled.begin(), doubled.end());
  for (const KernelParam& p : kernel.params) {
    if (p.texture) verify_texture(kernel, p, found);
  }
  verify_sizes(kernel, found);
  for (std::string& f : found) f = "kernel " + kernel.name + ": " + f;
  return found;
}

void throw_if_unsound(const std::vector<std::string>& violations, const std::string& after) {
  if (violations.empty()) return;
  std::string text = "the code after " + after + " is unsound:";
  for (const std::string& v : violations) text += "\n  " + printed(v);
  throw InternalError(text);
}

}  // namespace mica::ir
