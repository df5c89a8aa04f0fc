#include "tests/support/count_accesses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/ir/traverse.h"
#include "runtime/run/evaluate.h"

namespace mica::test {
namespace {

using Key = std::vector<std::int64_t>;

struct Around {
  LoopKind kind;
  std::int64_t number, iteration;  // `number` tells loops apart
};

class Counter {
 public:
  Counter(CountedKernel& out, std::map<std::string, std::int64_t> symbols, std::int64_t sector)
      : out_(out), env_(std::move(symbols)), sector_(sector) {}

  void run(const ir::Stmt& s) {
    if (!s.defined()) return;
    if (const auto* loop = s.as<ir::For>()) {
      const std::int64_t min = evaluate_int(loop->min, env_), n = evaluate_int(loop->extent, env_);
      const auto number = numbers_.emplace(&s.node(), numbers_.size()).first->second;
      for (std::int64_t i = 0; i < n; ++i) {
        env_[loop->name] = min + i;
        around_.push_back({loop->kind, static_cast<std::int64_t>(number), i});
        run(loop->body);
        around_.pop_back();
      }
      env_.erase(loop->name);
    } else if (const auto* branch = s.as<ir::If>()) {
      run(evaluate_int(branch->condition, env_) != 0 ? branch->then_case : branch->else_case);
    } else if (const auto* let = s.as<ir::LetStmt>()) {
      loads(let->value);
      if (let->value.type().is_float() || has_load(let->value)) {
        operations_[let->name] = operations(let->value);
        run(let->body);
        operations_.erase(let->name);
      } else {
        env_[let->name] = evaluate_int(let->value, env_);
        run(let->body);
        env_.erase(let->name);
      }
    } else if (const auto* alloc = s.as<ir::Allocate>()) {
      memory_[alloc->buffer] = {alloc->memory, alloc->type};
      run(alloc->body);
    } else if (const auto* store = s.as<ir::Store>()) {
      loads(store->value);
      const Key at = indices(store->index);
      ++out_.stores[store->buffer];
      out_.places[store->buffer].insert(at);
      out_.operations += operations(store->value);
      touch(store->buffer, store->value.type(), at, true, around_);
    } else if (const auto* async = s.as<ir::AsyncCopy>()) {
      copied(*async, async->count);
    } else if (const auto* bulk = s.as<ir::BulkCopy>()) {
      const std::int64_t count = evaluate_int(bulk->count, env_);
      copied(*bulk, count);
      barrier(bulk->barriers, bulk->slot).copied += count * memory_.at(bulk->to).type.bytes();
    } else if (const auto* expect = s.as<ir::BulkExpect>()) {
      barrier(expect->barriers, expect->slot).expected += evaluate_int(expect->bytes, env_);
    } else {
      ir::for_each_child(
          s, [this](const ir::Stmt& child) { run(child); }, nullptr);
    }
  }

 private:
  template <typename Copy>
  void copied(const Copy& copy, std::int64_t count) {
    Key from = indices(copy.from_index), to = indices(copy.to_index);
    auto around = around_;
    around.push_back({LoopKind::Vectorized, -1, 0});
    for (std::int64_t i = 0; i < count; ++i, ++from[0], ++to[0]) {
      touch(copy.from, memory_.at(copy.to).type, from, false, around);
      touch(copy.to, memory_.at(copy.to).type, to, true, around);
    }
  }

  CountedKernel::Bulk& barrier(const std::string& barriers, const Expr& slot) {
    return out_.bulk[{barriers, evaluate_int(slot, env_)}];
  }

  struct Memory {
    MemoryType memory;
    Type type;
  };

