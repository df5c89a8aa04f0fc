// The CUDA driver API, declared by hand and loaded at run time: Mica needs no CUDA toolkit.
//
// The declarations are the driver's binary interface, which NVIDIA keeps stable under these exported
// names; a test compares them with a toolkit's cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dsl/expr/diagnostics.h"

namespace mica::cuda {

using Result = int;                             ///< CUresult
using DeviceId = int;                           ///< CUdevice
using Address = unsigned long long;             ///< CUdeviceptr
using ContextHandle = struct OpaqueContext*;    ///< CUcontext
using StreamHandle = struct OpaqueStream*;      ///< CUstream
using EventHandle = struct OpaqueEvent*;        ///< CUevent
using ModuleHandle = struct OpaqueModule*;      ///< CUmodule
using FunctionHandle = struct OpaqueFunction*;  ///< CUfunction
using LinkHandle = struct OpaqueLink*;          ///< CUlinkState
using TextureHandle = unsigned long long;       ///< CUtexObject
using ResourceView = struct OpaqueView;         ///< CUDA_RESOURCE_VIEW_DESC
using GraphHandle = struct OpaqueGraph*;        ///< CUgraph
using GraphNode = struct OpaqueNode*;           ///< CUgraphNode
using GraphExec = struct OpaqueGraphExec*;      ///< CUgraphExec

/// CUresult values that Mica tells apart.
enum ResultCode : Result {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNoDevice = 100,
  kErrorInvalidDevice = 101,
  kErrorInvalidImage = 200,
  kErrorInvalidContext = 201,
  kErrorNoBinaryForGpu = 209,
  kErrorInvalidPtx = 218,
  kErrorJitCompilerNotFound = 221,
  kErrorUnsupportedPtxVersion = 222,
  kErrorSharedObjectInitFailed = 303,
  kErrorInvalidHandle = 400,
  kErrorNotFound = 500,
  kErrorNotReady = 600,
  kErrorIllegalAddress = 700,
  kErrorLaunchOutOfResources = 701,
  kErrorLaunchTimeout = 702,
  kErrorAssert = 710,
  kErrorHardwareStackError = 714,
  kErrorIllegalInstruction = 715,
  kErrorMisalignedAddress = 716,
  kErrorInvalidAddressSpace = 717,
  kErrorInvalidProgramCounter = 718,
  kErrorLaunchFailed = 719,
};

/// CUdevice_attribute.
enum DeviceAttribute : int {
  kMaxSharedPerBlock = 8,
  kTextureAlignment = 14,
  kMultiprocessorCount = 16,
  kL2CacheBytes = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kMaxTexture1dLinearWidth = 69,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kMaxSharedPerBlockOptin = 97,
};

/// CUfunction_attribute.
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kStaticSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicSharedBytes = 8,
};

/// CUjit_option; the values are passed in an array of void*.
enum JitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferBytes = 6,
  kJitOptimizationLevel = 7,
  kJitGenerateLineInfo = 13,
};

/// CUjitInputType.
enum JitInput : int { kJitInputPtx = 1 };

/// CUresourcetype, CUarray_format, CUaddress_mode, CUfilter_mode and flags of CUDA_TEXTURE_DESC.
enum ResourceType : int { kResourceLinear = 2 };
enum ArrayFormat : int { kFormatUnsigned32 = 3, kFormatSigned32 = 10, kFormatFloat = 32 };
enum AddressMode : int { kAddressClamp = 1 };
enum FilterMode : int { kFilterPoint = 0 };
enum TextureFlags : unsigned { kTextureReadAsInteger = 1 };

/// CUDA_RESOURCE_DESC for linear memory.
struct LinearResource {
  int type = kResourceLinear;
  struct {
    Address address = 0;
    int format = kFormatFloat;
    unsigned channels = 1;
    std::size_t bytes = 0;
    int unused[26] = {};  ///< of the other types of resources
  } linear;
  unsigned flags = 0;
};
/// CUDA_TEXTURE_DESC.
struct TextureSettings {
  int address_modes[3] = {kAddressClamp, kAddressClamp, kAddressClamp};
  int filter = kFilterPoint;
  unsigned flags = 0;
  unsigned max_anisotropy = 0;
  int mipmap_filter = kFilterPoint;
  float mipmap_bias = 0, mipmap_min = 0, mipmap_max = 0;
  float border[4] = {};
  int unused[12] = {};
};

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  FunctionHandle function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;  ///< CUkernel, in place of `function`
  ContextHandle context = nullptr;
};
/// CUgraphEdgeData, and the values of its members that Mica uses: kernel `to` may be launched once all
/// blocks of kernel `from` have said that it may, and itself waits for what they wrote.
struct GraphEdge {
  unsigned char from_port = 0, to_port = 0, type = 0;
  unsigned char unused[5] = {};
};
inline constexpr unsigned char kPortProgrammatic = 1, kDependencyProgrammatic = 1;

