// What is timed: an algorithm under a schedule, and the hand-written kernel of the same manner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/registry.h"

namespace mica::bench {

/// A kernel of bench/twins with the signature
///   (const T* in, T* out, int nx, int ny, int nz, long in_sy, long in_sz, long out_sy, long out_sz)
/// whose pointers stand at the first output point.
struct Twin {
  std::string cubin, kernel;
  std::uint32_t block[3] = {1, 1, 1};
  /// Points that a block covers along each side.
  std::int64_t tile[3] = {1, 1, 1};
};

struct Case {
  std::string name;
  std::string algorithm, schedule;
  schedules::Parameters parameters;
  std::int64_t size = 512;
  Twin twin;  ///< no kernel name: none
};

const std::vector<Case>& cases();

}  // namespace mica::bench
