#include "codegen/passes/flatten_storage.h"

#include "codegen/ir/traverse.h"
#include "codegen/passes/simplify.h"
#include "dsl/operators.h"
#include "dsl/traverse.h"

namespace mica::passes {
namespace {

using analysis::Linear;

// How an array inside the nest is laid out.
struct Layout {
  std::vector<Expr> mins, strides;
};

class Flattener {
 public:
  explicit Flattener(const LowerOptions& options)
      : keep_logical_(options.target.backend == Backend::GpuEmulator),
        wide_(!options.variant.index32),
        unit_stride_(options.variant.unit_stride) {}

  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* alloc = s.as<ir::Allocate>()) return run_allocate(*alloc);
    if (const auto* store = s.as<ir::Store>()) {
      ir::Store flat = *store;
      flat.value = run(store->value);
      std::vector<Expr> at;
      for (const auto& e : store->index) at.push_back(run(e));
      flatten(store->buffer, at, flat.index, flat.logical);
      return ir::make_stmt(std::move(flat));
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); },
        [this](const Expr& e) { return run(e); });
  }

 private:
  Expr run(const Expr& e) {
    Expr r = map_children(e, [this](const Expr& child) { return run(child); });
    const auto* load = r.as<Load>();
    if (!load) return r;
    Load flat = *load;
    flatten(load->buffer, load->index, flat.index, flat.logical);
    return make_expr(r.type(), std::move(flat));
  }

  ir::Stmt run_allocate(const ir::Allocate& alloc) {
    Layout layout;
    layout.mins = alloc.mins;
    ir::Allocate flat = alloc;
    std::vector<std::pair<std::string, Expr>> lets;
    Expr stride = make_const(Int(32), std::int64_t{1});
    bool constant = true;
    for (std::size_t d = 0; d < alloc.extents.size(); ++d) {
      layout.strides.push_back(stride);
      if (const auto* k = as_int(stride)) flat.strides.push_back(*k);
      stride = simplify(stride * alloc.extents[d]);
      if (!as_int(stride)) {
        constant = false;
        const std::string name = alloc.buffer + ".size." + std::to_string(d);
        lets.emplace_back(name, stride);
        stride = make_var(name);
      }
    }
    if (constant) {
      flat.mins.assign(alloc.mins.size(), make_const(Int(32), std::int64_t{0}));
    } else {
      internal_check(alloc.memory == MemoryType::Heap, "only heap memory has a variable size");
      flat.mins = {make_const(Int(32), std::int64_t{0})};
      flat.extents = {stride};
      flat.strides = {1};
    }
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
        if (keep_logical_) logical.push_back(analysis::to_expr(one));
        if (const auto* k = as_int(inner->second.strides[d])) {
          offset.add(one, *k);
        } else {
          offset.add(analysis::linearize(analysis::to_expr(one) * inner->second.strides[d]));
        }
      }
      index = {simplify(analysis::to_expr(offset))};
      return;
    }
    if (keep_logical_) logical = at;
    index = {parameter_offset(buffer, at)};
  }

  Expr parameter_offset(const std::string& buffer, const std::vector<Expr>& at) const {
    const Type type = wide_ ? Int(64) : Int(32);
    Linear offset;
    Linear tail;
    for (std::size_t d = 0; d < at.size(); ++d) {
      Linear form = analysis::linearize(at[d]);
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
      if (d == 0 && unit_stride_) {
        offset.add(form);
        tail.constant += constant;
        continue;
      }
      Expr stride = make_var(buffer + ".stride." + std::to_string(d), type);
      if (!form.is_constant()) {
        Expr product = make_expr(type, Binary{BinaryOp::Mul, analysis::to_expr(form, type), stride});
        offset.add_term(product, 1);
      }
      tail.add_term(stride, constant);
    }
    offset.add(tail);
    return analysis::to_expr(offset, type);
  }

  bool keep_logical_, wide_, unit_stride_;
  std::map<std::string, Layout> layouts_;
};

}  // namespace

void flatten_storage(Program& program) {
  for (auto& nest : program.nests) nest.body = Flattener(program.options).run(nest.body);
}

}  // namespace mica::passes
