// Timing by CUDA events, and by the clock where there is no GPU: runtime/run/gpu_timer.h.
#include <chrono>

#include "runtime/cuda/cuda_context.h"
#include "runtime/run/gpu_timer.h"

namespace mica {

struct GpuTimer::Clock {
  virtual ~Clock() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  [[nodiscard]] virtual double milliseconds() const = 0;
  bool started = false, stopped = false;
};

struct GpuTimer::HostClock final : GpuTimer::Clock {
  void start() override { begin = std::chrono::steady_clock::now(); }
  void stop() override { end = std::chrono::steady_clock::now(); }
  [[nodiscard]] double milliseconds() const override {
    return std::chrono::duration<double, std::milli>(end - begin).count();
  }
  std::chrono::steady_clock::time_point begin, end;
};

struct GpuTimer::CudaClock final : GpuTimer::Clock {
  CudaClock(std::shared_ptr<CudaContext> in, Stream on) : context(std::move(in)), stream(on) {
    const CudaContext::Scope scope(*context);
    const cuda::Driver& driver = context->driver();
    driver.call(driver.cuEventCreate, &begin, unsigned{cuda::kEventDefault});
    if (const cuda::Result result = driver.cuEventCreate(&end, cuda::kEventDefault);
        result != cuda::kSuccess) {
      (void)driver.cuEventDestroy_v2(begin);
      throw driver.error("cuEventCreate", result);
    }
  }
  ~CudaClock() override {
    // Errors say that the process ends or that the context is already broken.
    try {
      const CudaContext::Scope scope(*context);
      (void)context->driver().cuEventDestroy_v2(begin);
      (void)context->driver().cuEventDestroy_v2(end);
    } catch (const DeviceError&) {
    }
  }
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;

  void start() override { record(begin); }
  void stop() override { record(end); }
  [[nodiscard]] double milliseconds() const override {
    const CudaContext::Scope scope(*context);
    const cuda::Driver& driver = context->driver();
    driver.call(driver.cuEventSynchronize, end);
    float time = 0;
    driver.call(driver.cuEventElapsedTime, &time, begin, end);
    return double{time};
  }

  void record(cuda::EventHandle event) {
    const CudaContext::Scope scope(*context);
    const cuda::Driver& driver = context->driver();
    driver.call(driver.cuEventRecord, event, context->stream(stream));
  }

  const std::shared_ptr<CudaContext> context;
  const Stream stream;
  cuda::EventHandle begin = nullptr, end = nullptr;
};

GpuTimer::GpuTimer(const Target& target, Stream stream) {
  if (target.backend == Backend::Cuda) {
    clock_ = std::make_unique<CudaClock>(cuda_context(target.device), stream);
  } else {
    clock_ = std::make_unique<HostClock>();
  }
}

GpuTimer::~GpuTimer() = default;
GpuTimer::GpuTimer(GpuTimer&&) noexcept = default;
GpuTimer& GpuTimer::operator=(GpuTimer&&) noexcept = default;

GpuTimer::Clock& GpuTimer::clock() const {
  if (clock_ == nullptr) throw UserError("a GpuTimer that was moved from is used: assign it another");
  return *clock_;
}

void GpuTimer::start() {
  clock().start();
  clock_->started = true;
  clock_->stopped = false;
}

void GpuTimer::stop() {
  clock().stop();
  clock_->stopped = true;
}

double GpuTimer::milliseconds() const {
  if (!clock().started || !clock_->stopped) {
    throw UserError("a GpuTimer has no time yet: call start() before the work and stop() after it");
  }
  return clock_->milliseconds();
}

}  // namespace mica
