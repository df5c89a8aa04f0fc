#include "codegen/ir/traverse.h"

#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mica::ir {

namespace {

/// Applies rewrites and remembers whether one changed anything.
class Rewriter {
 public:
  Rewriter(const RewriteStmt& on_stmt, const RewriteExpr& on_expr)
      : on_stmt_(on_stmt), on_expr_(on_expr) {}
  [[nodiscard]] bool changed() const { return changed_; }

  Stmt operator()(const Stmt& s) {
    if (!s.defined() || !on_stmt_) return s;
    Stmt result = on_stmt_(s);
    changed_ |= !result.same_as(s);
    return result;
  }
  Expr operator()(const Expr& e) {
    if (!e.defined() || !on_expr_) return e;
    Expr result = on_expr_(e);
    changed_ |= !result.same_as(e);
    return result;
  }
  std::vector<Expr> operator()(const std::vector<Expr>& list) {
    std::vector<Expr> result;
    result.reserve(list.size());
    for (const Expr& e : list) result.push_back((*this)(e));
    return result;
  }

 private:
  const RewriteStmt& on_stmt_;
  const RewriteExpr& on_expr_;
  bool changed_ = false;
};

/// Statements without expressions or children.
template <typename Op>
constexpr bool kHoldsNothing =
    std::is_same_v<Op, Barrier> || std::is_same_v<Op, CopyCommit> || std::is_same_v<Op, CopyWait> ||
    std::is_same_v<Op, BulkInit> || std::is_same_v<Op, ClusterBarrier>;

/// The statement with children rewritten, or undefined when what is left does nothing.
template <typename Op>
Stmt rebuild(const Op& op, Rewriter& rewrite) {
  if constexpr (std::is_same_v<Op, For>) {
    For result{op.name, rewrite(op.min), rewrite(op.extent), op.kind, rewrite(op.body), op.rolled};
    if (!result.body.defined()) return {};
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, Store>) {
    Store result = op;
    result.index = rewrite(op.index);
    result.value = rewrite(op.value);
    result.logical = rewrite(op.logical);
    result.block = rewrite(op.block);
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, Block>) {
    std::vector<Stmt> stmts;
    stmts.reserve(op.stmts.size());
    for (const Stmt& s : op.stmts) stmts.push_back(rewrite(s));
    return make_block(std::move(stmts));
  } else if constexpr (std::is_same_v<Op, If>) {
    If result{rewrite(op.condition), rewrite(op.then_case), rewrite(op.else_case)};
    if (!result.then_case.defined() && !result.else_case.defined()) return {};
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, LetStmt>) {
    LetStmt result{op.name, rewrite(op.value), rewrite(op.body)};
    if (!result.body.defined()) return {};
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, Allocate>) {
    Allocate result = op;
    result.mins = rewrite(op.mins);
    result.extents = rewrite(op.extents);
    result.body = rewrite(op.body);
    if (!result.body.defined()) return {};
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, Produce>) {
    Produce result{op.func, rewrite(op.body), op.plane, op.kept};
    if (!result.body.defined() && !op.plane) return {};
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, AsyncCopy> || std::is_same_v<Op, BulkCopy>) {
    Op result = op;
    result.to_index = rewrite(op.to_index);
    result.from_index = rewrite(op.from_index);
    result.to_logical = rewrite(op.to_logical);
    result.from_logical = rewrite(op.from_logical);
    if constexpr (std::is_same_v<Op, BulkCopy>) {
      result.count = rewrite(op.count);
      result.slot = rewrite(op.slot);
    }
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, BulkExpect>) {
    return make_stmt(BulkExpect{op.barriers, rewrite(op.slot), rewrite(op.bytes)});
  } else if constexpr (std::is_same_v<Op, BulkWait>) {
    return make_stmt(BulkWait{op.barriers, rewrite(op.slot), rewrite(op.parity)});
  } else if constexpr (std::is_same_v<Op, NamedBarrier>) {
    NamedBarrier result = op;
    result.turn = rewrite(op.turn);
    return make_stmt(std::move(result));
  } else if constexpr (std::is_same_v<Op, Evaluate>) {
    return make_stmt(Evaluate{rewrite(op.value)});
  } else {
    static_assert(kHoldsNothing<Op>);
    return make_stmt(op);
  }
}

/// The name that `s` binds in its body, or null.
const std::string* bound_name(const Stmt& s) {
  if (const For* loop = s.as<For>()) return &loop->name;
  if (const LetStmt* let = s.as<LetStmt>()) return &let->name;
  return nullptr;
}

}  // namespace

