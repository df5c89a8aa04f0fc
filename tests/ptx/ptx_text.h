// PTX of hand-made kernels, and what tests ask of it.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "tests/ptx/ptxas.h"

namespace mica::test {

/// The PTX of one kernel; version 0 is the lowest for sm_<sm>.
inline std::string ptx_of(const ir::Kernel& kernel, int sm = 90, int version = 0) {
  ir::Module module;
  module.name = "test";
  module.kernels.push_back(kernel);
  return llvm_backend::emit_ptx(module, sm, version);
}

/// How often `word` stands in `text`; overlapping places count.
inline std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

/// ptxas accepts the text without spills or local memory; skipped where there is no ptxas.
inline void expect_assembles(const std::string& ptx, int sm = 90) {
  const Assembled result = assemble(ptx, sm);
  if (!result.available) GTEST_SKIP() << "no ptxas on PATH or in /usr/local/cuda/bin";
  ASSERT_TRUE(result.ok) << result.output << ptx;
  EXPECT_EQ(result.largest("bytes spill stores"), 0) << result.output;
  EXPECT_EQ(result.largest("bytes stack frame"), 0) << result.output;
}

}  // namespace mica::test
