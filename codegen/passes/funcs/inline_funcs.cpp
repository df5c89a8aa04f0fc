#include "codegen/passes/funcs/inline_funcs.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dsl/pipeline/call_inliner.h"

namespace mica::passes {
namespace {

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
    CallInliner inliner(func->name, [&inlined](const Access& access) {
      const auto callee = inlined.find(access.name);
      return callee == inlined.end() ? nullptr : callee->second;
    });
    for (auto& definition : copy->definitions) {
      inliner.begin(definition.where);
      for (Expr& e : definition.values) e = inliner(e);
      for (Expr& e : definition.args) e = inliner(e);
    }
    kept.push_back(copy);
  }
  for (const auto& [name, func] : inlined) program.placement.erase(name);
  program.pipeline.funcs = std::move(kept);
}

}  // namespace mica::passes
