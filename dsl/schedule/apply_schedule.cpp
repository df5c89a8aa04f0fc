// Func's schedule as data: taking it, replacing it, clearing it.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/graph_names.h"
#include "dsl/schedule/directive_fields.h"

namespace mica {

namespace {

using Outputs = std::vector<std::shared_ptr<FunctionData>>;

/// Directives and wrappers of a graph's Funcs, to go back to when a new schedule does not fit.
class Snapshot {
 public:
  explicit Snapshot(const FuncGraph& graph) {
    for (const auto& f : graph.funcs) {
      Entry entry{f, {}, {}, f->wrappers};
      for (const auto& definition : f->definitions) {
        entry.directives.push_back(definition.directives);
        entry.specializations.push_back(definition.specializations);
      }
      entries_.push_back(std::move(entry));
    }
  }
  void restore() const {
    for (const auto& entry : entries_) {
      entry.func->wrappers = entry.wrappers;
      for (std::size_t i = 0; i < entry.directives.size(); ++i) {
        entry.func->definitions[i].directives = entry.directives[i];
        entry.func->definitions[i].specializations = entry.specializations[i];
      }
    }
  }
  /// The wrapper that `consumer` had for `source` under this name, or null.
  [[nodiscard]] std::shared_ptr<FunctionData> wrapper(const FunctionData* consumer, const Source& source,
                                                      const std::string& name) const {
    for (const auto& entry : entries_) {
      if (entry.func.get() != consumer) continue;
      for (const auto& [from, wrapper] : entry.wrappers) {
        if (wrapper->name == name && wrapped_source(*wrapper) == source) return wrapper;
      }
    }
    return nullptr;
  }

 private:
  struct Entry {
    std::shared_ptr<FunctionData> func;
    std::vector<std::vector<Directive>> directives;
    std::vector<std::vector<Definition::Specialization>> specializations;
    Wrappers wrappers;
  };
  std::vector<Entry> entries_;
};

void clear(const FuncGraph& graph) {
  for (const auto& f : graph.funcs) {
    f->wrappers.clear();
    for (auto& definition : f->definitions) {
      definition.directives.clear();
      definition.specializations.clear();
    }
  }
}

std::vector<std::string> func_names(const FuncGraph& graph, const GraphTexts& names) {
  std::vector<std::string> result;
  for (const auto& f : graph.funcs) result.push_back(names.of(f.get()));
  return result;
}

/// Follows the loop names of one definition through its directives.
class LoopNames {
 public:
  LoopNames(const FunctionData& f, std::size_t definition) : f_(f) {
    const Definition& d = f.definitions[definition];
    names_.insert(d.pure_vars.begin(), d.pure_vars.end());
    if (d.domain) {
      for (const auto& dim : d.domain->dims) names_.insert(dim.name);
    }
  }

  /// UserError when the directive names a loop that no directive before it made.
  void check(const Directive& directive) {
    directive::for_each_name(directive.op, [&](directive::Role role, const std::string& name) {
      if (role == directive::Role::Loop) {
        use(name, directive);
        add_made(directive, name);
      } else if (role == directive::Role::Dimension) {
        dimension(name, directive);
      } else if (role == directive::Role::NewLoop) {
        names_.insert(name);
      }
    });
    add_made(directive, "");
  }

 private:
  void use(const std::string& var, const Directive& directive) const {
    if (names_.count(var) > 0) return;
    fail(var, directive, {names_.begin(), names_.end()});
  }
  void fail(const std::string& var, const Directive& directive,
            const std::vector<std::string>& legal) const {
    throw UserError(
        fmt::format("schedule: {}{}: there is no {} in {}{}; legal are {}", f_.name,
                    to_string(directive), var, f_.name, did_you_mean(var, legal), joined(legal)),
        directive.where);
  }
  void dimension(const std::string& var, const Directive& directive) const {
    if (std::find(f_.args.begin(), f_.args.end(), var) == f_.args.end()) {
      fail(var, directive, f_.args);
    }
  }

  /// The loops that the directive makes of loop `var`; with "" those that stand for themselves.
  void add_made(const Directive& directive, const std::string& var) {
    for (const char* made : directive::traits_of(directive).makes) {
      if (made != nullptr && (*made == '.') == !var.empty()) names_.insert(var + made);
    }
  }

  const FunctionData& f_;
  std::set<std::string> names_;
};

/// Puts a schedule on the cleared Funcs behind some outputs.
class Applier {
 public:
  Applier(const Outputs& outputs, const Schedule& schedule, const Snapshot& before)
      : outputs_(outputs), schedule_(schedule), before_(before) {}

  void run() {
    make_wrappers();
    const FuncGraph graph = collect_graph(outputs_);
    const GraphTexts names(graph);
    for (const auto& stage : schedule_.stages) {
      const auto f = find(graph, names, stage.func);
      if (!f) fail_unknown("Func", stage.func, func_names(graph, names), {});
      if (stage.update < 0 || static_cast<std::size_t>(stage.update) >= f->definitions.size()) {
        throw UserError(fmt::format(
            "schedule: definition {} of {}, which has {}: 0, the first, to {}", stage.update, stage.func,
            counted(f->definitions.size(), "definition"), f->definitions.size() - 1));
      }
      const auto definition = static_cast<std::size_t>(stage.update);
      for (const auto& directive : stage.directives) {
        check_references(directive, graph, names);
        f->definitions[definition].directives.push_back(directive);
      }
    }
    for (const auto& f : graph.funcs) {
      for (std::size_t i = 0; i < f->definitions.size(); ++i) {
        LoopNames loops(*f, i);
        for (const auto& directive : f->definitions[i].directives) loops.check(directive);
      }
    }
  }

