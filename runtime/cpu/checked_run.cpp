#include "runtime/cpu/checked_run.h"

#include <algorithm>
#include <atomic>

#include "runtime/run/print_line.h"

namespace mica {

void throw_if_bad(const CheckedRun& run) {
  if (run.format != nullptr) throw AccessError(formatted_line(run.format, run.values.data()));
}

}  // namespace mica

void mica_bad_access(mica::CheckedRun* run, const char* format, const std::int64_t* values,
                     std::int64_t count) noexcept {
  // Who comes first writes the rest, which is read when all threads have ended.
  std::int64_t none = 0;
  const bool first =
      std::atomic_ref<std::int64_t>(run->failed).compare_exchange_strong(none, mica::kBadAccess);
  if (!first) return;
  run->format = format;
  std::copy_n(values, std::min(count, static_cast<std::int64_t>(run->values.size())),
              run->values.begin());
}
