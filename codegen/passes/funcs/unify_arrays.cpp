#include "codegen/passes/funcs/unify_arrays.h"

#include <vector>

#include "codegen/analysis/equal_nodes.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"

namespace mica::passes {

std::map<std::string, std::string> alike_arrays(const Plan& plan, const Variant& variant) {
  std::vector<std::string> names;
  for (const PlanBuffer& buffer : plan.buffers) names.push_back(buffer.name);
  for (const PlanTemporary& temporary : plan.temporaries) names.push_back(temporary.name);
  internal_check(variant.alike.size() <= names.size(), "a variant has arrays that the plan has not");
  std::map<std::string, std::string> stands_for;
  for (std::size_t i = 0; i < variant.alike.size(); ++i) {
    if (variant.alike[i] != i) stands_for.emplace(names[i], names.at(variant.alike[i]));
  }
  return stands_for;
}

void unify_arrays(Program& program) {
  std::map<std::string, Expr> symbols;
  const auto is_baked = [&](const Expr& symbol) {
    return program.options.bake.count(symbol.as<VarRef>()->name) > 0;
  };
  const auto add = [&](const Expr& own, const Expr& first) {
    if (!is_baked(own)) symbols.emplace(own.as<VarRef>()->name, first);
  };
  for (const auto& [array, first] : alike_arrays(program.plan, program.options.variant)) {
    for (std::size_t d = 0; d < kind_of(program.plan, array).rank; ++d) {
      // A plan that took a min for the place that a launch finds aligned is not to get a number there.
      if (!is_baked(min_symbol(first, d))) add(min_symbol(array, d), min_symbol(first, d));
      add(extent_symbol(array, d), extent_symbol(first, d));
    }
  }
  if (symbols.empty()) return;
  NodeRewriter unified([&](const Expr& e) {  // one for all, so that what is shared stays so
    const auto* var = e.as<VarRef>();
    const auto found = var ? symbols.find(var->name) : symbols.end();
    return found == symbols.end() ? Expr() : found->second;
  });
  // Coordinates of taps of several arrays have become equal.
  analysis::EqualNodes known;
  for (auto& nest : program.nests) {
    nest.body = ir::map_exprs(
        nest.body, [&](const Expr& e) { return nest.on_device ? unified(e) : known.whole(unified(e)); });
  }
}

}  // namespace mica::passes
