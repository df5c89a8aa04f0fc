// A Select between vectors by where a lane stands: each lane loads from the one that it takes.
#include <utility>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/index/lane_index.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

std::optional<LaneIndex> one_base(const Expr& e) {
  std::optional<LaneIndex> form = lane_index(e);
  return form && form->bases.size() == 1 ? form : std::nullopt;
}

/// Lanes in reverse.
llvm::Value* reversed(Builder& b, llvm::Value* vector, int lanes) {
  std::vector<int> picked;
  for (int lane = lanes - 1; lane >= 0; --lane) picked.push_back(lane);
  return b.CreateShuffleVector(vector, picked);
}

}  // namespace

bool Emitter::chooses_lanes(const Select& select) const {
  const auto* compare = select.condition.as<Compare>();
  if (!hooks_.facts.lane_loads || compare == nullptr || select.condition.type().is_scalar())
    return false;
  const auto a = one_base(compare->a), b = one_base(compare->b);
  return a && b && a->stride != b->stride;
}

llvm::Value* Emitter::select_lanes(const Select& select, Type type) {
  llvm::Value* nothing = llvm::PoisonValue::get(register_type(context(), type));
  llvm::Value* if_false = lanes_of(select.if_false, type, {select.condition, false}, nothing);
  return lanes_of(select.if_true, type, {select.condition, true}, if_false);
}

/// The lanes in which the comparison has that result; `backwards`: the last one first.
llvm::Value* Emitter::mask_of(const TakenLanes& taken, bool backwards) {
  const auto& compare = *taken.comparison.as<Compare>();
  llvm::Value* mask = nullptr;
  if (backwards) {
    const int lanes = taken.comparison.type().lanes;
    mask = emit_compare(builder_, compare.op, compare.a.type(),
                        reversed(builder_, value_of(compare.a), lanes),
                        reversed(builder_, value_of(compare.b), lanes));
  } else {
    mask = value_of(taken.comparison);
  }
  return taken.where ? mask : builder_.CreateNot(mask);
}

/// `e` in the taken lanes, which alone are loaded where it is a load, and `otherwise` in the others.
llvm::Value* Emitter::lanes_of(const Expr& e, Type type, const TakenLanes& taken,
                               llvm::Value* otherwise) {
  llvm::Value* mask = mask_of(taken, false);
  const auto* load = e.as<Load>();
  if (load == nullptr || load->index.size() != 1) {
    return builder_.CreateSelect(mask, value_of(e), otherwise);
  }
  const auto form = one_base(load->index[0]);
  if (form && form->stride == 0) return builder_.CreateSelect(mask, value_of(e), otherwise);
  const BufferBinding& from = buffer(load->buffer);
  MemoryAccess access{load->buffer, from, false, nullptr, type.lanes, 0, load->logical};
  access.mask = mask;
  access.checked = checked_at_once(access);
  // on_access takes neighbours in their order.
  const bool neighbours = form && (form->stride == 1 || (form->stride == -1 && access.checked));
  if (!neighbours) {
    llvm::Value* gathered = load_gathered(access, type, load->index[0], otherwise);
    return gathered != nullptr ? gathered : lanes_one_by_one(access, type, load->index[0], otherwise);
  }
  llvm::Value* first = address(from, form->bases[0], /*of_vector=*/true);
  access.pointer = first;
  if (!access.checked) hooks_.on_access(*this, access);

  llvm::Type* element = memory_type(context(), type.element());
  llvm::Type* held = memory_type(context(), type);
  const llvm::Align alignment(static_cast<std::uint64_t>(type.bytes()));
  if (type.is_bool()) otherwise = builder_.CreateZExt(otherwise, held);
  llvm::Value* result = nullptr;
  if (form->stride == 1) {
    result = builder_.CreateMaskedLoad(held, first, alignment, mask, otherwise);
  } else {
    const auto back = static_cast<std::uint64_t>(1 - static_cast<std::int64_t>(type.lanes));
    llvm::Value* last = builder_.CreateGEP(element, first, builder_.getInt64(back));
    llvm::Value* loaded = builder_.CreateMaskedLoad(held, last, alignment, mask_of(taken, true));
    result = builder_.CreateSelect(mask, reversed(builder_, loaded, type.lanes), otherwise);
  }
  if (!type.is_bool()) return result;
  return builder_.CreateICmpNE(result, llvm::Constant::getNullValue(held));
}

/// The lanes of access.mask with a branch for each, and `otherwise` in the others.
llvm::Value* Emitter::lanes_one_by_one(MemoryAccess access, Type type, const Expr& index,
                                       llvm::Value* otherwise) {
  llvm::Value* const mask = std::exchange(access.mask, nullptr);
  // What the checks use of them is to be known in front of the branches.
  for (const Expr& one : access.logical) value_of(one);
  access.count = 1;
  llvm::Value* result = otherwise;
  for_each_lane(access.binding, index, type.lanes, [&](llvm::Value* pointer, int lane) {
    const auto at = static_cast<std::uint64_t>(lane);
    llvm::BasicBlock* taken = make_block("lane");
    llvm::BasicBlock* after = make_block("after");
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    builder_.CreateCondBr(builder_.CreateExtractElement(mask, at), taken, after);
    builder_.SetInsertPoint(taken);
    access.lane = lane;
    access.pointer = pointer;
    llvm::Value* loaded =
        builder_.CreateInsertElement(result, load_elements(access, type.element(), type.bytes()), at);
    llvm::BasicBlock* loading = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    llvm::PHINode* either = builder_.CreatePHI(result->getType(), 2);
    either->addIncoming(result, before);
    either->addIncoming(loaded, loading);
    result = either;
  });
  return result;
}

/// Does nothing look at single elements of the vector, whose elements may lie anywhere, any more?
bool Emitter::checked_at_once(const MemoryAccess& access) {
  return !hooks_.on_access || (hooks_.on_scattered && hooks_.on_scattered(*this, access));
}

/// The lanes of an index without a form by one instruction, or null; with access.mask only those that it
/// has, and `otherwise` in the others.
llvm::Value* Emitter::load_gathered(const MemoryAccess& access, Type type, const Expr& index,
                                    llvm::Value* otherwise) {
  constexpr int kNarrowest = 4, kWidest = 8;  // bytes of an element
  const int bytes = type.bytes();
  if (!hooks_.facts.native_gather || !access.checked || bytes < kNarrowest || bytes > kWidest ||
      lane_index(index)) {
    return nullptr;
  }
  const BufferBinding& from = access.binding;
  llvm::Value* indices = emit(index);
  llvm::Value* places = builder_.CreateGEP(memory_type(context(), from.type), from.base, indices);
  return builder_.CreateMaskedGather(memory_type(context(), type), places,
                                     llvm::Align(static_cast<std::uint64_t>(bytes)), access.mask,
                                     otherwise);
}

}  // namespace mica::llvm_backend
