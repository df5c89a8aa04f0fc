#include "dsl/schedule/loop_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "dsl/expr/names.h"

namespace mica {

namespace {

constexpr std::array<std::string_view, 6> kMadeLoops = {"block",  "thread", "vec",
                                                        "unroll", "march",  "chunk"};

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
    if (const auto* split = std::get_if<directive::Split>(&directive.op)) {
      if (is_chunk(*split)) continue;
      words_.emplace(split->outer, vars_.of(split->outer));
      words_.emplace(split->inner, vars_.of(split->inner));
    } else if (const auto* fuse = std::get_if<directive::Fuse>(&directive.op)) {
      words_.emplace(fuse->fused, vars_.of(fuse->fused));
    }
  }
}

std::string LoopWords::of(const std::string& text) const {
  if (const auto word = words_.find(text); word != words_.end()) return word->second;
  const std::size_t dot = text.rfind('.');
  if (dot != std::string::npos) {
    const std::string made = text.substr(dot + 1);
    const bool is_made = std::find(kMadeLoops.begin(), kMadeLoops.end(), made) != kMadeLoops.end();
    if (is_made) return of(text.substr(0, dot)) + "." + made;
  }
  return vars_.of(text);
}

void LoopWords::put_into(Directive& directive) const {
  const auto put = [&](auto& d) {
    if constexpr (requires { d.var; }) d.var = of(d.var);
    if constexpr (requires { d.vars; }) {
      for (auto& var : d.vars) var = of(var);
    }
  };
  if (auto* split = std::get_if<directive::Split>(&directive.op)) {
    const std::string old_var = of(split->old_var);
    split->inner = is_chunk(*split) ? old_var + ".chunk" : of(split->inner);
    split->outer = of(split->outer);
    split->old_var = old_var;
  } else if (auto* fuse = std::get_if<directive::Fuse>(&directive.op)) {
    for (auto* var : {&fuse->inner, &fuse->outer, &fuse->fused}) *var = of(*var);
  } else {
    std::visit(put, directive.op);
  }
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
