// A soak of several processes, some of which are killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/soak/worker.h"

namespace mica::soak {

struct SoakOptions {
  double seconds = 600;
  int processes = 4, threads = 8;
  double kill_every = 2;  ///< seconds between two kills in the mean; 0: none. The first process lives
  double patience = 120;  ///< seconds without a result after which a process is said to hang
  std::uint64_t seed = 1;
  std::filesystem::path folder;  ///< empty: one of its own, removed at the end unless something is wrong
  Fault fault = Fault::None;
};

/// Runs it, prints a table of figures and what is wrong. The exit status: 0, or 1 if anything is.
int soak(SoakOptions options);

}  // namespace mica::soak
