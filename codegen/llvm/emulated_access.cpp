// Descriptions and checks of an emulated thread's accesses.
#include <algorithm>

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/llvm/emulated_thread_llvm.h"
#include "dsl/expr/limits.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;

}  // namespace

int ThreadFunction::parameter_index(const std::string& name) const {
  for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
    if (kernel_.params[i].is_pointer && kernel_.params[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

EmulatedAccess ThreadFunction::describe(const MemoryAccess& a) const {
  EmulatedAccess access;
  access.buffer = a.buffer;
  access.is_store = a.is_store;
  access.is_atomic = a.atomic;
  access.element_bytes = a.binding.type.bytes();
  access.count = a.count;
  access.alignment = a.alignment;
  const auto extents = extents_.find(a.buffer);
  if (extents == extents_.end()) {
    access.memory = EmulatedAccess::Memory::Global;
    access.parameter = parameter_index(a.buffer);
    return access;
  }
  access.extents = extents->second;
  access.memory = EmulatedAccess::Memory::Private;
  if (a.binding.memory != MemoryType::Shared) return access;
  access.memory = EmulatedAccess::Memory::Shared;
  const auto slot = std::find_if(layout_.begin(), layout_.end(),
                                 [&](const ir::SharedSlot& s) { return s.buffer == a.buffer; });
  access.shared_begin = static_cast<std::size_t>(slot->offset);
  access.shared_end = static_cast<std::size_t>(slot->offset + slot->bytes);
  return access;
}

std::uint32_t ThreadFunction::add_access(EmulatedAccess access) {
  result_.accesses.push_back(std::move(access));
  return static_cast<std::uint32_t>(result_.accesses.size() - 1);
}

/// Coordinates of one lane as i64.
ThreadFunction::Values ThreadFunction::coordinates(Emitter& emitter, const MemoryAccess& a, int lane) {
  Builder& b = emitter.builder();
  Values result;
  for (const Expr& e : a.logical) {
    Value* v = emitter.emit(e);
    if (!e.type().is_scalar()) v = b.CreateExtractElement(v, static_cast<std::uint64_t>(lane));
    result.push_back(b.CreateSExt(v, b.getInt64Ty()));
  }
  return result;
}

/// True where all coordinates lie in the array; null when nothing is known about it.
Value* ThreadFunction::in_range(Emitter& emitter, const EmulatedAccess& access, const Values& at) {
  Builder& b = emitter.builder();
  Value* all = nullptr;
  for (std::size_t d = 0; d < at.size(); ++d) {
    Value* offset = at[d];
    Value* extent = nullptr;
    if (access.memory != EmulatedAccess::Memory::Global) {
      if (d >= access.extents.size()) continue;
      extent = b.getInt64(static_cast<std::uint64_t>(access.extents[d]));
    } else {
      const std::string dimension = "." + std::to_string(d);
      Value* min = emitter.find(access.buffer + ".min" + dimension);
      extent = emitter.find(access.buffer + ".extent" + dimension);
      if (min == nullptr || extent == nullptr) continue;
      offset = b.CreateSub(offset, b.CreateSExt(min, b.getInt64Ty()));
      extent = b.CreateSExt(extent, b.getInt64Ty());
    }
    Value* inside = b.CreateICmpULT(offset, extent);
    all = all == nullptr ? inside : b.CreateAnd(all, inside);
  }
  return all;
}

/// Goes on in a new block where `good` holds, in the returned one otherwise.
llvm::BasicBlock* ThreadFunction::unless(Emitter& emitter, Value* good) {
  llvm::BasicBlock* next = block("checked");
  llvm::BasicBlock* bad = block("fault");
  emitter.builder().CreateCondBr(good, next, bad,
                                 llvm::MDBuilder(context()).createBranchWeights(1 << 20, 1));
  emitter.builder().SetInsertPoint(next);
  return bad;
}

void ThreadFunction::append_coordinates(Builder& b, const Values& at, Values& arguments) {
  for (std::size_t d = 0; d < Coordinates().size(); ++d) {
    arguments.push_back(d < at.size() ? at[d] : b.getInt64(0));
  }
}

void ThreadFunction::check_range(Emitter& emitter, std::uint32_t access, const Values& at) {
  Value* inside = in_range(emitter, result_.accesses[access], at);
  if (inside == nullptr) return;
  Builder b(unless(emitter, inside));
  Values arguments = {b.getInt32(access), argument(kThread)};
  append_coordinates(b, at, arguments);
  call(b, "emulator_out_of_range", b.getVoidTy(), std::move(arguments));
  b.CreateBr(end_);
}

/// A GPU faults where a vector's address is no multiple of its bytes; the host does not.
void ThreadFunction::check_alignment(Emitter& emitter, std::uint32_t access, Value* pointer,
                                     const Values& at) {
  const EmulatedAccess& a = result_.accesses[access];
  if (a.alignment <= a.element_bytes) return;
  Builder& here = emitter.builder();
  Value* address = here.CreatePtrToInt(pointer, here.getInt64Ty());
  Value* beyond = here.CreateAnd(address, static_cast<std::uint64_t>(a.alignment - 1));
  Builder b(unless(emitter, here.CreateICmpEQ(beyond, here.getInt64(0))));
  Values arguments = {b.getInt32(access), argument(kThread)};
  append_coordinates(b, at, arguments);
  call(b, "emulator_misaligned", b.getVoidTy(), std::move(arguments));
  b.CreateBr(end_);
}

void ThreadFunction::check(Emitter& emitter, const MemoryAccess& a) {
  const std::uint32_t index = add_access(describe(a));
  const EmulatedAccess access = result_.accesses[index];  // coordinates may add others
  Builder& b = emitter.builder();
  const Values first = coordinates(emitter, a, a.lane);
  check_range(emitter, index, first);
  if (a.count > 1) check_range(emitter, index, coordinates(emitter, a, a.lane + a.count - 1));
  check_alignment(emitter, index, a.pointer, first);

  const char* function = nullptr;
  switch (access.memory) {
    case EmulatedAccess::Memory::Private: return;
    case EmulatedAccess::Memory::Shared: function = "emulator_check_shared"; break;
    case EmulatedAccess::Memory::Global:
      if (!is_watched(result_.parameters[static_cast<std::size_t>(access.parameter)])) return;
      function = "emulator_check_global";
      break;
  }
  Value* good = call(b, function, b.getInt1Ty(), {a.pointer, b.getInt32(index), argument(kThread)});
  Builder at(unless(emitter, good));
  Values arguments = {at.getInt32(index), argument(kThread)};
  append_coordinates(at, first, arguments);
  Value* tolerated = call(at, "emulator_conflict", at.getInt1Ty(), std::move(arguments));
  at.CreateCondBr(tolerated, b.GetInsertBlock(), end_);
}

}  // namespace mica::llvm_backend
