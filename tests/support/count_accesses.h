// Traffic counted by carrying out every iteration of a loop nest, for tests of the closed figures.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/analysis/traffic/traffic.h"
#include "codegen/program.h"

namespace mica::test {

/// Names as in Traffic. `by_block` are sectors that each block touches, once a block.
struct CountedKernel {
  /// Bytes that a transaction barrier waits for, and those of the copies that it counts off.
  struct Bulk {
    std::int64_t expected = 0, copied = 0;
  };
  std::string name;
  Moved l1, shared, l2, by_block, once;
  std::int64_t points = 0, operations = 0;
  std::map<std::string, std::int64_t> stores;                         ///< all stores to an array
  std::map<std::string, std::set<std::vector<std::int64_t>>> places;  ///< different indices stored to
  std::map<std::pair<std::string, std::int64_t>, Bulk> bulk;          ///< by array and slot
};

/// Carries out one GPU nest of a program after "simplify_loops". `symbols` has all that loops and
/// indices use, and "<array>.origin" where rows start on a sector at another index than 0.
CountedKernel count_accesses(const Nest& nest, const std::map<std::string, std::int64_t>& symbols,
                             std::int64_t sector_bytes = 32);

}  // namespace mica::test
