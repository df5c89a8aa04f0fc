// The functions of the CUDA driver that exported pipelines use, as runtime/cuda/cuda_driver.h declares
// them, loaded when a pipeline first runs.
#pragma once

#include "runtime/export/run.h"

typedef unsigned long long Address;  // CUdeviceptr
typedef void* Handle;                // of a context, stream, module, function or linker

enum {
  CUDA_INVALID_IMAGE = 200,
  CUDA_NO_BINARY_FOR_GPU = 209,
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_LOCAL_BYTES = 3, /* CUfunction_attribute */
  CUDA_MAX_DYNAMIC_SHARED_BYTES = 8,
  CUDA_INPUT_PTX = 1, /* CUjitInputType */
  CUDA_ERROR_LOG = 5, /* CUjit_option: buffer, then its bytes */
  CUDA_ERROR_LOG_BYTES = 6,
  CUDA_OPTIMIZATION_LEVEL = 7, /* CUjit_option: 0 to 4 */
  CUDA_GENERATE_LINE_INFO = 13 /* CUjit_option: 1 */
};

#define CUDA_REQUIRED(X)                                                                           \
  X(cuInit, (unsigned))                                                                            \
  X(cuGetErrorName, (int, const char**))                                                           \
  X(cuGetErrorString, (int, const char**))                                                         \
  X(cuDeviceGet, (int*, int))                                                                      \
  X(cuDevicePrimaryCtxRetain, (Handle*, int))                                                      \
  X(cuCtxGetCurrent, (Handle*))                                                                    \
  X(cuCtxPushCurrent_v2, (Handle))                                                                 \
  X(cuCtxPopCurrent_v2, (Handle*))                                                                 \
  X(cuStreamSynchronize, (Handle))                                                                 \
  X(cuMemAlloc_v2, (Address*, size_t))                                                             \
  X(cuMemFree_v2, (Address))                                                                       \
  X(cuMemcpyHtoDAsync_v2, (Address, const void*, size_t, Handle))                                  \
  X(cuMemcpyDtoHAsync_v2, (void*, Address, size_t, Handle))                                        \
  X(cuModuleLoadData, (Handle*, const void*))                                                      \
  X(cuModuleUnload, (Handle))                                                                      \
  X(cuModuleGetFunction, (Handle*, Handle, const char*))                                           \
  X(cuFuncGetAttribute, (int*, int, Handle))                                                       \
  X(cuFuncSetAttribute, (Handle, int, int))                                                        \
  X(cuLinkCreate_v2, (unsigned, int*, void**, Handle*))                                            \
  X(cuLinkAddData_v2, (Handle, int, void*, size_t, const char*, unsigned, int*, void**))           \
  X(cuLinkComplete, (Handle, void**, size_t*))                                                     \
  X(cuLinkDestroy, (Handle))                                                                       \
  X(cuLaunchKernel, (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                     Handle, void**, void**))

// Of newer drivers; null where there is none.
#define CUDA_OPTIONAL(X)                                         \
  X(cuMemAllocAsync, (Address*, size_t, Handle)) /* CUDA 11.2 */ \
  X(cuMemFreeAsync, (Address, Handle))                           \
  X(cuCtxGetId, (Handle, unsigned long long*)) /* CUDA 12.0 */

typedef struct Driver {
#define CUDA_MEMBER(name, parameters) int(*name) parameters;
  CUDA_REQUIRED(CUDA_MEMBER)
  CUDA_OPTIONAL(CUDA_MEMBER)
#undef CUDA_MEMBER
} Driver;

// The driver of this process, from the path in MICA_LIBCUDA or else libcuda.so.1; null, and FAIL has
// said why, where there is none.
const Driver* MICA_RUNTIME(driver)(void);

// FAIL with the driver's name and text of the error `result` of `call`; `detail` says what it was about.
int MICA_RUNTIME(driver_error)(const char* call, int result, const char* detail);

// The kernel of a launch of the variant, loaded for `context` by the first call; null after an error.
Handle MICA_RUNTIME(kernel_of)(const Pipeline* pipeline, const Variant* variant, const Launch* launch,
                               Handle context);
