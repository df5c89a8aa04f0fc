// NestBuilder: blocks of which some points lie outside the domain, and the same work as in the others.
//
//   before  if x - 4 <= u's last: u.staged[x - 4] = u[x - 4]     if x < n: next[x] = ...
//   after   u.staged[x - 4] = u[min(x - 4, u's last)]            v = ...;  if x < n: next[x] = v
//
// What is computed for points outside is made of values inside and thrown away, so that a test stands
// only before a store, and all blocks run the same code.
#include <algorithm>
#include <set>

#include "codegen/analysis/linear.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/nest_builder.h"
#include "codegen/passes/nest_frame.h"
#include "dsl/names.h"
#include "dsl/operators.h"
#include "dsl/traverse.h"

namespace mica::passes {

namespace {

/// Keeps the indices of loads from arrays in global memory within the arrays.
class Clamp {
 public:
  /// `fixed`: variables that take the same values in every block.
  Clamp(const ir::Stmt& stmt, std::set<std::string> fixed) : fixed_(std::move(fixed)) {
    ir::walk(
        stmt,
        [this](const ir::Stmt& s) {
          if (const auto* alloc = s.as<ir::Allocate>()) own_.insert(alloc->buffer);
        },
        nullptr);
  }

  ir::Stmt in(const ir::Stmt& s) {
    ir::Stmt done = ir::map_children(
        s, [this](const ir::Stmt& child) { return in(child); }, [this](const Expr& e) { return in(e); });
    const auto* copy = done.defined() ? done.as<ir::AsyncCopy>() : nullptr;
    if (copy == nullptr || own_.count(copy->from) > 0) return done;
    ir::AsyncCopy clamped = *copy;
    clamped.from_index = within(copy->from, copy->from_index);
    return ir::make_stmt(std::move(clamped));
  }

 private:
  Expr in(const Expr& e) {
    return done_(e, [&]() -> Expr {
      Expr done = map_children(e, [this](const Expr& child) { return in(child); });
      const auto* load = done.as<Load>();
      if (load == nullptr || own_.count(load->buffer) > 0) return done;
      Load clamped = *load;
      clamped.index = within(load->buffer, load->index);
      return make_expr(done.type(), std::move(clamped));
    });
  }

  [[nodiscard]] std::vector<Expr> within(const std::string& array,
                                         const std::vector<Expr>& index) const {
    std::vector<Expr> result;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const Expr first = min_symbol(array, d);
      const Expr last = first + extent_symbol(array, d) - 1;
      const auto [varies, grows] = way_of(index[d]);
      Expr e = index[d];
      if (varies) e = grows ? min(e, last) : max(min(e, last), first);
      result.push_back(e);
    }
    return result;
  }

  /// Does an index differ between blocks, and does it grow with every variable that does?
  [[nodiscard]] std::pair<bool, bool> way_of(const Expr& index) const {
    bool varies = false, grows = true;
    for (const auto& [atom, factor] : analysis::linearize(index).terms) {
      if (const auto* var = atom.as<VarRef>()) {
        const bool same = fixed_.count(var->name) > 0 || is_symbol(var->name);
        varies = varies || !same;
        grows = grows && (same || factor > 0);
      } else {
        varies = true;
        grows = false;
      }
    }
    return {varies, grows};
  }
  static bool is_symbol(const std::string& name) {
    return is_array_symbol(name, "min") || is_array_symbol(name, "extent");
  }

  std::set<std::string> fixed_, own_;
  RewriteMemo done_;
};

}  // namespace

Expr NestBuilder::inside_of(const std::vector<Guard>& guards, const std::string& march) {
  Expr inside;
  for (const auto& guard : guards) {
    if (!march.empty() && guard.loops.count(march)) continue;
    const Expr one = simplify(guard.offset < guard.extent);
    inside = inside.defined() ? inside && one : one;
  }
  return inside;
}

ir::Stmt NestBuilder::clamped(const Frame& frame, const ir::Stmt& stmt) const {
  // The planes that a chunk walks lie inside, wherever its block stands.
  std::set<std::string> fixed;
  for (const auto& dim : frame.func.args) {
    const Expr value = frame.vars.value(dim);
    for (const auto& walked : frame.vars.loops()) {
      if (walked.kind != LoopKind::March || !uses_var(value, walked.name)) continue;
      for (const auto& loop : frame.vars.loops()) {
        if (uses_var(value, loop.name)) fixed.insert(loop.name);
      }
    }
  }
  return Clamp(stmt, std::move(fixed)).in(stmt);
}

ir::Stmt NestBuilder::with_tested_stores(const ir::Stmt& stmt, const Expr& condition) {
  const auto* store = stmt.as<ir::Store>();
  if (store == nullptr) {
    return ir::map_children(
        stmt, [&](const ir::Stmt& child) { return with_tested_stores(child, condition); }, nullptr);
  }
  if (store->value.as<VarRef>() != nullptr) return ir::make_stmt(ir::If{condition, stmt, {}});
  const std::string name = store->buffer + ".value";
  ir::Store named = *store;
  named.value = make_var(name, store->value.type());
  return ir::make_stmt(ir::LetStmt{
      name, store->value, ir::make_stmt(ir::If{condition, ir::make_stmt(std::move(named)), {}})});
}

}  // namespace mica::passes
