#include <algorithm>
#include <utility>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

/// What keeps LLVM from writing out iterations of a loop, and the NVPTX back end tells ptxas, too.
llvm::MDNode* never_unrolled(llvm::LLVMContext& context) {
  llvm::Metadata* disable =
      llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.unroll.disable")});
  // A loop's own node is told from others by naming itself first.
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  return loop;
}

}  // namespace

Emitter::Emitter(llvm::Function& function, llvm::BasicBlock& entry, const TargetHooks& hooks)
    : function_(function), entry_(entry), hooks_(hooks), builder_(&entry) {}

void Emitter::emit(const ir::Stmt& s) {
  if (!s.defined()) return;
  std::visit([&](const auto& op) { statement(op); }, s.node().op);
}

llvm::Value* Emitter::find(const std::string& name) const {
  const auto it = names_.find(name);
  return it == names_.end() || it->second.empty() ? nullptr : it->second.back();
}

const BufferBinding* Emitter::find_buffer(const std::string& name) const {
  const auto it = buffers_.find(name);
  return it == buffers_.end() ? nullptr : &it->second;
}

llvm::BasicBlock* Emitter::make_block(const char* name) {
  return llvm::BasicBlock::Create(context(), name, &function_);
}

llvm::Value* Emitter::frame_memory(llvm::Type* element, std::int64_t count, unsigned alignment) {
  Builder at_entry(&entry_, entry_.begin());
  llvm::Type* type =
      count == 1 ? element : llvm::ArrayType::get(element, static_cast<std::uint64_t>(count));
  llvm::AllocaInst* memory = at_entry.CreateAlloca(type);
  memory->setAlignment(llvm::Align(alignment));
  return memory;
}

void Emitter::emit_with(const std::string& name, llvm::Value* value, const ir::Stmt& body) {
  names_[name].push_back(value);
  emit(body);
  names_[name].pop_back();
}

void Emitter::statement(const ir::For& loop) {
  switch (loop.kind) {
    case LoopKind::Serial: emit_serial(loop); return;
    case LoopKind::Parallel:
    case LoopKind::GpuBlock:
    case LoopKind::GpuThread:
      if (!hooks_.loop) throw InternalError("loop " + loop.name + " is none for this back end");
      hooks_.loop(*this, loop);
      return;
    case LoopKind::Vectorized:
    case LoopKind::Unrolled:
    case LoopKind::March:
      throw InternalError("vectorized or unrolled loop " + loop.name + " reached a back end");
  }
}

void Emitter::emit_serial(const ir::For& loop) {
  llvm::Value* min = emit(loop.min);
  const std::int64_t* extent = as_int(loop.extent);
  if (extent != nullptr && *extent <= 0) return;
  if (extent != nullptr && *extent == 1) {
    emit_with(loop.name, min, loop.body);
    return;
  }
  llvm::Value* end = builder_.CreateAdd(min, emit(loop.extent), "end");
  // The test stands at the bottom; an extent that may be 0 is tested once before the loop.
  llvm::BasicBlock* body = make_block("loop");
  llvm::BasicBlock* after = make_block("after");
  if (extent == nullptr) {
    builder_.CreateCondBr(builder_.CreateICmpSLT(min, end), body, after);
  } else {
    builder_.CreateBr(body);
  }
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.SetInsertPoint(body);
  llvm::PHINode* index = builder_.CreatePHI(min->getType(), 2, "i");
  index->addIncoming(min, before);
  ++loops_;
  emit_with(loop.name, index, loop.body);
  --loops_;
  llvm::Value* next = builder_.CreateNSWAdd(index, llvm::ConstantInt::get(index->getType(), 1));
  index->addIncoming(next, builder_.GetInsertBlock());
  llvm::BranchInst* again = builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, after);
  if (loop.rolled) again->setMetadata(llvm::LLVMContext::MD_loop, never_unrolled(builder_.getContext()));
  builder_.SetInsertPoint(after);
}

void Emitter::statement(const ir::Block& block) {
  const auto& stmts = block.stmts;
  for (std::size_t i = 0; i < stmts.size();) {
    std::vector<const ir::If*> guarded;
    for (std::size_t k = i; k < stmts.size(); ++k) {
      const auto* branch = stmts[k].as<ir::If>();
      if (branch == nullptr || !is_guarded(*branch)) break;
      guarded.push_back(branch);
    }
    if (!guarded.empty()) emit_guarded(guarded);
    const std::size_t stored = guarded.empty() ? store_interleaved(stmts, i) : guarded.size();
    if (stored == 0) emit(stmts[i]);
    i += std::max<std::size_t>(stored, 1);
  }
}

