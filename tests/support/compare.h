// fuzz/compare_memory.h as GoogleTest assertions.
#pragma once

#include <gtest/gtest.h>

#include "fuzz/compare_memory.h"

namespace mica::test {

/// Does a comparison find nothing? Its text is the failure's message.
inline ::testing::AssertionResult nothing(const std::string& findings) {
  if (findings.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << findings;
}
inline ::testing::AssertionResult same_bits(const AnyBuffer& expected, const AnyBuffer& actual) {
  return nothing(differing_bits(expected, actual));
}
inline ::testing::AssertionResult outside_untouched(const PoisonedOutput& output) {
  return nothing(output.writes_outside());
}

}  // namespace mica::test
