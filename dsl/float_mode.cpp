#include "dsl/float_mode.h"

namespace mica {

#if defined(__SSE2__)

namespace {

constexpr unsigned kFlags = 0x3fU;     // what has happened so far
constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, to nearest, subnormals kept

bool is_default(unsigned mode) { return (mode & ~kFlags) == kDefault; }

}  // namespace

DefaultFloatMode::DefaultFloatMode() noexcept : before_(_mm_getcsr()) {
  if (!is_default(before_)) _mm_setcsr(kDefault | (before_ & kFlags));
}

DefaultFloatMode::~DefaultFloatMode() {
  if (!is_default(before_)) _mm_setcsr(before_);
}

#else

DefaultFloatMode::DefaultFloatMode() noexcept : before_() {
  std::fegetenv(&before_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatMode::~DefaultFloatMode() { std::fesetenv(&before_); }

#endif

}  // namespace mica
