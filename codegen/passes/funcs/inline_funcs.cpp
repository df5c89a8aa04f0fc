#include "codegen/passes/funcs/inline_funcs.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

class Inliner {
 public:
  explicit Inliner(const std::map<std::string, const FunctionData*>& inlined) : inlined_(inlined) {}

  Expr run(const Expr& e) {
    auto seen = done_.find(e.ptr().get());
    if (seen != done_.end()) return seen->second.second;
    Expr r = map_children(e, [this](const Expr& child) { return run(child); });
    if (const auto* access = r.as<Access>()) {
      auto it = inlined_.find(access->name);
      if (it != inlined_.end()) r = known_call(*it->second, r);
    }
    done_.emplace(e.ptr().get(), std::pair(e, r));
    return r;
  }

 private:
  // Equal calls become one node: f(x) written twice is computed once, and a chain of Funcs that each
  // read the one before twice grows with its length. What the callee reads is inlined in its place, so
  // that each body is opened once a call.
  Expr known_call(const FunctionData& callee, const Expr& e) {
    const std::size_t hash = e.node().hash;
    for (const auto& [known, value] : calls_[hash]) {
      if (equal(known, e)) return value;
    }
    const Expr value = run(call(callee, *e.as<Access>()));
    calls_[hash].emplace_back(e, value);
    return value;
  }

  static Expr call(const FunctionData& callee, const Access& access) {
    const Expr& body = callee.definitions.front().values[static_cast<std::size_t>(access.value_index)];
    return substitute(body, [&](const std::string& name) -> Expr {
      for (std::size_t d = 0; d < callee.args.size(); ++d) {
        if (callee.args[d] != name) continue;
        const auto* same = access.args[d].as<VarRef>();
        return same != nullptr && same->name == name ? Expr() : access.args[d];
      }
      return {};
    });
  }

  const std::map<std::string, const FunctionData*>& inlined_;
  // Keyed by identity, the key kept alive beside the result; never iterated.
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> done_;
  std::unordered_map<std::size_t, std::vector<std::pair<Expr, Expr>>> calls_;  // by their hashes
};

void check_traces(const FunctionData& f) {
  const FunctionData::Traces& traces = f.traces;
  if (!traces.stores && !traces.realizations) return;
  throw UserError(std::string(traces.stores ? "trace_stores: " : "trace_realizations: ") + f.name +
                      " is inlined, so that nothing of it is stored; compute it, as in " + f.name +
                      ".compute_root(), or print its value: " + f.name + "(...) = print(...)",
                  traces.stores ? traces.where : traces.where_realizations);
}

}  // namespace

void inline_funcs(Program& program) {
  std::map<std::string, const FunctionData*> inlined;
  std::vector<std::shared_ptr<const FunctionData>> kept;
  for (const auto& func : program.pipeline.funcs) {
    if (program.placement[func->name].level == Placement::Level::Inline) {
      check_traces(*func);
      inlined[func->name] = func.get();
      continue;
    }
    auto copy = std::make_shared<FunctionData>(*func);
    Inliner inliner(inlined);
    for (auto& definition : copy->definitions) {
      for (auto& e : definition.values) e = inliner.run(e);
      for (auto& e : definition.args) e = inliner.run(e);
    }
    kept.push_back(copy);
  }
  for (const auto& [name, func] : inlined) program.placement.erase(name);
  program.pipeline.funcs = std::move(kept);
}

}  // namespace mica::passes
