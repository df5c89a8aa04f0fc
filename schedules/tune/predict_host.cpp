#include "schedules/tune/predict_host.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include "codegen/iterate/time_levels.h"
#include "runtime/cpu/cpu_device.h"
#include "schedules/families.h"

namespace mica::tuning {
namespace {

/// The strips and tasks of a candidate on a grid, and what is computed together.
struct Shape {
  double x = 1, y = 1,
         planes = 1;   ///< points of a strip along the first, the second, the last dimension
  double between = 1;  ///< along those in between
  double tasks = 1;
  double vector = 1;
  std::int64_t rows = 1, together = 1;  ///< and planes
  bool streams = false;
};

double cut(std::int64_t tile, std::int64_t all) {
  return static_cast<double>(tile > 0 ? std::min(tile, all) : all);
}

Shape shape_of(const Subject& subject, const TuneCandidate& candidate) {
  std::vector<std::int64_t> n = subject.extents();
  // Channels are part of a point.
  const bool channels = candidate.parameter("channels", 0) > 0 && n.size() == 3;
  if (channels) {
    n.front() *= n.back();
    n.pop_back();
  }
  Shape shape;
  const std::int64_t usual_vector = std::max(1, 64 / subject.features().widest);
  // Without a schedule four planes are computed together and dealt to the threads, or a row.
  const bool none = candidate.recipe.empty();
  const std::int64_t usual_planes = none && n.size() > 2 ? 4 : 1;
  shape.vector = static_cast<double>(candidate.parameter("vec", usual_vector));
  shape.rows = candidate.parameter("rows", 1);
  shape.together = candidate.parameter("planes", usual_planes);
  shape.streams = candidate.parameter("stream", 0) != 0;
  const std::int64_t chunk = std::max(none ? 1 : candidate.parameter("chunk", 4), shape.together);
  const std::int64_t tile_x = candidate.parameter("tile_x", 0),
                     tile_y = candidate.parameter("tile_y", 0);
  if (n.size() == 1) {
    shape.x = cut(none ? 0 : tile_x, n[0]);
    shape.tasks = std::ceil(static_cast<double>(n[0]) / shape.x);
    return shape;
  }
  shape.x = cut(tile_x, n.front());
  shape.planes = cut(chunk, n.back());
  shape.y = n.size() > 2 ? cut(tile_y, n[1]) : shape.planes;
  for (std::size_t d = 2; d + 1 < n.size(); ++d) shape.between *= static_cast<double>(n[d]);
  shape.tasks = std::ceil(static_cast<double>(n.back()) / shape.planes);
  const bool strips_are_tasks = candidate.parameter("place", 0) < schedules::kStrip;
  if (strips_are_tasks && n.size() > 2 && tile_y > 0)
    shape.tasks *= std::ceil(static_cast<double>(n[1]) / shape.y);
  else if (strips_are_tasks && tile_x > 0)
    shape.tasks *= std::ceil(static_cast<double>(n[0]) / shape.x);
  return shape;
}

/// The different taps of all points that are computed together, and those of them beside their column.
struct TapCounts {
  double all = 0, beside = 0;
};
TapCounts taps_together(const Reads& reads, const Shape& shape, bool deep) {
  constexpr std::size_t kMost = 1000;  // of so many none is shared that counts
  std::set<std::vector<std::int64_t>> met;
  TapCounts taps;
  if (reads.offsets.size() > kMost) {
    taps.all =
        static_cast<double>(reads.offsets.size()) * static_cast<double>(shape.rows * shape.together);
    return taps;
  }
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t plane = 0; plane < shape.together; ++plane) {
      for (std::vector<std::int64_t> at : reads.offsets) {
        if (at.size() > 1) at[1] += row;
        if (deep) at.back() += plane;
        if (!met.insert(at).second) continue;
        taps.all += 1;
        taps.beside += at.front() != 0 ? 1 : 0;
      }
    }
  }
  return taps;
}

/// `placed`: the Funcs behind the output are computed by themselves, each point once.
double cycles_a_point(const Features& features, const Shape& shape, const Rates& rates,
                      bool placed = false) {
  constexpr double kBeside = 1.5, kOperation = 0.3, kStore = 0.25, kLoop = 1, kRow = 28;
  constexpr double kHeld = 28, kSpilled = 3, kLine = 64;
  const double native = static_cast<double>(rates.vector_bytes) / features.widest;
  const double registers = std::max(1.0, shape.vector / native);  // of a vector
  const double width = std::min(shape.vector, native) * features.widest;
  const double beside = kBeside * std::min(width / kLine, 1.0);
  const auto rows = static_cast<double>(shape.rows * shape.together);
  // What is stored on the way is loaded again, every second time beside its column.
  double loads = placed ? rows * features.accesses * (1 + beside / 2) : 0;
  for (std::size_t i = 0; !placed && i < features.inputs.size(); ++i) {
    const TapCounts taps = taps_together(features.inputs[i], shape, features.dimensions > 2);
    loads += taps.all + beside * taps.beside;
  }
  const double operations = placed ? features.operations : features.inlined_operations;
  const double sums = rows * registers;
  const double spilling = 1 + kSpilled * std::max(0.0, sums - kHeld) / kHeld;
  const double group =
      loads * registers / 2 + kOperation * operations * sums * spilling + kStore * sums + kLoop;
  // The last vector of a row is moved to its end.
  const double whole = std::ceil(shape.x / shape.vector) * shape.vector / shape.x;
  return group / (rows * shape.vector) * whole + kRow / (shape.x * rows);
}

