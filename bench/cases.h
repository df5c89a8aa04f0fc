// What is timed: an algorithm under a schedule, and the hand-written kernels of the same manner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/registry.h"

namespace mica::bench {

/// An array that a twin's kernel takes.
struct TwinArray {
  enum class Kind : std::uint8_t { Input, Output, Scratch };
  Kind kind = Kind::Input;
  int index = 0;  ///< which input or output; there is one scratch array
};

/// One kernel of bench/twins/<cubin>.cu. Its parameters are the pointers of `arrays`, and then
///   int nx, int ny, int nz, int chunk, long isy, long isz, long osy, long osz
/// Pointers stand at the first output point. nx, ny, nz are the output's extents (nz is 1 in two
/// dimensions), chunk is what Twin::chunk says. isy and isz are the distances between rows and planes,
/// in elements, of all inputs and of the scratch array, osy and osz those of all outputs; x has
/// distance 1.
struct TwinKernel {
  std::string name;  ///< extern "C"
  std::uint32_t block[3] = {1, 1, 1};
  /// Points that a block covers along each side, kChunk for as many as `chunk`. The grid covers the
  /// output.
  std::int64_t tile[3] = {1, 1, 1};
  std::vector<TwinArray> arrays = {};  ///< empty: all inputs, then all outputs
  std::int64_t extra[3] = {0, 0, 0};   ///< points that the grid covers beyond the output
  std::uint32_t shared_bytes = 0;      ///< dynamic shared memory a block
};
/// In TwinKernel::tile: the value of Twin::chunk.
inline constexpr std::int64_t kChunk = 0;

/// Hand-written kernels that together compute an algorithm's outputs from its inputs, launched in order.
/// A scratch array has the type and layout of the first input, halo included.
struct Twin {
  std::string cubin;                     ///< file name without its ending
  std::vector<TwinKernel> kernels = {};  ///< empty: there is no twin
  /// Planes (rows in two dimensions) that a block walks, for kernels that walk: its own best. A sweep
  /// over `chunk_parameter` sets it.
  std::int64_t chunk = 0;
  std::string chunk_parameter = {};
  std::int64_t multiple_of_x = 1;  ///< nx must be a multiple of this
};

struct Case {
  std::string name;
  std::string algorithm, schedule;
  schedules::Parameters parameters;
  std::int64_t size = 512;  ///< points along each side
  Twin twin;
  bool bake = false;  ///< extents and strides are compiled in (CompileOptions::bake)
  /// Slabs of the slowest dimension in which host arrays go through the device, copies beside kernels;
  /// 0: arrays are on the device.
  int slabs = 0;
};

/// All cases, by family. A schedule may be missing from the registry.
const std::vector<Case>& cases();
/// The case's schedule is in the registry.
bool has_schedule(const Case& c);

}  // namespace mica::bench
