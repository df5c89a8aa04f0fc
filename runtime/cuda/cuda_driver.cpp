#include "runtime/cuda/cuda_driver.h"

#include <cstdlib>
#include <optional>

#include <dlfcn.h>

namespace mica::cuda {

namespace {

constexpr const char* kDefaultLibrary = "libcuda.so.1";

void* open_library(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    throw DeviceError("dlopen", kErrorSharedObjectInitFailed,
                      "the NVIDIA driver's library cannot be loaded (" +
                          std::string(why != nullptr ? why : path) +
                          "); install the NVIDIA driver, or name its library in MICA_LIBCUDA");
  }
  return library;
}

template <typename... Parameters>
bool find(void* library, Function<Parameters...>& function) {
  function.address = reinterpret_cast<Result (*)(Parameters...)>(dlsym(library, function.name));
  return function.available();
}

/// What a user can conclude from an error whose text does not say it.
std::string consequence(Result result) {
  switch (result) {
    case kErrorIllegalAddress:
    case kErrorLaunchTimeout:
    case kErrorAssert:
    case kErrorHardwareStackError:
    case kErrorIllegalInstruction:
    case kErrorMisalignedAddress:
    case kErrorInvalidAddressSpace:
    case kErrorInvalidProgramCounter:
    case kErrorLaunchFailed:
      return "; a kernel launched before this call failed, and the process can no longer use this GPU. "
             "Run the pipeline on Target::gpu_emulator() to find the access at fault";
    case kErrorNoDevice: return "; the driver sees no NVIDIA GPU (CUDA_VISIBLE_DEVICES may hide it)";
    case kErrorJitCompilerNotFound:
      return "; libnvidia-ptxjitcompiler.so.1 belongs to the NVIDIA driver and is not installed";
    default: return "";
  }
}

}  // namespace

Driver::Driver(const std::string& library_path) {
  void* const library = open_library(library_path);
  std::string missing;
#define MICA_CUDA_FIND(function, ...) \
  if (!find(library, function) && missing.empty()) missing = function.name;
  MICA_CUDA_REQUIRED_FUNCTIONS(MICA_CUDA_FIND)
#undef MICA_CUDA_FIND
#define MICA_CUDA_FIND(function, ...) find(library, function);
  MICA_CUDA_OPTIONAL_FUNCTIONS(MICA_CUDA_FIND)
#undef MICA_CUDA_FIND
  Result asked = kSuccess;
  if (cuDriverGetVersion.available()) asked = cuDriverGetVersion(&version_);
  if (!missing.empty()) {
    throw DeviceError("dlsym", kErrorNotFound,
                      library_path + " has no function " + missing + ": the driver serves CUDA " +
                          version_text(version_) + ", and Mica needs a driver for CUDA 11.0 or newer");
  }
  if (asked != kSuccess) throw error(cuDriverGetVersion.name, asked);
  call(cuInit, 0U);
}

DeviceError Driver::error(const char* call, Result result, const std::string& detail) const {
  const char* name = nullptr;
  const char* text = nullptr;
  (void)cuGetErrorName(result, &name);
  (void)cuGetErrorString(result, &text);
  std::string message = name != nullptr ? name : "an error that this driver does not name";
  if (text != nullptr) message += std::string(": ") + text;
  if (!detail.empty()) message += " (" + detail + ")";
  return {call, result, message + consequence(result)};
}

std::shared_ptr<const Driver> process_driver() {
  struct Loaded {
    std::shared_ptr<const Driver> driver;
    std::optional<DeviceError> error;

    Loaded() {
      const char* const path = std::getenv("MICA_LIBCUDA");
      try {
        driver =
            std::make_shared<const Driver>(path != nullptr && *path != '\0' ? path : kDefaultLibrary);
      } catch (const DeviceError& failure) {
        error = failure;
      }
    }
  };
  // Never destroyed: buffers with static lifetime give their memory back through it.
  static const Loaded& loaded = *new Loaded;
  if (loaded.error.has_value()) throw DeviceError(*loaded.error);
  return loaded.driver;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kFrom = 64;
  const std::uint64_t unit = bytes >= kFrom * kMiB ? kMiB : bytes >= kFrom * kKiB ? kKiB : 1;
  std::string digits = std::to_string(bytes / unit);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits + (unit == kMiB ? " MiB" : unit == kKiB ? " KiB" : " bytes");
}

}  // namespace mica::cuda
