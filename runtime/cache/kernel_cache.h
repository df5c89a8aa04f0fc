// Machine code on disk, so that a pipeline compiled once starts at once the next time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cache/sha256.h"

namespace mica {

/// Names one cache entry: a hash of everything that the machine code depends on.
class CacheKey {
 public:
  /// Adds one part under a name, such as add("driver", "12080"). Keys are equal when the same parts
  /// were added in the same order.
  CacheKey& add(std::string_view name, std::string_view value);
  [[nodiscard]] Sha256Digest digest() const { return hash_.digest(); }

 private:
  Sha256 hash_;
};

/// A folder of entries, one file each, used by any number of threads and processes at once.
///
/// An entry that is damaged in any way (cut short, changed, of another format, another owner's or
/// writable by others) is a miss, and the next store replaces it. When the folder cannot be made, is
/// another user's, can be written by others, is read-only or full, nothing is found or stored; none
/// of this is an error. load and store throw nothing but std::bad_alloc.
class KernelCache {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  static constexpr std::size_t kMostEntries = 8192;

  /// The cache in `folder`, which is made (readable by its owner alone) by the first store. An empty
  /// path is a cache that holds nothing.
  explicit KernelCache(std::filesystem::path folder, std::uint64_t most_bytes = kMostBytes,
                       std::size_t most_entries = kMostEntries);
  /// The folder is MICA_CACHE_DIR, else mica in XDG_CACHE_HOME (if that is an absolute path), else
  /// .cache/mica in HOME; no folder when none of them is set.
  static KernelCache from_environment();

  /// What was stored under `key`.
  [[nodiscard]] std::optional<std::string> load(const CacheKey& key) const;
  /// Keeps `payload` under `key`, in place of what was there. About one store in 16 also trims.
  void store(const CacheKey& key, std::string_view payload) const;
  /// Removes the entries used longest ago until the bounds given to the constructor hold, and what
  /// writers that were killed have left behind for an hour.
  void trim() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// The file that holds `key`'s entry.
  [[nodiscard]] std::filesystem::path entry_path(const CacheKey& key) const;

 private:
  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
  std::size_t most_entries_;
};

}  // namespace mica
