// What machine code for Target::host_checked() calls, and what a bad access becomes.
#pragma once

#include <array>
#include <cstdint>

#include "dsl/expr/diagnostics.h"
#include "dsl/expr/limits.h"

namespace mica {

/// CPU code was about to touch an element outside its array, or to read one of an array of its own that
/// it has not written. The message names the kernel, the Func whose points were computed, the array, the
/// indices and the array's box. What the run had written by then stays written.
class AccessError : public Error {
  using Error::Error;
};

/// One launch of checked code. Its address is that of `failed`, which is as the plain code's
/// (mica_parallel_for): not 0 when the rest of the launch is left out.
struct CheckedRun {
  std::int64_t failed = 0;
  /// Of the first bad access found, as formatted_line has it (runtime/run/print_line.h); null: none.
  const char* format = nullptr;
  std::array<std::int64_t, 3 * kMaxDimensions + 1> values{};
};
/// CheckedRun::failed after a bad access.
inline constexpr std::int64_t kBadAccess = -2;

/// AccessError if the launch, which has ended, found a bad access.
void throw_if_bad(const CheckedRun& run);

}  // namespace mica

extern "C" {

/// Notes a bad access, the first of all threads: `count` numbers from `values` on are those of `format`,
/// a text that lives as long as the code. Several threads may call it at once.
void mica_bad_access(mica::CheckedRun* run, const char* format, const std::int64_t* values,
                     std::int64_t count) noexcept;

}  // extern "C"
