// Loads of memory that nobody writes, in kernels that have too few registers.
//
//   ld.global.nc.f32 %f1, [%rd1];   may be carried out again where its value is needed
//   ld.global.f32    %f1, [%rd1];   once, where it stands
//
// ptxas (13.0) repeats the first kind rather than keep a value, and then may take another register for
// its address, of whose two halves it has kept one in local memory, or for the value: kernels that spill
// read wrong memory. Those are assembled once more without such loads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mica {

/// An entry of PTX that has such loads.
struct ReadOnlyEntry {
  std::string name;
  std::int64_t local_bytes = 0;  ///< of arrays of a thread's own: what it has beyond them is spilled
};
std::vector<ReadOnlyEntry> read_only_entries(const std::string& ptx);

/// The same PTX with plain loads in the entries of these names.
std::string with_plain_loads(const std::string& ptx, const std::vector<std::string>& entries);

}  // namespace mica
