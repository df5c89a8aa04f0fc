// Streams and events of the CUDA driver, and the clock where there is no GPU: runtime/run/gpu_stream.h.
#include <chrono>

#include "runtime/cuda/cuda_context.h"
#include "runtime/run/gpu_stream.h"

namespace mica {

struct GpuEvent::Mark {
  virtual ~Mark() = default;
  virtual void record(Stream stream) = 0;
  virtual void hold_up(Stream stream) const = 0;
  virtual void wait() const = 0;
  /// Of two that were recorded.
  [[nodiscard]] virtual double milliseconds_since(const Mark& earlier) const = 0;
  bool recorded = false;
};

struct GpuEvent::HostMark final : GpuEvent::Mark {
  void record(Stream /*stream*/) override { time = std::chrono::steady_clock::now(); }
  void hold_up(Stream /*stream*/) const override {}
  void wait() const override {}
  [[nodiscard]] double milliseconds_since(const Mark& earlier) const override {
    const auto& from = dynamic_cast<const HostMark&>(earlier);
    return std::chrono::duration<double, std::milli>(time - from.time).count();
  }
  std::chrono::steady_clock::time_point time;
};

struct GpuEvent::CudaMark final : GpuEvent::Mark {
  explicit CudaMark(std::shared_ptr<CudaContext> in) : context(std::move(in)) {
    const CudaContext::Scope scope(*context);
    context->driver().call(context->driver().cuEventCreate, &event, unsigned{cuda::kEventDefault});
  }
  ~CudaMark() override {
    // Errors say that the process ends or that the context is already broken.
    try {
      const CudaContext::Scope scope(*context);
      (void)context->driver().cuEventDestroy_v2(event);
    } catch (const DeviceError&) {
    }
  }
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;

  void record(Stream stream) override {
    const CudaContext::Scope scope(*context);
    context->driver().call(context->driver().cuEventRecord, event, context->stream(stream));
  }
  void hold_up(Stream stream) const override {
    const CudaContext::Scope scope(*context);
    context->driver().call(context->driver().cuStreamWaitEvent, context->stream(stream), event, 0U);
  }
  void wait() const override {
    const CudaContext::Scope scope(*context);
    context->driver().call(context->driver().cuEventSynchronize, event);
  }
  [[nodiscard]] double milliseconds_since(const Mark& earlier) const override {
    const auto& from = dynamic_cast<const CudaMark&>(earlier);
    from.wait();
    wait();
    const CudaContext::Scope scope(*context);
    float time = 0;
    context->driver().call(context->driver().cuEventElapsedTime, &time, from.event, event);
    return double{time};
  }

  const std::shared_ptr<CudaContext> context;
  cuda::EventHandle event = nullptr;
};

GpuEvent::GpuEvent(const Target& target) {
  if (target.backend == Backend::Cuda) {
    mark_ = std::make_unique<CudaMark>(cuda_context(target.device));
  } else {
    mark_ = std::make_unique<HostMark>();
  }
}

GpuEvent::~GpuEvent() = default;
GpuEvent::GpuEvent(GpuEvent&&) noexcept = default;
GpuEvent& GpuEvent::operator=(GpuEvent&&) noexcept = default;

GpuEvent::Mark& GpuEvent::mark() const {
  if (mark_ == nullptr) throw UserError("a GpuEvent that was moved from is used: assign it another");
  return *mark_;
}

void GpuEvent::record(Stream stream) {
  mark().record(stream);
  mark_->recorded = true;
}

void GpuEvent::hold_up(Stream stream) const {
  if (mark().recorded) mark_->hold_up(stream);
}

void GpuEvent::wait() const {
  if (mark().recorded) mark_->wait();
}

double GpuEvent::milliseconds_since(const GpuEvent& earlier) const {
  if (!mark().recorded || !earlier.mark().recorded) {
    throw UserError("there is no time between two GpuEvents before both are recorded");
  }
  return mark_->milliseconds_since(*earlier.mark_);
}

GpuStream::GpuStream(const Target& target) : device_(device_for(target)) {
  if (target.backend != Backend::Cuda) return;
  const std::shared_ptr<CudaContext> context = cuda_context(target.device);
  const CudaContext::Scope scope(*context);
  cuda::StreamHandle made = nullptr;
  context->driver().call(context->driver().cuStreamCreate, &made, unsigned{cuda::kStreamNonBlocking});
  owned_ = {made, [context](void* stream) {
              // Errors say that the process ends or that the context is already broken.
              try {
                const CudaContext::Scope in(*context);
                const auto handle = static_cast<cuda::StreamHandle>(stream);
                (void)context->driver().cuStreamSynchronize(handle);
                (void)context->driver().cuStreamDestroy_v2(handle);
              } catch (const DeviceError&) {
              }
            }};
  stream_.handle = made;
}

void GpuStream::synchronize() const { device_->synchronize(stream_); }

}  // namespace mica
