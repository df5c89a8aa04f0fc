// Where a pipeline runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mica {

/// The kind of machine that runs a pipeline's kernels.
enum class Backend : std::uint8_t {
  Host,         ///< this CPU: LLVM ORC, vectors, oneTBB threads
  Cuda,         ///< an NVIDIA GPU through the driver API
  GpuEmulator,  ///< GPU kernels on the CPU, a stack for each thread, every access checked
  HostChecked,  ///< this CPU, every access of the compiled code checked
};

/// One machine of a kind.
struct Target {
  Backend backend = Backend::Host;
  /// CUDA device ordinal.
  int device = 0;

  static Target host() { return {Backend::Host, 0}; }
  /// DeviceError that says what is missing (no driver, no device of that ordinal, driver too old).
  static Target cuda(int device = 0);
  static Target gpu_emulator() { return {Backend::GpuEmulator, 0}; }
  /// The host's code, several times slower, with a check before every load and store: runs throw
  /// AccessError (runtime/cpu/checked_run.h) for an index outside its array, and for a read of what
  /// a kernel keeps for itself and has not written.
  static Target host_checked() { return {Backend::HostChecked, 0}; }
  /// What the environment variable MICA_TARGET names if it is set (UserError as in parse), else the
  /// first GPU if there is one, else the host.
  static Target best();
  /// "host", "cuda", "cuda:1", "emulator", "host-checked"; UserError with the legal words otherwise.
  /// Whether the device exists is found out when it is opened.
  static Target parse(std::string_view text);

  /// Kernels have blocks and threads (Cuda and GpuEmulator).
  [[nodiscard]] bool is_gpu() const {
    return backend == Backend::Cuda || backend == Backend::GpuEmulator;
  }
  friend bool operator==(const Target&, const Target&) = default;
};
/// The word that parse reads back: "host", "cuda:0", "emulator", "host-checked".
std::string to_string(const Target& target);

}  // namespace mica
