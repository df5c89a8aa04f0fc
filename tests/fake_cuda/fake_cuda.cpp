// Driver functions for devices, contexts, streams, events and memory. Code is in fake_code.cpp.
#include <cstring>
#include <string>
#include <utility>

#include "tests/fake_cuda/fake_state.h"

namespace {

using namespace fakecuda;

/// The context's handle is the address of its Context.
cuda::ContextHandle handle_of(Context* context) {
  return reinterpret_cast<cuda::ContextHandle>(context);
}

/// Is it a default stream or a stream of the current context?
bool usable(cuda::StreamHandle handle) {
  if (is_default_stream(handle)) return true;
  const Stream* const stream = find(state().streams, handle);
  return stream != nullptr && stream->context == context_stack().back();
}

constexpr int kMostTextureElements = 1 << 16;
constexpr std::size_t kTextureAlignment = 512;  // bytes

struct ErrorText {
  Result result;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {cuda::kErrorInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cuda::kErrorOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {cuda::kErrorNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {cuda::kErrorInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {cuda::kErrorInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {cuda::kErrorInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {cuda::kErrorNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available"},
    {cuda::kErrorInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {cuda::kErrorUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cuda::kErrorJitCompilerNotFound, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
     "PTX JIT compiler library not found"},
    {cuda::kErrorInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {cuda::kErrorNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {cuda::kErrorNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {cuda::kErrorIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {cuda::kErrorLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
};

const ErrorText* text_of(Result result) {
  for (const ErrorText& error : kErrors) {
    if (error.result == result) return &error;
  }
  return nullptr;
}

Result copy(const char* function, void* to, const void* from, std::size_t bytes,
            std::initializer_list<const void*> device_sides, cuda::StreamHandle stream) {
  const Call call(function, Call::Needs::Context);
  if (call.result() != cuda::kSuccess) return call.result();
  if (!usable(stream)) return cuda::kErrorInvalidHandle;
  for (const void* side : device_sides) {
    if (!state().holds(reinterpret_cast<cuda::Address>(side), bytes)) return cuda::kErrorInvalidValue;
  }
  std::memcpy(to, from, bytes);
  return cuda::kSuccess;
}

Result allocate(cuda::Address* address, std::size_t bytes) {
  if (bytes == 0) return cuda::kErrorInvalidValue;
  State& now = state();
  if (bytes > now.total_memory - now.used_memory) return cuda::kErrorOutOfMemory;
  // The start within the host memory is aligned as the driver aligns it.
  constexpr std::size_t kAlignment = 512;
  std::unique_ptr<std::byte[]> memory(new std::byte[bytes + kAlignment]);
  const auto start = reinterpret_cast<cuda::Address>(memory.get());
  *address = (start + kAlignment - 1) / kAlignment * kAlignment;
  now.memory.emplace(*address, std::move(memory));
  now.sizes.emplace(*address, bytes);
  now.used_memory += bytes;
  return cuda::kSuccess;
}

Result release(cuda::Address address) {
  const auto size = state().sizes.find(address);
  if (size == state().sizes.end()) return cuda::kErrorInvalidValue;
  state().used_memory -= size->second;
  state().sizes.erase(size);
  state().memory.erase(address);
  return cuda::kSuccess;
}

}  // namespace

extern "C" {

Result cuInit(unsigned) {
  FAKE_CALL(Nothing);
  if (state().devices == 0) return cuda::kErrorNoDevice;
  state().initialised = true;
  return cuda::kSuccess;
}

Result cuDriverGetVersion(int* version) {
  FAKE_CALL(Nothing);
  *version = state().driver_version;
  return cuda::kSuccess;
}

Result cuGetErrorName(Result result, const char** name) {
  const ErrorText* const error = text_of(result);
  *name = error != nullptr ? error->name : nullptr;
  return error != nullptr ? cuda::kSuccess : cuda::kErrorInvalidValue;
}

Result cuGetErrorString(Result result, const char** text) {
  const ErrorText* const error = text_of(result);
  *text = error != nullptr ? error->text : nullptr;
  return error != nullptr ? cuda::kSuccess : cuda::kErrorInvalidValue;
}

Result cuDeviceGetCount(int* count) {
  FAKE_CALL(Init);
  *count = state().devices;
  return cuda::kSuccess;
}

Result cuDeviceGet(cuda::DeviceId* device, int ordinal) {
  FAKE_CALL(Init);
  if (ordinal < 0 || ordinal >= state().devices) return cuda::kErrorInvalidDevice;
  *device = ordinal;
  return cuda::kSuccess;
}

Result cuDeviceGetName(char* name, int bytes, cuda::DeviceId device) {
  FAKE_CALL(Init);
  const std::string text = "Fake GPU " + std::to_string(device);
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(bytes));
  return cuda::kSuccess;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, cuda::DeviceId) {
  FAKE_CALL(Init);
  *bytes = state().total_memory;
  return cuda::kSuccess;
}

Result cuDeviceGetAttribute(int* value, int attribute, cuda::DeviceId) {
  FAKE_CALL(Init);
  switch (attribute) {
    case cuda::kComputeCapabilityMajor: *value = state().sm / 10; break;
    case cuda::kComputeCapabilityMinor: *value = state().sm % 10; break;
    case cuda::kMultiprocessorCount: *value = 4; break;
    case cuda::kMaxSharedPerBlock: *value = 48 << 10; break;
    case cuda::kMaxSharedPerBlockOptin: *value = 227 << 10; break;
    case cuda::kMaxSharedPerMultiprocessor: *value = 228 << 10; break;
    case cuda::kMaxThreadsPerMultiprocessor: *value = 2048; break;
    case cuda::kMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cuda::kL2CacheBytes: *value = 1 << 20; break;
    case cuda::kTextureAlignment: *value = static_cast<int>(kTextureAlignment); break;
    case cuda::kMaxTexture1dLinearWidth: *value = kMostTextureElements; break;
    default: return cuda::kErrorInvalidValue;
  }
  return cuda::kSuccess;
}

Result cuDevicePrimaryCtxRetain(cuda::ContextHandle* context, cuda::DeviceId device) {
  FAKE_CALL(Init);
  Context& primary = state().primary[device];
  primary.device = device;
  ++state().retained[device];
  *context = handle_of(&primary);
  return cuda::kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(cuda::DeviceId device) {
  FAKE_CALL(Init);
  if (state().retained[device] == 0) return cuda::kErrorInvalidContext;
  --state().retained[device];
  return cuda::kSuccess;
}

Result cuCtxGetCurrent(cuda::ContextHandle* context) {
  FAKE_CALL(Init);
  *context = context_stack().empty() ? nullptr : handle_of(context_stack().back());
  return cuda::kSuccess;
}

Result cuCtxGetDevice(cuda::DeviceId* device) {
  FAKE_CALL(Context);
  *device = context_stack().back()->device;
  return cuda::kSuccess;
}

Result cuCtxPushCurrent_v2(cuda::ContextHandle context) {
  FAKE_CALL(Init);
  if (context == nullptr) return cuda::kErrorInvalidContext;
  context_stack().push_back(reinterpret_cast<Context*>(context));
  return cuda::kSuccess;
}

Result cuCtxPopCurrent_v2(cuda::ContextHandle* context) {
  FAKE_CALL(Context);
  *context = handle_of(context_stack().back());
  context_stack().pop_back();
  return cuda::kSuccess;
}

Result cuCtxSynchronize() {
  FAKE_CALL(Context);
  return cuda::kSuccess;
}

Result cuStreamCreate(cuda::StreamHandle* stream, unsigned) {
  FAKE_CALL(Context);
  auto made = std::make_unique<Stream>();
  made->context = context_stack().back();
  *stream = reinterpret_cast<cuda::StreamHandle>(add<void*>(state().streams, std::move(made)));
  return cuda::kSuccess;
}

Result cuStreamDestroy_v2(cuda::StreamHandle stream) {
  FAKE_CALL(Context);
  return state().streams.erase(stream) == 1 ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuStreamSynchronize(cuda::StreamHandle stream) {
  FAKE_CALL(Context);
  return usable(stream) ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuStreamQuery(cuda::StreamHandle stream) {
  FAKE_CALL(Context);
  return usable(stream) ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuStreamWaitEvent(cuda::StreamHandle stream, cuda::EventHandle event, unsigned) {
  FAKE_CALL(Context);
  return usable(stream) && find(state().events, event) != nullptr ? cuda::kSuccess
                                                                  : cuda::kErrorInvalidHandle;
}

Result cuEventCreate(cuda::EventHandle* event, unsigned flags) {
  FAKE_CALL(Context);
  auto made = std::make_unique<Event>();
  made->timed = (flags & cuda::kEventDisableTiming) == 0;
  *event = reinterpret_cast<cuda::EventHandle>(add<void*>(state().events, std::move(made)));
  return cuda::kSuccess;
}

Result cuEventDestroy_v2(cuda::EventHandle event) {
  FAKE_CALL(Context);
  return state().events.erase(event) == 1 ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuEventRecord(cuda::EventHandle event, cuda::StreamHandle stream) {
  FAKE_CALL(Context);
  Event* const found = find(state().events, event);
  if (found == nullptr || !usable(stream)) return cuda::kErrorInvalidHandle;
  found->record = ++state().records;
  return cuda::kSuccess;
}

Result cuEventQuery(cuda::EventHandle event) {
  FAKE_CALL(Context);
  return find(state().events, event) != nullptr ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuEventSynchronize(cuda::EventHandle event) {
  FAKE_CALL(Context);
  return find(state().events, event) != nullptr ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

/// Half a millisecond passes between one record of an event and the next.
Result cuEventElapsedTime(float* milliseconds, cuda::EventHandle begin, cuda::EventHandle end) {
  FAKE_CALL(Context);
  const Event* const first = find(state().events, begin);
  const Event* const last = find(state().events, end);
  if (first == nullptr || last == nullptr || !first->timed || !last->timed || first->record == 0 ||
      last->record == 0) {
    return cuda::kErrorInvalidHandle;
  }
  *milliseconds = 0.5F * static_cast<float>(last->record - first->record);
  return cuda::kSuccess;
}

Result cuMemAlloc_v2(cuda::Address* address, std::size_t bytes) {
  FAKE_CALL(Context);
  return allocate(address, bytes);
}

Result cuMemFree_v2(cuda::Address address) {
  FAKE_CALL(Context);
  return release(address);
}

#ifndef FAKECUDA_OLD
Result cuMemAllocAsync(cuda::Address* address, std::size_t bytes, cuda::StreamHandle stream) {
  FAKE_CALL(Context);
  return usable(stream) ? allocate(address, bytes) : cuda::kErrorInvalidHandle;
}

Result cuMemFreeAsync(cuda::Address address, cuda::StreamHandle stream) {
  FAKE_CALL(Context);
  return usable(stream) ? release(address) : cuda::kErrorInvalidHandle;
}
#endif

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  FAKE_CALL(Context);
  *free = state().total_memory - state().used_memory;
  *total = state().total_memory;
  return cuda::kSuccess;
}

Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  FAKE_CALL(Context);
  if (bytes == 0) return cuda::kErrorInvalidValue;
  constexpr std::size_t kPage = 4096;
  std::unique_ptr<std::byte[]> block(new std::byte[bytes + kPage]);
  const auto start = reinterpret_cast<std::uintptr_t>(block.get());
  *memory = reinterpret_cast<void*>((start + kPage - 1) / kPage * kPage);
  state().pinned.emplace(*memory, std::move(block));
  return cuda::kSuccess;
}

Result cuMemFreeHost(void* memory) {
  FAKE_CALL(Context);
  return state().pinned.erase(memory) == 1 ? cuda::kSuccess : cuda::kErrorInvalidValue;
}

Result cuMemcpy2DAsync_v2(const cuda::Copy2d* copy, cuda::StreamHandle stream) {
  FAKE_CALL(Context);
  if (!usable(stream)) return cuda::kErrorInvalidHandle;
  const auto start_of = [&](const auto& side) -> std::uintptr_t {
    const std::size_t most = side.pitch * (copy->rows - 1) + copy->row_bytes;
    const bool on_device = side.type == cuda::kMemoryDevice;
    const bool legal = copy->row_bytes <= side.pitch && side.pitch <= cuda::kMostPitch &&
                       side.x_bytes == 0 && side.y == 0 && side.array == nullptr &&
                       (on_device ? side.host == nullptr && state().holds(side.device, most)
                                  : side.type == cuda::kMemoryHost && side.device == 0);
    if (!legal) return 0;
    return on_device ? static_cast<std::uintptr_t>(side.device)
                     : reinterpret_cast<std::uintptr_t>(side.host);
  };
  const std::uintptr_t from = start_of(copy->from), to = start_of(copy->to);
  if (from == 0 || to == 0 || copy->rows == 0) return cuda::kErrorInvalidValue;
  for (std::size_t row = 0; row < copy->rows; ++row) {
    std::memcpy(reinterpret_cast<std::byte*>(to) + row * copy->to.pitch,
                reinterpret_cast<const std::byte*>(from) + row * copy->from.pitch, copy->row_bytes);
  }
  return cuda::kSuccess;
}

Result cuTexObjectCreate(cuda::TextureHandle* texture, const cuda::LinearResource* memory,
                         const cuda::TextureSettings* settings, const cuda::ResourceView* view) {
  FAKE_CALL(Context);
  const auto& linear = memory->linear;
  const bool as_integer = (settings->flags & cuda::kTextureReadAsInteger) != 0;
  const bool legal = memory->type == cuda::kResourceLinear && view == nullptr && linear.channels == 1 &&
                     as_integer == (linear.format != cuda::kFormatFloat) &&
                     linear.address % kTextureAlignment == 0 && linear.bytes % 4 == 0 &&
                     linear.bytes / 4 <= std::size_t{kMostTextureElements};
  if (!legal || !state().holds(linear.address, linear.bytes)) return cuda::kErrorInvalidValue;
  *texture = ++state().last_texture;
  state().textures.emplace(*texture, linear.address);
  return cuda::kSuccess;
}

Result cuTexObjectDestroy(cuda::TextureHandle texture) {
  FAKE_CALL(Context);
  return state().textures.erase(texture) == 1 ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuMemcpyHtoDAsync_v2(cuda::Address to, const void* from, std::size_t bytes,
                            cuda::StreamHandle stream) {
  void* const device = reinterpret_cast<void*>(to);
  return copy(__func__, device, from, bytes, {device}, stream);
}

Result cuMemcpyDtoHAsync_v2(void* to, cuda::Address from, std::size_t bytes, cuda::StreamHandle stream) {
  const void* const device = reinterpret_cast<const void*>(from);
  return copy(__func__, to, device, bytes, {device}, stream);
}

Result cuMemcpyDtoDAsync_v2(cuda::Address to, cuda::Address from, std::size_t bytes,
                            cuda::StreamHandle stream) {
  void* const device_to = reinterpret_cast<void*>(to);
  const void* const device_from = reinterpret_cast<const void*>(from);
  return copy(__func__, device_to, device_from, bytes, {device_to, device_from}, stream);
}
}
