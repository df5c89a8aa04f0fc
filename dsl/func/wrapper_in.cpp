// Funcs that stand for another where one Func reads it.
#include <algorithm>

#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/func_graph.h"

namespace mica {

namespace {

/// The wrapper of `source` in `consumer`, made and recorded on first use.
std::shared_ptr<FunctionData> wrapper_in(const Source& source, FunctionData& consumer,
                                         const SourceLocation& where) {
  for (const auto& [name, wrapper] : consumer.wrappers) {
    if (wrapped_source(*wrapper) == source) return wrapper;
  }
  const std::string call = fmt::format("{}.in({})", source.name(), consumer.name);
  if (!consumer.defined()) {
    throw UserError(fmt::format("{}: {} is not defined yet", call, consumer.name), where);
  }
  const auto sources = sources_of(consumer, consumer.wrappers);
  if (std::find(sources.begin(), sources.end(), source) == sources.end()) {
    throw UserError(fmt::format("{}: {} does not read {}; it reads {}", call, consumer.name,
                                source.name(), joined(names_of(sources))),
                    where);
  }
  auto wrapper = make_wrapper(wrapper_parts(source, consumer), source, where);
  consumer.wrappers.emplace_back(source.name(), wrapper);
  consumer.definitions.front().directives.push_back(
      {directive::In{source.name(), wrapper->name}, where});
  return wrapper;
}

}  // namespace

Func Func::in(Func& consumer, CallSite at) {
  if (!defined()) {
    throw UserError(fmt::format("{}.in({}): {} is not defined yet", name(), consumer.name(), name()),
                    at);
  }
  return Func(wrapper_in({function_, nullptr}, *consumer.function(), at));
}

Func ImageParam::in(Func& consumer, CallSite at) const {
  return Func(wrapper_in({nullptr, data_}, *consumer.function(), at));
}

}  // namespace mica
