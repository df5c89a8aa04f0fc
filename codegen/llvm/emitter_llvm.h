// Emits statements and expressions into one LLVM function. The function, its entry block and its
// end belong to the back end (nvptx.cpp, host.cpp), which binds the parameters and then emits the
// kernel's body.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "codegen/llvm/index/lane_index.h"
#include "codegen/llvm/index/strided_taps.h"
#include "codegen/llvm/target_hooks_llvm.h"
#include "dsl/expr/node_map.h"

namespace mica::llvm_backend {

/// A text that ends with a 0, in memory that the module's functions read.
llvm::Constant* constant_text(llvm::Module& module, const std::string& text);

class Emitter {
 public:
  /// Emits at the end of `entry`, the first block of `function`. `hooks` must outlive the Emitter.
  Emitter(llvm::Function& function, llvm::BasicBlock& entry, const TargetHooks& hooks);
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  void emit(const ir::Stmt& s);
  /// The same of a kernel's whole body, which begins with the line of its first store.
  void emit_body(const ir::Stmt& body);
  /// The value at the insertion point, held as register_type says.
  llvm::Value* emit(const Expr& e);

  /// Serial loop over `loop`'s range, whatever its kind.
  void emit_serial(const ir::For& loop);
  /// Emits `body` with `name` bound to `value`.
  void emit_with(const std::string& name, llvm::Value* value, const ir::Stmt& body);

  void bind(const std::string& name, llvm::Value* value) { names_[name].push_back(value); }
  void bind(const std::string& buffer, BufferBinding binding) { buffers_[buffer] = binding; }
  /// The innermost binding, or null.
  [[nodiscard]] llvm::Value* find(const std::string& name) const;
  [[nodiscard]] const BufferBinding* find_buffer(const std::string& name) const;

  /// Memory of the function's frame, made in its entry block.
  llvm::Value* frame_memory(llvm::Type* element, std::int64_t count, unsigned alignment);
  llvm::BasicBlock* make_block(const char* name);

  /// The innermost Func whose points are computed here, as the Produce around says; empty: none.
  [[nodiscard]] const std::string& producing() const { return producing_; }
  void set_producing(const std::string& func) { producing_ = func; }

  [[nodiscard]] Builder& builder() { return builder_; }
  [[nodiscard]] llvm::Function& function() { return function_; }
  [[nodiscard]] llvm::Module& module() { return *function_.getParent(); }
  [[nodiscard]] llvm::LLVMContext& context() { return function_.getContext(); }
  [[nodiscard]] const TargetHooks& hooks() const { return hooks_; }

 private:
  // emit_stmt.cpp
  void statement(const ir::For& loop);
  void statement(const ir::Store& store);
  void make_store(const ir::Store& store);
  void statement(const ir::Block& block);
  void statement(const ir::If& branch);
  void statement(const ir::LetStmt& let);
  llvm::Value* named_value(const Expr& e);
  void statement(const ir::Allocate& allocate);
  void statement(const ir::Barrier& barrier);
  void statement(const ir::NamedBarrier& barrier);
  void statement(const ir::ClusterBarrier& barrier);
  void statement(const ir::Produce& produce);
  void statement(const ir::Evaluate& evaluate);

  // emit_guarded.cpp
  /// Does `e` read nothing but what a thread has itself, and do nothing?
  [[nodiscard]] bool has_own_values(const Expr& e) const;
  /// Are these stores to arrays, at most `most` of them, of such values at such places? Subtracts them.
  [[nodiscard]] bool stores_own_values(const ir::Stmt& s, int& most) const;
  /// Does `branch` stand in a loop and guard nothing else, and has the back end stores under a
  /// condition?
  [[nodiscard]] bool is_guarded(const ir::If& branch) const;
  /// What happens where a condition holds.
  using Case = std::pair<llvm::Value*, ir::Stmt>;
  void store_where(const ir::Stmt& s, llvm::Value* condition, std::vector<Case>& otherwise);
  void store_where(const ir::If& branch, llvm::Value* around, std::vector<Case>& otherwise);
  /// Emits neighbouring statements, all of them guarded, without branches, then what otherwise happens.
  void emit_guarded(const std::vector<const ir::If*>& branches);

  // emit_copy.cpp
  void statement(const ir::AsyncCopy& copy);
  void statement(const ir::CopyCommit& commit);
  void statement(const ir::CopyWait& wait);
  void statement(const ir::BulkInit& init);
  void statement(const ir::BulkExpect& expect);
  void statement(const ir::BulkCopy& copy);
  void statement(const ir::BulkWait& wait);
  template <typename Copy>
  ArrayCopy array_copy(const Copy& copy);
  void copy_now(const ArrayCopy& copy);
  BulkBarrier bulk_barrier(const std::string& barriers, const Expr& slot);
  llvm::Value* emit_i32(const Expr& e);

  // emit_expr.cpp
  llvm::Value* value_of(const Expr& e);
  llvm::Value* value_of_node(const Expr& e);
  void forget_values();
  template <typename Op>
  llvm::Value* node(Type type, const Op& op);
  llvm::Value* let_value(const Let& let);
  llvm::Value* select_value(const Select& select, Type type);
  llvm::Value* shuffle(Type type, const Shuffle& s);

  // emit_lines.cpp
  /// Gives what is emitted in its life the line, if the code has lines and this one is known.
  class AtLine {
   public:
    AtLine(Emitter& emitter, const SourceLocation& where);
    ~AtLine() { builder_.SetCurrentDebugLocation(before_); }
    AtLine(const AtLine&) = delete;
    AtLine& operator=(const AtLine&) = delete;

