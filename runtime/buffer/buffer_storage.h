// The memory behind buffers: one allocation on the host, one on a device, and which is newer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/buffer/buffer.h"
#include "runtime/run/device.h"

namespace mica {

struct ImageData;  // dsl/func/function.h

/// Addresses are told apart modulo this many bytes where alignment matters.
inline constexpr std::size_t kAddressPeriod = 256;

/// What a caller is about to do with one side's memory.
enum class MemoryUse : std::uint8_t {
  Read,       ///< the side is brought up to date; the other stays valid
  Write,      ///< the side is brought up to date and becomes the newer one
  Overwrite,  ///< nothing is copied; the side becomes the newer one
};

/// How the elements of a storage lie in its bytes.
struct StorageLayout {
  int element_bytes = 1;
  /// The view that the storage was made for; every other view is a part of it.
  std::vector<BufferDim> dims;
  /// Elements from the storage's start to the view's element at the mins.
  std::int64_t offset = 0;
  /// Elements from the storage's start to its end.
  std::int64_t span = 0;

  [[nodiscard]] std::size_t bytes() const;
  /// Product of the extents of `dims`.
  [[nodiscard]] std::int64_t elements() const;
};

/// Memory on both sides is made when first asked for and lives as long as the storage. All members
/// may be called from several threads.
struct BufferStorage {
 public:
  enum class Lifetime : std::uint8_t {
    Buffer,     ///< a user's buffer: device memory belongs to the device's own stream
    Temporary,  ///< memory of one run: from the pools of both sides, in the order of the run's stream
  };
  /// Memory of Mica's; `stream` matters for temporaries only.
  explicit BufferStorage(StorageLayout layout, Lifetime lifetime = Lifetime::Buffer, Stream stream = {});
  /// Memory of the user's: `host` or (`device`, `address`) is the storage's start. `owner` is kept as
  /// long as the storage is and work in the device's own stream may use it.
  BufferStorage(StorageLayout layout, void* host, std::shared_ptr<void> owner = nullptr);
  BufferStorage(StorageLayout layout, std::shared_ptr<Device> device, std::uint64_t address,
                std::shared_ptr<void> owner = nullptr);
  ~BufferStorage();
  BufferStorage(const BufferStorage&) = delete;
  BufferStorage& operator=(const BufferStorage&) = delete;

  [[nodiscard]] const StorageLayout& layout() const { return layout_; }

  /// Host address of the storage's start, ready for `use`; null for a storage of no bytes.
  void* host(MemoryUse use);

  /// Address on `device` of the storage's start, ready for `use` by work put into `stream` next; 0
  /// for a storage of no bytes. A copy on another device is given up after its contents came over
  /// the host; UserError if that copy is memory of the user's.
  std::uint64_t device(const std::shared_ptr<Device>& device, MemoryUse use, Stream stream = {});

  /// Gives the device's copy back after bringing the host's up to date.
  void device_free();

  [[nodiscard]] bool host_dirty() const { return (state_.load() & kHostDirty) != 0; }
  [[nodiscard]] bool device_dirty() const { return (state_.load() & kDeviceDirty) != 0; }
  /// The device's own stream may hold work on this storage: a run on another stream must wait.
  [[nodiscard]] bool queued() const { return (state_.load() & kQueued) != 0; }
  void clear_queued() { state_.fetch_and(~kQueued); }

  /// The memory on one of the sides is the user's own.
  [[nodiscard]] bool is_users() const { return user_host_ || user_device_; }

  /// Addresses made so far; null and 0 when there are none.
  [[nodiscard]] void* host_address() const { return host_.load(); }
  [[nodiscard]] std::uint64_t device_address() const;
  [[nodiscard]] const Device* device_in_use() const;

  /// AnyBuffer::input of `view`, which is of this storage; `name` and `where` count if it is made now.
  std::shared_ptr<const ImageData> input_of(const AnyBuffer& view, const std::string& name,
                                            const SourceLocation& where);

  /// Address of the storage's start modulo kAddressPeriod, on the host and on devices, known before
  /// memory is made: Mica's own is aligned.
  [[nodiscard]] std::int64_t host_phase() const { return host_phase_; }
  [[nodiscard]] std::int64_t device_phase() const { return device_phase_; }

 private:
  static constexpr unsigned kHostDirty = 1;
  static constexpr unsigned kDeviceDirty = 2;
  static constexpr unsigned kQueued = 4;

  // These expect mutex_ to be held.
  void make_host_memory();
  void make_device_memory(const std::shared_ptr<Device>& device, Stream stream);
  void upload(Stream stream);
  void download();
  void leave_device();

  const StorageLayout layout_;
  const Lifetime lifetime_ = Lifetime::Buffer;
  const Stream stream_;                // order of a temporary's device memory
  const std::shared_ptr<void> owner_;  // of the user's memory
  const bool user_host_ = false, user_device_ = false;
  const std::int64_t host_phase_ = 0, device_phase_ = 0;

  mutable std::mutex mutex_;
  std::atomic<unsigned> state_{0};
  std::atomic<void*> host_{nullptr};  // set once
  std::shared_ptr<Device> device_;    // where address_ is
  std::uint64_t address_ = 0;
  std::vector<std::weak_ptr<const ImageData>> inputs_;  // those that expressions still use
};

}  // namespace mica
