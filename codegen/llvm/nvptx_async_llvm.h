// What NVIDIA GPUs have beyond loads, stores and barriers: copies that go on while the code does,
// exchange inside a warp, textures, and accesses that pass by the caches.
#pragma once

#include "codegen/ir/kernel.h"
#include "codegen/llvm/target_hooks_llvm.h"

namespace mica::llvm_backend {

/// The least compute capability (times ten) and PTX version (times ten) for bulk copies.
inline constexpr int kBulkSm = 90;
inline constexpr int kBulkPtx = 80;

/// True if the kernel has BulkInit, BulkExpect, BulkCopy or BulkWait.
bool has_bulk_copies(const ir::Kernel& kernel);

/// `operation`, such as "st.global", of a piece of at most 16 bytes; where `condition` (i1) holds,
/// unless it is null.
void store_global(Emitter& emitter, const std::string& operation, llvm::Value* condition,
                  llvm::Value* pointer, llvm::Value* value);

/// Sets the hooks for streamed accesses, textures, warp shuffles, asynchronous and bulk copies, and
/// fences.
void add_async_hooks(TargetHooks& hooks);

}  // namespace mica::llvm_backend
