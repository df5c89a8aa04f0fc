// One process of a soak.
#pragma once

#include <cstdint>
#include <string>

#include "tests/soak/figures.h"

namespace mica::soak {

/// Faults that a soak makes itself, to show that it finds them: see faults() for their names.
enum class Fault { None, Bits, Leak, Crash, Hang, Store, Cache, Lost };

struct WorkerOptions {
  int place = 0;  ///< which of the processes; what took the place of a killed one has its number
  int threads = 2;
  std::uint64_t seed = 1;
  double sample_every = 1;  ///< seconds; 0: memory is not looked at
  Fault fault = Fault::None;
};

/// Computes and compares in `threads` threads until Figures::stop, or until something is wrong, which
/// becomes a line of Folder::failures. MICA_CACHE_DIR and MICA_TUNE_STORE are the folder's already.
/// The process's exit status.
int work(const Folder& folder, const WorkerOptions& options);

}  // namespace mica::soak
