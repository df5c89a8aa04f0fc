#include "codegen/ir/equal.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "dsl/expr/traverse.h"

namespace mica::ir {

namespace {

bool same(const Expr& a, const Expr& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return mica::equal(a, b);
}
bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return same(x, y); });
}

bool same(const For& a, const For& b) {
  return a.name == b.name && a.kind == b.kind && a.rolled == b.rolled && same(a.min, b.min) &&
         same(a.extent, b.extent) && equal(a.body, b.body);
}
bool same(const Store& a, const Store& b) {
  return a.buffer == b.buffer && a.alignment == b.alignment && a.streamed == b.streamed &&
         same(a.index, b.index) && same(a.logical, b.logical) && same(a.value, b.value) &&
         same(a.block, b.block) && a.atomic == b.atomic && a.pieces == b.pieces;
}
bool same(const Block& a, const Block& b) {
  return std::equal(a.stmts.begin(), a.stmts.end(), b.stmts.begin(), b.stmts.end(),
                    [](const Stmt& x, const Stmt& y) { return equal(x, y); });
}
bool same(const If& a, const If& b) {
  return same(a.condition, b.condition) && equal(a.then_case, b.then_case) &&
         equal(a.else_case, b.else_case);
}
bool same(const LetStmt& a, const LetStmt& b) {
  return a.name == b.name && same(a.value, b.value) && equal(a.body, b.body);
}
bool same(const Allocate& a, const Allocate& b) {
  return a.buffer == b.buffer && a.type == b.type && a.memory == b.memory && same(a.mins, b.mins) &&
         same(a.extents, b.extents) && a.strides == b.strides && equal(a.body, b.body);
}
bool same(const Barrier& a, const Barrier& b) { return a.fences_copies == b.fences_copies; }
bool same(const NamedBarrier& a, const NamedBarrier& b) {
  return a.number == b.number && a.threads == b.threads && a.waits == b.waits &&
         a.fences_copies == b.fences_copies && a.turns == b.turns && same(a.turn, b.turn);
}
bool same(const ClusterBarrier& /*a*/, const ClusterBarrier& /*b*/) { return true; }
bool same(const Produce& a, const Produce& b) {
  return a.func == b.func && a.plane == b.plane && equal(a.body, b.body);
}
/// The places of two AsyncCopies or BulkCopies.
template <typename Copy>
bool same_places(const Copy& a, const Copy& b) {
  return a.to == b.to && a.from == b.from && same(a.to_index, b.to_index) &&
         same(a.from_index, b.from_index) && same(a.to_logical, b.to_logical) &&
         same(a.from_logical, b.from_logical);
}
bool same(const AsyncCopy& a, const AsyncCopy& b) { return a.count == b.count && same_places(a, b); }
bool same(const CopyCommit& /*a*/, const CopyCommit& /*b*/) { return true; }
bool same(const CopyWait& a, const CopyWait& b) { return a.pending == b.pending; }
bool same(const BulkInit& a, const BulkInit& b) {
  return a.barriers == b.barriers && a.count == b.count;
}
bool same(const BulkExpect& a, const BulkExpect& b) {
  return a.barriers == b.barriers && same(a.slot, b.slot) && same(a.bytes, b.bytes);
}
bool same(const BulkCopy& a, const BulkCopy& b) {
  return a.barriers == b.barriers && same(a.slot, b.slot) && same(a.count, b.count) && same_places(a, b);
}
bool same(const BulkWait& a, const BulkWait& b) {
  return a.barriers == b.barriers && same(a.slot, b.slot) && same(a.parity, b.parity);
}
bool same(const Evaluate& a, const Evaluate& b) { return same(a.value, b.value); }

}  // namespace

bool equal(const Stmt& a, const Stmt& b) {
  if (a.same_as(b)) return true;
  if (!a.defined() || !b.defined()) return false;
  return std::visit(
      [](const auto& x, const auto& y) {
        if constexpr (std::is_same_v<decltype(x), decltype(y)>) {
          return same(x, y);
        } else {
          return false;
        }
      },
      a.node().op, b.node().op);
}

}  // namespace mica::ir
