// NVIDIA's assembler as a judge of PTX.
#pragma once

#include <string>

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

}  // namespace mica::test
