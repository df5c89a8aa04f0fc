// Addresses, loads and stores.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/types_llvm.h"
#include "runtime/plan.h"

namespace mica::llvm_backend {

namespace {

/// An index as rest + constant; rest is undefined when the whole is constant. Constants are taken
/// out of sums, differences and products with a constant.
struct SplitIndex {
  Expr rest;
  std::int64_t constant = 0;
};

SplitIndex split_constant(const Expr& e) {
  if (const std::int64_t* value = as_int(e)) return {Expr(), *value};
  const Binary* op = e.as<Binary>();
  if (op == nullptr) return {e, 0};
  const auto rebuilt = [&](const Expr& a, const Expr& b) {
    return make_expr(e.type(), Binary{op->op, a, b});
  };
  switch (op->op) {
    case BinaryOp::Add: {
      const SplitIndex a = split_constant(op->a);
      const SplitIndex b = split_constant(op->b);
      const std::int64_t constant = a.constant + b.constant;
      if (!a.rest.defined()) return {b.rest, constant};
      if (!b.rest.defined()) return {a.rest, constant};
      if (a.constant == 0 && b.constant == 0) return {e, 0};
      return {rebuilt(a.rest, b.rest), constant};
    }
    case BinaryOp::Sub: {
      const SplitIndex a = split_constant(op->a);
      const SplitIndex b = split_constant(op->b);
      const std::int64_t constant = a.constant - b.constant;
      if (!b.rest.defined()) return {a.rest, constant};
      if (a.constant == 0 && b.constant == 0) return {e, 0};
      return {rebuilt(a.rest.defined() ? a.rest : make_const(e.type(), std::int64_t{0}), b.rest),
              constant};
    }
    case BinaryOp::Mul: {
      const std::int64_t* factor = as_int(op->b);
      const Expr& other = factor != nullptr ? op->a : op->b;
      if (factor == nullptr) factor = as_int(op->a);
      if (factor == nullptr) return {e, 0};
      const SplitIndex split = split_constant(other);
      if (split.constant == 0) return {e, 0};
      if (!split.rest.defined()) return {Expr(), split.constant * *factor};
      return {rebuilt(split.rest, make_const(e.type(), *factor)), split.constant * *factor};
    }
    case BinaryOp::Div:
    case BinaryOp::Mod:
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::Pow:
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
    case BinaryOp::Shl:
    case BinaryOp::Shr: break;
  }
  return {e, 0};
}

/// A vector index as base + lane * stride with scalar base and constant stride, where it is one.
struct LaneIndex {
  Expr base;
  std::int64_t stride = 0;
};

std::optional<LaneIndex> as_lanes(const Expr& e) {
  if (const Ramp* ramp = e.as<Ramp>()) {
    const std::int64_t* stride = as_int(ramp->stride);
    if (stride == nullptr) return std::nullopt;
    return LaneIndex{ramp->base, *stride};
  }
  if (const Broadcast* broadcast = e.as<Broadcast>()) return LaneIndex{broadcast->value, 0};
  const Binary* op = e.as<Binary>();
  if (op == nullptr || (op->op != BinaryOp::Add && op->op != BinaryOp::Sub)) return std::nullopt;
  const std::optional<LaneIndex> a = as_lanes(op->a);
  const std::optional<LaneIndex> b = as_lanes(op->b);
  if (!a || !b) return std::nullopt;
  const std::int64_t stride = op->op == BinaryOp::Add ? a->stride + b->stride : a->stride - b->stride;
  return LaneIndex{make_expr(e.type().element(), Binary{op->op, a->base, b->base}), stride};
}

/// Bytes by which the element `elements` after one aligned to `alignment` bytes is aligned.
std::int64_t alignment_after(std::int64_t alignment, std::int64_t bytes) {
  return bytes == 0 ? alignment : std::min(alignment, bytes & -bytes);
}

}  // namespace

const BufferBinding& Emitter::buffer(const std::string& name) const {
  const BufferBinding* binding = find_buffer(name);
  if (binding == nullptr) throw InternalError("buffer " + name + " reached a back end undefined");
  return *binding;
}

llvm::Value* Emitter::address(const BufferBinding& binding, const Expr& index) {
  llvm::Type* element = memory_type(context(), binding.type);
  SplitIndex split = split_constant(index);
  // The rest must not overflow where the whole does not.
  if (index.type().bits < 64 && std::abs(split.constant) > kLargestConstant32) split = {index, 0};
  llvm::Value* pointer = binding.base;
  // Not inbounds: a part of the sum may point outside.
  if (split.rest.defined()) pointer = builder_.CreateGEP(element, pointer, emit(split.rest));
  if (split.constant != 0) {
    pointer = builder_.CreateGEP(element, pointer,
                                 builder_.getInt64(static_cast<std::uint64_t>(split.constant)));
  }
  return pointer;
}

/// Calls function(pointer, lane) for the address of each lane of a vector index.
template <typename Function>
void Emitter::for_each_lane(const BufferBinding& binding, const Expr& index, int lanes,
                            Function&& function) {
  llvm::Type* element = memory_type(context(), binding.type);
  if (const std::optional<LaneIndex> form = as_lanes(index)) {
    llvm::Value* first = address(binding, form->base);
    for (int lane = 0; lane < lanes; ++lane) {
      const auto offset = static_cast<std::uint64_t>(form->stride * lane);
      function(offset == 0 ? first : builder_.CreateGEP(element, first, builder_.getInt64(offset)),
               lane);
    }
    return;
  }
  llvm::Value* indices = emit(index);
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* at = builder_.CreateExtractElement(indices, static_cast<std::uint64_t>(lane));
    function(builder_.CreateGEP(element, binding.base, at), lane);
  }
}

