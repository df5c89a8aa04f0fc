// The emulator's back end: a GPU kernel as a function that runs one thread on the CPU.
#pragma once

#include <string>
#include <vector>

#include <llvm/IR/Module.h>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/host_jit_llvm.h"
#include "runtime/emulator/emulator.h"

namespace mica::llvm_backend {

/// Adds to `module` the function `function`, an EmulatedKernel::Entry. Its threads wait in the functions
/// that it calls, so it needs a stack for each (runtime/emulator/fiber.h).
/// Every load and store is preceded by the checks of runtime/emulator/emulator.h:
///
///     coordinates outside the array    ->  emulator_out_of_range(..), end of the thread
///     an address off its alignment     ->  emulator_misaligned(..), end of the thread
///     shared or written global memory  ->  emulator_check_..(..) ? go on : emulator_conflict(..)
///
/// The result describes the kernel but for its entry and the size of its frame, which the code generator
/// tells in a DiagnosticInfoStackSize.
EmulatedKernel add_emulated_kernel(llvm::Module& module, const ir::Kernel& kernel,
                                   const TargetFacts& facts, const std::string& function);

/// What the code calls.
std::vector<RuntimeFunction> emulator_functions();

}  // namespace mica::llvm_backend