/// CUmemorytype.
enum CopyMemory : int { kMemoryHost = 1, kMemoryDevice = 2 };
/// One side of a CUDA_MEMCPY2D, whose address is `host` or `device` as `type` says.
template <typename HostPointer>
struct CopySide {
  std::size_t x_bytes = 0, y = 0;  ///< where the copy begins
  int type = kMemoryHost;
  HostPointer host = nullptr;
  Address device = 0;
  void* array = nullptr;  ///< CUarray
  std::size_t pitch = 0;  ///< bytes from row to row
};
/// CUDA_MEMCPY2D.
struct Copy2d {
  CopySide<const void*> from;
  CopySide<void*> to;
  std::size_t row_bytes = 0, rows = 0;
};
/// The largest pitch of a Copy2d, in bytes (CU_DEVICE_ATTRIBUTE_MAX_PITCH of every GPU since sm_20).
inline constexpr std::size_t kMostPitch = 0x7fffffff;

/// CUstream_flags, CUevent_flags, CU_MEMHOSTALLOC_*.
enum StreamFlags : unsigned { kStreamDefault = 0, kStreamNonBlocking = 1 };
enum EventFlags : unsigned { kEventDefault = 0, kEventDisableTiming = 2 };
enum HostMemoryFlags : unsigned { kHostPortable = 1 };

// The driver's functions by exported name and parameters. All return a Result. The suffix _v2 is part
// of the exported name; cuda.h hides it behind a macro.

