#include "codegen/passes/loops/flatten_storage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/element_copy.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/funcs/unify_arrays.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Linear;

// How an array inside the nest is laid out.
struct Layout {
  Type type;
  std::vector<Expr> mins, strides;
  std::vector<std::int64_t> folds;  // as Allocate::folds
  bool private_to_threads = false;  // a thread's own points: the threads' loops do not count
};

using Names = std::set<std::string>;

void drop(Linear& form, const Names& loops) {
  for (const auto& name : loops) form.take(name);
}

// The points of a whole block's register memory that one thread touches, per dimension: the extents of
// its indices without the thread loops.
class OwnPoints {
 public:
  OwnPoints(const ir::Allocate& alloc) : alloc_(alloc), extents_(alloc.mins.size(), 1) {}

  std::vector<std::int64_t> run() {
    visit(alloc_.body);
    return extents_;
  }

 private:
  void visit(const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    const bool thread = loop && loop->kind == LoopKind::GpuThread;
    if (thread) threads_.insert(loop->name);
    if (loop && !thread) {
      const auto count = analysis::range_of(loop->extent, ranges_).max;
      ranges_.push(loop->name, {std::int64_t{0}, count ? std::optional(*count - 1) : std::nullopt});
    }
    if (const auto* store = s.as<ir::Store>(); store && store->buffer == alloc_.buffer) {
      touch(store->index);
    }
    ir::for_each_child(
        s, [this](const ir::Stmt& child) { visit(child); },
        [this](const Expr& e) {
          walk(e, [this](const Expr& node) {
            const auto* load = node.as<Load>();
            if (load && load->buffer == alloc_.buffer) touch(load->index);
          });
        });
    if (thread) threads_.erase(loop->name);
    if (loop && !thread) ranges_.pop();
  }
  void touch(const std::vector<Expr>& index) {
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (d < alloc_.folds.size() && alloc_.folds[d] > 0) continue;
      Linear form = analysis::linearize(index[d]);
      form.add(analysis::linearize(alloc_.mins[d]), -1);
      drop(form, threads_);
      const auto range = analysis::range_of(form, ranges_);
      internal_check(range.min && range.max && *range.min >= 0, "a thread touches its own points only");
      extents_[d] = std::max(extents_[d], *range.max + 1);
    }
  }

  const ir::Allocate& alloc_;
  std::vector<std::int64_t> extents_;
  Names threads_;
  analysis::Ranges ranges_;
};

class Flattener {
 public:
  Flattener(const Plan& plan, const LowerOptions& options, const Nest& nest)
      : origins_(nest.origins),
        bake_(options.bake),
        alike_(alike_arrays(plan, options.variant)),
        on_device_(nest.on_device),
        keep_logical_(options.target.backend == Backend::GpuEmulator ||
                      options.target.backend == Backend::HostChecked),
        wide_(!options.variant.index32),
        unit_stride_(options.variant.unit_stride) {
    const std::vector<Variant::Inner>& inner = options.variant.inner;
    for (std::size_t i = 0; i < inner.size(); ++i) inner_[plan.buffers.at(i).name] = inner[i];
    ir::walk(
        nest.body,
        [this](const ir::Stmt& s) {
          const auto* loop = s.as<ir::For>();
          loops_ = loops_ || (loop && loop->kind == LoopKind::Serial);
        },
        nullptr);
  }

  ir::Stmt run(const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    const auto* let = s.as<ir::LetStmt>();
    // The values of a Tuple, one let inside the other, have parts in common.
    const bool goes_on = let && in_lets_ && names_.count(let->name) == 0;
    if (!goes_on) rewritten_ = NodeRewriter([this](const Expr& e) { return with_flat_index(e); });
    in_lets_ = let != nullptr;
    if (loop) analysis::push_loop(ranges_, loop->name, loop->min, loop->extent);
    if (let) analysis::push_let(ranges_, let->name, let->value);
    const auto name = names_.insert(loop ? loop->name : let ? let->name : std::string());
    ir::Stmt flat = run_inside(s);
    names_.erase(name);
    if (loop || let) ranges_.pop();
    return flat;
  }

