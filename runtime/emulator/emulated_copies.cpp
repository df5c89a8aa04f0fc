#include "runtime/emulator/emulated_copies.h"

#include <cstring>

#include "dsl/expr/diagnostics.h"

namespace mica {

CopyFault source_changed() {
  return "waits for a copy from elements that have changed since the copy began";
}

void EmulatedCopies::start_cluster() {
  for (Queue& queue : queues_) queue = {};
}

bool EmulatedCopies::begin(std::int32_t thread, const CopyPlace& place, Finding& finding) {
  internal_check(place.bytes <= kMostBytes, "an asynchronous copy has at most 16 bytes");
  if (!shadow_.begin_copy(place.to, place.bytes, thread, finding)) return false;
  Group& open = queues_[static_cast<std::size_t>(thread)].open;
  open.push_back({place, {}});
  std::memcpy(open.back().data.data(), place.from, place.bytes);
  return true;
}

void EmulatedCopies::commit(std::int32_t thread) {
  Queue& queue = queues_[static_cast<std::size_t>(thread)];
  queue.groups.push_back(std::move(queue.open));
  queue.open.clear();
}

CopyFault EmulatedCopies::wait(std::int32_t thread, int pending) {
  Queue& queue = queues_[static_cast<std::size_t>(thread)];
  CopyFault fault;
  while (queue.groups.size() > static_cast<std::size_t>(pending)) {
    for (const Copy& copy : queue.groups.front()) {
      const CopyPlace& place = copy.place;
      if (std::memcmp(place.from, copy.data.data(), place.bytes) != 0) fault = source_changed();
      std::memcpy(shared_ + place.to, copy.data.data(), place.bytes);
      shadow_.land_copy(place.to, place.bytes, thread);
    }
    queue.groups.pop_front();
  }
  return fault;
}

CopyFault EmulatedCopies::end(std::int32_t thread) const {
  const Queue& queue = queues_[static_cast<std::size_t>(thread)];
  if (!queue.open.empty()) {
    return "ends with " + std::to_string(queue.open.size()) + " asynchronous copies in no group";
  }
  std::size_t left = 0;
  for (const Group& group : queue.groups) left += group.empty() ? 0 : 1;
  if (left == 0) return {};
  return "ends with " + std::to_string(left) +
         " groups of asynchronous copies that it has not waited for";
}

}  // namespace mica
