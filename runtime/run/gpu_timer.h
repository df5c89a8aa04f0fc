// Time on a GPU, and the device copy that bandwidths are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/run/device.h"
#include "runtime/run/target.h"

namespace mica {

/// The time between two points of a stream: what the GPU spends on the work put there in between. On
/// the host and the emulator, whose work is done when a call returns, it is the time of day.
///
///   GpuTimer timer(target);
///   timer.start();
///   executable.run(output);
///   timer.stop();
///   const double each = timer.milliseconds();
///
/// Several timers may run at once. One timer is used by one thread at a time. DeviceErrors of all
/// members name the driver's call; a UserError is raised by a timer that was moved from.
class GpuTimer {
 public:
  /// Opens the device of `target` on first use. `stream` null is the device's own.
  explicit GpuTimer(const Target& target, Stream stream = {});
  ~GpuTimer();
  GpuTimer(GpuTimer&&) noexcept;
  GpuTimer& operator=(GpuTimer&&) noexcept;

  /// Marks the start, in the order of the stream; returns at once.
  void start();
  /// Marks the end, in the order of the stream; returns at once.
  void stop();
  /// Waits for the end and returns the time since the start, to about half a microsecond on a GPU.
  /// UserError unless start and stop were called before.
  [[nodiscard]] double milliseconds() const;

 private:
  struct Clock;
  [[nodiscard]] Clock& clock() const;
  std::unique_ptr<Clock> clock_;
};

/// Puts a copy of `bytes` between two places of one device's memory into `stream`; the ranges must not
/// overlap. On the host and the emulator the copy is done on return.
void device_copy(const Target& target, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                 Stream stream = {});

/// Bytes read and written a second, in units of 1e9, by the faster of two ways to copy `bytes` within
/// device memory, the driver's copy and a kernel that moves 16 bytes a thread: the best of `repeats`
/// batches of up to 64 copies. UserError for no bytes or no repeats. It takes 2 * bytes of device
/// memory.
double device_copy_bandwidth(const Target& target, std::size_t bytes, int repeats = 10);

}  // namespace mica
