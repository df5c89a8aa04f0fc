#include "dsl/pipeline/graph_names.h"

#include <set>

#include "dsl/expr/names.h"
#include "dsl/schedule/directive_fields.h"

namespace mica {

namespace {

/// Calls visit(text) for each name that a directive gives to a loop.
template <typename Visit>
void for_each_new_loop(const Definition& definition, Visit visit) {
  for (const auto& directive : definition.directives) {
    directive::for_each_name(directive.op, [&](directive::Role role, const std::string& name) {
      if (role == directive::Role::NewLoop) visit(name);
    });
  }
}

}  // namespace

GraphTexts::GraphTexts(const FuncGraph& graph) {
  // What some part is called is kept for the first that is called so.
  UniqueNames numbered;
  std::set<std::string> given;
  for (const auto& image : graph.images) numbered.reserve(image->name);
  for (const auto& f : graph.funcs) numbered.reserve(f->name);
  const auto give = [&](const void* part, const std::string& name) {
    texts_[part] = given.insert(name).second ? name : numbered.claim(name);
  };
  for (const auto& image : graph.images) give(image.get(), image->name);
  for (const auto& output : graph.outputs) give(output.get(), output->name);
  for (const auto& f : graph.funcs) {
    if (!graph.is_output(f.get())) give(f.get(), f->name);
  }
}

VarWords::VarWords(const FuncGraph& graph) {
  UniqueNames unique;
  const auto add = [&](const std::string& text) {
    // Of a Var without a name, "v#55c0", what stands before its number.
    if (words_.count(text) == 0) words_[text] = unique.claim(word_of(text.substr(0, text.find('#', 1))));
  };
  for (const auto& f : graph.funcs) {
    for (const auto& arg : f->args) add(arg);
    for (const auto& definition : f->definitions) for_each_new_loop(definition, add);
  }
}

std::string VarWords::of(const std::string& text) const {
  const auto known = words_.find(text);
  return known == words_.end() ? word_of(text) : known->second;
}

std::vector<std::string> VarWords::of(const std::vector<std::string>& texts) const {
  std::vector<std::string> words;
  for (const auto& text : texts) words.push_back(of(text));
  return words;
}

GraphNames::GraphNames(const FuncGraph& graph, const VarWords& vars, const GraphTexts& texts) {
  UniqueNames unique;
  const auto give = [&](const void* part, std::vector<std::string> parts) {
    for (auto& text : parts) text = word_of(text);
    names_[part] = unique.claim(with_dots(parts));
    if (texts.knows(part)) by_text_[texts.of(part)] = names_[part];
  };
  for (const auto& image : graph.images) give(image.get(), {image->name});
  for (const auto& output : graph.outputs) give(output.get(), name_parts({output, nullptr}));
  for (const auto& f : graph.funcs) {
    if (!graph.is_output(f.get())) give(f.get(), name_parts({f, nullptr}));
  }
  for (const auto& f : graph.funcs) {
    for (const auto& arg : f->args) unique.reserve(vars.of(arg));
  }
  for (const auto& param : graph.params) give(param.get(), {param->name});
}

std::string GraphNames::of_text(const std::string& text) const {
  if (const auto known = by_text_.find(text); known != by_text_.end()) return known->second;
  UniqueNames unique;
  for (const auto& [part, name] : names_) unique.reserve(name);
  return unique.claim(word_of(text));
}

}  // namespace mica
