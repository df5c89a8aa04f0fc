#include "dsl/pipeline.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "dsl/compute_place.h"
#include "dsl/func_graph.h"
#include "dsl/node_visit.h"
#include "dsl/rounding.h"

namespace mica {

namespace {

const char* field_word(BufferField field) {
  switch (field) {
    case BufferField::Min: return "min";
    case BufferField::Extent: return "extent";
    case BufferField::Stride: return "stride";
  }
  return "";
}

class PipelineMaker {
 public:
  explicit PipelineMaker(const std::vector<std::shared_ptr<FunctionData>>& outputs)
      : graph_(collect_graph(outputs)) {}

  Pipeline run() {
    add_staged_wrappers();
    names_.emplace(graph_);
    Pipeline pipeline;
    for (const auto& image : graph_.images) {
      pipeline.inputs.push_back({names_->of(image.get()), image});
    }
    for (const auto& param : graph_.params) {
      pipeline.params.push_back({names_->of(param.get()), param});
      param_names_.insert(pipeline.params.back().name);
    }
    for (const auto& output : graph_.outputs) pipeline.outputs.push_back(names_->of(output.get()));
    for (const auto& f : graph_.funcs) {
      auto copy = copy_of(*f);
      copies_[f.get()] = copy;
      pipeline.funcs.push_back(std::move(copy));
    }
    return pipeline;
  }

 private:
  /// What one Func reads through, and what its stages hold.
  struct Reads {
    Wrappers wrappers;
    std::vector<std::pair<Source, Source>> held;  // source -> what is in memory
  };

  // ---- stage -------------------------------------------------------------------------------------

  /// A Func whose values exist for one consumer only is held in its block itself; of anything else
  /// the block holds a copy.
  [[nodiscard]] bool needs_copy(const Source& source) const {
    if (source.image) return true;
    const ComputePlace place = compute_place(*source.function, graph_.is_output(source.function.get()));
    switch (place.kind) {
      case ComputePlace::Kind::Root: return true;
      case ComputePlace::Kind::At: return false;
      case ComputePlace::Kind::Inline: break;
    }
    const auto reads_it = [&](const std::shared_ptr<FunctionData>& f) {
      const auto sources = sources_of(*f, f->wrappers);
      return std::find(sources.begin(), sources.end(), source) != sources.end();
    };
    return place.directive != nullptr ||
           std::count_if(graph_.funcs.begin(), graph_.funcs.end(), reads_it) > 1;
  }

  /// What `f` reads under the user's name `name`.
  [[nodiscard]] static std::optional<Source> source_named(const FunctionData& f, const std::string& name,
                                                          const SourceLocation& where) {
    std::optional<Source> found;
    for (const auto& source : sources_of(f, f.wrappers)) {
      if (source.name() != name) continue;
      if (found) {
        throw UserError(
            fmt::format("{} reads two sources named {}: give them different names", f.name, name),
            where);
      }
      found = source;
    }
    return found;
  }

  void add_staged_wrappers() {
    std::vector<std::shared_ptr<FunctionData>> order;
    for (const auto& f : graph_.funcs) {
      Reads reads{f->wrappers, {}};
      for (const auto& directive : f->definitions.front().directives) {
        const auto* stage = std::get_if<directive::Stage>(&directive.op);
        if (!stage) continue;
        const auto source = source_named(*f, stage->source, directive.where);
        if (!source || held_by(reads, *source)) continue;
        Source held = *source;
        if (needs_copy(*source)) {
          auto wrapper = make_wrapper(source->name() + ".staged", *source, directive.where);
          reads.wrappers.emplace_back(source->name(), wrapper);
          order.push_back(wrapper);
          held = {wrapper, nullptr};
        }
        reads.held.emplace_back(*source, held);
      }
      reads_[f.get()] = std::move(reads);
      order.push_back(f);
    }
    graph_.funcs = std::move(order);
  }

  static const Source* held_by(const Reads& reads, const Source& source) {
    for (const auto& [from, held] : reads.held) {
      if (from == source) return &held;
    }
    return nullptr;
  }

  // ---- names in directives -----------------------------------------------------------------------

  bool reads_transitively(const FunctionData& reader, const FunctionData* wanted,
                          std::unordered_set<const FunctionData*>& seen) const {
    for (const auto& source : sources_of(reader, reads_.at(&reader).wrappers)) {
      const FunctionData* callee = source.function.get();
      if (!callee) continue;
      if (callee == wanted) return true;
      if (!seen.insert(callee).second || reads_.count(callee) == 0) continue;
      if (reads_transitively(*callee, wanted, seen)) return true;
    }
    return false;
  }

  /// The unique name of the Func that a directive of `f` calls `name`; `name` itself if none is meant.
  [[nodiscard]] std::string unique_func(const std::string& name, const FunctionData& f,
                                        const SourceLocation& where) const {
    std::vector<const FunctionData*> named;
    for (const auto& g : graph_.funcs) {
      if (g->name == name) named.push_back(g.get());
    }
    if (named.size() > 1) {
      std::erase_if(named, [&](const FunctionData* g) {
        std::unordered_set<const FunctionData*> seen;
        return reads_.count(g) == 0 || !reads_transitively(*g, &f, seen);
      });
    }
    if (named.size() > 1) {
      throw UserError(fmt::format("{} is read by {} Funcs named {}: give them different names to say "
                                  "which is meant",
                                  f.name, named.size(), name),
                      where);
    }
    return named.empty() ? name : names_->of(named.front());
  }

