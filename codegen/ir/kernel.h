// Lowered code ready for a back end: kernels and the plan that launches them.
#pragma once

#include <string>
#include <vector>

#include "codegen/ir/stmt.h"
#include "runtime/run/plan.h"

namespace mica::ir {

/// Of a register of a GPU's thread, and the most of them that a thread has (CUDA C++ Programming Guide,
/// "Compute Capabilities").
inline constexpr int kRegisterBytes = 4, kMostRegisters = 255;
/// That one element takes.
inline int registers_of(Type element) { return (element.bytes() + kRegisterBytes - 1) / kRegisterBytes; }

/// One parameter of a kernel; order and names match PlanLaunch::arguments.
struct KernelParam {
  std::string name;         ///< VarRef name of a scalar, buffer name of a pointer
  Type type;                ///< scalar's or element's type
  bool is_pointer = false;  ///< pointer to the element from which indices count, KernelArgument::at
  bool is_written = false;
  /// Non-coherent loads wanted (pointer parameters that the kernel never writes qualify anyway).
  bool read_only = false;
  /// Loads go through the GPU's texture unit: a pointer parameter of f32, i32 or u32 elements that the
  /// kernel never writes. On a GPU its argument is a texture object, and the i64 parameter
  /// texture_origin(name), which every such kernel has, says which of the texture's elements is the one
  /// from which indices count. Elsewhere it is a pointer like others, and the origin means nothing.
  bool texture = false;
  /// The array may be the same memory as another parameter that is shared.
  bool shared = false;
};
/// "<name>.texture.origin"
std::string texture_origin(const std::string& name);
/// Can arrays of `type` be read as textures?
bool has_textures(Type type);

/// The i64 parameter of kernels that print on the CPU: the address of the run's LineSink
/// (runtime/run/print_line.h).
inline constexpr const char* kPrintLines = "print.lines";

/// One loop nest at root. Host kernels keep their loops (Parallel loops become calls of the thread
/// pool); GPU kernels are the code of one thread: no GpuBlock or GpuThread loops are left, axis
/// names (kGpuAxisNames) are free VarRefs, Allocates of Shared memory stand at the top.
struct Kernel {
  std::string name;
  bool on_device = false;
  std::vector<KernelParam> params;
  Stmt body;
  int block[3] = {1, 1, 1};
  int min_blocks = 0;     ///< nvvm.minctasm, 0: none
  int max_registers = 0;  ///< nvvm.maxnreg, 0: none
  /// Blocks that run together and may reach each other's shared memory (a cluster; CUDA C++ Programming
  /// Guide, "Thread Block Clusters"), at most 8. The grid's sizes must be multiples.
  int cluster[3] = {1, 1, 1};
  bool overlapped = false;  ///< as Variant::overlapped
};

/// The blocks of a cluster of the kernel's; 1: there are no clusters.
int cluster_blocks(const Kernel& kernel);
/// The most blocks of a cluster that every GPU with clusters runs.
inline constexpr int kMostClusterBlocks = 8;

/// Elements of memory that an Allocate with constant extents needs: the largest extent times
/// stride, so that whole padded rows belong to it. Without strides (before flatten_storage) the
/// extents' product; never more than kMostElements. InternalError if an extent is no constant.
std::int64_t element_count(const Allocate& allocate);
/// More than any memory holds, and few enough that bytes of them are counted in 64 bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

/// One Shared Allocate of a kernel: its place in the block's shared memory, in bytes.
struct SharedSlot {
  std::string buffer;
  std::int64_t offset = 0, bytes = 0;
};
/// The Shared Allocates of `kernel` in the order they are met, each at the next multiple of 16
/// bytes. Memory of one is never reused for another.
std::vector<SharedSlot> shared_layout(const Kernel& kernel);
/// Bytes of the Stack and Register Allocates in `body` together: what each thread of a kernel keeps for
/// itself, in registers or in memory of its own.
std::int64_t thread_bytes(const Stmt& body);
/// Bytes of shared memory a block needs, a multiple of 16: PlanLaunch::shared_bytes.
std::int64_t shared_bytes(const Kernel& kernel);

struct Module {
  std::string name;
  std::vector<Kernel> kernels;
  Plan plan;
};

}  // namespace mica::ir
