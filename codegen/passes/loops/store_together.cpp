#include "codegen/passes/loops/store_together.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/traverse.h"

namespace mica::passes {
namespace {

struct TestedStore {
  const ir::LetStmt* let = nullptr;
  const ir::If* test = nullptr;
  const ir::Store* store = nullptr;
};

/// `s` as a value and the test before its store; nothing if it is another statement.
TestedStore tested_store(const ir::Stmt& s) {
  const auto* let = s.as<ir::LetStmt>();
  const auto* test = let != nullptr ? let->body.as<ir::If>() : nullptr;
  if (test == nullptr || test->else_case.defined()) return {};
  const auto* store = test->then_case.as<ir::Store>();
  if (store == nullptr || store->atomic) return {};
  const auto* value = store->value.as<VarRef>();
  return value != nullptr && value->name == let->name ? TestedStore{let, test, store} : TestedStore{};
}

/// The stores of `group` behind its values.
ir::Stmt together(const std::vector<TestedStore>& group) {
  std::vector<ir::Stmt> stores;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::string suffix = i == 0 ? "" : "." + std::to_string(i);
    names.push_back(group[i].let->name + suffix);
    ir::Store store = *group[i].store;
    store.value = make_var(names.back(), store.value.type());
    stores.push_back(
        ir::make_stmt(ir::If{group[i].test->condition, ir::make_stmt(std::move(store)), {}}));
  }
  ir::Stmt stmt = ir::make_block(std::move(stores));
  for (std::size_t i = group.size(); i-- > 0;) {
    stmt = ir::make_stmt(ir::LetStmt{names[i], group[i].let->value, stmt});
  }
  return stmt;
}

}  // namespace

ir::Stmt store_together(const ir::Stmt& stmt) {
  const ir::Stmt done = ir::map_children(stmt, store_together, nullptr);
  const auto* block = done.defined() ? done.as<ir::Block>() : nullptr;
  if (block == nullptr) return done;
  std::vector<ir::Stmt> stmts;
  std::vector<TestedStore> group;
  const auto end_group = [&] {
    if (!group.empty()) stmts.push_back(together(group));
    group.clear();
  };
  for (const ir::Stmt& s : block->stmts) {
    const TestedStore next = tested_store(s);
    const bool reads_earlier =
        next.let != nullptr && std::any_of(group.begin(), group.end(), [&](const TestedStore& t) {
          return ir::loads_from(next.let->value, t.store->buffer);
        });
    if (next.let == nullptr || reads_earlier) end_group();
    if (next.let != nullptr) {
      group.push_back(next);
    } else {
      stmts.push_back(s);
    }
  }
  end_group();
  return ir::make_block(std::move(stmts));
}

}  // namespace mica::passes
