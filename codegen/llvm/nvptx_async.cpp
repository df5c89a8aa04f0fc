#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Operator.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/call_asm_llvm.h"
#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/nvptx_async_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;
namespace intrinsic = llvm::Intrinsic;

constexpr int kLastLane = 31;

std::uint64_t bits_of(const llvm::Type* type) { return type->getPrimitiveSizeInBits().getFixedValue(); }

Value* address_bits(Builder& b, Value* pointer) { return b.CreatePtrToInt(pointer, b.getInt64Ty()); }

// ---- streamed accesses, stores under a condition --------------------------------------------------

/// The registers of a piece of at most 16 bytes: `count` integers of `bits`, named `name` in PTX.
struct Registers {
  unsigned count = 1, bits = 32;
  const char* name = "b32";
  const char* constraint = "r";

  [[nodiscard]] llvm::Type* type(llvm::LLVMContext& context) const {
    llvm::Type* one = llvm::Type::getIntNTy(context, bits);
    return count == 1 ? one : llvm::FixedVectorType::get(one, count);
  }
  /// "{$first,$first+1}", or "$first" alone.
  [[nodiscard]] std::string operands(unsigned first) const {
    std::string list = "$" + std::to_string(first);
    if (count == 1) return list;
    for (unsigned i = 1; i < count; ++i) list += ",$" + std::to_string(first + i);
    return "{" + list + "}";
  }
  [[nodiscard]] std::string suffix() const {
    return (count == 1 ? std::string() : ".v" + std::to_string(count)) + "." + name;
  }
  [[nodiscard]] std::string constraints(const std::string& before) const {
    std::string list;
    for (unsigned i = 0; i < count; ++i) list += (i > 0 ? "," : "") + before + constraint;
    return list;
  }
};

Registers registers_of(const llvm::Type* type) {
  const auto bits = static_cast<unsigned>(bits_of(type));
  if (type->getScalarSizeInBits() == 64) return {bits / 64, 64, "b64", "l"};
  if (bits >= 32) return {bits / 32, 32, "b32", "r"};
  if (bits == 16) return {1, 16, "b16", "h"};
  return {1, 8, "b8", "h"};
}

/// ld.global.cs; with .nc where nobody writes the array, and then it may be moved.
Value* load_streamed(Emitter& emitter, const MemoryAccess& access, Value* pointer, llvm::Type* type) {
  Builder& b = emitter.builder();
  const Registers r = registers_of(type);
  llvm::Type* one = b.getIntNTy(std::max(r.bits, 16U));  // there are no 8-bit registers
  const bool read_only = access.binding.read_only;
  const std::string text = std::string("ld.global.cs") + (read_only ? ".nc" : "") + r.suffix() + " " +
                           r.operands(0) + ", [$" + std::to_string(r.count) + "];";
  llvm::Type* result = one;
  if (r.count > 1) {
    result = llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(r.count, one));
  }
  Value* loaded = call_asm(b, result, text, r.constraints("=") + ",l", {address_bits(b, pointer)},
                           /*memory=*/!read_only);
  Value* whole = loaded;
  if (r.count > 1) {
    whole = llvm::PoisonValue::get(r.type(b.getContext()));
    for (unsigned i = 0; i < r.count; ++i) {
      whole = b.CreateInsertElement(whole, b.CreateExtractValue(loaded, i), std::uint64_t{i});
    }
  }
  if (r.bits == 8) whole = b.CreateTrunc(whole, b.getInt8Ty());
  return b.CreateBitCast(whole, type);
}

// ---- textures ------------------------------------------------------------------------------------

/// The first channel of the texture's element; nobody writes it while the kernel runs.
Value* load_texture(Emitter& emitter, const BufferBinding& from, Value* index) {
  Builder& b = emitter.builder();
  intrinsic::ID id = intrinsic::nvvm_tex_unified_1d_v4f32_s32;
  if (from.type == Int(32)) id = intrinsic::nvvm_tex_unified_1d_v4s32_s32;
  if (from.type == UInt(32)) id = intrinsic::nvvm_tex_unified_1d_v4u32_s32;
  llvm::CallInst* fetched = b.CreateIntrinsic(id, {from.base, index});
  fetched->setDoesNotAccessMemory();
  return b.CreateExtractValue(fetched, 0);
}

// ---- exchange inside a warp ----------------------------------------------------------------------

