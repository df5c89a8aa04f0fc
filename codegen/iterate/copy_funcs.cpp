#include "codegen/iterate/copy_funcs.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <variant>

#include "dsl/expr/deep_stack.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::iterate {

Expr FuncCopier::rewritten(const Expr& e, RewriteMemo& memo) {
  return memo(e, [&] {
    const Expr inside = map_children(e, [&](const Expr& child) { return rewritten(child, memo); });
    if (const std::optional<Expr> other = read_(inside)) return *other;
    const auto* access = inside.as<Access>();
    if (access == nullptr || access->is_self || access->function == nullptr) return inside;
    const auto func = (*this)(access->function);
    if (func == access->function) return inside;
    Access changed = *access;
    changed.function = func;
    changed.name = func->name;
    return make_expr(inside.type(), std::move(changed));
  });
}

Expr FuncCopier::operator()(const Expr& e) {
  RewriteMemo memo;
  return made_with_stack_for(depth_of({e}), [&] { return rewritten(e, memo); });
}

std::shared_ptr<const FunctionData> FuncCopier::operator()(
    const std::shared_ptr<const FunctionData>& func) {
  const auto found = copies_.find(func.get());
  if (found != copies_.end()) return found->second;
  auto copy = std::make_shared<FunctionData>(*func);
  copy->compiled = nullptr;
  bool changed = std::find(required_.begin(), required_.end(), func.get()) != required_.end();
  const auto rewrite = [&](Expr& e) {
    if (!e.defined()) return;
    Expr result = (*this)(e);
    changed = changed || result.ptr() != e.ptr();
    e = std::move(result);
  };
  for (Definition& definition : copy->definitions) {
    for (Expr& e : definition.args) rewrite(e);
    for (Expr& e : definition.values) rewrite(e);
    for (auto& special : definition.specializations) rewrite(special.condition);
  }
  if (!changed) return copies_[func.get()] = func;
  if (finish_) finish_(copy, *func);
  return copies_[func.get()] = std::move(copy);
}

void clear_directives(FunctionData& func) {
  for (Definition& definition : func.definitions) {
    definition.directives.clear();
    definition.specializations.clear();
  }
}

std::vector<Func> without_schedule(const std::vector<Func>& outputs, const FuncCopier::Finish& finish) {
  // Wrappers go before anything is done with the copies: the user's Funcs share them.
  FuncCopier copier([](const Expr&) { return std::nullopt; },
                    [&](const std::shared_ptr<FunctionData>& copy, const FunctionData& original) {
                      copy->wrappers.clear();
                      clear_directives(*copy);
                      if (finish) finish(copy, original);
                    });
  const std::vector<std::shared_ptr<FunctionData>> functions = functions_of(outputs);
  for (const auto& func : collect_graph(functions).funcs) copier.require(func.get());
  std::vector<Func> copies;
  for (const auto& function : functions) {
    copies.emplace_back(
        std::const_pointer_cast<FunctionData>(copier(std::shared_ptr<const FunctionData>(function))));
  }
  return copies;
}

namespace {
/// `funcs`, and those behind them that stand in their loops or in each other's.
std::set<const FunctionData*> with_those_inside(const std::vector<Func>& funcs) {
  std::set<const FunctionData*> found;
  std::set<std::string> names;
  for (const Func& f : funcs) {
    found.insert(f.function().get());
    names.insert(f.name());
  }
  const FuncGraph graph = collect_graph(functions_of(funcs));
  const auto stands_inside = [&](const Directive& directive) {
    const auto* compute = std::get_if<directive::ComputeAt>(&directive.op);
    const auto* store = std::get_if<directive::StoreAt>(&directive.op);
    return (compute != nullptr && names.count(compute->level.func) > 0) ||
           (store != nullptr && names.count(store->level.func) > 0);
  };
  // Consumers first: a Func stands in loops of what reads it.
  for (const auto& func : std::views::reverse(graph.funcs)) {
    if (!std::ranges::any_of(func->definitions.front().directives, stands_inside)) continue;
    found.insert(func.get());
    names.insert(func->name);
  }
  return found;
}
}  // namespace

Expr without_directives(const Expr& e, const std::vector<Func>& funcs) {
  const std::set<const FunctionData*> bare = with_those_inside(funcs);
  FuncCopier copier([](const Expr&) { return std::nullopt; },
                    [&](const std::shared_ptr<FunctionData>& copy, const FunctionData& original) {
                      if (bare.count(&original) > 0) clear_directives(*copy);
                    });
  for (const FunctionData* func : bare) copier.require(func);
  return copier(e);
}

}  // namespace mica::iterate
