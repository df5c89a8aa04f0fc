// The asynchronous copies (cp.async) of an emulated block's threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/emulator/shadow_memory.h"

namespace mica {

/// Bytes on their way from an array in global memory to the block's shared memory.
struct CopyPlace {
  std::size_t to = 0;  ///< offset in shared memory
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

/// What is wrong, to be put after the thread's name: "ends while ..."; empty: nothing.
using CopyFault = std::string;

/// The groups of copies that each thread has begun. The bytes arrive when the thread waits for their
/// group, and not before; until then nobody may touch the places. `shadow` must outlive it.
class EmulatedCopies {
 public:
  EmulatedCopies(SharedShadow& shadow, std::byte* shared, std::size_t threads)
      : shadow_(shadow), shared_(shared), queues_(threads) {}

  /// Forgets everything.
  void start_cluster();
  /// At most 16 bytes. False, with the race found, if the place is in use.
  bool begin(std::int32_t thread, const CopyPlace& place, Finding& finding);
  /// Ends the thread's group.
  void commit(std::int32_t thread);
  /// All but the newest `pending` groups arrive.
  CopyFault wait(std::int32_t thread, int pending);
  /// The thread ends: it may not leave copies under way.
  [[nodiscard]] CopyFault end(std::int32_t thread) const;

 private:
  static constexpr std::size_t kMostBytes = 16;
  struct Copy {
    CopyPlace place;
    std::array<std::byte, kMostBytes> data{};  ///< of the source when the copy began
  };
  using Group = std::vector<Copy>;
  struct Queue {
    std::deque<Group> groups;  ///< oldest first
    Group open;
  };
  SharedShadow& shadow_;
  std::byte* shared_;
  std::vector<Queue> queues_;  // by thread
};

/// The fault of a copy whose source has changed since it began.
CopyFault source_changed();

}  // namespace mica
