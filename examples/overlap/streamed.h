// Time steps on a grid that does not fit into a device's memory: slab by slab, with copies beside
// kernels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "examples/overlap/problem.h"

namespace mica::examples {

/// How many steps a slab takes for one way to the device and back, and how many of them are one kernel.
struct Steps {
  int a_pass = 16, a_kernel = 8;
};

/// A grid of points^2 in slabs of whole rows:
///
///        rows of slab k - 1
///      ----------------------  \                                   t = 0     comes in
///        halo: T rows           |  what the T steps of a pass        /.....\  computed again
///      ----------------------   |  read of slab k                   /       \               .
///        rows of slab k         |                          t = T    |_______|  goes out
///      ----------------------   |
///        halo: T rows           |
///      ----------------------  /
struct Slabs {
  std::int64_t points = 0, halo = 0, rows = 0, count = 0;
  /// First row of a slab, and the row after its last.
  [[nodiscard]] std::int64_t begin(std::int64_t k) const { return k * rows; }
  [[nodiscard]] std::int64_t end(std::int64_t k) const { return std::min(points, (k + 1) * rows); }
  /// Bytes of device memory.
  [[nodiscard]] std::int64_t memory() const;
  /// Points computed over points wanted: with `steps` steps a kernel.
  [[nodiscard]] double redundancy(const Steps& steps) const;
};

/// The largest that fit into `memory` bytes: three slabs are under way at once, each in two arrays.
/// UserError that says what would fit if not even slabs of one row do.
Slabs cut(std::int64_t points, std::int64_t halo, std::int64_t memory);

/// Steps of `jacobi` on `target`, in slabs.
class Streamed {
 public:
  Streamed(Jacobi& jacobi, const Target& target, const Slabs& slabs, const Steps& steps);
  /// `passes` passes over the grid. What is in the host's arrays `a` and `b` goes from one to the other
  /// in each pass, so that all slabs read values of one time; the result is in `a` after an even number
  /// of passes, else in `b`. Their rims keep their values.
  void run(const Buffer<double>& a, const Buffer<double>& b, std::int64_t passes);
  /// When what began and ended.
  [[nodiscard]] std::vector<CopyPipeline::Span> spans() const { return pipeline_.spans(); }

 private:
  /// Two arrays on the device, of which kernels read one and write the other.
  struct Slot {
    Buffer<double> arrays[2];
  };
  /// The kernels that take slab k in a slot through a pass.
  std::vector<PreparedRun>& kernels_for(int slot, std::int64_t k, Stream stream);
  [[nodiscard]] Box rows_within(std::int64_t k, std::int64_t beside, bool rim) const;
  /// The array of a slot in the coordinates of the grid.
  [[nodiscard]] Buffer<double> array(int slot, int which, std::int64_t k) const;

  Jacobi& jacobi_;
  const Target target_;
  const Slabs slabs_;
  const Steps steps_;
  std::vector<Slot> slots_;
  CopyPipeline pipeline_;
  std::map<std::pair<int, std::int64_t>, std::vector<PreparedRun>> kernels_;
};

}  // namespace mica::examples
