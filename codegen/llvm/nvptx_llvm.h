// The NVIDIA back end: kernels as functions of LLVM's NVPTX target.
#pragma once

#include <string>

#include <llvm/IR/Module.h>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/source_lines_llvm.h"

namespace mica::llvm_backend {

/// LLVM's address spaces of NVIDIA memory.
inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedSpace = 3;

/// The least compute capability (times ten) and PTX version (times ten) that have clusters.
inline constexpr int kClusterSm = 90;
inline constexpr int kClusterPtx = 80;

/// The least compute capability (times ten) whose kernels may start before the one ahead has ended.
inline constexpr int kOverlapSm = 90;

/// Adds the entry function `name` of a device kernel for compute capability `sm` to `module`. An
/// overlapped one, from kOverlapSm on, lets the next kernel of a graph start as soon as all of its own
/// blocks have, and waits for what the kernel ahead wrote, before it does anything else.
/// Pointers are global addresses; nvvm.maxntid is always set, nvvm.minctasm and nvvm.maxnreg where
/// the kernel asks for them; Shared Allocates lie in one dynamic array as ir::shared_layout says;
/// Stack and Register Allocates are frame memory, which SROA turns into registers.
/// Its code gets `lines`, where they are not null.
void add_nvptx_kernel(llvm::Module& module, const ir::Kernel& kernel, const std::string& name, int sm,
                      SourceLines* lines = nullptr);

}  // namespace mica::llvm_backend
