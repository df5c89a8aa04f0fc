// What a schedule will do on a grid of given extents, as exact numbers from its loop nest alone: points
// of a block, memory it holds, bytes moved at each level, points computed twice, redundancy.
//
// What is counted, for every kernel and for one launch:
//
//   l1      bytes that loads and stores of global arrays ask for. In code that is written out for one
//           thread (its vectors and unrolled rows) an element is loaded once, however many taps read it;
//           each iteration of a serial loop, each step of a march and each part of the block's code
//           between thread loops loads anew. Lanes that a later pass loads beside those asked for, to
//           use aligned vectors, and the sectors that the device fetches for them, are not in it.
//   shared  the same for arrays in shared memory.
//   l2      32-byte sectors that a block touches in one step of its march (in all, if it does not
//   march),
//           each once, summed over steps and blocks: halos that blocks share count in each of them, and
//           so do planes that are read again in a later step.
//   once    sectors that the grid touches, each once.
//   dram    once, and what the L2 cannot keep between blocks, by the model below.
//
// Rows of all arrays are taken to start on a sector: a Func's or input's at logical index 0 of dimension
// 0, a temporary's at its first element. Sums over blocks are exact for every extent, partial blocks at
// the edges included: nothing is extrapolated, see access_pieces.h.
//
// The model of the L2. Blocks start in the order of their numbers, x fastest: the next block along block
// loop a starts s(a) blocks later, where s(a) is the product of the grid's extents along the loops
// before a. What both of them read is still in the L2 if what came between fits it:
//
//   G(a) = bytes of the different sectors that s(a) successive blocks, all those along the loops before
//          a, read and write, on the average over the grid
//   D(a) = G(a)                     when the one has ended before the other starts, s(a) >= R
//        = G(a) / steps             when both are resident, s(a) < R: they take their steps together
//        = G(a) * max(1, R/s(a))    when a cuts the marched dimension: the one reads the common planes
//                                   at its end, the other at its start, R resident blocks around them
//   a is kept  <=>  D(a) <= l2_bytes, and the loops before a are kept
//   dram.read  = sum over the blocks' positions along the loops that are not kept, of the different
//                sectors that all blocks at that position read
//
// Where the last block loop cuts the marched dimension and is not kept, its blocks still share in part.
// Blocks run in waves of R; if b + s(a) is in the wave after b's, it starts when b ends, and the common
// planes are the last that the one reads and the first that the other does. Between lie only the steps
// that take the common planes. Of the C bytes that each pair of neighbouring layers would read twice,
//
//   dram.read  less  C * (pairs of blocks b, b + s(a) in successive waves) / (pairs)
//                    if C * R/s(a) * (bytes read and written) / (bytes read) <= l2_bytes
//
//   dram.written = once.written
//
// R is the multiprocessors times the blocks that fit one by threads and shared memory; steps are those
// of a march, 1 without one. Assumptions: a launch finds the L2 empty; the L2 replaces what was used
// longest ago, and keeps a sector that is written until it is whole; registers limit no residency;
// resident blocks advance alike; blocks that start beside each other but in different waves count as
// resident together. But for the layers of a march, common elements are found again or not for a whole
// loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/func/func.h"

