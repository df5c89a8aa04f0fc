#include "fuzz/try_directives.h"

#include "dsl/check/check_schedule.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::test {

std::vector<Func> all_funcs(const TestPipeline& pipeline) {
  std::vector<Func> funcs = pipeline.funcs;
  for (std::size_t i = 0; i < funcs.size(); ++i) {
    const auto wrappers = funcs[i].function()->wrappers;
    for (const auto& [source, wrapper] : wrappers) funcs.emplace_back(wrapper);
  }
  return funcs;
}

bool is_legal(const TestPipeline& pipeline, bool gpu) {
  try {
    return check_schedule(make_pipeline(functions_of(pipeline.outputs)), gpu).empty();
  } catch (const UserError&) {
    return false;
  }
}

bool try_directives(const TestPipeline& pipeline, bool gpu, const std::function<void()>& add) {
  struct Before {
    std::shared_ptr<FunctionData> func;
    decltype(FunctionData::wrappers) wrappers;
    std::vector<std::vector<Directive>> directives;
  };
  std::vector<Before> before;
  for (const Func& f : all_funcs(pipeline)) {
    before.push_back({f.function(), f.function()->wrappers, {}});
    for (const Definition& d : f.function()->definitions)
      before.back().directives.push_back(d.directives);
  }
  try {
    add();
    if (is_legal(pipeline, gpu)) return true;
  } catch (const UserError&) {
    // Taken back below.
  }
  for (Before& b : before) {
    b.func->wrappers = std::move(b.wrappers);
    for (std::size_t d = 0; d < b.directives.size(); ++d) {
      b.func->definitions[d].directives = std::move(b.directives[d]);
    }
  }
  return false;
}

}  // namespace mica::test
