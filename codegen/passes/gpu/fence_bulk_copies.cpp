#include "codegen/passes/gpu/fence_bulk_copies.h"

#include <algorithm>
#include <set>
#include <string>

#include "codegen/ir/traverse.h"

namespace mica::passes {
namespace {

/// Do threads write to an array that bulk copies go to?
bool mixes_writers(const ir::Stmt& body) {
  std::set<std::string> bulk;
  std::set<std::string> own;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* copy = s.as<ir::BulkCopy>()) bulk.insert(copy->to);
        if (const auto* copy = s.as<ir::AsyncCopy>()) own.insert(copy->to);
        if (const auto* store = s.as<ir::Store>()) own.insert(store->buffer);
      },
      nullptr);
  return std::any_of(bulk.begin(), bulk.end(),
                     [&](const std::string& array) { return own.count(array) > 0; });
}

ir::Stmt with_fences(const ir::Stmt& s) {
  if (s.as<ir::Barrier>()) return ir::make_stmt(ir::Barrier{true});
  return ir::map_children(s, with_fences, nullptr);
}

/// Blocks that copy otherwise have arrays of their own, in another case of an If.
ir::Stmt by_storage(const ir::Stmt& s) {
  if (s.as<ir::Allocate>() != nullptr) return fence_bulk_copies(s);
  return ir::map_children(s, by_storage, nullptr);
}

}  // namespace

ir::Stmt fence_bulk_copies(const ir::Stmt& body) {
  return mixes_writers(body) ? with_fences(body) : body;
}

void fence_bulk_copies(Program& program) {
  for (auto& nest : program.nests) {
    if (nest.on_device) nest.body = by_storage(nest.body);
  }
}

}  // namespace mica::passes