   private:
    Builder& builder_;
    llvm::DebugLoc before_;
  };
  /// What `emit_it` emits has the line of a statement, if it is known; else that around it.
  template <typename Emit>
  void of_statement(const SourceLocation& where, const Emit& emit_it) {
    if (hooks_.lines == nullptr) return emit_it();
    const SourceLocation around = statement_line_;
    if (where.known()) statement_line_ = where;
    const AtLine at(*this, statement_line_);
    emit_it();
    statement_line_ = around;
  }
  /// Where the elements that a value is made of are read: on one line, on several, or on none.
  struct ReadLine {
    const SourceLocation* where = nullptr;
    bool several = false;
  };
  ReadLine read_line_of(const Expr& e);
  /// The line that reads all its elements; else that of the statement.
  llvm::Value* value_at_line(const Expr& e);

  // emit_lanes.cpp
  /// Is the condition a comparison of where a lane stands with one number for all, where
  /// TargetFacts::lane_loads?
  [[nodiscard]] bool chooses_lanes(const Select& select) const;
  llvm::Value* select_lanes(const Select& select, Type type);
  struct TakenLanes {
    const Expr& comparison;
    bool where;  ///< its result in these lanes
  };
  llvm::Value* mask_of(const TakenLanes& taken, bool backwards);
  llvm::Value* lanes_of(const Expr& e, Type type, const TakenLanes& taken, llvm::Value* otherwise);
  llvm::Value* lanes_one_by_one(MemoryAccess access, Type type, const Expr& index,
                                llvm::Value* otherwise);
  bool checked_at_once(const MemoryAccess& access);
  llvm::Value* load_gathered(const MemoryAccess& access, Type type, const Expr& index,
                             llvm::Value* otherwise);

  // emit_print.cpp
  llvm::Value* print_value(const Print& print);
  void print_lane(const Print& print, int lane);

  // emit_order.cpp
  /// Emits the loads of `e` ahead of its arithmetic, so that they wait for memory together, if the
  /// values fit in TargetFacts::load_registers. Otherwise each is loaded where it is used.
  void load_first(const Expr& e);
  /// Both values; that which needs more registers is computed first, when no other is held (R. Sethi,
  /// J. Ullman: The Generation of Optimal Code for Arithmetic Expressions, JACM 17(4), 1970).
  std::pair<llvm::Value*, llvm::Value*> values_of(const Expr& a, const Expr& b);
  /// The values of `first` and of the lets directly inside it (a Tuple's) in an order that holds few at
  /// once, where they need more registers than TargetFacts::value_registers otherwise; then the body of
  /// the last. False, and nothing is emitted, where they do not.
  bool emit_in_few_registers(const ir::LetStmt& first);
  /// How many registers `e` needs as a tree, in that order.
  int registers_of(const Expr& e);

  // emit_memory.cpp
  const BufferBinding& buffer(const std::string& name) const;
  /// `of_vector`: of the first lane of neighbours.
  llvm::Value* address(const BufferBinding& buffer, const Expr& index, bool of_vector = false);
  llvm::Value* emit_wide(const Expr& index);
  llvm::Value* load(Type type, const Load& load);
  llvm::Value* load_texture(const BufferBinding& from, Type type, const Expr& index);
  llvm::Value* load_piece(const MemoryAccess& access, Type type, llvm::Value* pointer, int alignment);
  llvm::Value* load_elements(const MemoryAccess& access, Type type, int alignment);
  std::size_t store_interleaved(const std::vector<ir::Stmt>& stmts, std::size_t first);
  /// Those of the outermost expression.
  StridedTaps& strided_taps();
  llvm::Value* load_strided(MemoryAccess access, Type type, const Expr& first, std::int64_t stride,
                            int alignment);
  llvm::Value* load_dense(const MemoryAccess& access, Type type, const LaneIndex& form, int alignment);
  void store_elements(const MemoryAccess& access, Type type, llvm::Value* value, int alignment);
  void for_each_lane(const BufferBinding& buffer, const Expr& index, int lanes,
                     llvm::function_ref<void(llvm::Value* pointer, int lane)> function);
  template <typename Function>
  void for_each_piece(Type type, int alignment, Function&& function);

  /// Values of the expressions met while the outermost one is emitted. The handle keeps the node
  /// alive, so that its address is not that of a later one.
  using Cache = std::unordered_map<const ExprNode*, std::pair<Expr, llvm::Value*>>;

  llvm::Function& function_;
  llvm::BasicBlock& entry_;
  const TargetHooks& hooks_;
  Builder builder_;
  std::map<std::string, std::vector<llvm::Value*>> names_;
  std::map<std::string, BufferBinding> buffers_;
  std::string producing_;
  Cache cache_;
  std::vector<const ExprNode*> cached_;  ///< the cache's keys in the order they came
  NodeMap<std::pair<Expr, int>> registers_;
  NodeMap<std::pair<Expr, ReadLine>> read_lines_;
  SourceLocation statement_line_;
  Expr outermost_;  ///< that is emitted; undefined where there are several
  std::optional<StridedTaps> strided_taps_;
  int loops_ = 0;                           ///< around what is emitted, that run more than once
  llvm::Value* store_condition_ = nullptr;  ///< of the stores that are emitted; null: all are made
  int depth_ = 0;                           ///< of emit(Expr) calls; the cache lives for the outermost
  bool keeps_values_ = false;               ///< for the next one, too
  std::size_t lets_in_order_ = 0;           ///< lets that come next and are emitted one after the other
};

}  // namespace mica::llvm_backend
