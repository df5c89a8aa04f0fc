#include "codegen/passes/emit/point_stores.h"

#include <algorithm>

#include "codegen/analysis/equal_nodes.h"
#include "codegen/analysis/recurrences.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/check/update_order.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::passes {

namespace {

Expr number(std::int64_t value) { return make_const(Int(32), value); }

// Of a node whose children are done; undefined: the node itself.
Expr to_load(const Program& program, const Expr& r, SharedSimplifier& simplified) {
  if (const auto* strict_ = r.as<Strict>()) return strict_->value;
  const auto* access = r.as<Access>();
  if (!access) return {};
  Load load;
  const FunctionData* callee = program.pipeline.find(access->name);
  load.buffer =
      callee ? storage_name(access->name, access->value_index, callee->types.size()) : access->name;
  for (const auto& arg : access->args) load.index.push_back(simplified(arg));
  if (program.options.line_info) load.where = access->where;
  return make_expr(r.type(), std::move(load));
}

// Of a node in the value of a Func with a recurrence: what stands for a read of the Func itself, in
// terms of its Vars; undefined for another.
Expr own_read(const Program& program, const FunctionData& func, const Expr& node,
              const Carried* carried) {
  const auto* access = node.as<Access>();
  if (access == nullptr || !access->is_self) return {};
  const Recurrence& recurrence = *recurrence_of(func);
  const Expr& from = access->args[recurrence.dim];
  Load load;
  if (carried != nullptr) {
    load.buffer = carried->names[static_cast<std::size_t>(access->value_index)];
    for (const std::size_t d : carried->dims) load.index.push_back(access->args[d]);
    const std::int64_t offset = *offset_from(from, func.args[recurrence.dim]);
    load.index.push_back(number(std::abs(offset) - 1));
    return make_expr(node.type(), std::move(load));
  }
  const Expr start = analysis::recurrence_start(program.pipeline, func);
  const Expr point = make_var(func.args[recurrence.dim]);
  load.buffer = storage_name(func.name, access->value_index, func.types.size());
  load.index = access->args;
  // An index that is in the box and no point that is still to come, whether the value is wanted or not.
  load.index[recurrence.dim] =
      recurrence.ahead ? max(min(from, start), point) : min(max(from, start), point);
  const Expr value = make_expr(node.type(), std::move(load));
  return select(recurrence.ahead ? from <= start : from >= start, value, make_const(node.type(), 0));
}

// Does the box that is computed begin, on the way, with the start?
bool starts_with_box(const Program& program, const FunctionData& func) {
  const Recurrence& recurrence = *recurrence_of(func);
  const analysis::Interval along = program.required.at(func.name)[recurrence.dim];
  return analysis::same(recurrence.ahead ? along.max : along.min,
                        analysis::recurrence_start(program.pipeline, func));
}

// The stores that carry the point's values on, in terms of its Vars; the values have the names that
// point_stores gives them.
std::vector<ir::Stmt> carry_on(const Program& program, const FunctionData& func,
                               const Carried& carried) {
  const Recurrence& recurrence = *recurrence_of(func);
  const Expr start = analysis::recurrence_start(program.pipeline, func);
  const Expr point = make_var(func.args[recurrence.dim]);
  std::vector<ir::Stmt> stmts;
  for (std::size_t i = 0; i < carried.names.size(); ++i) {
    const Type type = func.types[i];
    std::vector<Expr> at;
    for (const std::size_t d : carried.dims) at.push_back(make_var(func.args[d]));
    at.push_back(number(0));
    for (std::int64_t place = carried.reach; place-- > 0;) {
      ir::Store store;
      store.buffer = carried.names[i];
      store.index = at;
      store.index.back() = number(place);
      if (place > 0) {
        Load older;
        older.buffer = carried.names[i];
        older.index = at;
        older.index.back() = number(place - 1);
        store.value = make_expr(type, std::move(older));
      } else {
        store.value = make_var(func.name + ".value" + std::to_string(i), type);
        if (!starts_with_box(program, func)) {
          store.value = select(recurrence.ahead ? point <= start : point >= start, store.value,
                               make_const(type, 0));
        }
      }
      stmts.push_back(ir::make_stmt(std::move(store)));
    }
  }
  return stmts;
}

// The expressions of a definition at one point of its loops.
class PointExprs {
 public:
  PointExprs(const Program& program, const FunctionData& func, const Definition& definition,
             const ValueOf& value_of, const Carried* carried)
      : recurs_(definition.recurrence.has_value()),
        read_itself_([&program, &func, carried](const Expr& node) {
          return own_read(program, func, node, carried);
        }),
        to_loads_([this, &program](const Expr& e) { return loaded(program, e); }) {
    for (const auto& v : definition.pure_vars) values_[v] = value_of(v);
    if (!definition.domain) return;
    for (const auto& dim : definition.domain->dims) values_[dim.name] = value_of(dim.name);
  }
  PointExprs(const PointExprs&) = delete;
  PointExprs& operator=(const PointExprs&) = delete;

