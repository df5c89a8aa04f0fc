#include "codegen/ir/element_copy.h"

#include <utility>

namespace mica::ir {

Stmt element_copy(const AsyncCopy& copy, Type type) {
  Load load;
  load.buffer = copy.from;
  load.index = copy.from_index;
  load.logical = copy.from_logical;
  Store store;
  store.buffer = copy.to;
  store.index = copy.to_index;
  store.logical = copy.to_logical;
  store.value = make_expr(type, std::move(load));
  return make_stmt(std::move(store));
}

}  // namespace mica::ir
