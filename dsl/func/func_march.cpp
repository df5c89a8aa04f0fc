// Func's directives for kernels that walk a dimension, and hints on loads and stores.
#include "dsl/func/func.h"

namespace mica {

Func& Func::march(VarOrName v, int chunk) {
  add({directive::March{v.name, chunk}, v.where});
  return *this;
}

Func& Func::register_window(const ImageParam& source, VarOrName v) {
  add({directive::RegisterWindow{source.name(), v.name}, v.where});
  return *this;
}

Func& Func::register_window(const Func& source, VarOrName v) {
  add({directive::RegisterWindow{source.name(), v.name}, v.where});
  return *this;
}

Func& Func::pipeline(const ImageParam& source, int depth, CallSite at) {
  add({directive::PipelineDepth{source.name(), depth}, at});
  return *this;
}

Func& Func::pipeline(const Func& source, int depth, CallSite at) {
  add({directive::PipelineDepth{source.name(), depth}, at});
  return *this;
}

Func& Func::scatter(VarOrName v, Partials partials) {
  add({directive::Scatter{v.name, partials}, v.where});
  return *this;
}

Func& Func::shuffle(const ImageParam& source, VarOrName v) {
  add({directive::Shuffle{source.name(), v.name}, v.where});
  return *this;
}

Func& Func::order_blocks(std::initializer_list<VarOrName> vars) {
  directive::OrderBlocks order;
  SourceLocation where;
  for (const auto& v : vars) {
    if (order.vars.empty()) where = v.where;
    order.vars.push_back(v.name);
  }
  add({order, where});
  return *this;
}

Func& Func::stream_loads(const ImageParam& source, CallSite at) {
  add({directive::StreamLoads{source.name()}, at});
  return *this;
}

Func& Func::stream_stores(CallSite at) {
  add({directive::StreamStores{}, at});
  return *this;
}

Func& Func::texture(const ImageParam& source, CallSite at) {
  add({directive::Texture{source.name()}, at});
  return *this;
}

Func& Func::warp_split(int warps, CallSite at) {
  add({directive::WarpSplit{warps}, at});
  return *this;
}

}  // namespace mica
