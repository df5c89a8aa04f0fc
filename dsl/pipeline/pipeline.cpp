#include "dsl/pipeline/pipeline.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "dsl/expr/deep_stack.h"
#include "dsl/expr/node_visit.h"
#include "dsl/func/trace_values.h"
#include "dsl/pipeline/call_inliner.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/graph_names.h"
#include "dsl/pipeline/hoist_prints.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"
#include "dsl/pipeline/staged_helpers.h"
#include "dsl/schedule/compute_place.h"
#include "dsl/schedule/directive_fields.h"
#include "dsl/schedule/loop_words.h"
#include "dsl/schedule/specialized.h"

namespace mica {
namespace {
class PipelineMaker {
 public:
  PipelineMaker(const std::vector<std::shared_ptr<FunctionData>>& outputs,
                const std::vector<std::uint8_t>& chosen)
      : graph_(collect_graph_to_compile(outputs)), specialized_(graph_, chosen) {}

  Pipeline run() {
    Pipeline pipeline = made_with_stack_for(depth_, [this] { return make(); });
    // Where a factor is taken into a sum, what stood beside its terms stands inside one another.
    pipeline.depth = std::max(depth_, depth_of_funcs(pipeline.funcs));
    return pipeline;
  }

 private:
  Pipeline make() {
    add_staged_wrappers();
    names_.emplace(graph_, vars_, texts_);
    Pipeline pipeline;
    for (const auto& image : graph_.images) {
      pipeline.inputs.push_back({names_->of(image.get()), image});
      pipeline.texts[names_->of(image.get())] = image->name;
    }
    for (const auto& param : graph_.params) {
      pipeline.params.push_back({names_->of(param.get()), param});
      param_names_.insert(pipeline.params.back().name);
    }
    for (const auto& output : graph_.outputs) {
      pipeline.outputs.push_back(names_->of(output.get()));
      pipeline.texts[names_->of(output.get())] = output->name;
    }
    std::vector<std::shared_ptr<FunctionData>> copies;
    for (const auto& f : graph_.funcs) {
      check_self_reads(*f, graph_.is_output(f.get()));
      copies.push_back(copy_of(*f));
      copies_[f.get()] = copies.back();
    }
    add_with_partial_sums(copies, pipeline);
    for (const auto& f : graph_.funcs) {
      note_marches(*f, pipeline);
      add_conditions(
          *f, [&](const Expr& e) { return copy_node(e, *f); }, pipeline.choices);
    }
    std::set<std::string> helpers;
    for (const FunctionData* helper : helpers_.all()) helpers.insert(names_->of(helper));
    drop_unread(pipeline, helpers);
    return pipeline;
  }

  /// What one Func reads through, and what its stages hold.
  struct Reads {
    Wrappers wrappers;
    std::vector<std::pair<Source, Source>> held;  // source -> what is in memory
    struct Window {
      Source source;
      std::shared_ptr<FunctionData> copy;
      std::vector<std::string> pattern;  // words: the variable that each argument of the source is
      std::string march;
    };
    std::vector<Window> windows;
  };

  // ---- stage -------------------------------------------------------------------------------------

  /// A Func whose values exist for one consumer only is held in its block itself; of anything else
  /// the block holds a copy.
  [[nodiscard]] bool is_inline(const Source& source) const {
    if (source.image) return false;
    return compute_place(*source.function, graph_.is_output(source.function.get())).kind ==
           ComputePlace::Kind::Inline;
  }

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

  static std::vector<std::string> made_of(const Source& source, const char* what) {
    std::vector<std::string> parts = name_parts(source);
    parts.emplace_back(what);
    return parts;
  }

  /// What `f` reads under the user's name `name`.
  [[nodiscard]] std::optional<Source> source_named(const FunctionData& f, const std::string& name,
                                                   const SourceLocation& where) const {
    const std::vector<Source> sources = helpers_.sources_of(f);
    std::optional<Source> found;
    for (const auto& source : sources) {
      if (source.name() != name) continue;
      if (found) {
        throw UserError(
            fmt::format("{} reads two sources named {}: give them different names", f.name, name),
            where);
      }
      found = source;
    }
    for (const auto& source : sources) {
      if (!found && texts_.of(source) == name) found = source;
    }
    return found;
  }

