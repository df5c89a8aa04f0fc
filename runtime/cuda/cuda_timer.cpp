// The time between two events: runtime/run/gpu_timer.h.
#include "dsl/expr/diagnostics.h"
#include "runtime/run/gpu_stream.h"
#include "runtime/run/gpu_timer.h"

namespace mica {

struct GpuTimer::Clock {
  GpuEvent begin, end;
  Stream stream;
  bool started = false, stopped = false;
};

GpuTimer::GpuTimer(const Target& target, Stream stream)
    : clock_(std::make_unique<Clock>(Clock{GpuEvent(target), GpuEvent(target), stream})) {}

GpuTimer::~GpuTimer() = default;
GpuTimer::GpuTimer(GpuTimer&&) noexcept = default;
GpuTimer& GpuTimer::operator=(GpuTimer&&) noexcept = default;

GpuTimer::Clock& GpuTimer::clock() const {
  if (clock_ == nullptr) throw UserError("a GpuTimer that was moved from is used: assign it another");
  return *clock_;
}

void GpuTimer::start() {
  clock().begin.record(clock_->stream);
  clock_->started = true;
  clock_->stopped = false;
}

void GpuTimer::stop() {
  clock().end.record(clock_->stream);
  clock_->stopped = true;
}

double GpuTimer::milliseconds() const {
  if (!clock().started || !clock_->stopped) {
    throw UserError("a GpuTimer has no time yet: call start() before the work and stop() after it");
  }
  return clock_->end.milliseconds_since(clock_->begin);
}

}  // namespace mica
