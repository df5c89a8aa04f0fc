#include "codegen/passes/loops/edge_windows.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>

#include "codegen/analysis/equal_nodes.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Inequality;
using analysis::Interior;
using analysis::Linear;
using analysis::Ranges;

constexpr std::size_t kMostWindows = 32;

/// What a tap asks for.
struct Tap {
  Expr load;
  std::vector<Inequality> inequalities;
};

/// Inequalities that differ in their constants only: one side of one array.
struct Side {
  std::int64_t factor = 0;
  Linear rest;
  std::set<std::int64_t> constants;

  [[nodiscard]] bool has(const Inequality& one) const {
    Linear difference = one.rest;
    difference.add(rest, -1);
    return one.factor == factor && difference.terms.empty();
  }
  /// Of taps to both sides of a point, those beyond it stick out where the point does not.
  [[nodiscard]] bool sticks_out(std::int64_t constant) const {
    auto middle = constants.begin();
    std::advance(middle, constants.size() / 2);
    return constant < *middle;
  }
};

std::set<std::string> names_bound_in(const ir::Stmt& body) {
  std::set<std::string> names;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* let = s.as<ir::LetStmt>()) names.insert(let->name);
        if (const auto* inner = s.as<ir::For>()) names.insert(inner->name);
      },
      [&](const Expr& e) {
        if (const auto* let = e.as<Let>()) names.insert(let->name);
      });
  return names;
}

/// The distinct loads with a condition that follows the loop, and what they ask for.
std::vector<Tap> taps_of(const ir::For& loop, const ir::Stmt& body, const Ranges& ranges) {
  const std::set<std::string> bound = names_bound_in(body);
  std::vector<Tap> taps;
  analysis::EqualNodes first_of;
  std::unordered_set<const ExprNode*> met;  // the first of equal loads; never iterated
  const auto add = [&](const Expr& node) {
    const auto* load = node.as<Load>();
    if (load == nullptr || !met.insert(first_of(node).ptr().get()).second) return;
    const auto uses = [&](const std::string& name) { return uses_var(node, name); };
    if (std::any_of(bound.begin(), bound.end(), uses)) return;
    const ir::Stmt alone = ir::make_stmt(ir::Store{load->buffer, load->index, node, {}});
    Interior interior(loop.name, alone, ranges);
    interior.run(alone);
    if (interior.inequalities().empty() || interior.failures() > 0) return;
    taps.push_back({node, interior.inequalities()});
  };
  ir::walk(body, nullptr, add);
  return taps;
}

std::vector<Expr> sticking_out(const std::vector<Tap>& taps) {
  std::vector<Side> sides;
  const auto side_of = [&](const Inequality& one) {
    return std::find_if(sides.begin(), sides.end(), [&](const Side& side) { return side.has(one); });
  };
  for (const Tap& tap : taps) {
    for (const Inequality& one : tap.inequalities) {
      auto side = side_of(one);
      if (side == sides.end()) side = sides.insert(side, {one.factor, one.rest, {}});
      side->constants.insert(one.rest.constant);
    }
  }
  std::vector<Expr> loads;
  for (const Tap& tap : taps) {
    const auto out = [&](const Inequality& one) { return side_of(one)->sticks_out(one.rest.constant); };
    if (std::any_of(tap.inequalities.begin(), tap.inequalities.end(), out)) loads.push_back(tap.load);
  }
  return loads;
}

/// `s` with names for the remainders in it, each worked out once.
ir::Stmt with_named_remainders(const ir::Stmt& s, const std::string& name) {
  std::vector<std::pair<std::string, Expr>> values;
  NodeRewriter rewrite([&](const Expr& e) {
    const auto* op = e.as<Binary>();
    if (!op || op->op != BinaryOp::Mod || e.type() != Int(32) || as_int(op->b)) return Expr();
    const auto is_e = [&](const auto& value) { return equal(value.second, e); };
    auto found = std::find_if(values.begin(), values.end(), is_e);
    if (found == values.end()) {
      found = values.insert(found, {name + std::to_string(values.size()), e});
    }
    return make_var(found->first);
  });
  const std::function<ir::Stmt(const ir::Stmt&)> visit = [&](const ir::Stmt& child) {
    return ir::map_children(child, visit, [&](const Expr& e) { return rewrite(e); });
  };
  ir::Stmt result = visit(s);
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    result = ir::make_stmt(ir::LetStmt{value->first, value->second, result});
  }
  return result;
}

}  // namespace

ir::Stmt EdgeWindows::around(ir::Stmt stmt, std::int64_t width) const {
  for (auto array = arrays.rbegin(); array != arrays.rend(); ++array) {
    ir::Allocate alloc;
    alloc.buffer = array->name;
    alloc.type = array->type;
    alloc.memory = MemoryType::Stack;
    alloc.mins = {Expr(0)};
    alloc.extents = {make_const(Int(32), 6 * width)};
    alloc.body = std::move(stmt);
    stmt = ir::make_stmt(std::move(alloc));
  }
  return stmt;
}

std::optional<EdgeWindows> find_windows(const ir::For& loop, const Ranges& ranges) {
  const auto& vector = *loop.body.as<ir::For>();
  const std::vector<Expr> loads = sticking_out(taps_of(loop, vector.body, ranges));
  if (loads.empty() || loads.size() > kMostWindows) return {};
  EdgeWindows windows;
  std::vector<ir::Stmt> stores;
  const std::int64_t width = *as_int(vector.extent);
  const Expr side = make_var(EdgeWindows::side_of(loop));
  const Expr at = make_var(vector.name) + (side * make_const(Int(32), 3 * width) + vector.extent);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    windows.arrays.push_back({loop.name + ".window" + std::to_string(i), loads[i].type()});
    stores.push_back(ir::make_stmt(ir::Store{windows.arrays.back().name, {at}, loads[i], {}}));
  }
  windows.fill = ir::make_block(std::move(stores));
  windows.fill_inside = Interior(loop.name, windows.fill, ranges).run(windows.fill);
  windows.fill = with_named_remainders(windows.fill, loop.name + ".at");
  NodeRewriter replace([&](const Expr& e) {
    if (e.as<Load>() == nullptr) return Expr();
    const auto found =
        std::find_if(loads.begin(), loads.end(), [&](const Expr& load) { return equal(load, e); });
    if (found == loads.end()) return Expr();
    Load kept;
    kept.buffer = windows.arrays[static_cast<std::size_t>(found - loads.begin())].name;
    kept.index = {at};
    return make_expr(e.type(), std::move(kept));
  });
  const std::function<ir::Stmt(const ir::Stmt&)> with_windows = [&](const ir::Stmt& s) {
    return ir::map_children(s, with_windows, [&](const Expr& e) { return replace(e); });
  };
  const ir::Stmt body = with_windows(vector.body);
  Interior interior(loop.name, body, ranges);
  windows.body = interior.run(body);
  windows.inequalities = interior.inequalities();
  return windows;
}

}  // namespace mica::passes
