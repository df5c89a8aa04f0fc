#include "runtime/cuda/plain_loads.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace mica {
namespace {

constexpr std::string_view kEntry = ".entry ", kLoad = "ld.global.nc", kReadOnly = ".nc",
                           kLocal = ".local ";

/// Calls `each` with an entry's name and the text from there to the next entry.
template <typename Each>
void for_each_entry(const std::string& ptx, const Each& each) {
  for (std::size_t at = ptx.find(kEntry); at != std::string::npos;) {
    const std::size_t next = ptx.find(kEntry, at + kEntry.size());
    const std::size_t name = at + kEntry.size(), end = std::min(next, ptx.size());
    each(ptx.substr(name, std::min(ptx.find_first_of("( \n", name), end) - name), at, end);
    at = next;
  }
}

}  // namespace

std::vector<ReadOnlyEntry> read_only_entries(const std::string& ptx) {
  std::vector<ReadOnlyEntry> entries;
  for_each_entry(ptx, [&](const std::string& name, std::size_t begin, std::size_t end) {
    if (ptx.find(kLoad, begin) >= end) return;
    ReadOnlyEntry entry{name};
    // ".local .align 16 .b8 __local_depot0[64];"
    for (std::size_t at = ptx.find(kLocal, begin); at < end; at = ptx.find(kLocal, at + 1)) {
      const std::size_t bytes = ptx.find('[', at), line = ptx.find('\n', at);
      if (bytes < line) entry.local_bytes += std::strtoll(ptx.c_str() + bytes + 1, nullptr, 10);
    }
    entries.push_back(std::move(entry));
  });
  return entries;
}

std::string with_plain_loads(const std::string& ptx, const std::vector<std::string>& entries) {
  std::string result;
  std::size_t done = 0;
  for_each_entry(ptx, [&](const std::string& name, std::size_t begin, std::size_t end) {
    if (std::find(entries.begin(), entries.end(), name) == entries.end()) return;
    for (std::size_t at = ptx.find(kLoad, begin); at < end; at = ptx.find(kLoad, at + 1)) {
      const std::size_t kept = at + kLoad.size() - kReadOnly.size();
      result.append(ptx, done, kept - done);
      done = kept + kReadOnly.size();
    }
  });
  return result.append(ptx, done);
}

}  // namespace mica
