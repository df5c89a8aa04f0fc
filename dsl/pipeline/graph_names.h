// Names of the parts of a graph: those that schedules write, and those that a Pipeline has.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/pipeline/func_graph.h"

namespace mica {

/// Names of the inputs and Funcs of a graph as a schedule writes them: what the user called them, made
/// unique in this order: inputs, outputs, other Funcs.
class GraphTexts {
 public:
  explicit GraphTexts(const FuncGraph& graph);
  [[nodiscard]] const std::string& of(const void* part) const { return texts_.at(part); }
  [[nodiscard]] const std::string& of(const Source& source) const {
    return source.function ? of(source.function.get()) : of(source.image.get());
  }
  [[nodiscard]] bool knows(const void* part) const { return texts_.count(part) > 0; }

 private:
  std::unordered_map<const void*, std::string> texts_;
};

/// The words (dsl/expr/names.h) of the Vars of a graph, and of the loops that its directives name: one
/// for each text.
class VarWords {
 public:
  explicit VarWords(const FuncGraph& graph);
  [[nodiscard]] std::string of(const std::string& text) const;
  [[nodiscard]] std::vector<std::string> of(const std::vector<std::string>& texts) const;

 private:
  std::unordered_map<std::string, std::string> words_;
};

/// Names that are unique among the inputs, Funcs and Params of a graph, given out in this order:
/// inputs, outputs, other Funcs, Params. They are words, or several joined by '.' for a Func that Mica
/// named. A Param's also differs from all Vars'.
class GraphNames {
 public:
  GraphNames(const FuncGraph& graph, const VarWords& vars, const GraphTexts& texts);
  [[nodiscard]] const std::string& of(const FunctionData* f) const { return names_.at(f); }
  [[nodiscard]] const std::string& of(const ImageData* image) const { return names_.at(image); }
  [[nodiscard]] const std::string& of(const ParamData* param) const { return names_.at(param); }
  [[nodiscard]] const std::string& of(const Source& source) const {
    return source.function ? of(source.function.get()) : of(source.image.get());
  }
  /// The name of the input or Func that schedules call `text`; a word that is no name of any for a text
  /// that is nobody's.
  [[nodiscard]] std::string of_text(const std::string& text) const;

 private:
  std::unordered_map<const void*, std::string> names_;
  std::unordered_map<std::string, std::string> by_text_;
};

}  // namespace mica
