#include "runtime/buffer/copy_async.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/buffer/buffer_storage.h"

namespace mica {
namespace {

constexpr std::int64_t kMostPitch = 0x7fffffff;  // bytes: RowCopy::device_pitch

/// One loop over the elements of two views of the same extents; strides in bytes.
struct CopyLoop {
  std::int64_t extent = 1, device = 0, host = 0;
};

/// Loops over all elements, inner ones first, as few as there may be.
std::vector<CopyLoop> loops_over(const AnyBuffer& device, const AnyBuffer& host) {
  const std::int64_t bytes = device.type().bytes();
  std::vector<CopyLoop> loops;
  for (int d = 0; d < device.dimensions(); ++d) {
    if (device.extent(d) == 1) continue;
    loops.push_back({device.extent(d), device.stride(d) * bytes, host.stride(d) * bytes});
  }
  std::sort(loops.begin(), loops.end(), [](const CopyLoop& a, const CopyLoop& b) {
    return std::abs(a.device) < std::abs(b.device);
  });
  std::vector<CopyLoop> merged = {{1, bytes, bytes}};
  for (const CopyLoop& loop : loops) {
    CopyLoop& last = merged.back();
    if (loop.device == last.device * last.extent && loop.host == last.host * last.extent) {
      last.extent *= loop.extent;
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

struct Copier {
  Device& device;
  Stream stream;
  bool to_device;
  std::size_t row_bytes;
  std::vector<CopyLoop> loops;  ///< the innermost is the row itself

  /// The copies of the loops below number `loops_left`, at these addresses.
  void copy(std::size_t loops_left, std::uint64_t on_device, std::byte* on_host) const {
    RowCopy rows{.to_device = to_device, .device = on_device, .host = on_host, .row_bytes = row_bytes};
    if (loops_left == 1) return device.enqueue_copy(rows, stream);
    const CopyLoop& loop = loops[loops_left - 1];
    const auto is_pitch = [&](std::int64_t stride) {
      return stride >= static_cast<std::int64_t>(row_bytes) && stride <= kMostPitch;
    };
    if (loops_left == 2 && is_pitch(loop.device) && is_pitch(loop.host)) {
      rows.rows = static_cast<std::size_t>(loop.extent);
      rows.device_pitch = static_cast<std::size_t>(loop.device);
      rows.host_pitch = static_cast<std::size_t>(loop.host);
      return device.enqueue_copy(rows, stream);
    }
    for (std::int64_t i = 0; i < loop.extent; ++i) {
      copy(loops_left - 1, on_device + static_cast<std::uint64_t>(i * loop.device),
           on_host + i * loop.host);
    }
  }
};

void check(const AnyBuffer& from, const AnyBuffer& to, const CallSite& at) {
  if (!from.defined() || !to.defined()) {
    throw UserError("a copy is asked for whose " + std::string(from.defined() ? "target" : "source") +
                        " is an undefined buffer: give it extents first",
                    at);
  }
  bool alike = from.type() == to.type() && from.dimensions() == to.dimensions();
  for (int d = 0; alike && d < from.dimensions(); ++d) alike = from.extent(d) == to.extent(d);
  if (alike) return;
  throw UserError("a copy from " + from.describe() + " to " + to.describe() +
                      ": both need the same type and extents; crop the larger one",
                  at);
}

/// `on_device` and `on_host` are the views of the two sides.
void enqueue(const AnyBuffer& on_device, const AnyBuffer& on_host, bool to_device, const Target& target,
             Stream stream) {
  if (on_device.elements() == 0) return;
  const auto write_to = [](const AnyBuffer& to) {
    return to.covers_storage() ? MemoryUse::Overwrite : MemoryUse::Write;
  };
  const std::shared_ptr<Device> device = device_for(target);
  const std::int64_t bytes = on_device.type().bytes();
  // What is read is brought up to date before what is written is marked.
  std::uint64_t there = 0;
  void* here = nullptr;
  const auto reach_device = [&] {
    const MemoryUse use = to_device ? write_to(on_device) : MemoryUse::Read;
    BufferStorage& storage = *on_device.storage();
    there = target.backend == Backend::Cuda
                ? storage.device(device, use, stream)
                : static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(storage.host(use)));
  };
  const auto reach_host = [&] {
    here = on_host.storage()->host(to_device ? MemoryUse::Read : write_to(on_host));
  };
  if (to_device) {
    reach_host();
    reach_device();
  } else {
    reach_device();
    reach_host();
  }
  const std::vector<CopyLoop> loops = loops_over(on_device, on_host);
  const auto row_bytes = static_cast<std::size_t>(loops.front().extent * bytes);
  const Copier copier{*device, stream, to_device, row_bytes, loops};
  copier.copy(loops.size(), there + static_cast<std::uint64_t>(on_device.offset() * bytes),
              static_cast<std::byte*>(here) + on_host.offset() * bytes);
}

}  // namespace

void copy_to_device(const AnyBuffer& from, const AnyBuffer& to, const Target& target, Stream stream,
                    CallSite at) {
  check(from, to, at);
  enqueue(to, from, true, target, stream);
}

void copy_to_host(const AnyBuffer& from, const AnyBuffer& to, const Target& target, Stream stream,
                  CallSite at) {
  check(from, to, at);
  enqueue(from, to, false, target, stream);
}

}  // namespace mica
