// PTX of hand-made kernels, and what tests ask of it.
#pragma once

#include <string>

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

}  // namespace mica::test
