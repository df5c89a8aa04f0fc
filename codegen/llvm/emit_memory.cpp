// Addresses, loads and stores.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/index/lane_index.h"
#include "codegen/llvm/index/split_index.h"
#include "codegen/llvm/types_llvm.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"
#include "runtime/run/plan.h"

namespace mica::llvm_backend {

namespace {

/// Does the store read the array that it writes?
bool reads_target(const ir::Store& store) {
  const auto reads = [&](const Expr& e) { return ir::loads_from(e, store.buffer); };
  return reads(store.value) || std::any_of(store.index.begin(), store.index.end(), reads);
}

llvm::AtomicRMWInst::BinOp atomic_operation(BinaryOp op, Type type) {
  const bool is_signed = type.is_int();
  switch (op) {
    case BinaryOp::Add: return llvm::AtomicRMWInst::Add;
    case BinaryOp::Sub: return llvm::AtomicRMWInst::Sub;
    case BinaryOp::Min: return is_signed ? llvm::AtomicRMWInst::Min : llvm::AtomicRMWInst::UMin;
    case BinaryOp::Max: return is_signed ? llvm::AtomicRMWInst::Max : llvm::AtomicRMWInst::UMax;
    case BinaryOp::BitAnd: return llvm::AtomicRMWInst::And;
    case BinaryOp::BitOr: return llvm::AtomicRMWInst::Or;
    case BinaryOp::BitXor: return llvm::AtomicRMWInst::Xor;
    default: throw InternalError("an atomic store has no such operation");
  }
}

/// Bytes by which the element `elements` after one aligned to `alignment` bytes is aligned.
std::int64_t alignment_after(std::int64_t alignment, std::int64_t bytes) {
  return bytes == 0 ? alignment : std::min(alignment, bytes & -bytes);
}

/// Is it a vector in global memory of which nothing is known but the alignment of its elements?
bool is_cut(const MemoryAccess& access, Type type, int alignment) {
  return !type.is_scalar() && access.binding.memory == MemoryType::Heap && alignment <= type.bytes();
}

}  // namespace

const BufferBinding& Emitter::buffer(const std::string& name) const {
  const BufferBinding* binding = find_buffer(name);
  if (binding == nullptr) throw InternalError("buffer " + name + " reached a back end undefined");
  return *binding;
}

/// A scalar index in 64 bits; may_be_widened has to hold.
llvm::Value* Emitter::emit_wide(const Expr& index) {
  NodeMap<llvm::Value*> known;
  const std::function<llvm::Value*(const Expr&)> widened = [&](const Expr& e) -> llvm::Value* {
    const auto found = known.find(&e.node());
    if (found != known.end()) return found->second;
    const auto* op = e.as<Binary>();
    llvm::Value* value = nullptr;
    if (op != nullptr && op->op == BinaryOp::Add) {
      value = builder_.CreateAdd(widened(op->a), widened(op->b));
    } else if (op != nullptr && op->op == BinaryOp::Sub) {
      value = builder_.CreateSub(widened(op->a), widened(op->b));
    } else if (op != nullptr && op->op == BinaryOp::Mul) {
      value = builder_.CreateMul(widened(op->a), widened(op->b));
    } else {
      value = builder_.CreateSExt(emit(e), builder_.getInt64Ty());
    }
    return known[&e.node()] = value;
  };
  return widened(index);
}

llvm::Value* Emitter::address(const BufferBinding& binding, const Expr& index, bool of_vector) {
  llvm::Type* element = memory_type(context(), binding.type);
  SplitIndex split = split_constant(index);
  // The rest must not overflow where the whole does not.
  if (index.type().bits < 64 && std::abs(split.constant) > kLargestConstant32) split = {index, 0};
  llvm::Value* pointer = binding.base;
  // Not inbounds: a part of the sum may point outside.
  if (split.rest.defined()) {
    const bool widen = of_vector && hooks_.facts.wide_addresses && may_be_widened(split.rest);
    llvm::Value* rest = widen ? emit_wide(split.rest) : emit(split.rest);
    pointer = builder_.CreateGEP(element, pointer, rest);
  }
  if (split.constant != 0) {
    pointer = builder_.CreateGEP(element, pointer,
                                 builder_.getInt64(static_cast<std::uint64_t>(split.constant)));
  }
  return pointer;
}

/// Calls function(pointer, lane) for the address of each lane of a vector index.
void Emitter::for_each_lane(const BufferBinding& binding, const Expr& index, int lanes,
                            llvm::function_ref<void(llvm::Value* pointer, int lane)> function) {
  llvm::Type* element = memory_type(context(), binding.type);
  const std::optional<LaneIndex> form = lane_index(index);
  if (form && form->bases.size() == 1) {
    llvm::Value* first = address(binding, form->bases[0]);
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
  if (hooks_.on_access && !access.checked) hooks_.on_access(*this, access);
  if (hooks_.load_unaligned && is_cut(access, type, alignment)) {
    llvm::Value* loaded =
        hooks_.load_unaligned(*this, access.pointer, type, [&](llvm::Value* pointer, Type piece) {
          return load_piece(access, piece, pointer, piece.lanes * piece.bytes());
        });
    return type.is_bool()
               ? builder_.CreateICmpNE(loaded, llvm::Constant::getNullValue(loaded->getType()))
               : loaded;
  }
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
  if (hooks_.on_access && !access.checked) hooks_.on_access(*this, access);
  llvm::Type* element = memory_type(context(), type.element());
  if (type.is_bool()) value = builder_.CreateZExt(value, memory_type(context(), type));
  if (hooks_.store_unaligned && is_cut(access, type, alignment) &&
      hooks_.store_unaligned(*this, access, value, type, store_condition_)) {
    return;
  }
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
    if (store_condition_ != nullptr) {
      hooks_.store_if(*this, store_condition_, pointer, piece);
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

StridedTaps& Emitter::strided_taps() {
  if (!strided_taps_) strided_taps_.emplace(outermost_);
  return *strided_taps_;
}

/// A vector of which lane i is element stride*i from the one at `first`, by loads of neighbours: of all
/// from the first lane's to the last's, and of others only where taps beside this one read them, which
/// are then loaded once. Null where that is no gain.
llvm::Value* Emitter::load_strided(MemoryAccess access, Type type, const Expr& first,
                                   std::int64_t stride, int alignment) {
  const int lanes = type.lanes, bytes = type.bytes();
  access.pointer = address(access.binding, first, /*of_vector=*/true);
  access.count = lanes;
  if (stride == 1) {
    access.alignment = alignment;
    return load_elements(access, type, alignment);
  }
  if (stride == 0) {
    access.count = 1;
    return builder_.CreateVectorSplat(static_cast<unsigned>(lanes),
                                      load_elements(access, type.element(), bytes));
  }
  if (!hooks_.facts.dense_accesses || stride < kNarrowestStride || stride > kWidestStride ||
      lanes < stride)
    return nullptr;
  llvm::Type* element = memory_type(context(), type.element());
  const std::int64_t before = strided_taps().elements_before(access.buffer, first, stride);
  const std::int64_t own = std::max<std::int64_t>(before, 0);  // where the first lane is
  const std::int64_t span = before < 0 ? (lanes - 1) * stride + 1 : lanes * stride;
  llvm::Value* begin = access.pointer;
  if (own > 0) {
    begin = builder_.CreateGEP(element, begin, builder_.getInt64(static_cast<std::uint64_t>(-own)));
  }
  llvm::Value* result = nullptr;
  for (std::int64_t piece = 0; piece < stride; ++piece) {
    const bool is_last = piece + 1 == stride;
    const std::int64_t start = is_last ? span - lanes : piece * lanes;
    access.pointer =
        builder_.CreateGEP(element, begin, builder_.getInt64(static_cast<std::uint64_t>(start)));
    llvm::Value* loaded = load_elements(access, type, bytes);
    std::vector<int> picked(static_cast<std::size_t>(lanes), -1);
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t at = own + lane * stride;
      const bool here = is_last ? at >= piece * lanes : at / lanes == piece;
      if (here)
        picked[static_cast<std::size_t>(lane)] = static_cast<int>(at - start) + (result ? lanes : 0);
      if (!here && result && at < piece * lanes) picked[static_cast<std::size_t>(lane)] = lane;
    }
    result = builder_.CreateShuffleVector(result ? result : loaded, loaded, picked);
  }
  return result;
}

/// The lanes of an index with a form, or null: those of each base by load_strided, then interleaved.
llvm::Value* Emitter::load_dense(const MemoryAccess& access, Type type, const LaneIndex& form,
                                 int alignment) {
  const auto parts = static_cast<int>(form.bases.size());
  const int bytes = type.bytes();
  if (parts > 1 && (!hooks_.facts.dense_accesses || type.lanes % parts != 0)) return nullptr;
  const Type part = type.with_lanes(type.lanes / parts);
  if (part.is_scalar()) return nullptr;
  std::vector<llvm::Value*> loaded;
  for (const Expr& base : form.bases) {
    loaded.push_back(
        load_strided(access, part, base, form.stride, parts == 1 ? alignment * bytes : bytes));
    if (loaded.back() == nullptr) return nullptr;
  }
  // Parts i and i + half together, until one is left.
  for (; loaded.size() > 1; loaded.resize(loaded.size() / 2)) {
    const std::size_t half = loaded.size() / 2;
    const int lanes = type.lanes / static_cast<int>(loaded.size());
    std::vector<int> picked;
    for (int lane = 0; lane < lanes; ++lane) picked.insert(picked.end(), {lane, lane + lanes});
    for (std::size_t i = 0; i < half; ++i) {
      loaded[i] = builder_.CreateShuffleVector(loaded[i], loaded[i + half], picked);
    }
  }
  return loaded.front();
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
  if (const std::optional<LaneIndex> form = lane_index(index)) {
    if (llvm::Value* dense = load_dense(access, type, *form, load.alignment)) return dense;
  }
  access.checked = checked_at_once(access);
  if (llvm::Value* gathered = load_gathered(access, type, index, nullptr)) return gathered;
  access.count = 1;
  llvm::Value* result = llvm::PoisonValue::get(register_type(context(), type));
  for_each_lane(from, index, type.lanes, [&](llvm::Value* pointer, int lane) {
    access.pointer = pointer;
    access.lane = lane;
    result = builder_.CreateInsertElement(result, load_elements(access, type.element(), bytes),
                                          static_cast<std::uint64_t>(lane));
  });
  return result;
}

/// Where stmts[first] and those after it store vectors whose lanes are apart by as many elements as
/// there are stores, each between the others': emits one store of neighbours, and returns how many these
/// are.
std::size_t Emitter::store_interleaved(const std::vector<ir::Stmt>& stmts, std::size_t first) {
  constexpr std::size_t kMostChannels = 4;
  const auto* head = stmts[first].as<ir::Store>();
  if (!hooks_.facts.dense_accesses || !head || head->value.type().is_scalar()) return 0;
  const auto form = lane_index(head->index[0]);
  const auto channels = form ? static_cast<std::size_t>(std::max<std::int64_t>(form->stride, 0)) : 0;
  if (channels < 2 || channels > kMostChannels || first + channels > stmts.size()) return 0;

  struct Channel {
    std::int64_t offset;
    const ir::Store* store;
    Expr base;
  };
  std::vector<Channel> order;
  const Expr rest = split_constant(form->bases[0]).rest;
  for (std::size_t i = 0; i < channels; ++i) {
    const auto* store = stmts[first + i].as<ir::Store>();
    if (!store || store->buffer != head->buffer || store->value.type() != head->value.type()) return 0;
    if (store->streamed || store->block.defined() || reads_target(*store)) return 0;
    const auto lanes = lane_index(store->index[0]);
    if (!lanes || lanes->bases.size() != 1 || lanes->stride != form->stride) return 0;
    const SplitIndex split = split_constant(lanes->bases[0]);
    const bool same =
        rest.defined() ? split.rest.defined() && equal(rest, split.rest) : !split.rest.defined();
    if (!same) return 0;
    order.push_back({split.constant, store, lanes->bases[0]});
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  for (std::size_t c = 1; c < channels; ++c) {
    if (order[c].offset != order[0].offset + static_cast<std::int64_t>(c)) return 0;
  }

  std::map<const ir::Store*, llvm::Value*> values;
  for (std::size_t i = 0; i < channels; ++i) {
    const auto* store = stmts[first + i].as<ir::Store>();
    values[store] = emit(store->value);
  }
  const Type type = head->value.type();
  const auto lanes = static_cast<std::size_t>(type.lanes);
  // All channels one after the other, a pair at a time; then lane by lane.
  std::vector<llvm::Value*> parts;
  for (const Channel& channel : order) parts.push_back(values[channel.store]);
  for (std::size_t width = lanes; parts.size() > 1; width *= 2) {
    std::vector<llvm::Value*> joined;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      std::vector<int> all;
      for (std::size_t lane = 0; lane < 2 * width; ++lane) all.push_back(static_cast<int>(lane));
      llvm::Value* other =
          i + 1 < parts.size() ? parts[i + 1] : llvm::PoisonValue::get(parts[i]->getType());
      joined.push_back(builder_.CreateShuffleVector(parts[i], other, all));
    }
    parts = std::move(joined);
  }
  std::vector<int> picked;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t c = 0; c < channels; ++c) picked.push_back(static_cast<int>(c * lanes + lane));
  }
  llvm::Value* value = builder_.CreateShuffleVector(parts.front(), picked);
  const Type whole = type.with_lanes(static_cast<int>(lanes * channels));
  const BufferBinding& to = buffer(head->buffer);
  const MemoryAccess access{head->buffer, to, true,         address(to, order[0].base, true),
                            whole.lanes,  0,  head->logical};
  store_elements(access, whole, value, type.bytes());
  return channels;
}

void Emitter::statement(const ir::Store& store) {
  of_statement(store.where, [&] { make_store(store); });
}

void Emitter::make_store(const ir::Store& store) {
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
  if (store.atomic) {
    if (!type.is_scalar()) throw InternalError("an atomic store of a vector reached a back end");
    access.pointer = address(to, index);
    access.atomic = true;
    if (hooks_.on_access) hooks_.on_access(*this, access);
    builder_.CreateAtomicRMW(atomic_operation(*store.atomic, type), access.pointer, value,
                             llvm::MaybeAlign(static_cast<std::uint64_t>(bytes)),
                             llvm::AtomicOrdering::Monotonic,
                             context().getOrInsertSyncScopeID(hooks_.facts.atomic_scope));
    return;
  }
  if (type.is_scalar()) {
    access.pointer = address(to, index);
    store_elements(access, type, value, store.alignment * bytes);
    return;
  }
  const std::optional<LaneIndex> form = lane_index(index);
  if (form && form->stride == 1 && form->bases.size() == 1) {
    access.pointer = address(to, form->bases[0], /*of_vector=*/true);
    access.alignment = store.alignment * bytes;
    access.side_by_side = store.pieces && is_side_by_side(form->bases[0], type.lanes);
    store_elements(access, type, value, store.alignment * bytes);
    return;
  }
  access.checked = checked_at_once(access);
  access.count = 1;
  for_each_lane(to, index, type.lanes, [&](llvm::Value* pointer, int lane) {
    access.pointer = pointer;
    access.lane = lane;
    store_elements(access, type.element(),
                   builder_.CreateExtractElement(value, static_cast<std::uint64_t>(lane)), bytes);
  });
}

}  // namespace mica::llvm_backend