  Key indices(const std::vector<Expr>& index) const {
    Key at;
    for (const auto& e : index) at.push_back(evaluate_int(e, env_));
    return at;
  }
  static bool has_load(const Expr& e) {
    bool found = e.as<Load>() != nullptr;
    for_each_child(e, [&](const Expr& child) { found = found || has_load(child); });
    return found;
  }
  void loads(const Expr& e) {
    for_each_child(e, [this](const Expr& child) { loads(child); });
    if (const auto* load = e.as<Load>())
      touch(load->buffer, e.type(), indices(load->index), false, around_);
  }
  std::int64_t operations(const Expr& e) const {
    if (e.as<Load>() != nullptr) return 0;
    if (const auto* var = e.as<VarRef>()) {
      return operations_.count(var->name) ? operations_.at(var->name) : 0;
    }
    std::int64_t n = 0;
    if (e.as<Fma>() != nullptr) n = 2;
    if (const auto* op = e.as<Binary>()) n = op->op == BinaryOp::And || op->op == BinaryOp::Or ? 0 : 1;
    if (const auto* op = e.as<Unary>()) n = op->op >= UnaryOp::Sqrt ? 1 : 0;
    for_each_child(e, [&](const Expr& child) { n += operations(child); });
    return n;
  }

  void touch(const std::string& array, Type type, const Key& at, bool store,
             const std::vector<Around>& around) {
    const auto memory = memory_.find(array);
    const bool global = memory == memory_.end();
    if (!global && memory->second.memory == MemoryType::Register) return;
    const std::int64_t bytes = type.element().bytes();
    // What is written out for one thread: all loops but trailing vectors and unrolled ones.
    std::size_t last = around.size();
    while (last > 0 && (around[last - 1].kind == LoopKind::Vectorized ||
                        around[last - 1].kind == LoopKind::Unrolled)) {
      --last;
    }
    Key code;
    for (std::size_t i = 0; i < last; ++i)
      code.insert(code.end(), {around[i].number, around[i].iteration});
    code.push_back(-1);
    add(global ? out_.l1 : out_.shared, code, array, at, store, bytes);
    if (!global) return;
    Key block, step;
    for (const Around& a : around) {
      if (a.kind != LoopKind::GpuBlock && a.kind != LoopKind::March) continue;
      if (a.kind == LoopKind::GpuBlock) block.insert(block.end(), {a.number, a.iteration});
      step.insert(step.end(), {a.number, a.iteration});
    }
    Key sector = at;
    const std::int64_t grain = std::max<std::int64_t>(1, sector_ / bytes);
    const std::int64_t origin = env_.count(array + ".origin") ? env_.at(array + ".origin") : 0;
    const std::int64_t x = at.front() - origin;
    sector.front() = (x - (x % grain + grain) % grain) / grain;
    const std::int64_t unit = std::max(sector_, bytes);
    step.push_back(-2), block.push_back(-3);
    add(out_.l2, step, array, sector, store, unit);
    add(out_.by_block, block, array, sector, store, unit);
    add(out_.once, {-4}, array, sector, store, unit);
  }
  void add(Moved& to, Key key, const std::string& array, const Key& at, bool store, std::int64_t bytes) {
    key.push_back(store ? -5 : -6);
    key.insert(key.end(), at.begin(), at.end());
    if (!seen_[array].insert(key).second) return;
    (store ? to.written : to.read) += bytes;
  }

  CountedKernel& out_;
  std::map<std::string, std::int64_t> env_;
  std::int64_t sector_;
  std::vector<Around> around_;
  std::map<const ir::StmtNode*, std::size_t> numbers_;
  std::map<std::string, Memory> memory_;
  std::map<std::string, std::int64_t> operations_;
  std::map<std::string, std::set<Key>> seen_;
};

}  // namespace

CountedKernel count_accesses(const Nest& nest, const std::map<std::string, std::int64_t>& symbols,
                             std::int64_t sector_bytes) {
  CountedKernel counted;
  counted.name = nest.kernel.name;
  Counter(counted, symbols, sector_bytes).run(nest.body);
  const auto stores = counted.places.find(nest.func);
  const auto first = counted.places.find(nest.func + ".0");
  if (stores != counted.places.end()) counted.points = static_cast<std::int64_t>(stores->second.size());
  if (first != counted.places.end()) counted.points = static_cast<std::int64_t>(first->second.size());
  return counted;
}

}  // namespace mica::test
