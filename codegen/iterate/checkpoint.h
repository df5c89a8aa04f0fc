// Fields on disk: what a run needs to go on with the same bits.
//
// The file: the line "mica checkpoint 1", a line of JSON (steps done, the algorithm's mark, of each
// field its name, type, mins and extents), the fields' elements in that order, dimension 0 fastest and
// without gaps, in the machine's byte order (little endian on all that Mica runs on), and the SHA-256 of
// all that comes before, 64 hexadecimal digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"

namespace mica::iterate {

struct SavedField {
  std::string name;
  AnyBuffer buffer;
};

/// Beside `path` first, then in its place. DeviceError if a call of the operating system fails; the file
/// that was there is then as it was. What a process that was killed has left beside it (path.partial-
/// and six characters) is removed.
void write_checkpoint(const std::string& path, const std::string& algorithm, std::int64_t steps_done,
                      const std::vector<SavedField>& fields);

/// The steps done. The fields' buffers are written when the whole file is known to be right. UserErrors
/// at `at`: no such file, a damaged one, another algorithm, other fields, types or boxes.
std::int64_t read_checkpoint(const std::string& path, const std::string& algorithm,
                             std::vector<SavedField>& fields, const CallSite& at);

}  // namespace mica::iterate
