// The LLVM back ends' entry points. No LLVM type appears here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/kernel.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/run/device.h"

namespace mica::llvm_backend {

/// PTX of all device kernels of `module`, entry points named as ptx_names says. The same input gives the
/// same text. Shared memory is dynamic: ir::shared_bytes(kernel) bytes at a launch.
///  sm           compute capability times ten: 80 ... 121; a number without a target of its own
///               gets the nearest one below; UserError below 80
///  ptx_version  times ten: 80 is PTX 8.0; 0: the lowest that serves `sm` and the kernels; UserError if
///               too low, or none that LLVM writes
/// Bulk copies need sm 90 and PTX 8.0; UserError below.
/// InternalError when the code is not that of level BackEnd (codegen/ir/verify.h) or two kernels
/// have one name.
std::string emit_ptx(const ir::Module& module, int sm, int ptx_version);

/// The newest PTX version (times ten) that LLVM writes, of those up to `at_most`; 0 if there is none.
int newest_ptx_version(int at_most);

/// The PTX identifiers of a module's device kernels: letters, digits, _ and $ stay, each other character
/// becomes _; a leading digit gets a _ before it, and a name that is taken a number after it.
std::vector<std::string> ptx_names(const std::vector<std::string>& kernels);
std::vector<std::string> ptx_names(const ir::Module& module);
/// That of the only kernel of a module.
std::string ptx_name(const std::string& kernel);

using LoadedKernels = std::vector<std::pair<std::string, std::shared_ptr<LoadedKernel>>>;

/// Machine code for this CPU through ORC for the host kernels of `module`, ready to launch.
/// Baseline uses only what every 64-bit CPU of this family has; its results are the same.
enum class HostCpu : std::uint8_t { Native, Baseline };
/// Checked code judges every access before it is made, by indices and boxes that the module has (as
/// lowered for Target::host_checked()); launch() throws AccessError (runtime/cpu/checked_run.h).
enum class Accesses : std::uint8_t { Plain, Checked };
/// Machine code that `cache` holds for these kernels, this CPU, this binary and such accesses is taken;
/// what is made is stored there. Several threads make it, those of Parallel loops; it is the same
/// however many they are. `depth`: of the expressions, as Pipeline::depth.
LoadedKernels load_host_kernels(const ir::Module& module, HostCpu cpu = HostCpu::Native,
                                const KernelCache& cache = KernelCache({}), std::int64_t depth = 1,
                                Accesses accesses = Accesses::Plain);

/// The device kernels on the CPU, each thread on a stack of its own, with every access checked; launch()
/// throws EmulatorError with the kernel, array, coordinates and threads of a race, an uninitialised read
/// or an index out of range.
LoadedKernels load_emulated_kernels(const ir::Module& module);

/// LLVM's version and the build identifier of the binary that holds Mica, for cache keys.
std::string version();
/// The kind of this CPU as LLVM calls it: "znver4".
std::string host_cpu_name();

}  // namespace mica::llvm_backend
