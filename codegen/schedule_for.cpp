// Func::schedule_for: what the compiler chooses, as data.
#include <algorithm>
#include <map>
#include <string>

#include "codegen/lower.h"
#include "dsl/expr/float_mode.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/graph_names.h"
#include "dsl/pipeline/pipeline.h"
#include "dsl/schedule/compute_place.h"
#include "dsl/schedule/directive_fields.h"
#include "dsl/schedule/loop_dims.h"

namespace mica {
namespace {

using Texts = std::map<std::string, std::string>;  // a Pipeline's word for a loop -> the user's text

Texts texts_of(const FunctionData& own, const FunctionData& lowered, std::size_t definition) {
  Texts texts;
  for (std::size_t d = 0; d < own.args.size(); ++d) texts[lowered.args[d]] = own.args[d];
  const Definition& from = own.definitions[definition];
  const Definition& to = lowered.definitions[definition];
  for (std::size_t v = 0; v < from.pure_vars.size(); ++v) texts[to.pure_vars[v]] = from.pure_vars[v];
  if (from.domain && to.domain) {
    for (std::size_t d = 0; d < from.domain->dims.size(); ++d) {
      texts[to.domain->dims[d].name] = from.domain->dims[d].name;
    }
  }
  return texts;
}

/// Is it one of those that the compiler adds to a definition without loops of the user's?
bool is_chosen(const Directive& d, const Definition& own) {
  const bool beside_loops = std::holds_alternative<directive::Atomic>(d.op) ||
                            std::holds_alternative<directive::LaunchBounds>(d.op) ||
                            std::holds_alternative<directive::GpuSingleThread>(d.op);
  const auto is_same = [&](const Directive& other) { return other.op == d.op; };
  return acts_on_loops(d) ||
         (beside_loops && std::none_of(own.directives.begin(), own.directives.end(), is_same));
}

void name_as_user(Directive& directive, const Texts& texts) {
  using directive::Role;
  directive::for_each_name(directive.op, [&](Role role, std::string& name) {
    if (role != Role::Loop && role != Role::NewLoop && role != Role::Dimension) return;
    const auto text = texts.find(name);
    if (text != texts.end()) name = text->second;
  });
}

}  // namespace

Schedule Func::schedule_for(const Target& target) const {
  const DefaultFloatMode mode;
  const FuncGraph graph = collect_graph({function_});
  const GraphTexts texts(graph);
  const VarWords words(graph);
  const GraphNames names(graph, words, texts);
  const Program program =
      lower(make_pipeline({function_}), {target, Variant{}, {}, DeviceLimits{}}, "default_schedule");
  Schedule schedule;
  for (const auto& f : graph.funcs) {
    const FunctionData* lowered = program.pipeline.find(names.of(f.get()));
    const bool whole = lowered != nullptr && lowered->definitions.size() == f->definitions.size();
    for (std::size_t i = 0; i < f->definitions.size(); ++i) {
      DefinitionSchedule stage{texts.of(f.get()), static_cast<int>(i), f->definitions[i].directives};
      const bool at_root = whole && program.is_root(lowered->name);
      const ComputePlace place = compute_place(*f, graph.is_output(f.get()));
      if (at_root && i == 0 && place.directive == nullptr && !graph.is_output(f.get())) {
        stage.directives.push_back({directive::ComputeRoot{}, {}});
      }
      if (at_root && !has_loop_directives(f->definitions[i])) {
        const Texts own = texts_of(*f, *lowered, i);
        for (Directive d : lowered->definitions[i].directives) {
          if (!is_chosen(d, f->definitions[i])) continue;
          name_as_user(d, own);
          stage.directives.push_back(std::move(d));
        }
      }
      if (!stage.directives.empty()) schedule.stages.push_back(std::move(stage));
    }
  }
  return schedule;
}

}  // namespace mica
