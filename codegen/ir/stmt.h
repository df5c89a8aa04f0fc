// Statements: the compiler's intermediate code, immutable and shared like expressions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/schedule/schedule.h"

namespace mica::ir {

struct StmtNode;

/// A handle on an immutable statement. A default-made Stmt is "nothing".
class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  [[nodiscard]] bool defined() const { return node_ != nullptr; }
  [[nodiscard]] const StmtNode& node() const;
  template <typename T>
  [[nodiscard]] const T* as() const;
  [[nodiscard]] bool same_as(const Stmt& other) const { return node_ == other.node_; }

 private:
  std::shared_ptr<const StmtNode> node_;
};

/// What a loop variable stands for once GPU axes are mapped.
enum class GpuAxis : std::uint8_t { None, BlockX, BlockY, BlockZ, ThreadX, ThreadY, ThreadZ };

/// for name in [min, min + extent): body. Vectorized and Unrolled loops have constant extents.
struct For {
  std::string name;
  Expr min, extent;
  LoopKind kind = LoopKind::Serial;
  Stmt body;
  /// Each iteration waits for a value of the one before: to write several out gains nothing, and takes
  /// registers (.pragma "nounroll").
  bool rolled = false;
};
/// buffer[index] = value. Indices as in Load.
/// With `atomic` set, a scalar of an atomic type (is_atomic_type): buffer[index] = buffer[index] op
/// value, which no other such statement of another thread comes between.
struct Store {
  std::string buffer;
  std::vector<Expr> index;
  Expr value;
  std::vector<Expr> logical;
  int alignment = 1;
  /// The value is not read again soon: a store that passes by the caches (st.global.cs).
  bool streamed = false;
  /// To the Shared array of that name of another block of the cluster (st.shared::cluster): the block's
  /// number in the cluster, x fastest, a scalar integer. Undefined: the thread's own block. A
  /// ClusterBarrier comes before the first such store, so that the other block runs, and after the last,
  /// so that it still does.
  Expr block = {};
  std::optional<BinaryOp> atomic = {};  ///< Add, Sub, Min, Max, BitAnd, BitOr or BitXor
  /// The user's line that defines the value, where lines are asked for (CompileOptions::line_info).
  SourceLocation where = {};
  /// A vector that begins anywhere: the threads of a warp may complete each other's aligned pieces.
  bool pieces = false;
};
/// The fewest bytes of an AsyncCopy.
inline constexpr int kNarrowestCopy = 4;
/// Starts to copy `count` neighbouring elements of array `from` to the Shared array `to`, and goes on
/// at once (cp.async). The copy has been made when the thread has passed a CopyWait that leaves its
/// group done; other threads see it after a Barrier that follows. Indices as in Load; both places are
/// aligned to the copy's bytes, which are kNarrowestCopy, 8 or 16.
struct AsyncCopy {
  std::string to, from;
  std::vector<Expr> to_index, from_index;
  std::vector<Expr> to_logical, from_logical;
  int count = 1;
};
/// Ends the thread's group of AsyncCopies: those it began since the last CopyCommit.
struct CopyCommit {};
/// The thread waits until at most `pending` of its newest groups are under way.
struct CopyWait {
  int pending = 0;
};
/// The `count` cells of the Shared i64 array `barriers` become transaction barriers (mbarrier) that one
/// arrival completes. Done by one thread, before a Barrier that precedes every other use.
struct BulkInit {
  std::string barriers;
  int count = 1;
};
/// The one arrival at barriers[slot], which then waits for `bytes` of BulkCopies. Done by one thread.
struct BulkExpect {
  std::string barriers;
  Expr slot, bytes;
};
/// Starts to copy `count` neighbouring elements like AsyncCopy, by the bulk-copy engine (the TMA unit's
/// cp.async.bulk), counted off at barriers[slot]. `count` is an i32 expression; both places are
/// multiples of 16 bytes, and so is the copy. Done by one thread.
struct BulkCopy {
  std::string to, from;
  std::vector<Expr> to_index, from_index;
  std::vector<Expr> to_logical, from_logical;
  Expr count;
  std::string barriers;
  Expr slot;
};
/// The thread waits until barriers[slot] has completed its phase of `parity` (0 for the first, 1 for the
/// second, 0 for the third, ...); the copied elements may then be read.
struct BulkWait {
  std::string barriers;
  Expr slot, parity;
};
/// Statements in order.
struct Block {
  std::vector<Stmt> stmts;
};
/// then_case where condition holds, else else_case (which may be undefined).
struct If {
  Expr condition;
  Stmt then_case, else_case;
};
/// name = value in body.
struct LetStmt {
  std::string name;
  Expr value;
  Stmt body;
};
/// What shared memory holds of a stage of a kernel's plan.
enum class Kept : std::uint8_t {
  Points,    ///< its points, or a ring of planes of them
  Rows,      ///< rows at the edges of the threads' points, which pass from thread to thread
  Arrivals,  ///< transaction barriers of the bulk copies that fill it
};

