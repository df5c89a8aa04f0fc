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
  if (const auto* named = s.as<ir::NamedBarrier>()) {
    ir::NamedBarrier fenced = *named;
    fenced.fences_copies = true;
    return ir::make_stmt(std::move(fenced));
  }
  return ir::map_children(s, with_fences, nullptr);
}

/// Blocks inside the domain and those at its edge, the two cases of an If around all work, meet at
/// barriers of their own.
ir::Stmt by_case(const ir::Stmt& s) {
  const auto* branch = s.as<ir::If>();
  if (branch != nullptr && branch->else_case.defined()) {
    return ir::make_stmt(ir::If{branch->condition, fence_bulk_copies(branch->then_case),
                                fence_bulk_copies(branch->else_case)});
  }
  const bool around = s.as<ir::Allocate>() != nullptr || s.as<ir::Produce>() != nullptr ||
                      s.as<ir::LetStmt>() != nullptr;
  return around ? ir::map_children(s, by_case, nullptr) : fence_bulk_copies(s);
}

}  // namespace

ir::Stmt fence_bulk_copies(const ir::Stmt& body) {
  return mixes_writers(body) ? with_fences(body) : body;
}

void fence_bulk_copies(Program& program) {
  for (auto& nest : program.nests) {
    if (nest.on_device) nest.body = by_case(nest.body);
  }
}

}  // namespace mica::passes
