// The processor's floating-point mode, which a program may change for its own arithmetic.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace mica {

/// While it lives, this thread's floating-point arithmetic is as Mica defines it, whatever the program
/// has set: results round to nearest with ties to even, subnormal numbers are kept, nothing traps. The
/// program's mode comes back with its end.
class DefaultFloatMode {
 public:
  DefaultFloatMode() noexcept;
  ~DefaultFloatMode();
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__SSE2__)
  const unsigned before_;
#else
  std::fenv_t before_;
#endif
};

}  // namespace mica