void Emitter::statement(const ir::If& branch) {
  if (is_guarded(branch)) return emit_guarded({&branch});
  llvm::BasicBlock* then_block = make_block("then");
  llvm::BasicBlock* else_block = branch.else_case.defined() ? make_block("else") : nullptr;
  llvm::BasicBlock* after = make_block("after");
  builder_.CreateCondBr(emit(branch.condition), then_block, else_block != nullptr ? else_block : after);
  builder_.SetInsertPoint(then_block);
  emit(branch.then_case);
  builder_.CreateBr(after);
  if (else_block != nullptr) {
    builder_.SetInsertPoint(else_block);
    emit(branch.else_case);
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
}

llvm::Value* Emitter::named_value(const Expr& e) {
  const auto* op = e.as<Binary>();
  const bool divides =
      op != nullptr && op->op == BinaryOp::Mod && e.type() == Int(32) && as_int(op->b) == nullptr;
  if (!divides || !hooks_.facts.slow_division) return emit(e);
  llvm::Value* a = emit(op->a);
  llvm::Value* b = emit(op->b);
  llvm::Value* inside =
      builder_.CreateAnd(builder_.CreateICmpSGE(a, builder_.getInt32(0)), builder_.CreateICmpSLT(a, b));
  llvm::BasicBlock* divide = make_block("divide");
  llvm::BasicBlock* after = make_block("divided");
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.CreateCondBr(inside, after, divide);
  builder_.SetInsertPoint(divide);
  llvm::Value* remainder = emit_binary(builder_, hooks_.facts, BinaryOp::Mod, e.type(), a, b);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode* value = builder_.CreatePHI(a->getType(), 2);
  value->addIncoming(a, before);
  value->addIncoming(remainder, divide);
  return value;
}

void Emitter::statement(const ir::LetStmt& let) {
  if (lets_in_order_ == 0 && emit_in_few_registers(let)) return;
  if (lets_in_order_ > 0) --lets_in_order_;
  llvm::Value* value = named_value(let.value);
  // The values of a Tuple, one let inside the other, have parts in common. Nothing is stored between.
  const auto* next = let.body.as<ir::LetStmt>();
  keeps_values_ = next != nullptr && find(let.name) == nullptr;
  emit_with(let.name, value, let.body);
}

void Emitter::statement(const ir::Allocate& allocate) {
  if (buffers_.count(allocate.buffer) > 0) {
    throw InternalError(allocate.buffer + " is allocated inside its own lifetime");
  }
  const BufferBinding binding = hooks_.allocate(*this, allocate);
  buffers_[allocate.buffer] = binding;
  emit(allocate.body);
  buffers_.erase(allocate.buffer);
  if (hooks_.release) hooks_.release(*this, allocate, binding);
}

void Emitter::statement(const ir::Barrier& barrier) {
  if (!hooks_.barrier) throw InternalError("a barrier reached a back end that has none");
  if (barrier.fences_copies && hooks_.fence_copies) hooks_.fence_copies(*this);
  hooks_.barrier(*this);
}

void Emitter::statement(const ir::NamedBarrier& barrier) {
  if (!hooks_.named_barrier) throw InternalError("a named barrier reached a back end that has none");
  if (barrier.fences_copies && hooks_.fence_copies) hooks_.fence_copies(*this);
  llvm::Value* number = builder().getInt32(static_cast<std::uint32_t>(barrier.number));
  if (barrier.turn.defined()) number = builder().CreateAdd(number, emit(barrier.turn));
  hooks_.named_barrier(*this, barrier, number);
}

void Emitter::statement(const ir::ClusterBarrier& /*barrier*/) {
  if (!hooks_.cluster_barrier) throw InternalError("a cluster reached a back end that has none");
  hooks_.cluster_barrier(*this);
}

void Emitter::statement(const ir::Produce& produce) {
  const std::string around = std::exchange(producing_, produce.func);
  emit_body(produce.body);
  producing_ = around;
}

void Emitter::statement(const ir::Evaluate& evaluate) { emit(evaluate.value); }

}  // namespace mica::llvm_backend
