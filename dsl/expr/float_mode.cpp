#include "dsl/expr/float_mode.h"

namespace mica {

namespace {

/// A function of its own, so that the conversion stays inside the mode's lifetime.
template <typename To, typename From>
[[gnu::noinline]] To as(From value) {
  return static_cast<To>(value);
}

}  // namespace

float to_f32(double value) {
  const DefaultFloatMode mode;
  return as<float>(value);
}
float to_f32(std::int64_t value) {
  const DefaultFloatMode mode;
  return as<float>(value);
}
float to_f32(std::uint64_t value) {
  const DefaultFloatMode mode;
  return as<float>(value);
}
double to_f64(float value) {
  const DefaultFloatMode mode;
  return as<double>(value);
}
double to_f64(std::int64_t value) {
  const DefaultFloatMode mode;
  return as<double>(value);
}
double to_f64(std::uint64_t value) {
  const DefaultFloatMode mode;
  return as<double>(value);
}

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