void for_each_child(const Stmt& s, const VisitStmt& on_stmt, const VisitExpr& on_expr) {
  const auto stmt = [&](const Stmt& child) {
    if (on_stmt && child.defined()) on_stmt(child);
  };
  const auto expr = [&](const Expr& e) {
    if (on_expr && e.defined()) on_expr(e);
  };
  const auto exprs = [&](const std::vector<Expr>& list) {
    for (const Expr& e : list) expr(e);
  };
  std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, For>) {
          expr(op.min);
          expr(op.extent);
          stmt(op.body);
        } else if constexpr (std::is_same_v<Op, Store>) {
          exprs(op.index);
          exprs(op.logical);
          expr(op.value);
          expr(op.block);
        } else if constexpr (std::is_same_v<Op, Block>) {
          for (const Stmt& child : op.stmts) stmt(child);
        } else if constexpr (std::is_same_v<Op, If>) {
          expr(op.condition);
          stmt(op.then_case);
          stmt(op.else_case);
        } else if constexpr (std::is_same_v<Op, LetStmt>) {
          expr(op.value);
          stmt(op.body);
        } else if constexpr (std::is_same_v<Op, Allocate>) {
          exprs(op.mins);
          exprs(op.extents);
          stmt(op.body);
        } else if constexpr (std::is_same_v<Op, Produce>) {
          stmt(op.body);
        } else if constexpr (std::is_same_v<Op, AsyncCopy> || std::is_same_v<Op, BulkCopy>) {
          exprs(op.to_index);
          exprs(op.from_index);
          exprs(op.to_logical);
          exprs(op.from_logical);
          if constexpr (std::is_same_v<Op, BulkCopy>) {
            expr(op.count);
            expr(op.slot);
          }
        } else if constexpr (std::is_same_v<Op, BulkExpect>) {
          expr(op.slot);
          expr(op.bytes);
        } else if constexpr (std::is_same_v<Op, BulkWait>) {
          expr(op.slot);
          expr(op.parity);
        } else if constexpr (std::is_same_v<Op, NamedBarrier>) {
          expr(op.turn);
        } else if constexpr (std::is_same_v<Op, Evaluate>) {
          expr(op.value);
        } else {
          static_assert(kHoldsNothing<Op>);
        }
      },
      s.node().op);
}

Stmt map_children(const Stmt& s, const RewriteStmt& on_stmt, const RewriteExpr& on_expr) {
  Rewriter rewrite(on_stmt, on_expr);
  Stmt result = std::visit([&](const auto& op) { return rebuild(op, rewrite); }, s.node().op);
  return rewrite.changed() ? result : s;
}

void walk(const Stmt& s, const VisitStmt& on_stmt, const VisitExpr& on_expr) {
  if (!s.defined()) return;
  if (on_stmt) on_stmt(s);
  const VisitExpr each = on_expr ? VisitExpr([&](const Expr& e) { mica::walk(e, on_expr); }) : nullptr;
  for_each_child(
      s, [&](const Stmt& child) { walk(child, on_stmt, on_expr); }, each);
}

Stmt map_exprs(const Stmt& s, const RewriteExpr& rewrite) {
  if (!s.defined()) return s;
  return map_children(
      s, [&](const Stmt& child) { return map_exprs(child, rewrite); }, rewrite);
}

Stmt substitute(const Stmt& s, const std::string& name, const Expr& value) {
  if (!s.defined()) return s;
  const std::string* bound = bound_name(s);
  const RewriteStmt in_body = [&](const Stmt& child) {
    return bound != nullptr && *bound == name ? child : substitute(child, name, value);
  };
  return map_children(s, in_body, [&](const Expr& e) { return mica::substitute(e, name, value); });
}

Stmt substitute(const Stmt& s, const std::function<Expr(const std::string&)>& lookup) {
  return map_exprs(s, [&](const Expr& e) { return mica::substitute(e, lookup); });
}

bool uses_var(const Stmt& s, const std::string& name) {
  if (!s.defined()) return false;
  bool found = false;
  const std::string* bound = bound_name(s);
  for_each_child(
      s,
      [&](const Stmt& child) {
        if (bound == nullptr || *bound != name) found = found || uses_var(child, name);
      },
      [&](const Expr& e) { found = found || mica::uses_var(e, name); });
  return found;
}

std::vector<ArrayUse> array_uses(const Stmt& s) {
  if (const Store* store = s.as<Store>()) {
    std::vector<ArrayUse> uses{{store->buffer, ArrayUse::Kind::Write}};
    if (store->atomic) uses.push_back({store->buffer, ArrayUse::Kind::Read});
    return uses;
  }
  if (const AsyncCopy* copy = s.as<AsyncCopy>()) {
    return {{copy->to, ArrayUse::Kind::Write}, {copy->from, ArrayUse::Kind::Read}};
  }
  if (const BulkCopy* copy = s.as<BulkCopy>()) {
    return {{copy->to, ArrayUse::Kind::Write},
            {copy->from, ArrayUse::Kind::Read},
            {copy->barriers, ArrayUse::Kind::Synchronize}};
  }
  if (const BulkInit* init = s.as<BulkInit>()) return {{init->barriers, ArrayUse::Kind::Write}};
  if (const BulkExpect* expect = s.as<BulkExpect>()) {
    return {{expect->barriers, ArrayUse::Kind::Synchronize}};
  }
  if (const BulkWait* wait = s.as<BulkWait>()) return {{wait->barriers, ArrayUse::Kind::Synchronize}};
  return {};
}

bool loads_from(const Expr& e, const std::string& buffer) {
  bool found = false;
  mica::walk(e, [&](const Expr& node) {
    const Load* load = node.as<Load>();
    found = found || (load != nullptr && load->buffer == buffer);
  });
  return found;
}

bool uses_buffer(const Stmt& s, const std::string& buffer) {
  bool found = false;
  walk(
      s,
      [&](const Stmt& node) {
        for (const ArrayUse& use : array_uses(node)) found = found || use.array == buffer;
      },
      [&](const Expr& node) {
        const Load* load = node.as<Load>();
        found = found || (load != nullptr && load->buffer == buffer);
      });
  return found;
}

}  // namespace mica::ir
