// Mica's own declarations of the CUDA driver against a toolkit's cuda.h, where the build finds one.
#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#include "runtime/cuda/cuda_driver.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

// cuda.h maps this name to one that only drivers for CUDA 13 export; the older one keeps its meaning.
#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float*, CUevent, CUevent);

namespace mica {
namespace {

/// Are values of the two types passed alike? Handles point at types of different names.
template <typename Ours, typename Theirs>
constexpr bool kSameArgument =
    sizeof(Ours) == sizeof(Theirs) &&
    alignof(Ours) == alignof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    (std::is_pointer_v<Ours> || (!std::is_class_v<Ours> && !std::is_class_v<Theirs>)) &&
    std::is_const_v<std::remove_pointer_t<Ours>> == std::is_const_v<std::remove_pointer_t<Theirs>>;

template <typename Ours, typename Theirs>
constexpr bool kSameCall = false;
template <typename... Ours, typename Result, typename... Theirs>
constexpr bool kSameCall<cuda::Function<Ours...>, Result(Theirs...)> = [] {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
    return false;
  } else {
    return sizeof(Result) == sizeof(cuda::Result) && (kSameArgument<Ours, Theirs> && ...);
  }
}();

TEST(CudaDeclarations, OfFunctionsAreThoseOfTheToolkit) {
#define MICA_COMPARE(function, ...) \
  EXPECT_TRUE((kSameCall<decltype(cuda::Driver::function), decltype(::function)>)) << #function;
  MICA_CUDA_REQUIRED_FUNCTIONS(MICA_COMPARE)
#if CUDA_VERSION >= 12040
  MICA_CUDA_OPTIONAL_FUNCTIONS(MICA_COMPARE)
#endif
#undef MICA_COMPARE
}

TEST(CudaDeclarations, OfResultsAreThoseOfTheToolkit) {
  EXPECT_EQ(int{cuda::kSuccess}, CUDA_SUCCESS);
  EXPECT_EQ(int{cuda::kErrorInvalidValue}, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(int{cuda::kErrorOutOfMemory}, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(int{cuda::kErrorNoDevice}, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(int{cuda::kErrorInvalidDevice}, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(int{cuda::kErrorInvalidImage}, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(int{cuda::kErrorInvalidContext}, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(int{cuda::kErrorNoBinaryForGpu}, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(int{cuda::kErrorInvalidPtx}, CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(int{cuda::kErrorJitCompilerNotFound}, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_EQ(int{cuda::kErrorUnsupportedPtxVersion}, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(int{cuda::kErrorSharedObjectInitFailed}, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
  EXPECT_EQ(int{cuda::kErrorInvalidHandle}, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(int{cuda::kErrorNotFound}, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(int{cuda::kErrorNotReady}, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(int{cuda::kErrorIllegalAddress}, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(int{cuda::kErrorLaunchOutOfResources}, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(int{cuda::kErrorLaunchTimeout}, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(int{cuda::kErrorAssert}, CUDA_ERROR_ASSERT);
  EXPECT_EQ(int{cuda::kErrorHardwareStackError}, CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_EQ(int{cuda::kErrorIllegalInstruction}, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(int{cuda::kErrorMisalignedAddress}, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(int{cuda::kErrorInvalidAddressSpace}, CUDA_ERROR_INVALID_ADDRESS_SPACE);
  EXPECT_EQ(int{cuda::kErrorInvalidProgramCounter}, CUDA_ERROR_INVALID_PC);
  EXPECT_EQ(int{cuda::kErrorLaunchFailed}, CUDA_ERROR_LAUNCH_FAILED);
}

TEST(CudaDeclarations, OfAttributesAndFlagsAreThoseOfTheToolkit) {
  EXPECT_EQ(int{cuda::kMaxSharedPerBlock}, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  EXPECT_EQ(int{cuda::kMultiprocessorCount}, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(int{cuda::kL2CacheBytes}, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(int{cuda::kMaxThreadsPerMultiprocessor}, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  EXPECT_EQ(int{cuda::kComputeCapabilityMajor}, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(int{cuda::kComputeCapabilityMinor}, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(int{cuda::kMaxSharedPerMultiprocessor},
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  EXPECT_EQ(int{cuda::kMaxRegistersPerMultiprocessor},
            CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  EXPECT_EQ(int{cuda::kMaxSharedPerBlockOptin}, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(int{cuda::kMaxThreadsPerBlock}, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(int{cuda::kStaticSharedBytes}, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(int{cuda::kLocalBytes}, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  EXPECT_EQ(int{cuda::kRegisters}, CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(int{cuda::kMaxDynamicSharedBytes}, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(int{cuda::kJitInfoLogBuffer}, CU_JIT_INFO_LOG_BUFFER);
  EXPECT_EQ(int{cuda::kJitInfoLogBufferBytes}, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(int{cuda::kJitErrorLogBuffer}, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(int{cuda::kJitErrorLogBufferBytes}, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(int{cuda::kJitOptimizationLevel}, CU_JIT_OPTIMIZATION_LEVEL);
  EXPECT_EQ(int{cuda::kJitInputPtx}, CU_JIT_INPUT_PTX);
  EXPECT_EQ(int{cuda::kTextureAlignment}, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  EXPECT_EQ(int{cuda::kMaxTexture1dLinearWidth}, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
  EXPECT_EQ(int{cuda::kResourceLinear}, CU_RESOURCE_TYPE_LINEAR);
  EXPECT_EQ(int{cuda::kFormatFloat}, CU_AD_FORMAT_FLOAT);
  EXPECT_EQ(int{cuda::kFormatSigned32}, CU_AD_FORMAT_SIGNED_INT32);
  EXPECT_EQ(int{cuda::kFormatUnsigned32}, CU_AD_FORMAT_UNSIGNED_INT32);
  EXPECT_EQ(int{cuda::kAddressClamp}, CU_TR_ADDRESS_MODE_CLAMP);
  EXPECT_EQ(int{cuda::kFilterPoint}, CU_TR_FILTER_MODE_POINT);
  EXPECT_EQ(unsigned{cuda::kTextureReadAsInteger}, unsigned{CU_TRSF_READ_AS_INTEGER});
  EXPECT_EQ(unsigned{cuda::kStreamDefault}, unsigned{CU_STREAM_DEFAULT});
  EXPECT_EQ(unsigned{cuda::kStreamNonBlocking}, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(unsigned{cuda::kHostPortable}, unsigned{CU_MEMHOSTALLOC_PORTABLE});
  EXPECT_EQ(int{cuda::kMemoryHost}, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(int{cuda::kMemoryDevice}, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(unsigned{cuda::kEventDefault}, unsigned{CU_EVENT_DEFAULT});
  EXPECT_EQ(unsigned{cuda::kEventDisableTiming}, unsigned{CU_EVENT_DISABLE_TIMING});
}

TEST(CudaDeclarations, OfTexturesLieInMemoryLikeThoseOfTheToolkit) {
  EXPECT_EQ(sizeof(cuda::LinearResource), sizeof(CUDA_RESOURCE_DESC));
  EXPECT_EQ(offsetof(cuda::LinearResource, linear.address),
            offsetof(CUDA_RESOURCE_DESC, res.linear.devPtr));
  EXPECT_EQ(offsetof(cuda::LinearResource, linear.format),
            offsetof(CUDA_RESOURCE_DESC, res.linear.format));
  EXPECT_EQ(offsetof(cuda::LinearResource, linear.channels),
            offsetof(CUDA_RESOURCE_DESC, res.linear.numChannels));
  EXPECT_EQ(offsetof(cuda::LinearResource, linear.bytes),
            offsetof(CUDA_RESOURCE_DESC, res.linear.sizeInBytes));
  EXPECT_EQ(offsetof(cuda::LinearResource, flags), offsetof(CUDA_RESOURCE_DESC, flags));
  EXPECT_EQ(sizeof(cuda::TextureSettings), sizeof(CUDA_TEXTURE_DESC));
  EXPECT_EQ(offsetof(cuda::TextureSettings, filter), offsetof(CUDA_TEXTURE_DESC, filterMode));
  EXPECT_EQ(offsetof(cuda::TextureSettings, flags), offsetof(CUDA_TEXTURE_DESC, flags));
  EXPECT_EQ(offsetof(cuda::TextureSettings, border), offsetof(CUDA_TEXTURE_DESC, borderColor));
}

TEST(CudaDeclarations, OfCopiesLieInMemoryLikeThoseOfTheToolkit) {
  EXPECT_EQ(sizeof(cuda::Copy2d), sizeof(CUDA_MEMCPY2D));
  EXPECT_EQ(offsetof(cuda::Copy2d, from.type), offsetof(CUDA_MEMCPY2D, srcMemoryType));
  EXPECT_EQ(offsetof(cuda::Copy2d, from.host), offsetof(CUDA_MEMCPY2D, srcHost));
  EXPECT_EQ(offsetof(cuda::Copy2d, from.device), offsetof(CUDA_MEMCPY2D, srcDevice));
  EXPECT_EQ(offsetof(cuda::Copy2d, from.pitch), offsetof(CUDA_MEMCPY2D, srcPitch));
  EXPECT_EQ(offsetof(cuda::Copy2d, to.type), offsetof(CUDA_MEMCPY2D, dstMemoryType));
  EXPECT_EQ(offsetof(cuda::Copy2d, to.host), offsetof(CUDA_MEMCPY2D, dstHost));
  EXPECT_EQ(offsetof(cuda::Copy2d, to.device), offsetof(CUDA_MEMCPY2D, dstDevice));
  EXPECT_EQ(offsetof(cuda::Copy2d, to.pitch), offsetof(CUDA_MEMCPY2D, dstPitch));
  EXPECT_EQ(offsetof(cuda::Copy2d, row_bytes), offsetof(CUDA_MEMCPY2D, WidthInBytes));
  EXPECT_EQ(offsetof(cuda::Copy2d, rows), offsetof(CUDA_MEMCPY2D, Height));
}

TEST(CudaDeclarations, NamesAreWhatTheToolkitMapsItsOwnTo) {
  // cuda.h's macros turn the plain name into the exported one.
#define MICA_TEXT_OF(name) #name
#define MICA_EXPORTED(name) MICA_TEXT_OF(name)
  EXPECT_STREQ(MICA_EXPORTED(cuMemAlloc), "cuMemAlloc_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuMemFree), "cuMemFree_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuMemGetInfo), "cuMemGetInfo_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuDeviceTotalMem), "cuDeviceTotalMem_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuCtxPushCurrent), "cuCtxPushCurrent_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuCtxPopCurrent), "cuCtxPopCurrent_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuStreamDestroy), "cuStreamDestroy_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuEventDestroy), "cuEventDestroy_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuLinkCreate), "cuLinkCreate_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuLinkAddData), "cuLinkAddData_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuMemcpyHtoDAsync), "cuMemcpyHtoDAsync_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuMemcpyDtoHAsync), "cuMemcpyDtoHAsync_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuMemcpyDtoDAsync), "cuMemcpyDtoDAsync_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuMemcpy2DAsync), "cuMemcpy2DAsync_v2");
  EXPECT_STREQ(MICA_EXPORTED(cuMemHostAlloc), "cuMemHostAlloc");
  EXPECT_STREQ(MICA_EXPORTED(cuMemFreeHost), "cuMemFreeHost");
  EXPECT_STREQ(MICA_EXPORTED(cuLaunchKernel), "cuLaunchKernel");
  EXPECT_STREQ(MICA_EXPORTED(cuStreamCreate), "cuStreamCreate");
  EXPECT_STREQ(MICA_EXPORTED(cuModuleLoadData), "cuModuleLoadData");
  EXPECT_STREQ(MICA_EXPORTED(cuLinkComplete), "cuLinkComplete");
}

}  // namespace
}  // namespace mica

#else

TEST(CudaDeclarations, AreThoseOfTheToolkit) {
  GTEST_SKIP() << "the build found no toolkit's cuda.h to compare with";
}

#endif
