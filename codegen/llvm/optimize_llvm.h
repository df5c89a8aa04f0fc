// The middle end: short pipelines of LLVM's function passes.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/backend.h"

namespace mica::llvm_backend {

/// GPU code: SROA, EarlyCSE, LICM, InstSimplify, SimplifyCFG, DCE on each function. Loops are
/// unrolled before LLVM sees them, but for those of mark_known_sums, and scalar arithmetic stays as
/// written.
void optimize_for_gpu(llvm::Module& module, llvm::TargetMachine& machine);

/// CPU code: the same and InstCombine, GVN and loop-invariant code motion for wide vectors; of Checked
/// accesses, whose many blocks would take these passes minutes, only SROA, EarlyCSE, SimplifyCFG and
/// DCE.
void optimize_for_host(llvm::Module& module, llvm::TargetMachine& machine, Accesses accesses);

/// In a build with the address sanitizer: CPU code, too, ends the process with a report at the first
/// access outside the arrays it was given, allocated or keeps in its frame. Else nothing.
void guard_addresses(llvm::Module& module, llvm::TargetMachine& machine);

/// Throws InternalError with LLVM's complaint when the module is malformed.
void check_module(const llvm::Module& module);

}  // namespace mica::llvm_backend
