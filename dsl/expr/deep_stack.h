// Room for recursion over expressions: a pass may call itself once for each level of an expression.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/expr/traverse.h"

namespace mica {

/// Operations on the longest way from a root to a leaf, each shared node met once.
std::int64_t depth_of(const std::vector<Expr>& roots);

/// The deepest expression that is compiled, all inlined Funcs counted in.
constexpr std::int64_t kDeepestExpression = 1'000'000;

/// Calls `work` with a stack that holds a recursion over `depth` levels: the caller's where that
/// suffices, else that of a thread made for it. What `work` throws is passed on. UserError beyond
/// kDeepestExpression.
void with_stack_for(std::int64_t depth, FunctionRef<void()> work);
/// The same for `make`, which returns a value.
template <typename Make>
auto made_with_stack_for(std::int64_t depth, const Make& make) {
  std::optional<decltype(make())> result;
  with_stack_for(depth, [&] { result.emplace(make()); });
  return std::move(*result);
}

}  // namespace mica
