#include "codegen/passes/inline_funcs.h"

#include <unordered_map>

#include "dsl/compute_place.h"
#include "dsl/traverse.h"

namespace mica::passes {
namespace {

Placement placement_of(const Pipeline& pipeline, const FunctionData& func) {
  const ComputePlace place = compute_place(func, pipeline.is_output(func.name));
  Placement p;
  switch (place.kind) {
    case ComputePlace::Kind::Inline: break;
    case ComputePlace::Kind::Root: p.level = Placement::Level::Root; break;
    case ComputePlace::Kind::At:
      p.level = Placement::Level::At;
      p.compute = place.level;
      break;
  }
  if (place.directive) p.where = place.directive->where;
  if (const LoopLevel* store = place.store_level()) p.store = *store;
  p.store_root = place.stores_at_root();
  for (const auto& d : func.definitions.front().directives) {
    if (const auto* in = std::get_if<directive::StoreIn>(&d.op)) p.memory = in->memory;
  }
  if (auto it = pipeline.marched.find(func.name); it != pipeline.marched.end()) {
    p.ahead = it->second.ahead;
    p.prefetch = it->second.prefetch;
    p.filled_from = it->second.filled_from;
    p.column = it->second.column;
  }
  return p;
}

// A staged source is computed at the innermost block loop of the Func that stages it.
void place_staged(Program& program) {
  for (const auto& func : program.pipeline.funcs) {
    for (const auto& definition : func->definitions) {
      for (const auto& d : definition.directives) {
        const auto* stage = std::get_if<directive::Stage>(&d.op);
        if (!stage) continue;
        Placement& p = program.placement[stage->source];
        p.level = Placement::Level::At;
        p.compute = {func->name, ""};  // build_loop_nest finds the innermost block loop
        p.store_root = false;
        p.memory = stage->memory;
        p.load = stage->load;
        p.where = d.where;
      }
    }
  }
}

class Inliner {
 public:
  explicit Inliner(const std::map<std::string, const FunctionData*>& inlined) : inlined_(inlined) {}

  Expr run(const Expr& e) {
    auto seen = done_.find(e.ptr().get());
    if (seen != done_.end()) return seen->second.second;
    Expr r = map_children(e, [this](const Expr& child) { return run(child); });
    if (const auto* access = r.as<Access>()) {
      auto it = inlined_.find(access->name);
      if (it != inlined_.end()) r = call(*it->second, *access);
    }
    done_.emplace(e.ptr().get(), std::pair(e, r));
    return r;
  }

 private:
  static Expr call(const FunctionData& callee, const Access& access) {
    const Expr& body = callee.definitions.front().values[static_cast<std::size_t>(access.value_index)];
    return substitute(body, [&](const std::string& name) -> Expr {
      for (std::size_t d = 0; d < callee.args.size(); ++d) {
        if (callee.args[d] == name) return access.args[d];
      }
      return {};
    });
  }

  const std::map<std::string, const FunctionData*>& inlined_;
  // Keyed by identity, the key kept alive beside the result; never iterated.
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> done_;
};

}  // namespace

void inline_funcs(Program& program) {
  for (const auto& func : program.pipeline.funcs) {
    program.placement[func->name] = placement_of(program.pipeline, *func);
  }
  place_staged(program);

  substitute_inlined(program);
}

void substitute_inlined(Program& program) {
  std::map<std::string, const FunctionData*> inlined;
  std::vector<std::shared_ptr<const FunctionData>> kept, alive;
  for (const auto& func : program.pipeline.funcs) {
    auto copy = std::make_shared<FunctionData>(*func);
    Inliner inliner(inlined);
    for (auto& definition : copy->definitions) {
      for (auto& e : definition.values) e = inliner.run(e);
      for (auto& e : definition.args) e = inliner.run(e);
    }
    alive.push_back(copy);
    if (program.placement[func->name].level == Placement::Level::Inline) {
      inlined[func->name] = copy.get();
    } else {
      kept.push_back(copy);
    }
  }
  for (const auto& [name, func] : inlined) program.placement.erase(name);
  program.pipeline.funcs = std::move(kept);
}

}  // namespace mica::passes
