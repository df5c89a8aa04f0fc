#include "codegen/passes/default_schedule.h"

#include <algorithm>

namespace mica::passes {
namespace {

constexpr int kVectorBytes = 64;

bool has_loops(const Definition& definition) {
  return std::any_of(definition.directives.begin(), definition.directives.end(), [](const Directive& d) {
    return std::holds_alternative<directive::Split>(d.op) ||
           std::holds_alternative<directive::Fuse>(d.op) ||
           std::holds_alternative<directive::Reorder>(d.op) ||
           std::holds_alternative<directive::MarkLoop>(d.op) ||
           std::holds_alternative<directive::GpuTile>(d.op) ||
           std::holds_alternative<directive::Vectorize>(d.op) ||
           std::holds_alternative<directive::Unroll>(d.op);
  });
}

bool uses_gpu(const Definition& definition) {
  return std::any_of(definition.directives.begin(), definition.directives.end(), [](const Directive& d) {
    const auto* mark = std::get_if<directive::MarkLoop>(&d.op);
    return std::holds_alternative<directive::GpuTile>(d.op) ||
           (mark && (mark->kind == LoopKind::GpuBlock || mark->kind == LoopKind::GpuThread));
  });
}

void add(Definition& definition, auto op) { definition.directives.push_back({std::move(op), {}}); }

// An update's iterations over a pure Var are independent of each other.
void schedule_host(Definition& definition, const FunctionData& func, bool pure, bool parallel) {
  const auto& vars = definition.pure_vars;
  if (vars.empty()) return;
  int widest = 1;
  for (const auto& type : func.types) widest = std::max(widest, type.bytes());
  if (pure) add(definition, directive::Vectorize{vars.front(), kVectorBytes / widest, {}});
  if (parallel && vars.size() > 1) add(definition, directive::MarkLoop{vars.back(), LoopKind::Parallel});
}

void schedule_gpu(Definition& definition) {
  std::vector<std::string> vars = definition.pure_vars;
  if (vars.empty()) return;
  if (vars.size() == 4) {
    std::string fused = vars[2] + "." + vars[3];
    const auto is_taken = [&](const auto& dim) { return dim.name == fused; };
    while (definition.domain &&
           std::any_of(definition.domain->dims.begin(), definition.domain->dims.end(), is_taken)) {
      fused += ".fused";
    }
    add(definition, directive::Fuse{vars[2], vars[3], fused});
    vars = {vars[0], vars[1], fused};
  }
  static const std::vector<int> kTiles[] = {{256}, {32, 8}, {32, 8, 1}};
  add(definition, directive::GpuTile{vars, kTiles[vars.size() - 1], {}});
}

/// Does another Func name a loop of this one, or `loop` in particular?
bool holds_others(const Program& program, const std::string& func, const std::string& loop = {}) {
  const auto names = [&](const LoopLevel& level) {
    return level.func == func && (loop.empty() || level.var == loop);
  };
  return std::any_of(program.placement.begin(), program.placement.end(), [&](const auto& entry) {
    const Placement& place = entry.second;
    return place.level == Placement::Level::At &&
           (names(place.compute) || (place.store && names(*place.store)));
  });
}

/// Tiling would rename the loops that the user knows.
bool may_be_tiled(const Program& program, const std::string& func, const Definition& definition) {
  return std::none_of(definition.pure_vars.begin(), definition.pure_vars.end(),
                      [&](const auto& loop) { return holds_others(program, func, loop); });
}

}  // namespace

void default_schedule(Program& program) {
  // Iterations that run at once would share what is computed inside them and stored outside all loops.
  const bool parallel = std::none_of(program.placement.begin(), program.placement.end(),
                                     [](const auto& entry) { return entry.second.store_root; });
  for (auto& func : program.pipeline.funcs) {
    if (!program.is_root(func->name)) continue;
    auto copy = std::make_shared<FunctionData>(*func);
    bool scheduled = false;
    for (const auto& definition : copy->definitions) scheduled = scheduled || has_loops(definition);
    if (program.options.target.is_gpu()) scheduled = scheduled || holds_others(program, copy->name);
    // A Func that the user scheduled for one of them has its updates there, too, on any target.
    const bool gpu = scheduled
                         ? std::any_of(copy->definitions.begin(), copy->definitions.end(), uses_gpu)
                         : program.options.target.is_gpu();
    for (std::size_t i = 0; i < copy->definitions.size(); ++i) {
      auto& definition = copy->definitions[i];
      if (has_loops(definition)) continue;
      if (!gpu) {
        schedule_host(definition, *copy, i == 0, parallel);
      } else if (may_be_tiled(program, copy->name, definition)) {
        schedule_gpu(definition);
      }
    }
    func = copy;
  }
}

}  // namespace mica::passes
