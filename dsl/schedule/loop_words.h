// The loops that directives name: from the user's texts to the words of a Pipeline (dsl/expr/names.h).
//
// A text means the dimension, the RDom's dimension or the loop that the user called so. One that is
// nobody's name, but a name and ".block", ".thread", ".vec", ".unroll", ".march" or ".chunk", means the
// loop that gpu_tile, vectorize, unroll, march or parallel makes and calls so.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/pipeline/graph_names.h"

namespace mica {

class LoopWords {
 public:
  /// Of definition `definition` of `f`; with `of_all` below, of any.
  LoopWords(const FunctionData& f, int definition, const VarWords& vars);
  static constexpr int of_all = -1;

  [[nodiscard]] std::string of(const std::string& text) const;
  /// The names of loops in a directive of the definition. A LoopLevel belongs to another Func.
  void put_into(Directive& directive) const;

 private:
  void add(const Definition& definition);
  void add_domain(const Definition& definition);

  const VarWords& vars_;
  std::map<std::string, std::string> words_;
};

/// The domain with its name as a word, and its bounds as `copy` gives them back.
std::shared_ptr<const RDomData> with_words(const std::shared_ptr<const RDomData>& domain,
                                           const std::function<Expr(const Expr&)>& copy);
/// The name in it of dimension `d`.
std::string word_of_dimension(const RDomData& domain, std::size_t d);

}  // namespace mica
