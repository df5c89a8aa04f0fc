#include "codegen/ir/stmt.h"

#include <utility>

namespace mica::ir {

Stmt make_block(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  flat.reserve(stmts.size());
  for (Stmt& s : stmts) {
    if (!s.defined()) continue;
    if (const Block* inner = s.as<Block>()) {
      // Blocks made here hold defined statements and no Blocks; a Block made by hand may not.
      const Stmt nested = make_block(inner->stmts);
      if (const Block* b = nested.as<Block>()) {
        flat.insert(flat.end(), b->stmts.begin(), b->stmts.end());
      } else if (nested.defined()) {
        flat.push_back(nested);
      }
    } else {
      flat.push_back(std::move(s));
    }
  }
  if (flat.empty()) return {};
  if (flat.size() == 1) return flat.front();
  return make_stmt(Block{std::move(flat)});
}

}  // namespace mica::ir
