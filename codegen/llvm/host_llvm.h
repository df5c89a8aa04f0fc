// The CPU back end: kernels as native functions.
#pragma once

#include <string>

#include <llvm/IR/Module.h>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/ops_llvm.h"

namespace mica::llvm_backend {

/// Adds to `module` a function  i64 name(void* const* arguments)  that runs the kernel; arguments[i]
/// points at the value of parameter i. The result is 0, or where memory ran out the bytes that were
/// asked for (kNoTasks for those of a parallel loop's tasks): statements that need what could not be had
/// are left out then, and all memory is given back.
///
/// Parallel loops and the outermost nest of GpuBlock loops, as one loop over all blocks, become
/// calls of mica_parallel_for with a function of their own; GpuThread and inner GpuBlock loops are
/// serial. Heap memory comes from mica_allocate; other memory is in the frame up to 256 KiB a
/// function, beyond that from mica_allocate too.
///
/// Of Checked accesses the function is  i64 name(void* const* arguments, CheckedRun* run)
/// (runtime/cpu/checked_run.h); AccessChecks has what it checks. Behind a bad access nothing of the
/// iteration is done, all memory is given back, and no other iterations begin.
void add_host_kernel(llvm::Module& module, const ir::Kernel& kernel, const TargetFacts& facts,
                     const std::string& name, Accesses accesses = Accesses::Plain);

}  // namespace mica::llvm_backend
