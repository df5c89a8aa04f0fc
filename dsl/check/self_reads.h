// A first definition that reads its own Func: the types of such reads, and that they own nothing.
#pragma once

#include <vector>

#include "dsl/expr/traverse.h"
#include "dsl/func/function.h"

namespace mica {

/// `values` of the first definition of `f`, with the Vars `args` on its left-hand side, as the Func
/// keeps them. A read of a Func without a definition has undecided_type(), and so has every operation on
/// it; here reads of `f` get the types that f's values have and stop owning it, and the operations on
/// them are carried out anew.
///
///   before  select(z == 0, b, b - a*c(z - 1))   b, a: f32; c(z - 1), a*c(z - 1), ... undecided
///   after   the same, all f32
///
/// The type of a value is that of its operands other than the Func itself. UserErrors: another Func that
/// is read and not defined; a type that nothing else decides; an element that the Tuple does not have, a
/// Tuple read without one; another number of arguments; a value that comes to another type than was
/// read.
std::vector<Expr> with_decided_types(const FunctionData& f, const std::vector<std::string>& args,
                                     const std::vector<Expr>& values, const SourceLocation& where);

/// Calls `visit` on every distinct read in `exprs` of the Func that they define.
void for_each_own_read(const std::vector<Expr>& exprs, FunctionRef<void(const Access&)> visit);
/// The same for the values and the place of a definition.
void for_each_own_read(const Definition& definition, FunctionRef<void(const Access&)> visit);

/// The operation of `e` once more, on its operands as they are now: with their types, and done at once
/// if they are constants by now.
Expr carried_out(const Expr& e);

/// UserError if `exprs`, of a definition at `where`, read a Func that was not defined when they were
/// made.
void require_defined_reads(const std::vector<Expr>& exprs);

}  // namespace mica
