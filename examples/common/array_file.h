// Arrays of float32 in files: raw samples or NumPy's NPY.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"

namespace mica::examples {

/// Reads little-endian float32 samples. `extents` is the shape of a raw file, fastest dimension first;
/// an NPY file (by its magic) brings its own shape, and `extents` may be empty. The result has the
/// fastest dimension as dimension 0. UserErrors: the path cannot be read, the file holds another
/// number of bytes than the shape needs (both are named), a shape of no samples, an NPY of another type
/// or version.
Buffer<float> read_float_array(const std::string& path, const std::vector<std::int64_t>& extents);

/// Raw little-endian samples of the whole box, dimension 0 fastest. UserError when they cannot be
/// written.
void write_float_array(const std::string& path, const Buffer<float>& array);
/// The same as an NPY file (version 1) in C order: dimension 0 is NumPy's last.
void write_npy(const std::string& path, const Buffer<float>& array);

}  // namespace mica::examples
