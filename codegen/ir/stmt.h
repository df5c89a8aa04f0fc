// Statements: the compiler's intermediate code, immutable and shared like expressions.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "dsl/expr.h"
#include "dsl/schedule.h"

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
};
/// buffer[index] = value. Indices as in Load.
struct Store {
  std::string buffer;
  std::vector<Expr> index;
  Expr value;
  std::vector<Expr> logical;
  int alignment = 1;
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
/// Memory named `buffer` that lives for `body`. Logical index i of dimension d is element
/// i - mins[d]; extents are constants except for Heap. Memory is never Auto after build_loop_nest.
struct Allocate {
  std::string buffer;
  Type type;
  MemoryType memory = MemoryType::Auto;
  std::vector<Expr> mins, extents;
  /// Elements between neighbours along each dimension; constants. Empty until flatten_storage.
  std::vector<std::int64_t> strides;
  Stmt body;
};
/// Every thread of the block waits here for all others; orders shared memory. Made by
/// fuse_thread_loops only.
struct Barrier {};
/// A comment-like marker: `body` computes Func `func` (printed, and read by analyses).
struct Produce {
  std::string func;
  Stmt body;
};

struct StmtNode {
  std::variant<For, Store, Block, If, LetStmt, Allocate, Barrier, Produce> op;
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