/// Bytes a point that come from memory, and that come from the last cache or from memory.
struct Moved {
  double memory = 0, last_cache = 0;
};
Moved moved_of(const Subject& subject, const Shape& shape, const Rates& rates) {
  constexpr double kUsed = 0.75;  // of a cache, before it loses what is wanted
  const Features& features = subject.features();
  const bool deep = features.dimensions > 2;
  const double own = kUsed * static_cast<double>(rates.own_cache),
               last = kUsed * static_cast<double>(rates.last_cache) / rates.units;
  const auto written = static_cast<double>(features.written_bytes);
  // Bytes that pass before the next tile along x, along y, and the next task come.
  const double points = shape.x * shape.y * (deep ? shape.planes : 1) * shape.between;
  const double along_x = points, along_y = points * static_cast<double>(subject.extents()[0]) / shape.x;
  const double along_z = deep ? along_y * static_cast<double>(subject.extents()[1]) / shape.y : along_y;
  double read = 0, kept = shape.streams ? 0 : written * shape.x * shape.y, again = 0;
  std::array<double, 3> beside{};  // what neighbours along each of them read, too
  for (const Reads& reads : features.inputs) {
    const std::size_t slow = reads.reach.size() - 1;
    const auto reach = [&](std::size_t d) {
      return static_cast<double>(d <= slow ? reads.reach[d] : 0);
    };
    const double planes = reach(slow) + static_cast<double>(shape.together);
    kept += reads.bytes * (shape.x + reach(0)) * (deep ? (shape.y + reach(1)) * planes : planes);
    read += reads.bytes;
    again += reads.bytes * reach(slow) / static_cast<double>(shape.together);
    beside[0] += reads.bytes * reach(0) / shape.x;
    if (deep) beside[1] += reads.bytes * reach(1) / shape.y;
    if (slow > 0) beside[2] += reads.bytes * reach(slow) / shape.planes;
  }
  Moved moved{read + (shape.streams ? 1 : 2) * written, 0};
  const auto add = [&](double bytes, double passed) {
    if (passed > own) moved.last_cache += bytes;
    if (passed > last) moved.memory += bytes;
  };
  const double first = moved.memory;
  add(again, kept);
  add(beside[0], along_x * (read + written));
  add(beside[1], along_y * (read + written));
  add(beside[2], along_z * (read + written));
  moved.last_cache += first;
  return moved;
}

/// Of all arrays, the share that the last cache does not hold from run to run.
double lost_share(const Subject& subject, const Rates& rates) {
  constexpr double kHeld = 1.06, kNone = 1.6;  // of the cache: other caches hold a little more
  const Features& features = subject.features();
  double bytes = features.written_bytes;
  for (const Reads& reads : features.inputs) bytes += reads.bytes;
  const double filled =
      bytes * static_cast<double>(subject.points()) / static_cast<double>(rates.last_cache);
  return std::clamp((filled - kHeld) / (kNone - kHeld), 0.0, 1.0);
}

double seconds_of(const Subject& subject, const Shape& shape, const Rates& rates, double cycles,
                  const Moved& moved) {
  constexpr double kTask = 1e-7, kHidden = 0.8;
  const auto points = static_cast<double>(subject.points());
  const double lost = lost_share(subject, rates), held = 1 - lost;
  const double streamed = shape.streams ? subject.features().written_bytes : 0;
  const double memory = points * (lost * moved.memory + held * streamed) / rates.memory;
  const double last = points * moved.last_cache / rates.l2;
  const double compute = points * cycles / rates.instructions;
  const double moving = std::max(memory, last);
  const double rounds = shape.tasks / rates.units, filled = std::ceil(rounds) / rounds;
  // Part of the one is hidden behind the other.
  return (std::max(moving, compute) + kHidden * std::min(moving, compute)) * filled +
         shape.tasks * kTask / rates.units;
}

