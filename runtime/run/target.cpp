#include "runtime/run/target.h"

#include <charconv>
#include <cstdlib>

#include "dsl/expr/diagnostics.h"
#include "dsl/expr/names.h"
#include "runtime/cuda/cuda_device.h"

namespace mica {

namespace {

// CUresult values of the errors that Target reports itself.
constexpr int kCudaErrorNoDevice = 100;
constexpr int kCudaErrorInvalidDevice = 101;

constexpr const char* kLegalTargets =
    "legal targets are \"host\", \"host-checked\", \"cuda\", \"cuda:<ordinal>\" and \"emulator\"";

}  // namespace

Target Target::cuda(int device) {
  std::string why;
  const int count = cuda_device_count(&why);
  if (count == 0) {
    throw DeviceError("cuDeviceGetCount", kCudaErrorNoDevice,
                      "no NVIDIA GPU can be used: " + (why.empty() ? "there is none" : why));
  }
  if (device < 0 || device >= count) {
    throw DeviceError("cuDeviceGet", kCudaErrorInvalidDevice,
                      "there is no device " + std::to_string(device) + ": this machine has " +
                          std::to_string(count) + ", numbered from 0");
  }
  return {Backend::Cuda, device};
}

Target Target::best() {
  if (const char* wanted = std::getenv("MICA_TARGET"); wanted != nullptr && *wanted != '\0') {
    return parse(wanted);
  }
  return cuda_device_count(nullptr) > 0 ? Target{Backend::Cuda, 0} : host();
}

Target Target::parse(std::string_view text) {
  if (text == "host") return host();
  if (text == "host-checked") return host_checked();
  if (text == "emulator") return gpu_emulator();
  if (text == "cuda") return {Backend::Cuda, 0};
  constexpr std::string_view kPrefix = "cuda:";
  if (text.starts_with(kPrefix)) {
    const std::string_view digits = text.substr(kPrefix.size());
    int ordinal = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size() && ordinal >= 0) {
      return {Backend::Cuda, ordinal};
    }
  }
  throw UserError("unknown target \"" + std::string(text) + "\"" +
                  did_you_mean(std::string(text), {"host", "host-checked", "emulator", "cuda"}) + ": " +
                  kLegalTargets);
}

std::string to_string(const Target& target) {
  switch (target.backend) {
    case Backend::Host: return "host";
    case Backend::Cuda: return "cuda:" + std::to_string(target.device);
    case Backend::GpuEmulator: return "emulator";
    case Backend::HostChecked: return "host-checked";
  }
  throw InternalError("a Target holds no legal Backend");
}

}  // namespace mica