 private:
  [[noreturn]] static void fail_unknown(const char* what, const std::string& name,
                                        const std::vector<std::string>& legal,
                                        const SourceLocation& where) {
    throw UserError(fmt::format("schedule: there is no {} {} in this pipeline{}; legal are {}", what,
                                name, did_you_mean(name, legal), joined(legal)),
                    where);
  }

  static std::shared_ptr<FunctionData> find(const FuncGraph& graph, const GraphTexts& names,
                                            const std::string& name) {
    for (const auto& f : graph.funcs) {
      if (names.of(f.get()) == name) return f;
    }
    return nullptr;
  }

  static void check_references(const Directive& directive, const FuncGraph& graph,
                               const GraphTexts& names) {
    std::vector<std::string> inputs;
    for (const auto& image : graph.images) {
      inputs.push_back(names.of(image.get()));
      if (inputs.back() != image->name) inputs.push_back(image->name);
    }
    std::vector<std::string> funcs;
    for (const auto& f : graph.funcs) {
      funcs.push_back(names.of(f.get()));
      if (funcs.back() != f->name) funcs.push_back(f->name);
    }
    std::vector<std::string> sources = inputs;
    sources.insert(sources.end(), funcs.begin(), funcs.end());
    const auto need = [&](const char* what, const std::string& name,
                          const std::vector<std::string>& legal) {
      if (std::find(legal.begin(), legal.end(), name) == legal.end()) {
        fail_unknown(what, name, legal, directive.where);
      }
    };
    directive::for_each_name(directive.op, [&](directive::Role role, const std::string& name) {
      if (role == directive::Role::Func) need("Func", name, funcs);
      if (role == directive::Role::Source) need("Func or input", name, sources);
      if (role == directive::Role::Input) need("input", name, inputs);
    });
  }

  /// Makes the wrappers that the schedule's `in` directives name. A wrapper may itself have a wrapped
  /// source, so this repeats until no directive is left or none can be followed.
  void make_wrappers() {
    struct Wanted {
      std::string consumer;
      const directive::In* in;
      SourceLocation where;
    };
    std::vector<Wanted> wanted;
    for (const auto& stage : schedule_.stages) {
      for (const auto& directive : stage.directives) {
        const auto* in = std::get_if<directive::In>(&directive.op);
        if (!in) continue;
        if (in->wrapper.empty()) {
          throw UserError(
              fmt::format("schedule: the wrapper of {} in {} has an empty name", in->source, stage.func),
              directive.where);
        }
        wanted.push_back({stage.func, in, directive.where});
      }
    }
    while (!wanted.empty()) {
      const FuncGraph graph = collect_graph(outputs_);
      const GraphTexts names(graph);
      const auto made = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) {
        const auto consumer = find(graph, names, w.consumer);
        return consumer && make_wrapper_in(*consumer, *w.in, w.where);
      });
      if (made != wanted.end()) {
        wanted.erase(made);
        continue;
      }
      const Wanted& first = wanted.front();
      const auto consumer = find(graph, names, first.consumer);
      if (!consumer) fail_unknown("Func", first.consumer, func_names(graph, names), first.where);
      const auto read = names_of(sources_of(*consumer, consumer->wrappers));
      throw UserError(fmt::format("schedule: {}.in({}): {} does not read {}{}; it reads {}",
                                  first.in->source, first.consumer, first.consumer, first.in->source,
                                  did_you_mean(first.in->source, read), joined(read)),
                      first.where);
    }
  }

  bool make_wrapper_in(FunctionData& consumer, const directive::In& in, const SourceLocation& where) {
    for (const auto& source : sources_of(consumer, consumer.wrappers)) {
      if (source.name() != in.source) continue;
      auto wrapper = before_.wrapper(&consumer, source, in.wrapper);
      if (!wrapper) {
        const auto parts = wrapper_parts(source, consumer);
        const bool usual = with_dots(parts) == in.wrapper;
        wrapper = make_wrapper(usual ? parts : std::vector<std::string>{in.wrapper}, source, where);
      }
      consumer.wrappers.emplace_back(in.source, wrapper);
      return true;
    }
    return false;
  }

  const Outputs& outputs_;
  const Schedule& schedule_;
  const Snapshot& before_;
};

}  // namespace

Schedule Func::schedule() const { return schedule_of({*this}); }

Func& Func::apply(const Schedule& schedule) {
  apply_schedule({*this}, schedule);
  return *this;
}

Schedule schedule_of(const std::vector<Func>& outputs) {
  const FuncGraph graph = collect_graph(functions_of(outputs));
  const GraphTexts names(graph);
  Schedule schedule;
  for (const auto& f : graph.funcs) {
    for (std::size_t i = 0; i < f->definitions.size(); ++i) {
      const auto& directives = f->definitions[i].directives;
      if (directives.empty()) continue;
      schedule.stages.push_back({names.of(f.get()), static_cast<int>(i), directives});
    }
  }
  return schedule;
}

void apply_schedule(const std::vector<Func>& outputs, const Schedule& schedule) {
  if (schedule.steps != 1) {
    throw UserError(fmt::format(
        "schedule: it takes {} steps at once, as an Iteration does: Iteration::apply puts it on one",
        schedule.steps));
  }
  const Outputs functions = functions_of(outputs);
  const FuncGraph graph = collect_graph(functions);
  const Snapshot before(graph);
  clear(graph);
  try {
    Applier(functions, schedule, before).run();
  } catch (...) {
    before.restore();
    throw;
  }
}

Func& Func::clear_schedule() {
  clear(collect_graph({function_}));
  return *this;
}

}  // namespace mica