  void add_staged_wrappers() {
    std::vector<std::shared_ptr<FunctionData>> order;
    for (const auto& f : graph_.funcs) {
      Reads reads{f->wrappers, {}, {}};
      for (const auto& directive : f->definitions.front().directives) {
        const auto* window = std::get_if<directive::RegisterWindow>(&directive.op);
        if (window) add_window(*f, *window, directive.where, reads, order);
      }
      for (const auto& directive : f->definitions.front().directives) {
        const auto* stage = std::get_if<directive::StagedSource>(&directive.op);
        if (!stage) continue;
        const auto source = source_named(*f, stage->source, directive.where);
        if (!source || held_by(reads, *source)) continue;
        Source held = *source;
        // An inline Func that is windowed too is computed into the registers, and its planes from them.
        const bool windowed = std::any_of(reads.windows.begin(), reads.windows.end(),
                                          [&](const auto& w) { return w.source == *source; });
        if (needs_copy(*source) || (windowed && is_inline(*source))) {
          auto wrapper = make_wrapper(made_of(*source, "staged"), *source, directive.where);
          wrapper->held = f->held;
          order.push_back(reads.wrappers.emplace_back(source->name(), wrapper).second);
          held = {wrapper, nullptr};
        }
        reads.held.emplace_back(*source, held);
      }
      reads_[f.get()] = std::move(reads);
      order.push_back(f);
    }
    graph_.funcs = std::move(order);
  }

  // ---- register_window -----------------------------------------------------------------------------
  /// A source without a tap at the point's own column is left for check_schedule to report, and so are
  /// a window without a march and a second one.
  void add_window(const FunctionData& f, const directive::RegisterWindow& window,
                  const SourceLocation& where, Reads& reads,
                  std::vector<std::shared_ptr<FunctionData>>& order) {
    const auto source = source_named(f, window.source, where);
    const std::string loop = march_loop(f, window.var);
    if (!source || loop.empty()) return;
    const auto same = [&](const Reads::Window& other) { return other.source == *source; };
    if (std::any_of(reads.windows.begin(), reads.windows.end(), same)) return;
    std::vector<std::string> pattern;
    visit_nodes(helpers_.taken_in(f), [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (!access || !pattern.empty()) return;
      if (read_through(f.wrappers, source_of(*access)) != *source) return;
      pattern = own_column(access->args, f.args, window.var);
    });
    if (pattern.empty()) return;
    auto copy = make_wrapper(made_of(*source, "window"), *source, where);
    copy->args = f.args;
    Definition& held = copy->definitions.front();
    held.args.clear();
    for (const auto& arg : f.args) held.args.push_back(make_var(arg));
    held.pure_vars = f.args;
    for (auto& value : held.values) {
      Access access = *value.as<Access>();
      access.args.clear();
      for (const auto& var : pattern) access.args.push_back(make_var(var));
      value = make_expr(value.type(), std::move(access));
    }
    order.push_back(copy);
    reads.windows.push_back({*source, copy, vars_.of(pattern), vars_.of(window.var)});
    const std::string walked = vars_.of(window.var) + loop.substr(window.var.size());
    window_places_[copy.get()] = {&f, walked, where};
  }

  /// The window that serves an access of `f`, whose arguments are words already, or null.
  [[nodiscard]] const Reads::Window* window_of(const FunctionData& f, const Access& access,
                                               const Source& source) const {
    const auto it = reads_.find(&f);
    if (it == reads_.end()) return nullptr;
    for (const auto& window : it->second.windows) {
      if (window.source != source) continue;
      if (own_column(access.args, vars_.of(f.args), window.march) == window.pattern) return &window;
    }
    return nullptr;
  }

  // ---- what marches keep -----------------------------------------------------------------------------