/// Calls function(first lane, lanes, alignment in bytes) for the pieces of a contiguous access whose
/// first element is aligned to `alignment` bytes.
template <typename Function>
void Emitter::for_each_piece(Type type, int alignment, Function&& function) {
  constexpr std::int64_t kWidest = 16;  // bytes
  if (!hooks_.facts.small_accesses) {
    function(0, static_cast<int>(type.lanes), alignment);
    return;
  }
  const std::int64_t bytes = type.bytes();
  for (int lane = 0; lane < type.lanes;) {
    const std::int64_t aligned = alignment_after(alignment, lane * bytes);
    const std::int64_t limit = std::min({kWidest, aligned, (type.lanes - lane) * bytes});
    const auto width = std::max<std::int64_t>(
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(limit))) / bytes, 1);
    function(lane, static_cast<int>(width), static_cast<int>(aligned));
    lane += static_cast<int>(width);
  }
}

llvm::Value* Emitter::load_piece(const MemoryAccess& access, Type type, llvm::Value* pointer,
                                 int alignment) {
  llvm::Type* held = memory_type(context(), type);
  if (access.streamed && hooks_.streamed_load) {
    llvm::Value* streamed = hooks_.streamed_load(*this, access, pointer, held, alignment);
    if (streamed != nullptr) return streamed;
  }
  llvm::LoadInst* piece =
      builder_.CreateAlignedLoad(held, pointer, llvm::Align(static_cast<std::uint64_t>(alignment)));
  if (access.binding.read_only) {
    piece->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context(), {}));
  }
  return piece;
}

llvm::Value* Emitter::load_elements(const MemoryAccess& access, Type type, int alignment) {
  if (hooks_.on_access) hooks_.on_access(*this, access);
  llvm::Type* element = memory_type(context(), type.element());
  llvm::Value* result = nullptr;
  for_each_piece(type, alignment, [&](int lane, int lanes, int aligned) {
    llvm::Value* pointer = access.pointer;
    if (lane > 0) {
      pointer =
          builder_.CreateGEP(element, pointer, builder_.getInt64(static_cast<std::uint64_t>(lane)));
    }
    llvm::Value* piece = load_piece(access, type.with_lanes(lanes), pointer, aligned);
    if (lanes == type.lanes) {
      result = piece;
      return;
    }
    if (result == nullptr) result = llvm::PoisonValue::get(memory_type(context(), type));
    for (int i = 0; i < lanes; ++i) {
      llvm::Value* one =
          lanes == 1 ? piece : builder_.CreateExtractElement(piece, static_cast<std::uint64_t>(i));
      result = builder_.CreateInsertElement(result, one, static_cast<std::uint64_t>(lane + i));
    }
  });
  if (!type.is_bool()) return result;
  return builder_.CreateICmpNE(result, llvm::Constant::getNullValue(result->getType()));
}

void Emitter::store_elements(const MemoryAccess& access, Type type, llvm::Value* value, int alignment) {
  if (hooks_.on_access) hooks_.on_access(*this, access);
  llvm::Type* element = memory_type(context(), type.element());
  if (type.is_bool()) value = builder_.CreateZExt(value, memory_type(context(), type));
  for_each_piece(type, alignment, [&](int lane, int lanes, int aligned) {
    llvm::Value* pointer = access.pointer;
    if (lane > 0) {
      pointer =
          builder_.CreateGEP(element, pointer, builder_.getInt64(static_cast<std::uint64_t>(lane)));
    }
    llvm::Value* piece = value;
    if (lanes != type.lanes && lanes == 1) {
      piece = builder_.CreateExtractElement(value, static_cast<std::uint64_t>(lane));
    } else if (lanes != type.lanes) {
      std::vector<int> picked;
      for (int i = 0; i < lanes; ++i) picked.push_back(lane + i);
      piece = builder_.CreateShuffleVector(value, picked);
    }
    if (access.streamed && hooks_.streamed_store &&
        hooks_.streamed_store(*this, access, pointer, piece, aligned)) {
      return;
    }
    builder_.CreateAlignedStore(piece, pointer, llvm::Align(static_cast<std::uint64_t>(aligned)));
  });
}

