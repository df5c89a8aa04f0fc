#include "codegen/plan/placed_funcs.h"

#include <algorithm>

#include "codegen/analysis/recurrences.h"
#include "codegen/passes/funcs/infer_bounds.h"

namespace mica::planning {

using analysis::Box;

int position_of(const LoopVars& vars, const std::string& dim) {
  const auto& loops = vars.loops();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    // A staged source names no loop: it belongs to the march, or else to the innermost block loop.
    if (dim.empty() ? loops[i].kind == LoopKind::GpuBlock || loops[i].kind == LoopKind::March
                    : loops[i].dim == dim) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

const Placement* place_in(const Program& program, const std::string& root, const std::string& func) {
  std::string at = func;
  for (std::size_t steps = 0; steps <= program.placement.size(); ++steps) {
    auto it = program.placement.find(at);
    if (it == program.placement.end() || it->second.level != Placement::Level::At) return nullptr;
    const Placement& p = it->second;
    if (p.compute.func == root) return &p;
    at = p.compute.func;
  }
  return nullptr;
}

int loop_of(const Program& program, const Loops& loops, const std::string& func) {
  const Placement* place = place_in(program, loops.func.name, func);
  return place != nullptr ? position_of(loops.vars, place->compute.var) : -1;
}

std::map<std::string, Box> boxes_at(const Program& program, const Loops& loops,
                                    const std::set<std::string>& fixed, std::size_t position) {
  const Definition& definition = loops.func.definitions[loops.index];
  analysis::Scope own;
  for (const auto& [dim, root] : loops.vars.roots()) own[dim] = loops.vars.interval(dim, fixed);

  std::map<std::string, Box> boxes;
  const auto& funcs = program.pipeline.funcs;
  auto inside = [&](const std::string& name) {
    const int at = loop_of(program, loops, name);
    return at >= 0 && at <= static_cast<int>(position);
  };
  for (auto it = funcs.rbegin(); it != funcs.rend(); ++it) {
    const FunctionData& func = **it;
    if (!inside(func.name)) continue;
    Box box = analysis::accessed_box(definition, func.name, own);
    for (const auto& [consumer_name, consumer_box] : boxes) {
      const FunctionData& consumer = *program.pipeline.find(consumer_name);
      for (const auto& d : consumer.definitions) {
        unite(box, analysis::accessed_box(d, func.name,
                                          analysis::definition_scope(consumer, d, consumer_box)));
      }
    }
    if (!box.empty()) {
      boxes[func.name] = passes::with_updates(func, analysis::with_start(program.pipeline, func, box));
    }
  }
  return boxes;
}

bool keeps_funcs(const Program& program, const Loops& loops) {
  return std::any_of(program.placement.begin(), program.placement.end(), [&](const auto& entry) {
    return entry.second.level == Placement::Level::At && loop_of(program, loops, entry.first) >= 0;
  });
}

bool exchanges(const Program& program, const FunctionData& func) {
  return !schedule_of(program, func).exchanges.empty();
}

}  // namespace mica::planning