  void note_marches(const FunctionData& f, Pipeline& pipeline) const {
    const auto it = reads_.find(&f);
    if (it == reads_.end()) return;
    for (const auto& [source, held] : it->second.held) {
      if (held != source) pipeline.staged[names_->of(held)] = {names_->of(source), names_->of(&f)};
    }
    for (const auto& window : it->second.windows) {
      pipeline.windows[names_->of(window.copy.get())] = {names_->of(window.source), names_->of(&f)};
    }
    for (const auto& directive : f.definitions.front().directives) {
      const auto* ahead = std::get_if<directive::PipelineDepth>(&directive.op);
      if (!ahead) continue;
      const auto source = source_named(f, ahead->source, directive.where);
      if (!source) continue;
      // What fills the stage follows by itself.
      if (const Source* held = held_by(it->second, *source)) {
        pipeline.asked_early[names_->of(*held)] = ahead->depth;
        continue;
      }
      for (const auto& [of, copy, pattern, march] : it->second.windows) {
        if (of == *source) pipeline.asked_early[names_->of(copy.get())] = ahead->depth;
      }
      const bool at_loop = !needs_copy(*source) && !is_inline(*source);
      if (at_loop) pipeline.asked_early[names_->of(*source)] = ahead->depth;
    }
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

  /// The level that a directive of `f` names.
  [[nodiscard]] LoopLevel level_named(const LoopLevel& level, const FunctionData& f,
                                      const SourceLocation& where) const {
    const FunctionData* g = func_named(level.func, f, where);
    if (!g) return {names_->of_text(level.func), vars_.of(level.var)};
    return {names_->of(g), LoopWords(specialized_.of(*g), LoopWords::of_all, vars_).of(level.var)};
  }

  /// The Func that a directive of `f` calls `name`, or null. Users have no name for those made here.
  [[nodiscard]] const FunctionData* func_named(const std::string& name, const FunctionData& f,
                                               const SourceLocation& where) const {
    std::vector<const FunctionData*> named;
    for (const auto& g : graph_.funcs) {
      if (g->name == name && texts_.knows(g.get())) named.push_back(g.get());
    }
    for (const auto& g : graph_.funcs) {
      if (named.empty() && texts_.knows(g.get()) && texts_.of(g.get()) == name) return g.get();
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
    return named.empty() ? nullptr : named.front();
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
    return named ? names_->of(named) : names_->of_text(name);
  }

  /// The unique name of what `f` reads as `name`.
  [[nodiscard]] std::string unique_source(const FunctionData& f, const std::string& name,
                                          const SourceLocation& where) const {
    const auto source = source_named(f, name, where);
    return source ? names_->of(*source) : names_->of_text(name);
  }

  /// The directives of definition `i` of `f` with the pipeline's names; those of `in` have done their
  /// work and go.
  [[nodiscard]] std::vector<Directive> copy_directives(const FunctionData& f, std::size_t i) const {
    if (const auto it = window_places_.find(&f); it != window_places_.end()) {
      const auto& [host, loop, where] = it->second;
      return {{directive::ComputeAt{{names_->of(host), loop}}, where},
              {directive::StoreIn{MemoryType::Register}, where}};
    }
    const LoopWords loops(specialized_.of(f), static_cast<int>(i), vars_);
    std::vector<Directive> result;
    for (Directive copy : specialized_.of(f).definitions[i].directives) {
      if (std::holds_alternative<directive::In>(copy.op)) continue;
      loops.put_into(copy);
      if (auto* at = std::get_if<directive::ComputeAt>(&copy.op)) {
        at->level = level_named(at->level, f, copy.where);
      } else if (auto* store = std::get_if<directive::StoreAt>(&copy.op)) {
        store->level = level_named(store->level, f, copy.where);
      } else if (auto* stage = std::get_if<directive::StagedSource>(&copy.op)) {
        if (const auto source = source_named(f, stage->source, copy.where)) {
          const Source* held = reads_.count(&f) > 0 ? held_by(reads_.at(&f), *source) : nullptr;
          stage->source = names_->of(held ? *held : *source);
        } else {
          stage->source = names_->of_text(stage->source);
        }
      } else {
        directive::for_each_name(copy.op, [&](directive::Role role, std::string& name) {
          if (role == directive::Role::Input) name = unique_input(name, copy.where);
          if (role == directive::Role::Source) name = unique_source(f, name, copy.where);
        });
      }
      result.push_back(std::move(copy));
    }
    return result;
  }

  // ---- copies ------------------------------------------------------------------------------------

  /// A node of the algorithm with unique names, before any directive: what rounding is fixed on.
  [[nodiscard]] Expr copy_node(const Expr& e, const FunctionData& f) const {
    if (const auto* access = e.as<Access>()) {
      Access copy = *access;
      if (access->is_self) {
        copy.name = names_->of(&f);
      } else {
        name_source(copy, read_through(f.wrappers, source_of(*access)));
      }
      return make_expr(e.type(), std::move(copy));
    }
    if (const auto* var = e.as<VarRef>()) return make_var(vars_.of(var->name), e.type());
    if (const auto* ref = e.as<ParamRef>()) return make_var(names_->of(ref->param.get()), e.type());
    if (const auto* rvar = e.as<RVarRef>()) {
      return make_var(word_of_dimension(*rvar->domain, static_cast<std::size_t>(rvar->index)));
    }
    if (const auto* field = e.as<ImageField>()) {
      return make_symbol(names_->of(field->image.get()), field->field,
                         static_cast<std::size_t>(field->dimension), e.type());
    }
    return {};
  }

  void name_source(Access& access, const Source& source) const {
    access.name = names_->of(source);
    access.image = source.image;
    access.function = source.function ? copies_.at(source.function.get()) : nullptr;
  }

  /// An access of `f` that copy_node made, of the window or the staged copy that serves it.
  [[nodiscard]] Expr place_access(const Expr& e, const FunctionData& f,
                                  const std::map<std::string, Source>& sources) const {
    const auto* access = e.as<Access>();
    if (access == nullptr || access->is_self) return {};
    const Source& direct = sources.at(access->name);
    const auto* window = window_of(f, *access, direct);
    const auto reads = reads_.find(&f);
    const Source source = window != nullptr       ? Source{window->copy, nullptr}
                          : reads != reads_.end() ? read_through(reads->second.wrappers, direct)
                                                  : direct;
    if (source == direct) return {};
    Access placed = *access;
    if (window != nullptr) {
      placed.args.clear();
      for (const auto& arg : vars_.of(f.args)) {
        const auto at = std::find(window->pattern.begin(), window->pattern.end(), arg);
        const bool marched = arg == window->march;
        placed.args.push_back(marched
                                  ? access->args[static_cast<std::size_t>(at - window->pattern.begin())]
                                  : make_var(arg));
      }
    }
    name_source(placed, source);
    return make_expr(e.type(), std::move(placed));
  }

  [[nodiscard]] std::shared_ptr<FunctionData> copy_of(const FunctionData& f) const {
    const auto is_param = [this](const auto& name) { return param_names_.count(name) > 0; };
    std::map<std::string, Source> sources;
    for (const Source& source : helpers_.sources_of(f)) sources.emplace(names_->of(source), source);
    std::set<const FunctionData*> helpers;  // copies
    for (const FunctionData* helper : helpers_.of(f)) helpers.insert(copies_.at(helper).get());
    CallInliner take_in(names_->of(&f), [&](const Access& a) {
      return !a.is_self && helpers.count(a.function.get()) > 0 ? a.function.get() : nullptr;
    });
    NodeRewriter rewrite([&](const Expr& e) { return copy_node(e, f); });
    NodeRewriter place_node([&](const Expr& e) { return place_access(e, f, sources); });
    const auto place = [&](const Expr& e) { return place_node(helpers.empty() ? e : take_in(e)); };
    auto copy = std::make_shared<FunctionData>();
    copy->name = names_->of(&f);
    copy->where = f.where;
    copy->args = vars_.of(f.args);
    copy->is_scalar = f.is_scalar;
    copy->types = f.types;
    copy->held = f.held;
    copy->still_ends = f.still_ends;
    for (std::size_t i = 0; i < f.definitions.size(); ++i) {
      const Definition& definition = f.definitions[i];
      Definition d;
      take_in.begin(definition.where);
      PrintHoister prints;
      for (const auto& arg : definition.args) d.args.push_back(place(prints.without(rewrite(arg))));
      // Before any access is given to a window: the order of a sum is the algorithm's.
      for (const auto& value : definition.values)
        d.values.push_back(place(prints.fixed(rewrite(value), copy->args.back(), is_param)));
      d.places = definition.places;
      for (auto& at : d.places) std::for_each(at.begin(), at.end(), [&](Expr& e) { e = rewrite(e); });
      d.pure_vars = vars_.of(definition.pure_vars);
      if (definition.domain) {
        d.domain = with_words(definition.domain, [&](const Expr& bound) { return rewrite(bound); });
      }
      d.recurrence = definition.recurrence;
      if (d.recurrence) d.recurrence->start = rewrite(d.recurrence->start);
      d.coloring = definition.coloring;
      if (d.coloring) d.coloring->value = rewrite(d.coloring->value);
      d.where = definition.where;
      d.directives = copy_directives(f, i);
      copy->definitions.push_back(std::move(d));
    }
    return traced(f, std::move(copy));
  }

  /// Where a window is kept: in that Func's loop of this name.
  struct WindowPlace {
    const FunctionData* host = nullptr;
    std::string loop;
    SourceLocation where;
  };

  FuncGraph graph_;
  const StagedHelpers helpers_{graph_};
  const std::int64_t depth_ = depth_of_funcs(graph_.funcs);
  const VarWords vars_{graph_};
  const GraphTexts texts_{graph_};  // of the user's Funcs and `in` wrappers, and of the inputs
  const Specialized specialized_;
  std::unordered_map<const FunctionData*, WindowPlace> window_places_;
  std::unordered_map<const FunctionData*, Reads> reads_;  // of the user's Funcs and `in` wrappers
  std::optional<GraphNames> names_;
  std::set<std::string> param_names_;
  std::unordered_map<const FunctionData*, std::shared_ptr<const FunctionData>> copies_;
};

}  // namespace

Pipeline make_pipeline(const std::vector<std::shared_ptr<FunctionData>>& outputs,
                       const std::vector<std::uint8_t>& chosen) {
  return PipelineMaker(outputs, chosen).run();
}

}  // namespace mica
