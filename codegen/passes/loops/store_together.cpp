#include "codegen/passes/loops/store_together.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/equal.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

struct TestedStore {
  const ir::For* lanes = nullptr;  ///< the vector loop around; null: none
  const ir::LetStmt* let = nullptr;
  std::string array;
};

/// The store that `test` makes of `name`, or the same one of all lanes or each; null if it does more.
const ir::Store* store_of(const ir::If& test, const std::string& name) {
  const auto* store = test.then_case.as<ir::Store>();
  const auto* value = store != nullptr && !store->atomic ? store->value.as<VarRef>() : nullptr;
  if (value == nullptr || value->name != name) return nullptr;
  if (!test.else_case.defined()) return store;
  const auto* each = test.else_case.as<ir::If>();
  const bool same =
      each != nullptr && !each->else_case.defined() && ir::equal(each->then_case, test.then_case);
  return same ? store : nullptr;
}

/// `s` as a value and the test before its store; nothing if it is another statement.
TestedStore tested_store(const ir::Stmt& s) {
  const auto* loop = s.as<ir::For>();
  const bool vector = loop != nullptr && loop->kind == LoopKind::Vectorized;
  const auto* let = (vector ? loop->body : s).as<ir::LetStmt>();
  const auto* test = let != nullptr ? let->body.as<ir::If>() : nullptr;
  const ir::Store* store = test != nullptr ? store_of(*test, let->name) : nullptr;
  return store != nullptr ? TestedStore{vector ? loop : nullptr, let, store->buffer} : TestedStore{};
}

bool same_lanes(const TestedStore& a, const TestedStore& b) {
  if (a.lanes == nullptr || b.lanes == nullptr) return a.lanes == b.lanes;
  return a.lanes->name == b.lanes->name && equal(a.lanes->min, b.lanes->min) &&
         equal(a.lanes->extent, b.lanes->extent);
}

/// The stores of `group` behind its values.
ir::Stmt together(const std::vector<TestedStore>& group) {
  std::vector<ir::Stmt> stores;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const ir::LetStmt& let = *group[i].let;
    names.push_back(let.name + (i == 0 ? "" : "." + std::to_string(i)));
    stores.push_back(ir::substitute(let.body, let.name, make_var(names.back(), let.value.type())));
  }
  ir::Stmt stmt = ir::make_block(std::move(stores));
  for (std::size_t i = group.size(); i-- > 0;) {
    stmt = ir::make_stmt(ir::LetStmt{names[i], group[i].let->value, stmt});
  }
  const ir::For* lanes = group.front().lanes;
  if (lanes == nullptr) return stmt;
  return ir::make_stmt(ir::For{lanes->name, lanes->min, lanes->extent, lanes->kind, stmt});
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
          return ir::loads_from(next.let->value, t.array);
        });
    const bool apart = next.let == nullptr || (!group.empty() && !same_lanes(group.front(), next));
    if (apart || reads_earlier) end_group();
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
