// The processor's floating-point mode, which a program may change for its own arithmetic.
#pragma once

#include <cstdint>

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

/// C++'s conversions in the default mode.
float to_f32(double value);
float to_f32(std::int64_t value);
float to_f32(std::uint64_t value);
double to_f64(float value);
double to_f64(std::int64_t value);
double to_f64(std::uint64_t value);

}  // namespace mica
