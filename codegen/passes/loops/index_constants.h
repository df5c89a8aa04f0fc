// Constants of index arithmetic, which is in i32.
//
// A bare std::int64_t beside an Expr becomes a literal of i64. It takes the type of a symbol, but two
// literals meet in i64: `planes + n` would change its type once a constant is put in place of `planes`.
#pragma once

#include <concepts>
#include <cstdint>

#include "dsl/expr/expr.h"

namespace mica::passes {

inline Expr constant(std::int64_t value) { return make_const(Int(32), value); }

template <typename N>
concept BareNumber = std::same_as<N, std::int64_t> || std::same_as<N, std::uint64_t>;

// What passes write constant(n) for.
Expr operator+(const Expr&, BareNumber auto) = delete;
Expr operator+(BareNumber auto, const Expr&) = delete;
Expr operator-(const Expr&, BareNumber auto) = delete;
Expr operator-(BareNumber auto, const Expr&) = delete;
Expr operator*(const Expr&, BareNumber auto) = delete;
Expr operator*(BareNumber auto, const Expr&) = delete;
Expr operator/(const Expr&, BareNumber auto) = delete;
Expr operator/(BareNumber auto, const Expr&) = delete;
Expr operator%(const Expr&, BareNumber auto) = delete;
Expr operator%(BareNumber auto, const Expr&) = delete;
Expr operator==(const Expr&, BareNumber auto) = delete;
Expr operator==(BareNumber auto, const Expr&) = delete;
Expr operator!=(const Expr&, BareNumber auto) = delete;
Expr operator!=(BareNumber auto, const Expr&) = delete;
Expr operator<(const Expr&, BareNumber auto) = delete;
Expr operator<(BareNumber auto, const Expr&) = delete;
Expr operator<=(const Expr&, BareNumber auto) = delete;
Expr operator<=(BareNumber auto, const Expr&) = delete;
Expr operator>(const Expr&, BareNumber auto) = delete;
Expr operator>(BareNumber auto, const Expr&) = delete;
Expr operator>=(const Expr&, BareNumber auto) = delete;
Expr operator>=(BareNumber auto, const Expr&) = delete;
Expr min(const Expr&, BareNumber auto) = delete;
Expr min(BareNumber auto, const Expr&) = delete;
Expr max(const Expr&, BareNumber auto) = delete;
Expr max(BareNumber auto, const Expr&) = delete;

}  // namespace mica::passes