/// Lane by lane.
llvm::Value* Emitter::load_texture(const BufferBinding& from, Type type, const Expr& index) {
  internal_check(static_cast<bool>(hooks_.texture_load), "textures are for GPUs");
  llvm::Type* i32 = builder_.getInt32Ty();
  const auto element = [&](llvm::Value* at) {
    llvm::Value* origin = builder_.CreateTrunc(from.texture_origin, i32);
    return hooks_.texture_load(*this, from,
                               builder_.CreateAdd(origin, builder_.CreateSExtOrTrunc(at, i32)));
  };
  llvm::Value* at = emit(index);
  if (type.is_scalar()) return element(at);
  llvm::Value* result = llvm::PoisonValue::get(register_type(context(), type));
  for (int lane = 0; lane < type.lanes; ++lane) {
    const auto i = static_cast<std::uint64_t>(lane);
    result = builder_.CreateInsertElement(result, element(builder_.CreateExtractElement(at, i)), i);
  }
  return result;
}

llvm::Value* Emitter::load(Type type, const Load& load) {
  const BufferBinding& from = buffer(load.buffer);
  if (load.index.size() != 1) throw InternalError("load of " + load.buffer + " is not flattened");
  const Expr& index = load.index[0];
  if (from.texture_origin != nullptr) return load_texture(from, type, index);
  const int bytes = type.bytes();
  MemoryAccess access{load.buffer, from, false, nullptr, type.lanes, 0, load.logical, load.streamed};
  if (type.is_scalar()) {
    access.pointer = address(from, index);
    return load_elements(access, type, load.alignment * bytes);
  }
  const std::optional<LaneIndex> form = as_lanes(index);
  if (form && form->stride == 1) {
    access.pointer = address(from, form->base);
    access.alignment = load.alignment * bytes;
    return load_elements(access, type, load.alignment * bytes);
  }
  access.count = 1;
  if (form && form->stride == 0) {
    access.pointer = address(from, form->base);
    return builder_.CreateVectorSplat(type.lanes, load_elements(access, type.element(), bytes));
  }
  llvm::Value* result = llvm::PoisonValue::get(register_type(context(), type));
  for_each_lane(from, index, type.lanes, [&](llvm::Value* pointer, int lane) {
    access.pointer = pointer;
    access.lane = lane;
    result = builder_.CreateInsertElement(result, load_elements(access, type.element(), bytes),
                                          static_cast<std::uint64_t>(lane));
  });
  return result;
}

void Emitter::statement(const ir::Store& store) {
  BufferBinding to = buffer(store.buffer);
  if (store.block.defined()) {
    if (!hooks_.cluster_memory) throw InternalError("a cluster reached a back end that has none");
    llvm::Value* block = builder_.CreateSExtOrTrunc(emit(store.block), builder_.getInt32Ty());
    to.base = hooks_.cluster_memory(*this, to.base, block);
  }
  if (store.index.size() != 1) throw InternalError("store to " + store.buffer + " is not flattened");
  const Expr& index = store.index[0];
  const Type type = store.value.type();
  const int bytes = type.bytes();
  llvm::Value* value = emit(store.value);
  MemoryAccess access{store.buffer, to, true, nullptr, type.lanes, 0, store.logical, store.streamed};
  if (type.is_scalar()) {
    access.pointer = address(to, index);
    store_elements(access, type, value, store.alignment * bytes);
    return;
  }
  const std::optional<LaneIndex> form = as_lanes(index);
  if (form && form->stride == 1) {
    access.pointer = address(to, form->base);
    access.alignment = store.alignment * bytes;
    store_elements(access, type, value, store.alignment * bytes);
    return;
  }
  access.count = 1;
  for_each_lane(to, index, type.lanes, [&](llvm::Value* pointer, int lane) {
    access.pointer = pointer;
    access.lane = lane;
    store_elements(access, type.element(),
                   builder_.CreateExtractElement(value, static_cast<std::uint64_t>(lane)), bytes);
  });
}

}  // namespace mica::llvm_backend