  /// `e` in terms of the loops, with what it reads as it is.
  [[nodiscard]] Expr in_loops(const Expr& e) const {
    return substitute(e, [&](const std::string& name) { return value(name); });
  }
  /// The same with loads for what is read.
  Expr resolve(const Expr& e) { return to_loads_(recurs_ ? read_itself_(e) : e); }
  std::vector<Expr> places(const std::vector<Expr>& args) {
    std::vector<Expr> at;
    for (const auto& arg : args) at.push_back(simplified_(resolve(arg)));
    return at;
  }

 private:
  [[nodiscard]] Expr value(const std::string& name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? Expr() : it->second;
  }
  // Of a node whose children are done.
  Expr loaded(const Program& program, const Expr& e) {
    if (const auto* var = e.as<VarRef>()) return value(var->name);
    const Expr load = to_load(program, e, simplified_);
    // On a GPU the loads of a kernel keep their places.
    if (program.options.target.is_gpu()) return load;
    // The indices of loads, which are simplified one by one, have equal parts.
    return load.defined() ? known_.whole(load) : known_(e);
  }

  bool recurs_;
  std::map<std::string, Expr> values_;
  analysis::EqualNodes known_;  // one for all expressions, which have parts in common
  NodeRewriter read_itself_;
  NodeRewriter to_loads_;
  SharedSimplifier simplified_;  // indices are made of one another
};

ir::Stmt atomic_updates(const FunctionData& func, const Definition& definition, PointExprs& exprs,
                        const std::vector<Expr>& at, const SourceLocation& where) {
  std::string why;
  const std::vector<AtomicValue> values = atomic_values(func, definition, why);
  const std::size_t count = func.types.size();
  internal_check(values.size() == count, "check_schedule refuses what cannot be atomic");
  std::vector<ir::Stmt> updates;
  for (std::size_t i = 0; i < count; ++i) {
    ir::Store store;
    store.buffer = storage_name(func.name, static_cast<int>(i), count);
    store.index = at;
    store.value = exprs.resolve(values[i].operand);
    store.atomic = values[i].op;
    store.where = where;
    ir::Stmt update = ir::make_stmt(std::move(store));
    const Expr& condition = values[i].condition;
    updates.push_back(condition.defined() ? ir::make_stmt(ir::If{exprs.resolve(condition), update, {}})
                                          : update);
  }
  return ir::make_block(std::move(updates));
}

}  // namespace

ir::Stmt point_stores(const Program& program, const FunctionData& func, std::size_t index,
                      const ValueOf& value_of, const Carried* carried) {
  const Definition& definition = func.definitions[index];
  const SourceLocation where = program.options.line_info ? definition.where : SourceLocation();
  PointExprs exprs(program, func, definition, value_of, carried);
  const std::vector<Expr> at = exprs.places(definition.args);
  if (schedule_of(program, func).definitions.at(index).atomic)
    return atomic_updates(func, definition, exprs, at, where);
  const std::size_t count = func.types.size();
  // A Tuple's values are all computed before any is stored: they may read each other.
  const bool named = count > 1 || carried != nullptr;
  std::vector<ir::Stmt> stores;
  for (std::size_t i = 0; i < count; ++i) {
    ir::Store store;
    store.buffer = storage_name(func.name, static_cast<int>(i), count);
    store.index = definition.places.empty() ? at : exprs.places(definition.places[i]);
    store.value = named ? make_var(func.name + ".value" + std::to_string(i), func.types[i])
                        : exprs.resolve(definition.values[i]);
    store.where = where;
    stores.push_back(ir::make_stmt(std::move(store)));
  }
  if (carried != nullptr) {
    for (const ir::Stmt& s : carry_on(program, func, *carried)) {
      stores.push_back(ir::map_children(
          s, [](const ir::Stmt& child) { return child; },
          [&](const Expr& e) { return simplify(exprs.in_loops(e)); }));
    }
  }
  ir::Stmt stmt = ir::make_block(std::move(stores));
  for (std::size_t i = count; named && i-- > 0;) {
    stmt = ir::make_stmt(ir::LetStmt{func.name + ".value" + std::to_string(i),
                                     exprs.resolve(definition.values[i]), stmt});
  }
  return stmt;
}

}  // namespace mica::passes
