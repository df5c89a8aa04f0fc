// NVIDIA's assembler as a judge of PTX.
#pragma once

#include <string>

#include <gtest/gtest.h>

namespace mica::test {

/// What `ptxas -v` says of one text.
struct Assembled {
  bool available = false;  ///< a ptxas was found on PATH or in /usr/local/cuda/bin
  bool ok = false;
  std::string output;

  /// The largest number before `what` in the output, such as "registers" or "bytes spill stores";
  /// -1 if it is not there.
  [[nodiscard]] int largest(const std::string& what) const;
};

/// Assembles for sm_<sm>.
Assembled assemble(const std::string& ptx, int sm);

/// ptxas accepts the text without spills or local memory; skipped where there is no ptxas.
inline void expect_assembles(const std::string& ptx, int sm = 90) {
  const Assembled result = assemble(ptx, sm);
  if (!result.available) GTEST_SKIP() << "no ptxas on PATH or in /usr/local/cuda/bin";
  ASSERT_TRUE(result.ok) << result.output << ptx;
  EXPECT_EQ(result.largest("bytes spill stores"), 0) << result.output;
  EXPECT_EQ(result.largest("bytes stack frame"), 0) << result.output;
}

}  // namespace mica::test
