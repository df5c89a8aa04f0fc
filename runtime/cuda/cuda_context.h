// One GPU's CUDA context: what memory, modules and timers of that GPU are made in.
#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/device.h"

namespace mica {

/// A context of one GPU and Mica's stream in it. Used by several threads at once.
///
/// When the thread that opens the GPU has a context of the same GPU current, that context is used and
/// must outlive this object; otherwise the GPU's primary context is retained, which the CUDA runtime
/// and other libraries share.
///
/// Mica's own stream is ordered with the legacy default stream in both directions: work that a
/// program put there before a run is done before the run, and later work there waits for the run. It
/// is not ordered with streams made with cudaStreamNonBlocking; pass such a stream as
/// RunOptions::stream.
class CudaContext {
 public:
  /// Opens GPU number `ordinal` of `driver`. DeviceError when there is none or a call fails.
  CudaContext(std::shared_ptr<const cuda::Driver> driver, int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  /// Makes the context current for the calling thread while it lives; the thread's own context is
  /// current again afterwards.
  class Scope {
   public:
    /// DeviceError when the context cannot be made current.
    explicit Scope(const CudaContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const cuda::Driver& driver_;
    bool pushed_ = false;
  };

  [[nodiscard]] const cuda::Driver& driver() const { return *driver_; }
  [[nodiscard]] const GpuFacts& facts() const { return facts_; }
  /// The user's stream, or Mica's own for a null handle.
  [[nodiscard]] cuda::StreamHandle stream(Stream stream) const {
    return stream.handle != nullptr ? static_cast<cuda::StreamHandle>(stream.handle) : own_stream_;
  }

 private:
  void read_facts();

  const std::shared_ptr<const cuda::Driver> driver_;
  const int ordinal_;
  cuda::DeviceId device_ = 0;
  cuda::ContextHandle context_ = nullptr;
  bool retained_ = false;  // context_ is the primary context and must be given back
  cuda::StreamHandle own_stream_ = nullptr;
  GpuFacts facts_;
};

/// The context of GPU number `ordinal` of the process's driver, opened once and never closed.
/// DeviceErrors as process_driver and CudaContext.
std::shared_ptr<CudaContext> cuda_context(int ordinal);

}  // namespace mica
