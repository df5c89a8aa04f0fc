// What directives say about a kernel as a whole.
#pragma once

#include <set>
#include <string>

#include "dsl/func/function.h"

namespace mica {

struct KernelHints {
  int min_blocks = 0;               ///< of launch_bounds: blocks at once on a multiprocessor; 0: none
  int max_registers = 0;            ///< of max_registers: a thread's; 0: none
  std::set<std::string> read_only;  ///< arrays that read_only names
};

/// Of all definitions of the Func; of several directives of a kind the last counts.
KernelHints kernel_hints(const FunctionData& func);

}  // namespace mica
