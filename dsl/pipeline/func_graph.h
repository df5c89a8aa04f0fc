// The Funcs, inputs and Params behind a set of outputs, as the user's handles point to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/expr/deep_stack.h"
#include "dsl/func/function.h"

namespace mica {

class Func;
/// What the handles point to.
std::vector<std::shared_ptr<FunctionData>> functions_of(const std::vector<Func>& funcs);

/// Something that a Func reads: a Func or an input; exactly one is set.
struct Source {
  std::shared_ptr<const FunctionData> function;
  std::shared_ptr<const ImageData> image;
  [[nodiscard]] const std::string& name() const { return function ? function->name : image->name; }
  friend bool operator==(const Source&, const Source&) = default;
};
/// What an access reads; neither pointer is set for an update's reference to itself.
Source source_of(const Access& access);

using Wrappers = std::vector<std::pair<std::string, std::shared_ptr<FunctionData>>>;
/// A Func that copies `source`: w(x, ...) = source(x, ...). Its name is made of `parts`, as
/// FunctionData::made_of has them.
std::shared_ptr<FunctionData> make_wrapper(const std::vector<std::string>& parts, const Source& source,
                                           const SourceLocation& where);
/// What the name of `source`, and of its wrapper in `consumer` ("u.in.f"), are made of.
std::vector<std::string> name_parts(const Source& source);
std::vector<std::string> wrapper_parts(const Source& source, const FunctionData& consumer);
/// The name that is made of them.
std::string with_dots(const std::vector<std::string>& parts);
/// What a wrapper copies.
Source wrapped_source(const FunctionData& wrapper);
/// `source`, or the wrapper (of a wrapper ...) among `wrappers` that stands for it.
Source read_through(const Wrappers& wrappers, Source source);

/// What the definitions of `f` read, each once, in order met, with `wrappers` in their places and
/// without `f` itself.
std::vector<Source> sources_of(const FunctionData& f, const Wrappers& wrappers);
std::vector<std::string> names_of(const std::vector<Source>& sources);

struct FuncGraph {
  std::vector<std::shared_ptr<FunctionData>> funcs;  ///< producers before consumers
  std::vector<std::shared_ptr<FunctionData>> outputs;
  std::vector<std::shared_ptr<const ImageData>> images;
  std::vector<std::shared_ptr<const ParamData>> params;

  [[nodiscard]] bool is_output(const FunctionData* f) const;
};
/// UserErrors: no output, one given twice, an undefined Func, a Func that reads itself through others.
FuncGraph collect_graph(const std::vector<std::shared_ptr<FunctionData>>& outputs);
/// The same of a pipeline that is to be compiled. UserError: a definition of more nodes than kMostNodes.
FuncGraph collect_graph_to_compile(const std::vector<std::shared_ptr<FunctionData>>& outputs);
/// Of one point of every Func: arithmetic_in (dsl/expr/node_visit.h) of all values.
std::int64_t arithmetic_in(const FuncGraph& graph);
/// How deep an expression may become when every one of these Funcs is computed inline
/// (dsl/expr/deep_stack.h).
template <typename Funcs>
std::int64_t depth_of_funcs(const Funcs& funcs) {
  std::int64_t depth = 0;
  for (const auto& f : funcs) {
    std::int64_t deepest = 0;
    for (const auto& definition : f->definitions) {
      deepest = std::max({deepest, depth_of(definition.values), depth_of(definition.args)});
    }
    depth += deepest;
  }
  return depth;
}

}  // namespace mica
