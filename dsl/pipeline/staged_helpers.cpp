#include "dsl/pipeline/staged_helpers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/call_inliner.h"
#include "dsl/pipeline/pipeline.h"
#include "dsl/schedule/compute_place.h"

namespace mica {

namespace {

/// The sources that a Func's directives name.
std::set<std::string> named_sources(const FunctionData& f) {
  std::set<std::string> names;
  for (const Directive& directive : f.definitions.front().directives) {
    if (const auto* stage = std::get_if<directive::StagedSource>(&directive.op))
      names.insert(stage->source);
    if (const auto* window = std::get_if<directive::RegisterWindow>(&directive.op)) {
      names.insert(window->source);
    }
    if (const auto* exchange = std::get_if<directive::Shuffle>(&directive.op)) {
      names.insert(exchange->source);
    }
  }
  return names;
}

bool may_be_taken_in(const FuncGraph& graph, const FunctionData& f) {
  const Definition& definition = f.definitions.front();
  return f.definitions.size() == 1 && definition.directives.empty() && !definition.recurrence &&
         !graph.is_output(&f);
}

/// Made by `in`, to be scheduled on its own.
bool is_wrapper(const FunctionData& reader, const Source& source) {
  return std::any_of(reader.wrappers.begin(), reader.wrappers.end(),
                     [&](const auto& entry) { return entry.second == source.function; });
}

}  // namespace

StagedHelpers::StagedHelpers(const FuncGraph& graph) {
  for (const auto& f : graph.funcs) {
    const std::set<std::string> wanted = named_sources(*f);
    if (!wanted.empty()) collect(graph, *f, wanted, helpers_[f.get()]);
  }
}

// Does `reader`, or what it reads, read a wanted source? Helpers on the way are noted.
bool StagedHelpers::collect(const FuncGraph& graph, const FunctionData& reader,
                            const std::set<std::string>& wanted,
                            std::set<const FunctionData*>& helpers) const {
  bool reads = false;
  for (const Source& source : mica::sources_of(reader, reader.wrappers)) {
    if (wanted.count(source.name()) > 0) {
      reads = true;
    } else if (source.function && !is_wrapper(reader, source) &&
               may_be_taken_in(graph, *source.function)) {
      const bool known = helpers.count(source.function.get()) > 0;
      if (!known && !collect(graph, *source.function, wanted, helpers)) continue;
      helpers.insert(source.function.get());
      reads = true;
    }
  }
  return reads;
}

bool StagedHelpers::takes_in(const FunctionData& f, const FunctionData* helper) const {
  const auto found = helpers_.find(&f);
  return found != helpers_.end() && found->second.count(helper) > 0;
}

std::set<const FunctionData*> StagedHelpers::all() const {
  std::set<const FunctionData*> all;
  for (const auto& [f, helpers] : helpers_) all.insert(helpers.begin(), helpers.end());
  return all;
}

const std::set<const FunctionData*>& StagedHelpers::of(const FunctionData& f) const {
  static const std::set<const FunctionData*> none;
  const auto found = helpers_.find(&f);
  return found == helpers_.end() ? none : found->second;
}

std::vector<Source> StagedHelpers::sources_of(const FunctionData& f) const {
  std::vector<Source> sources;
  for (const Source& source : mica::sources_of(f, f.wrappers)) {
    std::vector<Source> found{source};
    if (takes_in(f, source.function.get())) {
      // Helpers of a helper are helpers of `f`.
      found.clear();
      std::set<const FunctionData*> seen;
      std::function<void(const FunctionData&)> visit = [&](const FunctionData& helper) {
        if (!seen.insert(&helper).second) return;
        for (const Source& inner : mica::sources_of(helper, helper.wrappers)) {
          if (takes_in(f, inner.function.get())) {
            visit(*inner.function);
          } else {
            found.push_back(inner);
          }
        }
      };
      visit(*source.function);
    }
    for (const Source& one : found) {
      if (std::find(sources.begin(), sources.end(), one) == sources.end()) sources.push_back(one);
    }
  }
  return sources;
}

void drop_unread(Pipeline& pipeline, const std::set<std::string>& funcs) {
  if (funcs.empty()) return;
  std::set<std::string> read;
  std::vector<std::shared_ptr<const FunctionData>> kept;
  for (auto it = pipeline.funcs.rbegin(); it != pipeline.funcs.rend(); ++it) {
    if (funcs.count((*it)->name) > 0 && read.count((*it)->name) == 0) continue;
    for (const Source& source : sources_of(**it, {})) read.insert(source.name());
    kept.push_back(*it);
  }
  pipeline.funcs.assign(kept.rbegin(), kept.rend());
}

std::vector<Expr> StagedHelpers::taken_in(const FunctionData& f) const {
  CallInliner inliner(f.name, [&](const Access& access) {
    const FunctionData* callee =
        access.is_self ? nullptr : read_through(f.wrappers, source_of(access)).function.get();
    return takes_in(f, callee) ? callee : nullptr;
  });
  inliner.begin(f.definitions.front().where);
  std::vector<Expr> values;
  for (const Expr& value : f.definitions.front().values) values.push_back(inliner(value));
  return values;
}

}  // namespace mica
