// Streams and events: work that runs beside other work on a GPU, and what waits for what.
#pragma once

#include <memory>

#include "runtime/run/device.h"
#include "runtime/run/target.h"

namespace mica {

/// A point in the order of a stream, once it is recorded: others can wait for it, and the time between
/// two of them be asked for. On the host and the emulator, whose work is done when a call returns, it
/// is a time of day. Used by one thread at a time. DeviceErrors of all members name the driver's call; a
/// UserError is raised by an event that was moved from.
class GpuEvent {
 public:
  /// Opens the device of `target` on first use.
  explicit GpuEvent(const Target& target);
  ~GpuEvent();
  GpuEvent(GpuEvent&&) noexcept;
  GpuEvent& operator=(GpuEvent&&) noexcept;

  /// Puts it behind what is in `stream` now (null: the device's own) and returns at once. From then on
  /// it stands for that point alone.
  void record(Stream stream = {});
  /// What is put into `stream` from now on begins after the event. Returns at once. An event that was
  /// never recorded holds nothing up.
  void hold_up(Stream stream) const;
  /// Returns when the event has come, at once if it was never recorded.
  void wait() const;
  /// Waits for both and returns the time from `earlier`, an event of the same device, to this one, to
  /// about half a microsecond on a GPU. UserError unless both were recorded.
  [[nodiscard]] double milliseconds_since(const GpuEvent& earlier) const;

 private:
  struct Mark;
  struct CudaMark;
  struct HostMark;
  [[nodiscard]] Mark& mark() const;
  std::unique_ptr<Mark> mark_;
};

/// A stream of one's own, for RunOptions::stream and the copies of runtime/buffer/copy_async.h: its work
/// runs in order, beside that of all other streams, Mica's own and the default stream included. It is
/// given back when the last copy of the handle is gone, after its work. On the host and the emulator it
/// is none, and work is done when a call returns.
class GpuStream {
 public:
  /// Opens the device of `target` on first use. DeviceErrors name the driver's call.
  explicit GpuStream(const Target& target);
  /// As others name it; valid as long as a copy of this lives.
  operator Stream() const { return stream_; }  // NOLINT: for {.stream = mine}
  /// Returns when its work is done; DeviceError if any of it failed.
  void synchronize() const;

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<void> owned_;
  Stream stream_;
};

}  // namespace mica
