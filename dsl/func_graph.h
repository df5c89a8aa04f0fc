// The Funcs, inputs and Params behind a set of outputs, as the user's handles point to them.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/function.h"

namespace mica {

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
/// A Func named `name` that copies `source`: w(x, ...) = source(x, ...).
std::shared_ptr<FunctionData> make_wrapper(const std::string& name, const Source& source,
                                           const SourceLocation& where);
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
  [[nodiscard]] bool contains(const FunctionData* f) const;
};
/// UserErrors: no output, one given twice, an undefined Func, a Func that reads itself through others.
FuncGraph collect_graph(const std::vector<std::shared_ptr<FunctionData>>& outputs);

/// Names that are unique among the inputs, Funcs and Params of a graph, given out in this order:
/// inputs, outputs, other Funcs, Params. A Param's name also differs from all Vars'.
class GraphNames {
 public:
  explicit GraphNames(const FuncGraph& graph);
  [[nodiscard]] const std::string& of(const FunctionData* f) const { return names_.at(f); }
  [[nodiscard]] const std::string& of(const ImageData* image) const { return names_.at(image); }
  [[nodiscard]] const std::string& of(const ParamData* param) const { return names_.at(param); }
  [[nodiscard]] const std::string& of(const Source& source) const {
    return source.function ? of(source.function.get()) : of(source.image.get());
  }

 private:
  std::unordered_map<const void*, std::string> names_;
};

}  // namespace mica
