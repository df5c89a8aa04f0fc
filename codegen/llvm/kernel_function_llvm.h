// The functions that hold kernels, shared by the back ends.
#pragma once

#include <string>

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/emitter_llvm.h"

namespace mica::llvm_backend {

/// One value that a function of ours takes: a scalar by value, or a buffer's base address.
struct FunctionParam {
  std::string name;
  Type type;  ///< scalar's or element's
  bool is_buffer = false;
  bool is_written = false;
  MemoryType memory = MemoryType::Heap;
  bool shared = false;  ///< maybe the same memory as another shared one
};

/// The name of a kernel's function on the CPU: none that LLVM, the C library or the runtime has.
std::string host_name(const ir::Kernel& kernel);

/// A void function of these parameters. Buffers that are not shared are distinct memory (noalias), and
/// those that are not written are readonly. `address_space` is that of buffer parameters.
llvm::Function* make_function(llvm::Module& module, const std::string& name,
                              const std::vector<FunctionParam>& params, unsigned address_space);

/// Binds the arguments of a function made by make_function, from argument `first` on, to their names.
void bind_params(Emitter& emitter, const std::vector<FunctionParam>& params, unsigned first = 0);

/// The parameters of a kernel.
std::vector<FunctionParam> params_of(const ir::Kernel& kernel);

/// Throws InternalError when the kernel breaks an invariant of level BackEnd (codegen/ir/verify.h).
void check_kernel(const ir::Kernel& kernel);

}  // namespace mica::llvm_backend
