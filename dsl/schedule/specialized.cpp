#include "dsl/schedule/specialized.h"

#include "dsl/expr/node_visit.h"
#include "dsl/schedule/directive_fields.h"

namespace mica {

namespace {

/// Do the loops that a specialization has of its own make up for `directive`?
bool is_about_loops(const Directive& directive) {
  return directive::traits_of(directive).acts != directive::ActsOn::Values;
}

/// The directives of a specialization, and those other than on loops that its definition got later.
std::vector<Directive> with_later(const Definition& definition,
                                  const Definition::Specialization& special) {
  std::vector<Directive> all = special.directives;
  for (std::size_t i = special.taken_over; i < definition.directives.size(); ++i) {
    if (!is_about_loops(definition.directives[i])) all.push_back(definition.directives[i]);
  }
  return all;
}

}  // namespace

Specialized::Specialized(const FuncGraph& graph, const std::vector<std::uint8_t>& chosen) {
  std::size_t next = 0;
  for (const auto& f : graph.funcs) {
    for (std::size_t i = 0; i < f->definitions.size(); ++i) {
      const auto& specials = f->definitions[i].specializations;
      if (specials.empty()) continue;
      const std::size_t choice = next < chosen.size() ? chosen[next] : 0;
      ++next;
      if (choice == 0) continue;
      auto& copy = copies_[f.get()];
      if (copy == nullptr) copy = std::make_shared<FunctionData>(*f);
      copy->definitions[i].directives = with_later(f->definitions[i], specials[choice - 1]);
    }
  }
}

const FunctionData& Specialized::of(const FunctionData& f) const {
  const auto found = copies_.find(&f);
  return found == copies_.end() ? f : *found->second;
}

void add_conditions(const FunctionData& f, const std::function<Expr(const Expr&)>& copy,
                    std::vector<std::vector<Expr>>& all) {
  NodeRewriter rewrite(copy);
  for (const Definition& definition : f.definitions) {
    if (definition.specializations.empty()) continue;
    auto& conditions = all.emplace_back();
    for (const auto& special : definition.specializations) {
      conditions.push_back(rewrite(special.condition));
    }
  }
}

}  // namespace mica