/// shfl.sync of one 32-bit register; threads near the end of the warp keep their own.
Value* shuffle_register(Builder& b, Value* own, int delta) {
  const intrinsic::ID id =
      delta > 0 ? intrinsic::nvvm_shfl_sync_down_i32 : intrinsic::nvvm_shfl_sync_up_i32;
  const auto distance = static_cast<std::uint32_t>(delta > 0 ? delta : -delta);
  const auto bound = static_cast<std::uint32_t>(delta > 0 ? kLastLane : 0);
  return b.CreateIntrinsic(id, {b.getInt32(0xffffffffU), own, b.getInt32(distance), b.getInt32(bound)});
}

Value* shuffle_scalar(Builder& b, Value* own, int delta) {
  llvm::Type* type = own->getType();
  const auto bits = static_cast<unsigned>(bits_of(type));
  Value* whole = b.CreateBitCast(own, b.getIntNTy(bits));
  if (bits <= 32) {
    Value* moved = shuffle_register(b, b.CreateZExt(whole, b.getInt32Ty()), delta);
    return b.CreateBitCast(b.CreateTrunc(moved, b.getIntNTy(bits)), type);
  }
  internal_check(bits == 64, "a scalar has at most 64 bits");
  llvm::Type* pair = llvm::FixedVectorType::get(b.getInt32Ty(), 2);
  Value* halves = b.CreateBitCast(whole, pair);
  Value* result = llvm::PoisonValue::get(pair);
  for (std::uint64_t i = 0; i < 2; ++i) {
    Value* moved = shuffle_register(b, b.CreateExtractElement(halves, i), delta);
    result = b.CreateInsertElement(result, moved, i);
  }
  return b.CreateBitCast(result, type);
}

Value* warp_shuffle(Emitter& emitter, Type type, Value* own, int delta) {
  Builder& b = emitter.builder();
  if (type.is_scalar()) return shuffle_scalar(b, own, delta);
  Value* result = llvm::PoisonValue::get(own->getType());
  for (int lane = 0; lane < type.lanes; ++lane) {
    const auto i = static_cast<std::uint64_t>(lane);
    result = b.CreateInsertElement(result, shuffle_scalar(b, b.CreateExtractElement(own, i), delta), i);
  }
  return result;
}

// ---- asynchronous copies -------------------------------------------------------------------------

/// An address as PTX writes it: a register and a constant number of bytes.
struct PtxAddress {
  Value* base = nullptr;
  std::int64_t offset = 0;
};

PtxAddress address_of(Emitter& emitter, Value* pointer) {
  PtxAddress address{pointer};
  for (;;) {
    auto* step = llvm::dyn_cast<llvm::GEPOperator>(address.base);
    llvm::APInt bytes(64, 0);
    const bool constant = step != nullptr && step->hasAllConstantIndices() &&
                          step->accumulateConstantOffset(emitter.module().getDataLayout(), bytes);
    if (!constant) return address;
    address = {step->getPointerOperand(), address.offset + bytes.getSExtValue()};
  }
}

/// 16 bytes pass by the first cache; fewer bytes have no such copy. Constant offsets stand in the
/// instruction: LLVM would move `pointer + constant` out of loops, each into registers of its own.
void start_copy(Emitter& emitter, const ArrayCopy& copy) {
  if (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16) {
    throw InternalError("asynchronous copy of " + std::to_string(copy.bytes) + " bytes");
  }
  Builder& b = emitter.builder();
  const PtxAddress to = address_of(emitter, copy.to.pointer);
  const PtxAddress from = address_of(emitter, copy.from.pointer);
  call_asm(b, b.getVoidTy(),
           std::string("cp.async.") + (copy.bytes == 16 ? "cg" : "ca") + ".shared.global [$0+" +
               std::to_string(to.offset) + "], [$1+" + std::to_string(from.offset) + "], " +
               std::to_string(copy.bytes) + ";",
           "l,l", {address_bits(b, to.base), address_bits(b, from.base)}, /*memory=*/true);
}

void commit_copies(Emitter& emitter) {
  emitter.builder().CreateIntrinsic(intrinsic::nvvm_cp_async_commit_group, {});
}

void wait_for_copies(Emitter& emitter, int pending) {
  Builder& b = emitter.builder();
  b.CreateIntrinsic(intrinsic::nvvm_cp_async_wait_group, {b.getInt32(static_cast<unsigned>(pending))});
}

// ---- bulk copies ---------------------------------------------------------------------------------

/// What this thread wrote to shared memory comes before later accesses of the copy engine.
void fence_copy_engine(Emitter& emitter) {
  emitter.builder().CreateIntrinsic(intrinsic::nvvm_fence_proxy_async_shared_cta, {});
}