/// Functions that Mica cannot do without; every driver since CUDA 11.0 has them.
#define MICA_CUDA_REQUIRED_FUNCTIONS(X)                                                         \
  X(cuInit, unsigned)                                                                           \
  X(cuDriverGetVersion, int*)                                                                   \
  X(cuGetErrorName, Result, const char**)                                                       \
  X(cuGetErrorString, Result, const char**)                                                     \
  X(cuDeviceGetCount, int*)                                                                     \
  X(cuDeviceGet, DeviceId*, int)                                                                \
  X(cuDeviceGetName, char*, int, DeviceId)                                                      \
  X(cuDeviceTotalMem_v2, std::size_t*, DeviceId)                                                \
  X(cuDeviceGetAttribute, int*, int, DeviceId)                                                  \
  X(cuDevicePrimaryCtxRetain, ContextHandle*, DeviceId)                                         \
  X(cuDevicePrimaryCtxRelease_v2, DeviceId)                                                     \
  X(cuCtxGetCurrent, ContextHandle*)                                                            \
  X(cuCtxGetDevice, DeviceId*)                                                                  \
  X(cuCtxPushCurrent_v2, ContextHandle)                                                         \
  X(cuCtxPopCurrent_v2, ContextHandle*)                                                         \
  X(cuCtxSynchronize)                                                                           \
  X(cuStreamCreate, StreamHandle*, unsigned)                                                    \
  X(cuStreamDestroy_v2, StreamHandle)                                                           \
  X(cuStreamSynchronize, StreamHandle)                                                          \
  X(cuStreamQuery, StreamHandle)                                                                \
  X(cuStreamWaitEvent, StreamHandle, EventHandle, unsigned)                                     \
  X(cuEventCreate, EventHandle*, unsigned)                                                      \
  X(cuEventDestroy_v2, EventHandle)                                                             \
  X(cuEventRecord, EventHandle, StreamHandle)                                                   \
  X(cuEventQuery, EventHandle)                                                                  \
  X(cuEventSynchronize, EventHandle)                                                            \
  X(cuEventElapsedTime, float*, EventHandle, EventHandle)                                       \
  X(cuMemAlloc_v2, Address*, std::size_t)                                                       \
  X(cuMemFree_v2, Address)                                                                      \
  X(cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                                              \
  X(cuMemFreeHost, void*)                                                                       \
  X(cuMemcpy2DAsync_v2, const Copy2d*, StreamHandle)                                            \
  X(cuMemcpyHtoDAsync_v2, Address, const void*, std::size_t, StreamHandle)                      \
  X(cuMemcpyDtoHAsync_v2, void*, Address, std::size_t, StreamHandle)                            \
  X(cuMemcpyDtoDAsync_v2, Address, Address, std::size_t, StreamHandle)                          \
  X(cuModuleLoadData, ModuleHandle*, const void*)                                               \
  X(cuModuleUnload, ModuleHandle)                                                               \
  X(cuModuleGetFunction, FunctionHandle*, ModuleHandle, const char*)                            \
  X(cuFuncGetAttribute, int*, int, FunctionHandle)                                              \
  X(cuFuncSetAttribute, FunctionHandle, int, int)                                               \
  X(cuLinkCreate_v2, unsigned, int*, void**, LinkHandle*)                                       \
  X(cuLinkAddData_v2, LinkHandle, int, void*, std::size_t, const char*, unsigned, int*, void**) \
  X(cuLinkComplete, LinkHandle, void**, std::size_t*)                                           \
  X(cuLinkDestroy, LinkHandle)                                                                  \
  X(cuTexObjectCreate, TextureHandle*, const LinearResource*, const TextureSettings*,           \
    const ResourceView*)                                                                        \
  X(cuTexObjectDestroy, TextureHandle)                                                          \
  X(cuLaunchKernel, FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    unsigned, StreamHandle, void**, void**)

/// Functions of newer drivers; ask Function::available() before a call.
#define MICA_CUDA_OPTIONAL_FUNCTIONS(X)                                                           \
  X(cuFuncGetParamInfo, FunctionHandle, std::size_t, std::size_t*, std::size_t*) /* CUDA 12.4 */  \
  X(cuGraphCreate, GraphHandle*, unsigned)                                       /* CUDA 10.0 */  \
  X(cuGraphDestroy, GraphHandle)                                                                  \
  X(cuGraphAddKernelNode_v2, GraphNode*, GraphHandle, const GraphNode*, std::size_t,              \
    const KernelNode*) /* CUDA 12.0 */                                                            \
  X(cuGraphAddDependencies_v2, GraphHandle, const GraphNode*, const GraphNode*, const GraphEdge*, \
    std::size_t)                                                                /* CUDA 12.3 */   \
  X(cuGraphInstantiateWithFlags, GraphExec*, GraphHandle, unsigned long long)   /* CUDA 11.4 */   \
  X(cuGraphExecKernelNodeSetParams_v2, GraphExec, GraphNode, const KernelNode*) /* CUDA 12.0 */   \
  X(cuGraphLaunch, GraphExec, StreamHandle)                                                       \
  X(cuGraphExecDestroy, GraphExec)

/// One function of the driver and the name it is exported under.
template <typename... Parameters>
struct Function {
  const char* name;
  Result (*address)(Parameters...) = nullptr;

  [[nodiscard]] bool available() const { return address != nullptr; }
  Result operator()(Parameters... arguments) const { return address(arguments...); }
};

/// The driver's functions as loaded from one library. It is immutable and used by all threads.
class Driver {
 public:
  /// Loads the library and calls cuInit. DeviceError when the library or a required function is
  /// missing ("dlopen", "dlsym") or cuInit fails.
  explicit Driver(const std::string& library_path);
  /// The library stays loaded: threads and exit handlers of the driver's may still run.
  ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

#define MICA_CUDA_DECLARE(function, ...) Function<__VA_ARGS__> function{#function};
  MICA_CUDA_REQUIRED_FUNCTIONS(MICA_CUDA_DECLARE)
  MICA_CUDA_OPTIONAL_FUNCTIONS(MICA_CUDA_DECLARE)
#undef MICA_CUDA_DECLARE

  /// 1000 * major + 10 * minor of the newest CUDA that the driver serves: 12080 is 12.8.
  [[nodiscard]] int version() const { return version_; }

  /// Calls a function; DeviceError with its name when it fails.
  template <typename... Parameters, typename... Arguments>
  void call(const Function<Parameters...>& function, Arguments... arguments) const {
    if (const Result result = function(arguments...); result != kSuccess) {
      throw error(function.name, result);
    }
  }

  /// The error for a call that returned `result`: the driver's name and text for it, `detail` in
  /// brackets, and what follows from it where that is known.
  [[nodiscard]] DeviceError error(const char* call, Result result, const std::string& detail = {}) const;

 private:
  int version_ = 0;
};

/// The driver of this process, loaded on first use from the path in the environment variable
/// MICA_LIBCUDA or else from libcuda.so.1. A failure is kept too: every call throws its DeviceError.
std::shared_ptr<const Driver> process_driver();

/// "12.8" for 12080.
std::string version_text(int version);

/// "1,234,567 bytes", or KiB and MiB from 64 of them on: "4,096 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace mica::cuda
