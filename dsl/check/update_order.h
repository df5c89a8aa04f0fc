// Updates whose iterations over their reduction domain may run in any order without another bit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/func/function.h"

namespace mica {

/// Why the order of iterations over each dimension of the domain of `update`, a definition of `f`,
/// matters, as words that follow "loop r.x"; empty where they write different points: the dimension
/// stands alone (plus a constant) in one place of the left-hand side, or the update is_distinct, and the
/// Func is read at the written point only.
///
///   f(x, r) += u(x, r)           r free                f(r.x) += u(r.x, r.y)    r.x free, r.y is not
///   f(x, r) = f(x, r - 1) + 1    r reads another point than it writes
std::vector<std::string> order_obstacles(const FunctionData& f, const Definition& update);

/// One value of an atomic update: f(args...) = f(args...) op operand where `condition` holds.
struct AtomicValue {
  BinaryOp op = BinaryOp::Add;
  Expr operand;
  Expr condition;  ///< undefined: everywhere
};
/// The values of `update` as such; empty, with the reason in `why`, where it is no update over a domain
/// whose iterations combine values of an atomic type by an operation that no order changes.
std::vector<AtomicValue> atomic_values(const FunctionData& f, const Definition& update,
                                       std::string& why);
/// i32, u32, i64 and u64: those whose operations are one step each on every target.
bool is_atomic_type(Type type);
/// Does the definition have the directive `atomic`?
bool is_atomic(const Definition& definition);

}  // namespace mica