 private:
  ir::Stmt run_inside(const ir::Stmt& s) {
    if (const auto* alloc = s.as<ir::Allocate>()) return run_allocate(*alloc);
    const auto* loop = s.as<ir::For>();
    if (loop && loop->kind == LoopKind::GpuThread && threads_.count(loop->name) == 0) {
      return inside(threads_, *loop);
    }
    if (loop && loop->kind == LoopKind::GpuBlock) return inside(blocks_, *loop);
    if (const auto* store = s.as<ir::Store>()) {
      ir::Store flat = *store;
      flat.value = run(store->value);
      std::vector<Expr> at;
      for (const auto& e : store->index) at.push_back(run(e));
      flatten(store->buffer, at, flat.index, flat.logical);
      return ir::make_stmt(std::move(flat));
    }
    if (const auto* copy = s.as<ir::AsyncCopy>()) {
      return unit_stride_ ? run_copy(*copy) : run_elements(*copy);
    }
    if (const auto* copy = s.as<ir::BulkCopy>()) {
      ir::BulkCopy counted = *copy;
      counted.count = run(copy->count);
      counted.slot = run(copy->slot);
      return run_copy(std::move(counted));
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); },
        [this](const Expr& e) { return run(e); });
  }

  ir::Stmt inside(Names& loops, const ir::For& loop) {
    loops.insert(loop.name);
    ir::Stmt body = run(loop.body);
    loops.erase(loop.name);
    return ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled});
  }

  Expr run(const Expr& e) { return rewritten_(e); }
  Expr with_flat_index(const Expr& e) {
    const auto* load = e.as<Load>();
    if (!load) return Expr();
    Load flat = *load;
    flatten(load->buffer, load->index, flat.index, flat.logical);
    return make_expr(e.type(), std::move(flat));
  }

  template <typename Copy>
  ir::Stmt run_copy(Copy copy) {
    for (auto* list : {&copy.to_index, &copy.from_index}) {
      for (Expr& e : *list) e = run(e);
    }
    const std::vector<Expr> to = copy.to_index, from = copy.from_index;
    flatten(copy.to, to, copy.to_index, copy.to_logical);
    flatten(copy.from, from, copy.from_index, copy.from_logical);
    return ir::make_stmt(std::move(copy));
  }

  // Neighbours along dimension 0 of an array with a general stride do not lie side by side. Elements too
  // narrow for a copy of their own are loaded and stored.
  ir::Stmt run_elements(const ir::AsyncCopy& copy) {
    const auto target = layouts_.find(copy.to);
    internal_check(target != layouts_.end(), "a copy goes to an array of the block");
    const Type type = target->second.type;
    std::vector<ir::Stmt> stmts;
    for (int i = 0; i < copy.count; ++i) {
      ir::AsyncCopy one = copy;
      one.count = 1;
      for (auto* list : {&one.to_index, &one.from_index}) {
        Expr& along = list->front();
        if (i > 0) along = simplify(along + make_const(along.type(), std::int64_t{i}));
      }
      if (type.bytes() >= ir::kNarrowestCopy) {
        stmts.push_back(run_copy(std::move(one)));
        continue;
      }
      stmts.push_back(run(ir::element_copy(one, type)));
    }
    return ir::make_block(std::move(stmts));
  }

  ir::Stmt run_allocate(const ir::Allocate& alloc) {
    Layout layout;
    layout.type = alloc.type;
    layout.mins = alloc.mins;
    layout.folds = alloc.folds;
    layout.private_to_threads = on_device_ && alloc.per_thread;
    ir::Allocate flat = alloc;
    flat.folds.clear();
    flat.per_thread = false;
    if (layout.private_to_threads) {
      const std::vector<std::int64_t> own = OwnPoints(alloc).run();
      for (std::size_t d = 0; d < own.size(); ++d) {
        const bool ring = d < alloc.folds.size() && alloc.folds[d] > 0;
        if (!ring) flat.extents[d] = make_const(Int(32), own[d]);
      }
    }
    std::vector<std::pair<std::string, Expr>> lets;
    Expr stride = make_const(Int(32), std::int64_t{1});
    bool constant = true;
    for (std::size_t d = 0; d < flat.extents.size(); ++d) {
      layout.strides.push_back(stride);
      const auto* k = as_int(stride);
      flat.strides.push_back(k ? *k : ir::kUnknownStride);
      stride = simplify(stride * flat.extents[d]);
      if (as_int(stride)) continue;
      constant = false;
      if (d + 1 == flat.extents.size()) break;  // of all elements: nothing is so far apart
      const std::string name = alloc.buffer + ".size." + std::to_string(d);
      lets.emplace_back(name, stride);
      stride = make_var(name);
    }
    internal_check(constant || alloc.memory == MemoryType::Heap, "only heap memory has a variable size");
    flat.mins.assign(alloc.mins.size(), make_const(Int(32), std::int64_t{0}));
    auto saved = layouts_.find(alloc.buffer) == layouts_.end() ? Layout{} : layouts_[alloc.buffer];
    layouts_[alloc.buffer] = layout;
    flat.body = run(alloc.body);
    if (saved.strides.empty()) {
      layouts_.erase(alloc.buffer);
    } else {
      layouts_[alloc.buffer] = saved;
    }
    ir::Stmt result = ir::make_stmt(std::move(flat));
    for (auto it = lets.rbegin(); it != lets.rend(); ++it) {
      result = ir::make_stmt(ir::LetStmt{it->first, it->second, result});
    }
    return result;
  }

  void flatten(const std::string& buffer, const std::vector<Expr>& at, std::vector<Expr>& index,
               std::vector<Expr>& logical) {
    auto inner = layouts_.find(buffer);
    logical.clear();
    if (inner != layouts_.end()) {
      Linear offset;
      for (std::size_t d = 0; d < at.size(); ++d) {
        Linear one = analysis::linearize(at[d]);
        one.add(analysis::linearize(inner->second.mins[d]), -1);
        if (inner->second.private_to_threads) drop(one, threads_);
        if (d < inner->second.folds.size() && inner->second.folds[d] > 0) {
          one = analysis::linearize(
              simplify(analysis::to_expr(one) % make_const(Int(32), inner->second.folds[d]), ranges_));
        }
        if (keep_logical_) logical.push_back(analysis::to_expr(one));
        if (const auto* k = as_int(inner->second.strides[d])) {
          offset.add(one, *k);
        } else {
          offset.add(analysis::linearize(analysis::to_expr(one) * inner->second.strides[d]));
        }
      }
      index = {simplify(analysis::to_expr(offset), ranges_)};
      return;
    }
    if (keep_logical_) logical = at;
    index = {parameter_offset(buffer, at)};
  }

  Expr parameter_offset(const std::string& buffer, const std::vector<Expr>& at) const {
    const Type type = wide_ ? Int(64) : Int(32);
    const auto origin = origins_.find(buffer);
    Linear rows;  // of the whole block
    Linear offset, bounded;
    Linear tail;
    for (std::size_t d = 0; d < at.size(); ++d) {
      Linear form = analysis::linearize(at[d]);
      if (origin != origins_.end()) form.add(analysis::linearize(origin->second[d]), -1);
      if (wide_) {
        Linear widened;
        widened.constant = form.constant;
        for (const auto& [atom, k] : form.terms) {
          widened.add_term(make_expr(type, Cast{atom}), k);
        }
        form = widened;
      }
      std::int64_t constant = form.constant;
      form.constant = 0;
      const std::string& array = array_with_stride(buffer, d);
      if (const auto known = known_stride(buffer, d, array)) {
        (is_bounded(form) ? bounded : offset).add(form, *known);
        tail.constant += constant * *known;
        continue;
      }
      const Expr stride = make_symbol(array, BufferField::Stride, d, type);
      if (!form.is_constant()) {
        Expr product = make_expr(type, Binary{BinaryOp::Mul, analysis::to_expr(form, type), stride});
        (is_of_block(form) ? rows : offset).add_term(product, 1);
      }
      tail.add_term(stride, constant);
    }
    rows.add(offset);
    rows.add(bounded);
    rows.add(tail);
    return analysis::to_expr(rows, type);
  }

  /// Is a coordinate held inside its array? In a loop it is added to where the iteration stands: the
  /// other way about, as many sums as points would be kept in registers from one iteration to the next.
  [[nodiscard]] bool is_bounded(const Linear& form) const {
    return loops_ && std::any_of(form.terms.begin(), form.terms.end(), [](const auto& term) {
             const auto* cast = term.first.template as<Cast>();
             const auto* op = (cast ? cast->value : term.first).template as<Binary>();
             return op && (op->op == BinaryOp::Min || op->op == BinaryOp::Max);
           });
  }

  /// Whose stride stands for this one's: its own where a constant is compiled in for it, else that of
  /// the first array like it.
  [[nodiscard]] const std::string& array_with_stride(const std::string& buffer, std::size_t d) const {
    const auto first = alike_.find(buffer);
    const bool own =
        first == alike_.end() || bake_.count(symbol_name(buffer, BufferField::Stride, d)) > 0;
    return own ? buffer : first->second;
  }

  /// The stride of dimension `d`, which is also that of `array`, if the code is for that one alone.
  [[nodiscard]] std::optional<std::int64_t> known_stride(const std::string& buffer, std::size_t d,
                                                         const std::string& array) const {
    if (d == 0 && unit_stride_) return 1;
    if (const auto inner = inner_.find(buffer); inner != inner_.end()) {
      if (d == 0 && inner->second.stride > 0) return inner->second.stride;
      if (d > 0 && inner->second.unit == d) return 1;
    }
    const auto baked = bake_.find(symbol_name(array, BufferField::Stride, d));
    return baked == bake_.end() ? std::nullopt : std::optional(baked->second);
  }

  /// Is a coordinate the same for all threads of a block, in all their iterations? Not asked in a kernel
  /// with loops: there an offset is worked out once, and the order only changes what is kept in
  /// registers (pmpp/register-march on an H200: 0.316 ms, with the block's rows first 0.323).
  [[nodiscard]] bool is_of_block(const Linear& form) const {
    if (loops_) return false;
    return std::all_of(form.terms.begin(), form.terms.end(), [this](const auto& term) {
      const auto* cast = term.first.template as<Cast>();
      const auto* var = (cast ? cast->value : term.first).template as<VarRef>();
      return var && blocks_.count(var->name) > 0;
    });
  }

  const analysis::Origins& origins_;
  const std::map<std::string, std::int64_t>& bake_;
  std::map<std::string, std::string> alike_;
  bool on_device_, keep_logical_, wide_, unit_stride_;
  std::map<std::string, Variant::Inner> inner_;
  bool loops_ = false;  // serial ones in the nest
  std::map<std::string, Layout> layouts_;
  Names threads_, blocks_;            // loops around
  analysis::Ranges ranges_;           // of their variables
  std::multiset<std::string> names_;  // of the loops and lets around
  bool in_lets_ = false;              // is the statement directly in a let?
  NodeRewriter rewritten_{nullptr};   // the expressions of those lets
};

// Known when a kernel is launched.
std::set<std::string> min_symbols(const Plan& plan) {
  std::set<std::string> symbols;
  const auto add = [&](const std::string& array, std::size_t rank) {
    for (std::size_t d = 0; d < rank; ++d) symbols.insert(symbol_name(array, BufferField::Min, d));
  };
  for (const auto& b : plan.buffers) add(b.name, static_cast<std::size_t>(b.dimensions));
  for (const auto& t : plan.temporaries) add(t.name, t.extents.size());
  return symbols;
}

}  // namespace

void flatten_storage(Program& program) {
  const std::set<std::string> mins = min_symbols(program.plan);
  for (auto& nest : program.nests) {
    if (nest.on_device) nest.origins = analysis::array_origins(nest.body, mins);
    nest.body = Flattener(program.plan, program.options, nest).run(nest.body);
  }
}

}  // namespace mica::passes
