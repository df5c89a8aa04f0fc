#include "dsl/pipeline/func_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "dsl/expr/limits.h"
#include "dsl/expr/node_visit.h"
#include "dsl/func/func.h"

namespace mica {

namespace {

/// Depth-first walk that lists producers before consumers. Chains of Funcs may be of any length: those
/// that are being read wait on a stack.
class GraphCollector {
 public:
  explicit GraphCollector(FuncGraph& graph) : graph_(graph) {}

  void enter_output(const std::shared_ptr<FunctionData>& output) {
    enter(output, "", {});
    while (!entered_.empty()) {
      Entered& last = entered_.back();
      if (last.next == last.reads.size()) {
        done_[last.f.get()] = true;
        graph_.funcs.push_back(std::move(last.f));
        entered_.pop_back();
      } else {
        const Expr read = std::move(last.reads[last.next++]);
        take(*last.f, read);
      }
    }
  }

 private:
  /// A Func and what of its expressions is of interest here, each node once a list of them.
  struct Entered {
    std::shared_ptr<FunctionData> f;
    std::vector<Expr> reads;
    std::size_t next = 0;
  };

  void enter(const std::shared_ptr<FunctionData>& f, const std::string& reader,
             const SourceLocation& where) {
    if (auto it = done_.find(f.get()); it != done_.end()) {
      if (!it->second) {
        throw UserError(fmt::format("{} reads itself through other Funcs, the last of them {}; only an "
                                    "update may read its own Func, and directly",
                                    f->name, reader),
                        where);
      }
      return;
    }
    if (!f->defined()) {
      throw UserError(
          reader.empty() ? fmt::format("output {} is not defined: write {}(...) = ...", f->name, f->name)
                         : fmt::format("{} reads {}, which is not defined", reader, f->name),
          where.known() ? where : f->where);
    }
    done_[f.get()] = false;
    std::vector<Expr> reads;
    for (const auto& definition : f->definitions) {
      scan(definition.args, reads);
      scan(definition.values, reads);
      for (const auto& dim :
           definition.domain ? definition.domain->dims : std::vector<RDomData::Dim>()) {
        scan({dim.min, dim.extent}, reads);
      }
      for (const auto& special : definition.specializations) scan({special.condition}, reads);
    }
    entered_.push_back({f, std::move(reads)});
  }

  static void scan(const std::vector<Expr>& exprs, std::vector<Expr>& reads) {
    visit_nodes(exprs, [&](const Expr& e) {
      if (e.as<Access>() || e.as<ImageField>() || e.as<ParamRef>()) reads.push_back(e);
    });
  }

  void take(const FunctionData& f, const Expr& e) {
    if (const auto* access = e.as<Access>()) {
      if (access->is_self) return;
      const Source source = read_through(f.wrappers, source_of(*access));
      if (source.image) {
        add(graph_.images, source.image);
      } else {
        enter(std::const_pointer_cast<FunctionData>(source.function), f.name, access->where);
      }
    } else if (const auto* field = e.as<ImageField>()) {
      add(graph_.images, field->image);
    } else if (const auto* param = e.as<ParamRef>()) {
      add(graph_.params, param->param);
    }
  }

  template <typename T>
  void add(std::vector<T>& list, const T& item) {
    if (listed_.insert(item.get()).second) list.push_back(item);
  }

  FuncGraph& graph_;
  std::vector<Entered> entered_;                        // each read by the one before it
  std::unordered_map<const FunctionData*, bool> done_;  // false while its producers are entered
  std::unordered_set<const void*> listed_;              // images and Params
};

std::vector<std::string> name_parts(const FunctionData& f) {
  return f.made_of.empty() ? std::vector<std::string>{f.name} : f.made_of;
}

}  // namespace

Source source_of(const Access& access) { return {access.function, access.image}; }

std::string with_dots(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, "."));
}

