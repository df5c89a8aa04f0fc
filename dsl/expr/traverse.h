// Walking and rebuilding expressions.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "dsl/expr/expr.h"
#include "dsl/expr/node_map.h"

namespace mica {

/// A reference to a callable that outlives it: what the walkers below take, so that passing a lambda
/// neither allocates nor instantiates the walk again.
template <typename Signature>
class FunctionRef;
template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename F>
  requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& f)  // NOLINT: implicit, so that lambdas are passed as they are
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// What a recursive rewrite made of the nodes it has met, so that a shared node is rewritten once and
/// stays shared. Serves one context: a rewrite that depends on more than the node needs a memo for each
/// case.
class RewriteMemo {
 public:
  /// What `rewrite()` gives for `e`, which is asked once.
  template <typename Rewrite>
  Expr operator()(const Expr& e, const Rewrite& rewrite) {
    if (e.ptr().use_count() <= 1) return rewrite();  // one parent: met once
    const auto found = done_.find(e.ptr().get());
    if (found != done_.end()) return found->second.second;
    Expr result = rewrite();
    done_.emplace(e.ptr().get(), std::pair(e, result));
    return result;
  }

 private:
  // Keyed by address for lookup only; the first Expr of a value keeps the node alive.
  NodeMap<std::pair<Expr, Expr>> done_;
};
/// Which shared nodes a recursive visit has met.
class VisitedNodes {
 public:
  /// True the first time `e` is met.
  bool enter(const Expr& e) { return e.ptr().use_count() <= 1 || seen_.insert(e.ptr().get()); }

 private:
  NodeSet seen_;
};

/// Calls `visit` on each direct child of `e`, in evaluation order.
void for_each_child(const Expr& e, FunctionRef<void(const Expr&)> visit);
/// `e` with each direct child replaced by `rewrite(child)`; `e` itself when none changed (no new node
/// is made then). The node keeps its type: a rewrite that changes a child's type rebuilds the node
/// itself.
Expr map_children(const Expr& e, FunctionRef<Expr(const Expr&)> rewrite);
/// Calls `visit` once on every distinct node of `e`, parents before children, in the order first met.
void walk(const Expr& e, FunctionRef<void(const Expr&)> visit);
/// Structural equality (source locations do not count). Floats are equal when their bits are.
bool equal(const Expr& a, const Expr& b);
/// A total order on structure, for deterministic sorting: <0, 0, >0. It depends on no address: the
/// callee of an Access, a Param and an input count by name, an RDom by name and bounds. An undefined
/// Expr comes first.
int compare(const Expr& a, const Expr& b);
/// Replaces free VarRefs named `name`. Names bound by a Let hide the outer name in its body.
Expr substitute(const Expr& e, const std::string& name, const Expr& value);
/// Replaces free VarRefs for which `lookup` gives a defined Expr.
Expr substitute(const Expr& e, FunctionRef<Expr(const std::string&)> lookup);
/// True if a free VarRef `name` occurs in `e`.
bool uses_var(const Expr& e, const std::string& name);
/// The expression as the user would write it, with the fewest parentheses: C's precedence, `*` and `/`
/// without spaces. What lowering makes prints as `buffer[i, j]`, `ramp(base, stride, lanes)`,
/// `x4(value)`, `shuffle(a, b; 0, 2)`, `reinterpret<u32>(e)`, `let t = value in body`,
/// `streamed(buffer[i])`, `warp_shuffle(value, -1)`. Beyond about `most` characters the rest is `...`:
/// the text of a graph that shares its parts has no bounds otherwise.
std::string to_string(const Expr& e, std::size_t most = std::size_t{1} << 20);
/// The same for a message, in a line or two.
inline std::string brief(const Expr& e) { return to_string(e, 160); }

}  // namespace mica