void bulk_init(Emitter& emitter, const BulkBarrier& first, int count) {
  constexpr std::uint64_t kBarrierBytes = 8;
  Builder& b = emitter.builder();
  for (int i = 0; i < count; ++i) {
    Value* at = b.CreateConstGEP1_64(b.getInt8Ty(), first.pointer,
                                     kBarrierBytes * static_cast<std::uint64_t>(i));
    b.CreateIntrinsic(intrinsic::nvvm_mbarrier_init_shared, {at, b.getInt32(1)});
  }
  b.CreateIntrinsic(intrinsic::nvvm_fence_mbarrier_init_release_cluster, {});
  fence_copy_engine(emitter);
}

void bulk_expect(Emitter& emitter, const BulkBarrier& barrier, Value* bytes) {
  Builder& b = emitter.builder();
  call_asm(b, b.getVoidTy(), "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "l,r",
           {address_bits(b, barrier.pointer), bytes}, /*memory=*/true);
}

void bulk_copy(Emitter& emitter, const ArrayCopy& copy, const BulkBarrier& barrier) {
  Builder& b = emitter.builder();
  const auto element = static_cast<std::uint32_t>(copy.to.binding.type.bytes());
  Value* bytes = b.CreateMul(b.CreateTrunc(copy.count, b.getInt32Ty()), b.getInt32(element));
  call_asm(b, b.getVoidTy(),
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];",
           "l,l,r,l",
           {address_bits(b, copy.to.pointer), address_bits(b, copy.from.pointer), bytes,
            address_bits(b, barrier.pointer)},
           /*memory=*/true);
}

void bulk_wait(Emitter& emitter, const BulkBarrier& barrier, Value* parity) {
  Builder& b = emitter.builder();
  call_asm(b, b.getVoidTy(),
           "{\n\t.reg .pred done;\n"
           "again:\n"
           "\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
           "\t@!done bra again;\n\t}",
           "l,r", {address_bits(b, barrier.pointer), parity}, /*memory=*/true);
}

}  // namespace

void store_global(Emitter& emitter, const std::string& operation, Value* condition, Value* pointer,
                  Value* value) {
  Builder& b = emitter.builder();
  const Registers r = registers_of(value->getType());
  Value* whole = b.CreateBitCast(value, r.type(b.getContext()));
  if (r.bits == 8) whole = b.CreateZExt(whole, b.getInt16Ty());
  std::vector<Value*> arguments = {address_bits(b, pointer)};
  for (unsigned i = 0; i < r.count; ++i) {
    arguments.push_back(r.count == 1 ? whole : b.CreateExtractElement(whole, std::uint64_t{i}));
  }
  std::string text = operation + r.suffix() + " [$0], " + r.operands(1) + ";";
  std::string constraints = "l," + r.constraints("");
  if (condition != nullptr) {
    text = "@$" + std::to_string(arguments.size()) + " " + text;
    constraints += ",b";
    arguments.push_back(condition);
  }
  call_asm(b, b.getVoidTy(), text, constraints, arguments, /*memory=*/true);
}

bool has_bulk_copies(const ir::Kernel& kernel) {
  bool found = false;
  ir::walk(
      kernel.body,
      [&](const ir::Stmt& s) {
        found = found || s.as<ir::BulkInit>() != nullptr || s.as<ir::BulkExpect>() != nullptr ||
                s.as<ir::BulkCopy>() != nullptr || s.as<ir::BulkWait>() != nullptr;
      },
      nullptr);
  return found;
}

void add_async_hooks(TargetHooks& hooks) {
  hooks.streamed_load = [](Emitter& e, const MemoryAccess& access, Value* pointer, llvm::Type* type,
                           int /*alignment*/) -> Value* {
    const bool global = access.binding.memory == MemoryType::Heap;
    return global ? load_streamed(e, access, pointer, type) : nullptr;
  };
  hooks.streamed_store = [](Emitter& e, const MemoryAccess& access, Value* pointer, Value* value,
                            int /*alignment*/) {
    const bool global = access.binding.memory == MemoryType::Heap;
    if (global) store_global(e, "st.global.cs", nullptr, pointer, value);
    return global;
  };
  hooks.store_if = [](Emitter& e, Value* condition, Value* pointer, Value* value) {
    store_global(e, "st.global", condition, pointer, value);
  };
  hooks.texture_load = load_texture;
  hooks.warp_shuffle = warp_shuffle;
  hooks.copy = start_copy;
  hooks.commit_copies = commit_copies;
  hooks.wait_for_copies = wait_for_copies;
  hooks.bulk_copy = bulk_copy;
  hooks.bulk_init = bulk_init;
  hooks.bulk_expect = bulk_expect;
  hooks.bulk_wait = bulk_wait;
  hooks.fence_copies = fence_copy_engine;
}

}  // namespace mica::llvm_backend