std::shared_ptr<FunctionData> make_wrapper(const std::vector<std::string>& parts, const Source& source,
                                           const SourceLocation& where) {
  auto wrapper = std::make_shared<FunctionData>();
  wrapper->name = with_dots(parts);
  if (parts.size() > 1) wrapper->made_of = parts;
  wrapper->where = where;
  const auto dimensions = static_cast<std::size_t>(source.function ? source.function->dimensions()
                                                                   : source.image->dimensions);
  Definition definition;
  for (std::size_t d = 0; d < dimensions; ++d) {
    wrapper->args.push_back(source.function ? source.function->args[d] : default_dimension_names()[d]);
    definition.args.push_back(make_var(wrapper->args[d]));
  }
  wrapper->types = source.function ? source.function->types : std::vector<Type>{source.image->type};
  for (std::size_t i = 0; i < wrapper->types.size(); ++i) {
    Access access;
    access.name = source.name();
    access.function = source.function;
    access.image = source.image;
    access.value_index = static_cast<int>(i);
    access.args = definition.args;
    access.where = where;
    definition.values.push_back(make_expr(wrapper->types[i], std::move(access)));
  }
  definition.pure_vars = wrapper->args;
  definition.where = where;
  wrapper->definitions.push_back(std::move(definition));
  return wrapper;
}

std::vector<std::string> name_parts(const Source& source) {
  return source.function ? name_parts(*source.function) : std::vector<std::string>{source.image->name};
}

std::vector<std::string> wrapper_parts(const Source& source, const FunctionData& consumer) {
  std::vector<std::string> parts = name_parts(source);
  parts.emplace_back("in");
  for (const auto& part : name_parts(consumer)) parts.push_back(part);
  return parts;
}

Source wrapped_source(const FunctionData& wrapper) {
  const auto* access = wrapper.definitions.at(0).values.at(0).as<Access>();
  internal_check(access != nullptr, "a wrapper copies one access");
  return source_of(*access);
}

Source read_through(const Wrappers& wrappers, Source source) {
  for (bool found = true; found;) {
    found = false;
    for (const auto& [name, wrapper] : wrappers) {
      if (wrapped_source(*wrapper) == source) {
        source = {wrapper, nullptr};
        found = true;
        break;
      }
    }
  }
  return source;
}

std::vector<Source> sources_of(const FunctionData& f, const Wrappers& wrappers) {
  std::vector<Source> sources;
  for (const auto& definition : f.definitions) {
    for (const auto* exprs : {&definition.args, &definition.values}) {
      visit_nodes(*exprs, [&](const Expr& e) {
        const auto* access = e.as<Access>();
        if (!access || access->is_self) return;
        const Source source = read_through(wrappers, source_of(*access));
        if (std::find(sources.begin(), sources.end(), source) == sources.end()) {
          sources.push_back(source);
        }
      });
    }
  }
  return sources;
}

std::vector<std::string> names_of(const std::vector<Source>& sources) {
  std::vector<std::string> names;
  for (const auto& source : sources) names.push_back(source.name());
  return names;
}

bool FuncGraph::is_output(const FunctionData* f) const {
  return std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.get() == f; });
}

std::int64_t arithmetic_in(const FuncGraph& graph) {
  std::vector<Expr> values;
  for (const auto& func : graph.funcs) {
    for (const Definition& definition : func->definitions) {
      values.insert(values.end(), definition.values.begin(), definition.values.end());
    }
  }
  return arithmetic_in(values);
}

std::vector<std::shared_ptr<FunctionData>> functions_of(const std::vector<Func>& funcs) {
  std::vector<std::shared_ptr<FunctionData>> functions;
  for (const Func& f : funcs) functions.push_back(f.function());
  return functions;
}

FuncGraph collect_graph(const std::vector<std::shared_ptr<FunctionData>>& outputs) {
  if (outputs.empty()) throw UserError("a pipeline needs at least one output Func");
  FuncGraph graph;
  for (const auto& output : outputs) {
    if (graph.is_output(output.get())) {
      throw UserError(fmt::format("output {} is given twice", output->name), output->where);
    }
    graph.outputs.push_back(output);
  }
  GraphCollector collector(graph);
  for (const auto& output : outputs) collector.enter_output(output);
  return graph;
}

FuncGraph collect_graph_to_compile(const std::vector<std::shared_ptr<FunctionData>>& outputs) {
  FuncGraph graph = collect_graph(outputs);
  for (const auto& f : graph.funcs) {
    for (const Definition& definition : f->definitions) {
      std::int64_t nodes = 0;
      visit_nodes(definition.values, [&](const Expr& /*e*/) { ++nodes; });
      if (nodes <= kMostNodes) continue;
      throw UserError(fmt::format("{} is defined by an expression of {} nodes; at most {} are compiled: "
                                  "define parts of it as Funcs of their own with compute_root(), or "
                                  "write what repeats as a sum over an RDom",
                                  f->name, nodes, kMostNodes),
                      definition.where);
    }
  }
  return graph;
}

}  // namespace mica
