// Indices on their way to addresses.
#pragma once

#include <cstdint>

#include "dsl/expr/expr.h"

namespace mica::llvm_backend {

/// An index as rest + constant; rest is undefined when the whole is constant. Constants are taken
/// out of sums, differences and products with a constant.
struct SplitIndex {
  Expr rest;
  std::int64_t constant = 0;
};
SplitIndex split_constant(const Expr& e);

/// Does the scalar i32 index `e`, whose value fits 32 bits, have the same value where its sums and
/// products are carried out in 64 bits? In 32 bits they wrap, and passes keep them modulo 2^32 only: a
/// large constant may stand for another that is 2^32 away.
bool may_be_widened(const Expr& e);

}  // namespace mica::llvm_backend
