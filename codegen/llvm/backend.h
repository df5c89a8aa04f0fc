// The LLVM back ends' entry points. No LLVM type appears here.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/kernel.h"
#include "runtime/device.h"

namespace mica::llvm_backend {

/// PTX of all device kernels of `module` (each an entry point of its own name). The same input
/// gives the same text.
///  sm           compute capability times ten: 80 ... 120
///  ptx_version  times ten: 80 is PTX 8.0; 0: the lowest that serves `sm`
std::string emit_ptx(const ir::Module& module, int sm, int ptx_version);

/// Machine code for this CPU through ORC for the host kernels of `module`, ready to launch.
using LoadedKernels = std::vector<std::pair<std::string, std::shared_ptr<LoadedKernel>>>;
LoadedKernels load_host_kernels(const ir::Module& module);

/// The device kernels as coroutines on the CPU with every access checked; launch() throws UserError
/// or InternalError that names the race, the uninitialised read or the index out of range.
LoadedKernels load_emulated_kernels(const ir::Module& module);

/// LLVM's version and this library's build, for cache keys.
std::string version();

}  // namespace mica::llvm_backend