/// See Allocate::strides.
inline constexpr std::int64_t kUnknownStride = 0;

/// Memory named `buffer` that lives for `body`. Logical index i of dimension d is element
/// i - mins[d]; extents are constants except for Heap. Memory is never Auto after build_loop_nest.
struct Allocate {
  std::string buffer;
  Type type;
  MemoryType memory = MemoryType::Auto;
  std::vector<Expr> mins, extents;
  /// Elements between neighbours along each dimension; constants. Empty until flatten_storage, where
  /// kUnknownStride stands for a product of the extents before that is none.
  std::vector<std::int64_t> strides;
  Stmt body;
  /// A ring: where folds[d] is positive, index i of dimension d is element (i - mins[d]) mod folds[d].
  /// Empty: no dimension is folded. flatten_storage takes folds away.
  std::vector<std::int64_t> folds = {};
  /// Shared memory: the stage of the kernel's plan that it belongs to, by whose edges threads wait for
  /// one another, and what it holds of it. No stage: whoever touches it waits for whoever did before.
  std::string stage = {};
  Kept kept = Kept::Points;
  /// Planes in the ring; of a box that is filled as a whole 1. Memory that is no ring: 0.
  std::int64_t places = 0;
  /// Register memory of a whole block, of which each thread touches its own points only.
  bool per_thread = false;
};
/// Every thread of the block waits here for all others; orders shared memory. Made by build_loop_nest
/// where the crews of a march part, and else by fuse_thread_loops only.
struct Barrier {
  /// Before it waits, each thread puts its own writes to shared memory before what bulk copies write
  /// there later, which a barrier alone does not (a fence of the async proxy). Set by fence_bulk_copies.
  bool fences_copies = false;
};
/// Named barriers of a block; number 0 is that of all its threads.
inline constexpr int kNamedBarriers = 15;
/// Threads of a block meet at one of its barriers 1 to 15 (bar.sync, bar.arrive): `number`, or the one
/// that `turn` counts from there. When `threads` of them have come, in whole warps, those that wait go
/// on, and see what those that came had done to memory by then; one that does not wait goes on at once.
/// The barrier may then be used again, with the same `threads` for all that come.
struct NamedBarrier {
  int number = 1;
  int threads = 32;
  bool waits = true;
  /// As Barrier::fences_copies.
  bool fences_copies = false;
  int turns = 1;   ///< barriers from `number` on, of which `turn` chooses one
  Expr turn = {};  ///< from 0 to turns - 1; undefined: 0
};
/// All threads of the blocks of a cluster wait here for each other, and see what they had done to memory
/// (barrier.cluster).
struct ClusterBarrier {};
/// A comment-like marker: `body` computes Func `func` (printed, and read by analyses).
struct Produce {
  std::string func;
  Stmt body;
  /// Another plane of a ring: the step counts as one, and the marker stays, even when nothing is left of
  /// `body` because no later step reads the plane.
  bool plane = false;
  Kept kept = Kept::Points;  ///< of `func`: what is filled
};

/// Computes a scalar for the line that it prints.
struct Evaluate {
  Expr value;
};

struct StmtNode {
  std::variant<For, Store, Block, If, LetStmt, Allocate, Barrier, Produce, AsyncCopy, CopyCommit,
               CopyWait, BulkInit, BulkExpect, BulkCopy, BulkWait, NamedBarrier, ClusterBarrier,
               Evaluate>
      op;
};

inline const StmtNode& Stmt::node() const {
  internal_check(node_ != nullptr, "use of an undefined Stmt");
  return *node_;
}
template <typename T>
const T* Stmt::as() const {
  return node_ ? std::get_if<T>(&node_->op) : nullptr;
}
template <typename Op>
Stmt make_stmt(Op op) {
  return Stmt(std::make_shared<const StmtNode>(StmtNode{std::move(op)}));
}
/// Joins statements, dropping undefined ones and flattening nested Blocks; undefined if none is left.
Stmt make_block(std::vector<Stmt> stmts);

/// In a lowered GPU kernel these VarRefs (i32) hold the thread's place: "block.x", "block.y",
/// "block.z" and "thread.x", "thread.y", "thread.z".
inline constexpr const char* kGpuAxisNames[] = {"",         "block.x",  "block.y", "block.z",
                                                "thread.x", "thread.y", "thread.z"};

}  // namespace mica::ir