  [[nodiscard]] std::string unique_input(const std::string& name, const SourceLocation& where) const {
    const ImageData* named = nullptr;
    for (const auto& image : graph_.images) {
      if (image->name != name) continue;
      if (named) {
        throw UserError(fmt::format("two inputs are named {}: give them different names", name), where);
      }
      named = image.get();
    }
    return named ? names_->of(named) : name;
  }

  /// The directives of `f` with unique names; those of `in` have done their work and go.
  [[nodiscard]] std::vector<Directive> copy_directives(const FunctionData& f,
                                                       const std::vector<Directive>& directives) const {
    std::vector<Directive> result;
    for (Directive copy : directives) {
      if (std::holds_alternative<directive::In>(copy.op)) continue;
      if (auto* at = std::get_if<directive::ComputeAt>(&copy.op)) {
        at->level.func = unique_func(at->level.func, f, copy.where);
      } else if (auto* store = std::get_if<directive::StoreAt>(&copy.op)) {
        store->level.func = unique_func(store->level.func, f, copy.where);
      } else if (auto* read_only = std::get_if<directive::ReadOnly>(&copy.op)) {
        read_only->source = unique_input(read_only->source, copy.where);
      } else if (auto* stage = std::get_if<directive::Stage>(&copy.op)) {
        if (const auto source = source_named(f, stage->source, copy.where)) {
          const Source* held = reads_.count(&f) > 0 ? held_by(reads_.at(&f), *source) : nullptr;
          stage->source = names_->of(held ? *held : *source);
        }
      }
      result.push_back(std::move(copy));
    }
    return result;
  }

  // ---- copies ------------------------------------------------------------------------------------

  [[nodiscard]] Expr copy_node(const Expr& e, const FunctionData& f, const Wrappers& wrappers) const {
    if (const auto* access = e.as<Access>()) {
      Access copy = *access;
      if (access->is_self) {
        copy.name = names_->of(&f);
      } else {
        const Source source = read_through(wrappers, source_of(*access));
        copy.name = names_->of(source);
        copy.image = source.image;
        copy.function = source.function ? copies_.at(source.function.get()) : nullptr;
      }
      return make_expr(e.type(), std::move(copy));
    }
    if (const auto* param = e.as<ParamRef>()) {
      return make_var(names_->of(param->param.get()), e.type());
    }
    if (const auto* rvar = e.as<RVarRef>()) {
      return make_var(rvar->domain->dims.at(static_cast<std::size_t>(rvar->index)).name, e.type());
    }
    if (const auto* field = e.as<ImageField>()) {
      return make_var(fmt::format("{}.{}.{}", names_->of(field->image.get()), field_word(field->field),
                                  field->dimension),
                      e.type());
    }
    return {};
  }

  [[nodiscard]] std::shared_ptr<const FunctionData> copy_of(const FunctionData& f) const {
    const auto it = reads_.find(&f);
    const Wrappers wrappers = it == reads_.end() ? Wrappers() : it->second.wrappers;
    const auto is_param = [this](const std::string& name) { return param_names_.count(name) > 0; };
    NodeRewriter rewrite([&](const Expr& e) { return copy_node(e, f, wrappers); });

    auto copy = std::make_shared<FunctionData>();
    copy->name = names_->of(&f);
    copy->where = f.where;
    copy->args = f.args;
    copy->types = f.types;
    for (const auto& definition : f.definitions) {
      Definition d;
      for (const auto& arg : definition.args) d.args.push_back(rewrite(arg));
      for (const auto& value : definition.values) {
        d.values.push_back(fix_rounding(rewrite(value), f.args.back(), is_param));
      }
      d.pure_vars = definition.pure_vars;
      d.domain = definition.domain;
      d.where = definition.where;
      d.directives = copy_directives(f, definition.directives);
      copy->definitions.push_back(std::move(d));
    }
    return copy;
  }

  FuncGraph graph_;
  std::unordered_map<const FunctionData*, Reads> reads_;  // of the user's Funcs and `in` wrappers
  std::optional<GraphNames> names_;
  std::set<std::string> param_names_;
  std::unordered_map<const FunctionData*, std::shared_ptr<const FunctionData>> copies_;
};

}  // namespace

const FunctionData* Pipeline::find(const std::string& name) const {
  for (const auto& f : funcs) {
    if (f->name == name) return f.get();
  }
  return nullptr;
}

const Pipeline::Input* Pipeline::find_input(const std::string& name) const {
  for (const auto& input : inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

bool Pipeline::is_output(const std::string& name) const {
  return std::find(outputs.begin(), outputs.end(), name) != outputs.end();
}

Pipeline make_pipeline(const std::vector<std::shared_ptr<FunctionData>>& outputs) {
  return PipelineMaker(outputs).run();
}

}  // namespace mica
