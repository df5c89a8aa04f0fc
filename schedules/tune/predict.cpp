#include "schedules/tune/predict.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include <tbb/parallel_for.h>
#include <unistd.h>

#include "codegen/analysis/traffic.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/gpu_timer.h"
#include "schedules/tune/occupancy.h"

namespace mica::tuning {
namespace {

// ---- GPUs ------------------------------------------------------------------------------------------

constexpr double kClock = 1.755e9;  // of an H200 under load

/// Registers that a thread could use, of which the assembler alone knows how many it gets: what it keeps
/// along a march, its points, and about half of the elements that it loads in a step, which wait for
/// their use. (22, 32 and 72 of pmpp/naive, naive-vec4 and naive-planes; this says 26, 36 and 67.)
double registers_of(const KernelTraffic& kernel, double threads, double step, double steps) {
  constexpr double kAddresses = 22, kWaiting = 0.45, kRegister = 4;
  const double loaded = static_cast<double>(kernel.l1.read) / (threads * steps * kRegister);
  const double words = std::max(static_cast<double>(kernel.element_bytes) / kRegister, 1.0);
  return kAddresses + static_cast<double>(kernel.held_bytes) / kRegister + kWaiting * loaded +
         step * words;
}

double time_of(const KernelTraffic& kernel, const Rates& rates, const GpuFacts& gpu, bool wide) {
  const auto bytes = [](const Moved& moved) { return static_cast<double>(moved.sum()); };
  const double operations = static_cast<double>(kernel.operations) * (wide ? 2 : 1);
  double seconds = std::max({bytes(kernel.dram) / rates.memory, bytes(kernel.l2) / rates.l2,
                             bytes(kernel.l1) / rates.l1, bytes(kernel.shared) / rates.shared,
                             operations / rates.operations});
  const auto product = [](const std::int64_t(&n)[3]) { return static_cast<double>(n[0] * n[1] * n[2]); };
  const double blocks = product(kernel.grid), threads = product(kernel.threads);
  const double points = static_cast<double>(kernel.points) / std::max(blocks * threads, 1.0);
  const double step = std::max(static_cast<double>(kernel.steady.points) / threads, 1.0);
  if (kernel.shared_bytes > 0) {
    // A block that walks has the next planes under way while it computes; another waits for all.
    seconds *= step < points ? 1 + 0.5 / step : 1 + 0.98 / std::sqrt(std::max(points, 1.0));
  }
  KernelInfo info;
  for (int i = 0; i < 3; ++i) info.shape.block[i] = static_cast<std::uint32_t>(kernel.threads[i]);
  info.shape.shared_bytes = static_cast<std::uint32_t>(kernel.shared_bytes);
  constexpr int kUsualRegisters = 28, kMostRegisters = 255;
  info.registers =
      std::min<int>(kMostRegisters, kUsualRegisters + static_cast<int>(kernel.held_bytes / 4));
  // Beyond all registers the assembler finds an order that waits for less, or spills.
  const double wanted = registers_of(kernel, blocks * threads, step, std::max(points / step, 1.0));
  constexpr double kSpilled = 0.25;
  seconds *= 1 + kSpilled * (1 - std::exp(-std::max(wanted - kMostRegisters, 0.0) / kMostRegisters));
  const int resident = resident_blocks(info, gpu);
  if (resident < 1) throw UserError("no block of " + kernel.name + " fits a multiprocessor");
  // Blocks that are all resident share their multiprocessor; more come in rounds.
  const double each = blocks / rates.units;
  const double rounds = each <= resident ? each : each / resident;
  seconds *= std::ceil(rounds) / rounds;
  constexpr double kThread = 0.86e-12 * 132;  // seconds of a multiprocessor for a thread's start
  constexpr double kLaunch = 2e-6;
  return seconds + blocks * threads * kThread / rates.units + kLaunch;
}

double gpu_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates) {
  const GpuFacts gpu = gpu_facts(subject.target());
  TrafficOptions options{.extents = subject.extents()};
  options.device.multiprocessors = gpu.multiprocessors;
  options.device.l2_bytes = gpu.l2_bytes;
  options.device.threads_per_sm = gpu.max_threads_per_sm;
  options.device.shared_per_sm = gpu.max_shared_per_sm;
  const Traffic traffic = traffic_of(subject.scheduled(candidate), options);
  if (traffic.kernels.empty()) throw UserError("no kernel is on the GPU");
  double seconds = 0;
  for (const KernelTraffic& kernel : traffic.kernels) {
    if (kernel.shared_bytes > gpu.max_shared_per_block_optin) {
      throw UserError("a block of " + kernel.name + " has " + std::to_string(kernel.shared_bytes) +
                      " bytes of shared memory; at most " +
                      std::to_string(gpu.max_shared_per_block_optin) + " are possible");
    }
    seconds += time_of(kernel, rates, gpu, subject.features().widest > 4);
  }
  return seconds;
}

// ---- the CPU ---------------------------------------------------------------------------------------

std::int64_t parameter(const TuneCandidate& candidate, const char* name, std::int64_t otherwise) {
  const auto found = candidate.parameters.find(name);
  return found == candidate.parameters.end() ? otherwise : found->second;
}

/// The strips and tasks of host/rows on a grid.
struct Shape {
  double x = 1, y = 1,
         planes = 1;   ///< points of a strip along the first, the second, the last dimension
  double between = 1;  ///< along those in between
  double tasks = 1;
  double vector = 1, rows = 1;
};

Shape shape_of(const Subject& subject, const TuneCandidate& candidate) {
  const auto& n = subject.extents();
  const auto cut = [](std::int64_t tile, std::int64_t all) {
    return static_cast<double>(tile > 0 ? std::min(tile, all) : all);
  };
  Shape shape;
  const std::int64_t usual_vector = std::max(1, 64 / subject.features().widest);
  shape.vector = static_cast<double>(parameter(candidate, "vec", usual_vector));
  shape.rows = static_cast<double>(parameter(candidate, "rows", 1));
  // Without a schedule the slowest dimension is dealt to the threads plane by plane.
  const std::int64_t chunk = candidate.recipe.empty() ? 1 : parameter(candidate, "chunk", 4);
  const std::int64_t tile_x = parameter(candidate, "tile_x", 0),
                     tile_y = parameter(candidate, "tile_y", 0);
  if (n.size() == 1) {
    shape.x = cut(candidate.recipe.empty() ? 0 : tile_x, n[0]);
    shape.tasks = std::ceil(static_cast<double>(n[0]) / shape.x);
    return shape;
  }
  shape.x = cut(tile_x, n.front());
  shape.planes = cut(chunk, n.back());
  shape.y = n.size() > 2 ? cut(tile_y, n[1]) : shape.planes;
  for (std::size_t d = 2; d + 1 < n.size(); ++d) shape.between *= static_cast<double>(n[d]);
  shape.tasks = std::ceil(static_cast<double>(n.back()) / shape.planes);
  const bool strips_are_tasks = parameter(candidate, "place", 0) < 2;
  if (strips_are_tasks && n.size() > 2 && tile_y > 0)
    shape.tasks *= std::ceil(static_cast<double>(n[1]) / shape.y);
  else if (strips_are_tasks && tile_x > 0)
    shape.tasks *= std::ceil(static_cast<double>(n[0]) / shape.x);
  return shape;
}

/// Cycles of a core a point: loads and arithmetic on vectors, what is left of a row point by point, and
/// the loop around the rows.
double cycles_a_point(const Features& features, const Shape& shape, const Rates& rates) {
  const double native = static_cast<double>(rates.vector_bytes) / features.widest;
  const double lanes = std::min(shape.vector, native);
  double loads = 0;
  for (const Reads& reads : features.inputs) {
    // Rows that are computed together share what they read of the rows between them.
    const double rows = static_cast<double>(reads.rows), taps = static_cast<double>(reads.taps);
    loads += taps / rows * (rows + shape.rows - 1) / shape.rows;
  }
  const double work = features.operations / 2 + loads / 2 + 1;
  const double whole = std::floor(shape.x / shape.vector) * shape.vector;
  const double left = shape.x - whole;
  // Sums of more vectors than there are registers go through memory.
  const double held = shape.rows * std::max(1.0, shape.vector / native);
  const double spilled = held > 8 ? 0.5 * (held - 8) / 8 : 0;
  constexpr double kRow = 20;
  return (work * (whole / lanes * (1 + spilled) + left) + kRow) / shape.x;
}

double host_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates) {
  const Features& features = subject.features();
  const Shape shape = shape_of(subject, candidate);
  const auto points = static_cast<double>(subject.points());
  const std::int64_t place = parameter(candidate, "place", 0);

  // What a strip must find again from plane to plane, or row to row.
  double kept = static_cast<double>(features.written_bytes) * shape.x * shape.y, read = 0, again = 0;
  for (const Reads& reads : features.inputs) {
    const std::size_t last = reads.reach.size() - 1;
    const auto reach = [&](std::size_t d) {
      return static_cast<double>(d <= last ? reads.reach[d] : 0);
    };
    const bool deep = reads.reach.size() > 2;
    const double planes = reach(last) + 1;
    kept += reads.bytes * (shape.x + reach(0)) * (deep ? (shape.y + reach(1)) * planes : planes);
    const double halo = (1 + reach(0) / shape.x) * (deep ? 1 + reach(1) / shape.y : 1) *
                        (1 + reach(last) / shape.planes);
    read += reads.bytes * (1 + (halo - 1) / 2);  // half of it is still in the last cache
    again += reads.bytes * reach(last);
  }
  double memory = read + 2.0 * features.written_bytes, last_level = memory;
  if (kept > 0.75 * static_cast<double>(rates.own_cache)) last_level += again;
  if (kept * rates.units > 0.75 * static_cast<double>(rates.last_cache)) memory += again;
  double cycles = cycles_a_point(features, shape, rates);
  const auto producers = static_cast<double>(features.producers);
  if (place == 1) memory += 3 * producers * features.widest;
  if (place == 2) cycles *= 1 + 0.05 * producers;

  const double all = points * (read + features.written_bytes);
  const double memory_rate =
      all < 0.75 * static_cast<double>(rates.last_cache) ? rates.l2 : rates.memory;
  const double rounds = shape.tasks / rates.units;
  const double filled = std::ceil(rounds) / rounds;
  constexpr double kTask = 1e-6;
  const double compute = points * cycles / (rates.operations / 2);
  const double moved = std::max(points * memory / memory_rate, points * last_level / rates.l2);
  // Part of the one is hidden behind the other.
  return (std::max(moved, compute) + 0.5 * std::min(moved, compute)) * filled +
         shape.tasks * kTask / rates.units;
}