namespace mica {

struct Program;

/// The device that the model of the L2 looks at: an H200 unless told. One sector is what the L2 moves at
/// least.
struct TrafficDevice {
  std::int64_t l2_bytes = std::int64_t{50} << 20;
  std::int64_t sector_bytes = 32;
  int multiprocessors = 132;
  int threads_per_sm = 2048;
  int shared_per_sm = 228 << 10;
  int blocks_per_sm = 32;
};

struct TrafficOptions {
  std::vector<std::int64_t> extents;  ///< of the outputs, dimension 0 first
  std::map<std::string, std::int64_t> symbols =
      {};  ///< values of "u.extent.0", ... instead of the usual
  TrafficDevice device = {};
};

/// Bytes.
struct Moved {
  std::int64_t read = 0, written = 0;
  [[nodiscard]] std::int64_t sum() const { return read + written; }
};

/// An array in a block's shared memory.
struct StagedArray {
  struct Side {
    std::int64_t extent = 0;         ///< elements, padding of rows included
    std::int64_t low = 0, high = 0;  ///< halo below and above the block's points
  };
  std::string name;
  std::vector<Side> sides;  ///< dimension 0 first; of a ring's dimension the number of planes, no halo
  std::int64_t planes = 1;  ///< of a ring along a march; 1: no ring
  std::int64_t bytes = 0;
};
/// Values that each thread keeps in registers.
struct HeldArray {
  std::string name;
  std::int64_t planes = 1;  ///< of a ring along a march
  std::int64_t points = 1;  ///< of the thread in one plane
  std::int64_t bytes = 0;   ///< of all planes
};
/// How often the points of an inner Func are computed, by each of its updates too. Copies of other
/// arrays are not listed.
struct ComputedFunc {
  std::string name;
  std::int64_t computed = 0, distinct = 0;
  [[nodiscard]] std::int64_t recomputed() const { return computed - distinct; }
  [[nodiscard]] double ratio() const;  ///< computed over distinct
};

/// One step of the march of one block (all of a block that does not march), the most frequent one of the
/// grid: away from the edges when the grid is large enough.
struct SteadyStep {
  std::int64_t points = 0;  ///< of the kernel's Func
  /// Elements of global arrays. `used` are those that redundancy counts: every tap on global memory, and
  /// of arrays filled by copying those elements that are read afterwards (a star reads no corners);
  /// `loaded` has all that are copied.
  std::int64_t used = 0, loaded = 0, written = 0;
  std::int64_t operations = 0;      ///< arithmetic on values, fma as two
  std::int64_t bytes_loaded = 0;    ///< as l1.read
  std::int64_t bytes_at_limit = 0;  ///< every element of every array once a point: no halo
  /// Elements accessed over elements processed (P. Micikevicius: 3D finite difference computation on
  /// GPUs using CUDA, 2009).
  [[nodiscard]] double redundancy() const;
  [[nodiscard]] double redundancy_as_loaded() const;
  /// Operations per byte loaded from global memory, for this tile and without its halo.
  [[nodiscard]] double ops_per_byte() const;
  [[nodiscard]] double ops_per_byte_limit() const;
};

struct KernelTraffic {
  std::string name;
  std::int64_t grid[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
  std::vector<std::int64_t> block_points;  ///< a full block's, dimension 0 first
  std::int64_t element_bytes = 0;          ///< of the kernel's Func, all its values
  std::int64_t points = 0;                 ///< of the kernel's Func, on the whole grid
  std::vector<StagedArray> staged;
  std::int64_t shared_bytes = 0;  ///< a block
  std::vector<HeldArray> held;
  std::int64_t held_bytes = 0;  ///< a thread
  Moved l1, shared, l2, dram, once;
  std::int64_t operations = 0;  ///< on the whole grid
  SteadyStep steady;
  std::int64_t lanes = 1;     ///< points of a row that a thread takes in one vector
  bool async_copies = false;  ///< staged arrays are filled by asynchronous copies
  int steps_early = 0;        ///< by how many steps of a march such copies begin before they must
  int min_blocks = 0;         ///< of launch_bounds; 0: none
  int max_registers = 0;      ///< that max_registers allows a thread; 0: as many as there are
  /// A condition or an index depends on data: see access_pieces.h for what is assumed.
  bool data_dependent = false;
};

struct Traffic {
  std::vector<KernelTraffic> kernels;
  std::vector<ComputedFunc> computed;
  std::int64_t points = 0;  ///< of the last kernel
  /// Sums over kernels, each by its share of the points.
  [[nodiscard]] double redundancy() const;
  [[nodiscard]] double redundancy_as_loaded() const;
  [[nodiscard]] Moved total(Moved KernelTraffic::*level) const;
};

/// Points that bytes are counted for at most: beyond, sums of them would not fit in 64 bits.
constexpr std::int64_t kLargestGrid = std::int64_t{1} << 44;

/// The figures of the GPU kernels of a program that has passed "simplify_loops"; nests for the host are
/// left out. Inputs and outputs have the given extents
/// from 0. UserErrors: a loop's bounds depend on symbols without a value; an
/// extent below 1 or beyond dsl/expr/limits.h; more than kLargestGrid points.
Traffic analyse_traffic(const Program& program, const TrafficOptions& options);
/// The figures of the kernels that `output` with its schedule becomes, Funcs that are inlined among
/// `computed`.
Traffic traffic_of(const Func& output, const TrafficOptions& options);
/// The same of a pipeline of several outputs.
Traffic traffic_of(const std::vector<Func>& outputs, const TrafficOptions& options);

}  // namespace mica
