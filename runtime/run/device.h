// What a back end must offer to run compiled kernels: memory, copies, launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsl/expr/type.h"
#include "runtime/run/target.h"

namespace mica {

/// A stream of the user's (a CUstream) or null for the device's own; ignored on the host.
struct Stream {
  void* handle = nullptr;
};

/// Blocks and threads in x, y, z, and bytes of dynamic shared memory. Host kernels ignore it.
struct LaunchShape {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;
};

/// Facts about a kernel, as Executable shows them to the user.
struct KernelInfo {
  std::string name;
  bool on_device = false;
  std::string ptx;       ///< empty for host kernels
  LaunchShape shape;     ///< of the most recent run; block and shared bytes are known before
  int registers = -1;    ///< a thread; -1 until loaded on a GPU
  int local_bytes = -1;  ///< a thread's spills and local arrays; -1 until loaded on a GPU
  int static_shared_bytes = 0;
  bool from_cache = false;  ///< machine code came from the disk cache
};

/// One loaded kernel. launch() may be called from several threads.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  /// `arguments[i]` points at the value of parameter i (a pointer or scalar), valid during the call.
  /// Asynchronous on a GPU. DeviceError names the driver call that failed.
  virtual void launch(const LaunchShape& shape, void* const* arguments, std::size_t count,
                      Stream stream) = 0;
  /// Fills in what is known of the machine code: ptx, registers, local_bytes, static_shared_bytes,
  /// from_cache.
  virtual void describe(KernelInfo& info) const = 0;
};

/// Linear memory as the GPU's texture unit reads it.
struct TextureView {
  std::uint64_t object = 0;  ///< CUtexObject
  std::int64_t origin = 0;   ///< the texture's element at the view's address
  /// Keeps the object alive until the launches that use it have been made.
  std::shared_ptr<const void> keep;
};

/// Launches that a device makes one after the other, in the order in which they were added, at the price
/// of one. Used by one thread at a time. DeviceErrors name the driver call that failed.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  /// Adds a launch of a kernel of the same device; launches are numbered from 0 on. `arguments` as in
  /// LoadedKernel::launch; their values are taken now. It begins when the launches of the numbers
  /// `after` have ended: where there are none, at once. The graph keeps no kernel alive.
  virtual void add(LoadedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                   std::size_t count, const std::vector<std::size_t>& after) = 0;
  /// The number of launches.
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Other arguments for launch `number`, from the next launch() on; what is under way keeps its own.
  virtual void change(std::size_t number, void* const* arguments, std::size_t count) = 0;
  /// Puts all launches into `stream`. Nothing can be added after it.
  virtual void launch(Stream stream) = 0;
};

/// Rows of bytes to be copied between a device's memory and the host's.
struct RowCopy {
  bool to_device = true;
  std::uint64_t device = 0;  ///< address of the first row
  void* host = nullptr;      ///< address of the first row; is read only where `to_device`
  std::size_t row_bytes = 0, rows = 1;
  /// Bytes from row to row, at least row_bytes and less than 2^31 where there are several.
  std::size_t device_pitch = 0, host_pitch = 0;
};

/// Memory and order on one device. The host and the emulator use host memory.
class Device {
 public:
  virtual ~Device() = default;
  /// Pool memory, aligned to 256 bytes; DeviceError on exhaustion (after the pool has given back
  /// what it holds). `bytes` may be 0.
  virtual std::uint64_t allocate(std::size_t bytes, Stream stream) = 0;
  /// Gives `bytes` at `address` back to the pool once the work already in `stream` is done.
  virtual void release(std::uint64_t address, std::size_t bytes, Stream stream) = 0;
  /// In the order of `stream`; `from` may be changed as soon as the call returns.
  virtual void copy_to_device(std::uint64_t to, const void* from, std::size_t bytes, Stream stream) = 0;
  /// In the order of `stream`; may return early. The bytes are in place after synchronize(stream).
  virtual void copy_to_host(void* to, std::uint64_t from, std::size_t bytes, Stream stream) = 0;
  /// Puts a copy into `stream` and returns, before it is done where the device has memory of its own and
  /// the host's is page-locked: both sides stay as they are until then.
  virtual void enqueue_copy(const RowCopy& copy, Stream stream);
  /// Host memory that the device copies from and to by itself (page-locked), given back with the last
  /// owner; aligned to 256 bytes. Ordinary memory where the device has none of its own.
  virtual std::shared_ptr<void> pinned_memory(std::size_t bytes);
  /// Returns when the work put into `stream` so far is done; DeviceError if any of it failed.
  virtual void synchronize(Stream stream) = 0;
  /// A texture over `bytes` bytes at `address` with elements of `type` (f32, i32, u32); `array` is for
  /// messages. UserError if that is more than a texture may have. InternalError where there are none.
  virtual TextureView texture(std::uint64_t address, std::size_t bytes, Type type,
                              const std::string& array);
  /// An empty graph of launches; null where the device, or its driver, makes none.
  virtual std::unique_ptr<LaunchGraph> make_graph();
  /// "NVIDIA H200, sm_90, 132 SMs" or the CPU's name.
  [[nodiscard]] virtual std::string name() const = 0;
};

/// The device of a target, shared by the process; opened on first use and safe to call from several
/// threads. DeviceError says what is missing.
std::shared_ptr<Device> device_for(const Target& target);

}  // namespace mica