int vector_bytes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

std::int64_t cache_bytes(int name, std::int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

/// Bytes that the threads move between memory and caches a second when they add one array to another
/// that the last cache does not hold: two are read and one is written back.
double host_memory_rate() {
  constexpr std::size_t kBytes = std::size_t{64} << 20, kPart = std::size_t{1} << 16;
  std::vector<float> from(kBytes / sizeof(float), 1.0F), to(kBytes / sizeof(float), 2.0F);
  double best = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < 3; ++pass) {
    const auto begun = std::chrono::steady_clock::now();
    tbb::parallel_for(std::size_t{0}, from.size() / kPart, [&](std::size_t part) {
      for (std::size_t i = part * kPart; i < (part + 1) * kPart; ++i) to[i] += from[i];
    });
    best =
        std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  return 3.0 * kBytes / best;
}

}  // namespace

Rates rates_of(const Target& target, bool measure) {
  Rates rates;
  if (!target.is_gpu()) {
    rates.units = host_threads();
    const double threads = rates.units;
    rates.vector_bytes = vector_bytes();
    rates.memory = measure ? host_memory_rate() : 10e9 * threads;
    rates.l2 = 4 * rates.memory;
    rates.l1 = 200e9 * threads;
    rates.operations = 2 * 3e9 * threads;  // instructions: what a model of cycles wants
    rates.own_cache = cache_bytes(_SC_LEVEL2_CACHE_SIZE, rates.own_cache);
    rates.last_cache = cache_bytes(_SC_LEVEL3_CACHE_SIZE, rates.own_cache * rates.units);
    return rates;
  }
  const GpuFacts gpu = gpu_facts(target);
  rates.units = gpu.multiprocessors;
  const double h200 = rates.units / 132.0, clocks = rates.units * kClock;
  rates.memory = 4.2e12 * h200;
  rates.l2 = 6.5e12 * h200;
  rates.l1 = 73 * clocks;
  rates.shared = 121 * clocks;
  rates.operations = 470 * clocks;
  if (measure && target.backend == Backend::Cuda) {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    rates.memory = device_copy_bandwidth(target, kBytes, 1) * 1e9;
  }
  return rates;
}

double predicted_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates) {
  return subject.target().is_gpu() ? gpu_seconds(subject, candidate, rates)
                                   : host_seconds(subject, candidate, rates);
}

}  // namespace mica::tuning