/// A tile of several steps (codegen/iterate/schedule_levels.cpp), and how often points are computed for
/// each that is wanted.
struct Tiles {
  Shape shape;
  double again = 1;
};
Tiles tiles_of(const Subject& subject, int steps) {
  const auto& n = subject.extents();
  const std::size_t last = n.size() - 1;
  std::vector<double> tile;
  const iterate::HostTile sizes = iterate::host_tile(static_cast<int>(n.size()));
  Tiles tiles;
  tiles.shape.vector = std::max(1, 64 / subject.features().widest);
  for (std::size_t d = 0; d < n.size(); ++d) {
    const std::int64_t size = d == last ? sizes.slowest : d == 0 ? sizes.x : d == 1 ? sizes.y : 0;
    const double points = cut(size, n[d]);
    tile.push_back(points);
    if (size == 0) continue;
    // Half of the levels' reach lies beside a tile, on the average over them.
    const auto reach = static_cast<double>(subject.features().reach(d));
    tiles.again *= 1 + reach * (steps - 1) / 2 / points;
    tiles.shape.tasks *= std::ceil(static_cast<double>(n[d]) / points);
  }
  tiles.shape.x = tile.front();
  tiles.shape.planes = tile.back();
  tiles.shape.y = n.size() > 2 ? tile[1] : tile.back();
  return tiles;
}

/// Of a step, where several are taken at once: fields are read and written once for all of them, and
/// each level keeps the planes that the next one reads.
double tile_seconds(const Subject& subject, int steps, const Rates& rates) {
  const Features& features = subject.features();
  const auto [shape, again] = tiles_of(subject, steps);
  double read = 0, kept = 0;
  for (const Reads& reads : features.inputs) {
    const std::size_t last = reads.reach.size() - 1;
    read += reads.bytes;
    kept += features.written_bytes * static_cast<double>(reads.reach[last] + 1) * shape.x *
            (reads.reach.size() > 2 ? shape.y : 1.0) * steps;
  }
  Moved moved{again * (read + 2.0 * features.written_bytes) / steps, 0};
  // Levels that no cache of a core holds come from the last one.
  moved.last_cache = moved.memory;
  if (kept > 0.75 * static_cast<double>(rates.own_cache))
    moved.last_cache += again * (read + features.written_bytes);
  return seconds_of(subject, shape, rates, again * cycles_a_point(features, shape, rates), moved);
}

/// Bytes of the cache of a level that the first core uses, as Linux has it; `otherwise` where it does
/// not say. (sysconf counts the caches of all cores together on some machines.)
std::int64_t cache_bytes(int level, std::int64_t otherwise) {
  constexpr int kMostCaches = 8;
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
    int found = 0;
    std::string type;
    std::int64_t size = 0;
    char unit = 0;
    if (!(level_file >> found) || !(type_file >> type) || !(size_file >> size)) continue;
    size_file >> unit;
    constexpr int kKiB = 10, kMiB = 20;
    if (found == level && type != "Instruction" && size > 0)
      return size << (unit == 'K' ? kKiB : unit == 'M' ? kMiB : 0);
  }
  return otherwise;
}

/// Cycles a second, from operations that wait for one another.
double clock_rate() {
  constexpr std::int64_t kSteps = 1 << 20;
  constexpr int kCyclesAStep = 2, kRuns = 3;  // a shift and a sum
  double least = HUGE_VAL;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t x = static_cast<std::uint64_t>(run) + 1;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      x += x >> 1U;
      asm volatile("" : "+r"(x));  // one step after the other
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count());
  }
  return kSteps * kCyclesAStep / least;
}

}  // namespace

int host_vector_bytes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

double host_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates) {
  if (candidate.steps() > 1) return tile_seconds(subject, candidate.steps(), rates);
  const Features& features = subject.features();
  const Shape shape = shape_of(subject, candidate);
  const auto producers = static_cast<double>(features.computing);
  const std::int64_t place = candidate.parameter("place", 0);
  double cycles = cycles_a_point(features, shape, rates, producers > 0 && place != schedules::kUsual);
  Moved moved = moved_of(subject, shape, rates);
  // Points that do not lie beside each other are loaded and stored one by one.
  if (subject.is_interleaved() && candidate.parameter("channels", 0) == 0) {
    constexpr double kOneByOne = 1;  // cycles an element
    double elements = 1;
    for (const Reads& reads : features.inputs) elements += static_cast<double>(reads.taps);
    cycles += kOneByOne * elements;
  }
  if (place == schedules::kRoot) moved.memory += 3 * producers * features.widest;
  if (place == schedules::kStrip) cycles *= 1 + 0.05 * producers;
  return seconds_of(subject, shape, rates, cycles, moved);
}

Rates host_rates(bool measure) {
  Rates rates;
  rates.units = host_threads();
  const double threads = rates.units;
  rates.vector_bytes = host_vector_bytes();
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  rates.copy = measure ? host_copy_bandwidth(kBytes, 3) : 20e9 * threads;
  // A stencil's many streams get less than a copy's two.
  rates.memory = 0.75 * rates.copy;
  rates.l2 = 7 * rates.copy;
  rates.instructions = (measure ? clock_rate() : 3.5e9) * threads;
  constexpr double kFmas = 2;  // begun in a cycle
  rates.arithmetic = rates.instructions * kFmas * 2 * rates.vector_bytes / 4;
  rates.own_cache = cache_bytes(2, rates.own_cache);
  rates.last_cache = cache_bytes(3, rates.own_cache * rates.units);
  return rates;
}

}  // namespace mica::tuning
