#include "dsl/schedule/loop_words.h"

#include <string_view>

#include "dsl/expr/names.h"
#include "dsl/schedule/directive_fields.h"

namespace mica {

namespace {

/// Is `word` what a directive puts behind a loop's name and a dot to name a loop that it makes?
bool is_made_loop(std::string_view word) {
  bool found = word == "chunk";  // of parallel(v, n)
  directive::for_each_kind([&]<typename D>() {
    for (const char* made : D::traits.makes) {
      found = found || (made != nullptr && *made == '.' && word == made + 1);
    }
  });
  return found;
}

/// parallel(v, n) is recorded as the split that it is.
bool is_chunk(const directive::Split& split) {
  return split.outer == split.old_var && split.inner == split.old_var + ".chunk";
}

}  // namespace

LoopWords::LoopWords(const FunctionData& f, int definition, const VarWords& vars) : vars_(vars) {
  for (const auto& arg : f.args) words_[arg] = vars.of(arg);
  for (std::size_t i = 0; i < f.definitions.size(); ++i) {
    if (definition == of_all || static_cast<std::size_t>(definition) == i) add(f.definitions[i]);
  }
  // Not there, but what messages then speak of.
  for (const Definition& d : f.definitions) add_domain(d);
}

void LoopWords::add_domain(const Definition& definition) {
  if (!definition.domain) return;
  for (std::size_t i = 0; i < definition.domain->dims.size(); ++i) {
    words_.emplace(definition.domain->dims[i].name, word_of_dimension(*definition.domain, i));
  }
}

void LoopWords::add(const Definition& definition) {
  add_domain(definition);
  for (const auto& directive : definition.directives) {
    const auto* split = std::get_if<directive::Split>(&directive.op);
    if (split && is_chunk(*split)) continue;
    directive::for_each_name(directive.op, [&](directive::Role role, const std::string& name) {
      if (role == directive::Role::NewLoop) words_.emplace(name, vars_.of(name));
    });
  }
}

std::string LoopWords::of(const std::string& text) const {
  if (const auto word = words_.find(text); word != words_.end()) return word->second;
  const std::size_t dot = text.rfind('.');
  if (dot != std::string::npos) {
    const std::string made = text.substr(dot + 1);
    if (is_made_loop(made)) return of(text.substr(0, dot)) + "." + made;
  }
  return vars_.of(text);
}

void LoopWords::put_into(Directive& directive) const {
  auto* split = std::get_if<directive::Split>(&directive.op);
  const bool chunk = split && is_chunk(*split);
  directive::for_each_name(directive.op, [&](directive::Role role, std::string& name) {
    if (directive::names_own_loop(role)) name = of(name);
  });
  if (chunk) split->inner = split->old_var + ".chunk";
}

std::shared_ptr<const RDomData> with_words(const std::shared_ptr<const RDomData>& domain,
                                           const std::function<Expr(const Expr&)>& copy) {
  auto named = std::make_shared<RDomData>(*domain);
  named->name = word_of(domain->name);
  named->condition = {};  // part of the definitions
  for (std::size_t d = 0; d < named->dims.size(); ++d) {
    RDomData::Dim& dim = named->dims[d];
    dim = {word_of_dimension(*domain, d), copy(dim.min), copy(dim.extent)};
  }
  return named;
}

std::string word_of_dimension(const RDomData& domain, std::size_t d) {
  return word_of(domain.name) + domain.dims.at(d).name.substr(domain.name.size());
}

}  // namespace mica
