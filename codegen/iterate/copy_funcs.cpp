#include "codegen/iterate/copy_funcs.h"

#include <algorithm>

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

Expr without_directives(const Expr& e, const std::vector<Func>& funcs) {
  FuncCopier copier([](const Expr&) { return std::nullopt; },
                    [&](const std::shared_ptr<FunctionData>& copy, const FunctionData& original) {
                      const bool is_step = std::any_of(funcs.begin(), funcs.end(), [&](const Func& f) {
                        return f.function().get() == &original;
                      });
                      if (is_step) clear_directives(*copy);
                    });
  for (const Func& f : funcs) copier.require(f.function().get());
  return copier(e);
}

}  // namespace mica::iterate
