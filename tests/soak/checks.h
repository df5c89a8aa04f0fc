// What must hold of the cache and the store that the processes share.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tests/soak/figures.h"

namespace mica::soak {

/// Looks at the cache's folder from time to time: an entry that was there stays there, whole, until
/// there are as many as the cache holds.
class CacheWatch {
 public:
  explicit CacheWatch(const Folder& folder) : folder_(folder) {}
  /// Faults found now, one a line: entries that are gone and, of new ones, or of `all`, damaged ones.
  std::vector<std::string> look(bool all);
  [[nodiscard]] std::size_t entries() const { return seen_.size(); }

 private:
  const Folder& folder_;
  std::map<std::string, bool> seen_;  ///< file names; was it there when last looked?
};

/// Faults of the store: SQLite's own check, and every trial that a process said it had kept.
std::vector<std::string> check_store(const Folder& folder);
/// Compiles what processes said they had compiled: nothing of it may be new to the cache, and values are
/// those of `references`. For the program's own process, with MICA_CACHE_DIR set.
std::vector<std::string> check_compiled(const Folder& folder);

/// Files that killed processes have left behind: partial entries of the cache, partial checkpoints.
std::size_t partial_files(const Folder& folder);

/// Faults for the checks to find: a byte of an entry changed, an entry removed, a row removed.
void damage_entry(const Folder& folder);
void lose_entry(const Folder& folder);
void lose_row(const Folder& folder);

}  // namespace mica::soak
