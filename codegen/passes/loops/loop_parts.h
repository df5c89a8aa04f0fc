// A loop taken apart into its interior and what is to the left and to the right of it. A part of
// split_interiors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/analysis/interiors.h"
#include "codegen/analysis/linear.h"
#include "codegen/ir/stmt.h"

namespace mica::passes {

/// Nodes of its expressions.
std::size_t size_of(const ir::Stmt& s);

/// In 64 bits.
Expr wide(const Expr& e);
Expr wide(std::int64_t value);
Expr wide(const analysis::Linear& form);

ir::Stmt let(const std::string& name, const Expr& value, const ir::Stmt& body);

/// Where factor*v + rest >= 0 holds for all of them: from the first v to the last, in 64 bits, of those
/// from `begin` to `last`. Where one that no v changes does not hold, the last is `none`.
std::pair<Expr, Expr> range_where(const std::vector<analysis::Inequality>& inequalities,
                                  const Expr& begin, const Expr& last, const Expr& none);
/// The first iteration of the interior and the one after its last, within the loop.
std::pair<Expr, Expr> ends_of(const ir::For& loop,
                              const std::vector<analysis::Inequality>& inequalities);

/// Names of those two, and `body` with them.
std::string first_of(const ir::For& loop);
std::string last_of(const ir::For& loop);
ir::Stmt let_ends(const ir::For& loop, const std::pair<Expr, Expr>& ends, const ir::Stmt& body);

/// The iterations [from, to), of such a body.
ir::Stmt part(const ir::For& loop, const Expr& from, const Expr& to, const ir::Stmt& body);
/// Left edge, interior and right edge in this order; the left edge last; both edges by the same code.
enum class Edges { Apart, LeftLast, Shared };
/// The parts one after the other, with the names of the ends; `stop` is behind the last iteration.
/// `edge(left)` is the body at the left edge where that Expr holds, else at the right one.
ir::Stmt in_parts(const ir::For& loop, const ir::Stmt& inside, const Expr& stop, Edges edges,
                  const std::function<ir::Stmt(const Expr& left)>& edge);

}  // namespace mica::passes
