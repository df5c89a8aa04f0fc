#include "dsl/expr/substitution.h"

#include <utility>

namespace mica {

Expr Substitution::operator()(const Expr& e) {
  if (const auto* var = e.as<VarRef>()) {
    Expr value = lookup_(var->name);
    return value.defined() ? value : e;
  }
  return memo_(e, [&] {
    if (const auto* let = e.as<Let>()) return of_let(e, *let);
    return map_children(e, [this](const Expr& child) { return (*this)(child); });
  });
}

Expr Substitution::of_let(const Expr& e, const Let& let) {
  Expr value = (*this)(let.value);
  const auto outside = [&](const std::string& name) {
    return name == let.name ? Expr() : lookup_(name);
  };
  // Where the name means nothing outside, the body's nodes are those of the whole.
  Expr body = lookup_(let.name).defined() ? Substitution(outside)(let.body) : (*this)(let.body);
  if (value.same_as(let.value) && body.same_as(let.body)) return e;
  return make_expr(e.type(), Let{let.name, std::move(value), std::move(body)});
}

}  // namespace mica
