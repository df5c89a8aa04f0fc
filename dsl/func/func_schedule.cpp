// Func's directives on where values are computed, stored and staged.
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

Func& Func::compute_inline(CallSite at) {
  add({directive::ComputeInline{}, at});
  return *this;
}

Func& Func::trace_stores(CallSite at) {
  function()->traces.stores = true;
  function()->traces.where = at;
  return *this;
}

Func& Func::trace_loads() {
  function()->traces.loads = true;
  return *this;
}

Func& Func::trace_realizations(CallSite at) {
  function()->traces.realizations = true;
  function()->traces.where_realizations = at;
  return *this;
}

Func& Func::compute_root(CallSite at) {
  add({directive::ComputeRoot{}, at});
  return *this;
}

Func& Func::compute_at(const Func& consumer, VarOrName var) {
  add({directive::ComputeAt{{consumer.name(), var.name}}, var.where});
  return *this;
}

Func& Func::store_at(const Func& consumer, VarOrName var) {
  add({directive::StoreAt{{consumer.name(), var.name}}, var.where});
  return *this;
}

Func& Func::store_root(CallSite at) {
  add({directive::StoreRoot{}, at});
  return *this;
}

Func& Func::store_in(MemoryType memory, CallSite at) {
  add({directive::StoreIn{memory}, at});
  return *this;
}

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

Func& Func::stage(const ImageParam& source, MemoryType memory, LoadPolicy load, CallSite at) {
  add({directive::StagedSource{source.name(), memory, load}, at});
  return *this;
}

Func& Func::stage(const Func& source, MemoryType memory, LoadPolicy load, CallSite at) {
  add({directive::StagedSource{source.name(), memory, load}, at});
  return *this;
}

Func& Func::read_only(const ImageParam& source, CallSite at) {
  add({directive::ReadOnly{source.name()}, at});
  return *this;
}

Func& Func::align_storage(VarOrName var, int elements) {
  add({directive::AlignStorage{var.name, elements}, var.where});
  return *this;
}

Func& Func::fold_storage(VarOrName var, int factor) {
  add({directive::FoldStorage{var.name, factor}, var.where});
  return *this;
}

Func& Func::reorder_storage(std::initializer_list<VarOrName> vars) {
  directive::ReorderStorage order;
  for (const auto& v : vars) order.vars.push_back(v.name);
  add({order, vars.size() == 0 ? SourceLocation() : vars.begin()->where});
  return *this;
}

Func& Func::bound(VarOrName var, std::int64_t min, std::int64_t extent) {
  add({directive::Bound{var.name, min, extent}, var.where});
  return *this;
}

}  // namespace mica
