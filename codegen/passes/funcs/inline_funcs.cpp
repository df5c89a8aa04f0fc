#include "codegen/passes/funcs/inline_funcs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dsl/expr/limits.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

// Folding may leave fewer of them.
constexpr std::int64_t kMostInlined = 2 * kMostOperations;

bool is_leaf(const Expr& e) {
  return e.as<IntImm>() || e.as<FloatImm>() || e.as<VarRef>() || e.as<ParamRef>();
}

class Inliner {
 public:
  Inliner(const std::map<std::string, const FunctionData*>& inlined, const FunctionData& func)
      : inlined_(inlined), func_(func) {}

  void run(Definition& definition) {
    operations_ = 0;
    where_ = definition.where;
    for (Expr& e : definition.values) e = run(e);
    for (Expr& e : definition.args) e = run(e);
  }

 private:
  Expr run(const Expr& e) {
    auto seen = done_.find(e.ptr().get());
    if (seen != done_.end()) return seen->second.second;
    Expr r = map_children(e, [this](const Expr& child) { return run(child); });
    const auto* access = r.as<Access>();
    const auto it = access == nullptr ? inlined_.end() : inlined_.find(access->name);
    if (it != inlined_.end()) {
      r = known_call(*it->second, r);
    } else if (!is_leaf(e) && ++operations_ > kMostInlined && !counts_.empty()) {
      refuse();
    }
    done_.emplace(e.ptr().get(), std::pair(e, r));
    return r;
  }

  /// Each turn of a chain of Funcs may read the one before at more points: what comes out is never made.
  [[noreturn]] void refuse() const {
    const auto most = std::max_element(counts_.begin(), counts_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    throw UserError(
        fmt::format(
            "{} has more than {} operations a point, with all that is computed inline in it ({} at "
            "{} points); at most {} are compiled: compute {}, or another Func on the way, with "
            "compute_root()",
            func_.name, kMostInlined, most->first, most->second, kMostOperations, most->first),
        where_);
  }

  // Equal calls become one node: f(x) written twice is computed once, and a chain of Funcs that each
  // read the one before twice grows with its length. What the callee reads is inlined in its place, so
  // that each body is opened once a call.
  Expr known_call(const FunctionData& callee, const Expr& e) {
    const std::size_t hash = e.node().hash;
    for (const auto& [known, value] : calls_[hash]) {
      if (equal(known, e)) return value;
    }
    ++counts_[callee.name];
    const Expr value = run(inlined(callee, *e.as<Access>()));
    calls_[hash].emplace_back(e, value);
    return value;
  }

  const std::map<std::string, const FunctionData*>& inlined_;
  const FunctionData& func_;           // that all is inlined in
  SourceLocation where_;               // of the definition at hand
  std::int64_t operations_ = 0;        // of it, so far
  std::map<std::string, int> counts_;  // calls of each Func
  // Keyed by identity, the key kept alive beside the result; never iterated.
  NodeMap<std::pair<Expr, Expr>> done_;
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

Expr inlined(const FunctionData& callee, const Access& access) {
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
    Inliner inliner(inlined, *func);
    for (auto& definition : copy->definitions) inliner.run(definition);
    kept.push_back(copy);
  }
  for (const auto& [name, func] : inlined) program.placement.erase(name);
  program.pipeline.funcs = std::move(kept);
}

}  // namespace mica::passes
