#include "schedules/tune/predict.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <unistd.h>

#include "codegen/analysis/traffic/traffic.h"
#include "codegen/iterate/time_levels.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/gpu_timer.h"
#include "schedules/tune/occupancy.h"

namespace mica::tuning {
namespace {

std::int64_t parameter(const TuneCandidate& candidate, const char* name, std::int64_t otherwise) {
  const auto found = candidate.parameters.find(name);
  return found == candidate.parameters.end() ? otherwise : found->second;
}

// ---- GPUs ------------------------------------------------------------------------------------------

// Sizes that an H200's times follow from, as fitted to bench/results/2026-11-23-h200-tune.csv.
constexpr double kClock = 1.755e9;  // of an H200 under load
constexpr double kOfCopy = 1.045;   // the memory's rate over that of a copy, which waits now and then

/// A kernel's threads, and what each does in one step of its march; one that does not march has one
/// step.
struct Work {
  explicit Work(const KernelTraffic& kernel, int widest)
      : blocks(product(kernel.grid)), threads(product(kernel.threads)), width(widest > 4 ? 2 : 1) {
    const double points = static_cast<double>(kernel.points) / std::max(blocks * threads, 1.0);
    step = std::max(static_cast<double>(kernel.steady.points) / threads, 1.0);
    steps = std::max(points / step, 1.0);
  }
  [[nodiscard]] double all_steps() const { return blocks * threads * steps; }

  double blocks, threads;  ///< threads: of a block
  double width;            ///< of a value, in registers
  double step = 1;         ///< points of a thread in a step
  double steps = 1;

 private:
  static double product(const std::int64_t (&n)[3]) { return static_cast<double>(n[0] * n[1] * n[2]); }
};

/// Registers that a thread may have: fewer where blocks are large, or the schedule says so.
double most_registers(const KernelTraffic& kernel, const Work& work, const GpuFacts& gpu) {
  constexpr double kMost = 255, kLeast = 16, kUnit = 8;
  const auto share = [&](double blocks) {
    return std::floor(gpu.registers_per_sm / (work.threads * blocks) / kUnit) * kUnit;
  };
  double most = std::min(kMost, share(1));
  // More blocks than can be resident for their threads are no demand.
  if (kernel.min_blocks > 0 && kernel.min_blocks * work.threads <= gpu.max_threads_per_sm) {
    most = std::min(most, share(kernel.min_blocks));
  }
  if (kernel.max_registers > 0) most = std::min<double>(most, kernel.max_registers);
  return std::max(most, kLeast);
}

/// Registers that the assembler would like to have: it alone knows. (33 % root mean square for 620
/// kernels that got as many as they wanted; all of those that spill are found.)
double wanted_registers(const KernelTraffic& kernel, const Work& work) {
  const auto words = [&](std::int64_t bytes) {
    return static_cast<double>(bytes) / 4 / work.all_steps();
  };
  const double held = static_cast<double>(kernel.held_bytes) / 4;
  const double operations = static_cast<double>(kernel.steady.operations) / work.threads;
  double wanted =
      26.9 + 0.76 * held + 0.12 * words(kernel.shared.sum()) + 0.12 * operations * work.width;
  if (work.steps > 1) {
    wanted += 10.3 + 0.34 * held * work.width;
    if (!kernel.async_copies) wanted += 0.61 * words(kernel.l1.read);
  }
  return wanted;
}

/// Registers of a thread, and bytes that it writes to memory or reads there for want of more, in a step.
struct Registers {
  double count = 0, spilled = 0;
};
Registers registers_of(double wanted, double most, const KernelInfo* made) {
  // A place in local memory is written and read.
  if (made != nullptr && made->registers > 0) {
    return {static_cast<double>(made->registers), 2.0 * std::max(made->local_bytes, 0)};
  }
  constexpr double kSpared = 8, kBytes = 5;
  return {std::min(most, wanted), kBytes * std::max(wanted - most - kSpared, 0.0)};
}

double bytes(const Moved& moved) { return static_cast<double>(moved.sum()); }

/// What a thread of a kernel does, as a model sees it: instructions of all threads, operations of one in
/// a step, and the registers that it would like to have.
struct Effort {
  double instructions = 0;
  double operations = 0;
  double registers = 0;
  /// By how much more time instructions take where one warp is all that a scheduler has, divided by the
  /// warps that it has.
  double alone = 0;
  double steps = 1;           ///< of a march
  double steps_early = 0;     ///< by which loads begin before they must
  double seconds_a_step = 0;  ///< that a block waits
  /// Planes are copied while others are computed: reads of shared memory stand behind them.
  bool hides_shared = false;
};

/// Of one step of an algorithm, or of no Iteration.
Effort effort_of(const KernelTraffic& kernel, const Work& work, int widest) {
  // Vectors of a thread make one instruction of several accesses.
  const double vector = static_cast<double>(widest) * static_cast<double>(kernel.lanes);
  Effort effort;
  effort.instructions = 0.31 * static_cast<double>(kernel.operations) * work.width +
                        4.4 * bytes(kernel.l1) / vector + 0.1 * bytes(kernel.shared) / vector +
                        1.6 * work.all_steps();
  effort.operations = static_cast<double>(kernel.steady.operations) / work.threads;
  effort.registers = wanted_registers(kernel, work);
  effort.steps = work.steps;
  effort.steps_early = kernel.async_copies ? kernel.steps_early : 0;
  effort.hides_shared = kernel.async_copies;
  if (kernel.async_copies) effort.instructions *= 1.18;
  effort.seconds_a_step = kernel.shared_bytes == 0 ? 0 : 2.1e-7;
  return effort;
}

/// Of several steps of an Iteration in one march. Threads compute `rows` points of each vector's lane,
/// and every level at all of their points.
Effort effort_of_levels(const Subject& subject, const TuneCandidate& candidate,
                        const KernelTraffic& kernel, const Work& work) {
  const Features& features = subject.features();
  const double levels = candidate.steps();
  const std::size_t march = subject.extents().size() - 1;
  const auto reach = static_cast<double>(features.reach(march));
  const auto rows = static_cast<double>(march == 1 ? 1 : parameter(candidate, "rows", 4));
  const double points = static_cast<double>(kernel.lanes) * rows;
  // The first level runs ahead of the last, and so many planes earlier.
  const double lead = reach * (levels - 1);
  const double updates = work.blocks * work.threads * points * levels * (work.steps + lead / 2);
  Effort effort;
  const double a_point = 0.33 * features.operations + 0.57 + 4 / static_cast<double>(kernel.lanes);
  effort.instructions = updates * work.width * a_point + 5.9 * bytes(kernel.shared) / 4;
  effort.operations = points * levels * features.operations;
  effort.registers = 25 + 0.9 * static_cast<double>(kernel.held_bytes) / 4;
  effort.alone = 0.38;
  effort.steps = work.steps + lead;
  effort.steps_early = kernel.async_copies ? kernel.steps_early : std::max(2.0, 16 / levels);
  return effort;
}

double time_of(const KernelTraffic& kernel, const Work& work, const Effort& effort, const Rates& rates,
               const GpuFacts& gpu, const KernelInfo* made) {
  // More operations than this in the code of a step take the assembler minutes.
  constexpr double kMostOperations = 8000;
  if (effort.operations > kMostOperations) {
    throw UserError("a thread of " + kernel.name + " has " +
                    std::to_string(static_cast<std::int64_t>(effort.operations)) +
                    " operations in a step; at most " +
                    std::to_string(static_cast<std::int64_t>(kMostOperations)) + " are tried");
  }
  const Registers registers = registers_of(effort.registers, most_registers(kernel, work, gpu), made);
  KernelInfo info;
  for (int i = 0; i < 3; ++i) info.shape.block[i] = static_cast<std::uint32_t>(kernel.threads[i]);
  info.shape.shared_bytes = static_cast<std::uint32_t>(kernel.shared_bytes);
  info.registers = static_cast<int>(registers.count);
  const int resident = resident_blocks(info, gpu);
  if (resident < 1) throw UserError("no block of " + kernel.name + " fits a multiprocessor");

  // What a multiprocessor has under way: few bytes, and the memory waits for the next to be asked for.
  const double each = work.blocks / rates.units;
  const double running = std::min<double>(resident, each);
  double under_way = running * static_cast<double>(kernel.dram.read) / (work.blocks * effort.steps);
  under_way *= 1 + 1.5 * effort.steps_early;
  constexpr double kEnough = 2050, kWaiting = 1.28;
  const double waiting = 1 + std::pow(kEnough / std::max(under_way, 1.0), kWaiting);

  constexpr double kWarp = 32, kSchedulers = 4;
  const double warps = std::max(running, 1.0) * std::ceil(work.threads / kWarp) / kSchedulers;
  const double issued = effort.instructions / rates.instructions * (1 + effort.alone / warps);
  // Blocks that are all resident share their multiprocessor; more come in rounds.
  const double rounds = std::max(each / resident, 1.0);
  constexpr double kBlock = 4.7e-7;  // seconds for a block's start and end
  const double shared = effort.hides_shared ? 0 : bytes(kernel.shared) / rates.shared;
  const double roofs[] = {bytes(kernel.dram) / rates.memory * waiting, bytes(kernel.l2) / rates.l2,
                          shared, issued, rounds * (effort.steps * effort.seconds_a_step + kBlock)};
  constexpr double kPower = 1.36;
  double sum = 0;
  for (const double roof : roofs) sum += std::pow(roof, kPower);
  double seconds = std::pow(sum, 1 / kPower);

  const double last = each <= resident ? each : each / resident;
  constexpr double kTail = 0.32, kLaunch = 2e-6;
  seconds *= 1 + kTail * (std::ceil(last) / last - 1);
  return seconds + registers.spilled * work.blocks * work.threads * effort.steps / rates.local + kLaunch;
}

/// The figures of the candidate's kernels. UserErrors: also several steps at once that no march holds.
Traffic figures_of(const Subject& subject, const TuneCandidate& candidate, TrafficOptions options) {
  const Stepping* const stepping = subject.stepping();
  if (stepping == nullptr || candidate.steps() < 2) {
    return mica::traffic_of(subject.scheduled(candidate), options);
  }
  const auto state = subject.scheduled_steps(candidate);
  iterate::TimeLevels tile =
      iterate::make_time_levels(*state, candidate.steps(), stepping->whole, state->tile_where);
  for (std::size_t d = 0; d < tile.margins.size(); ++d) {
    tile.margins[d].first.set(static_cast<std::int32_t>(stepping->kept[d].first));
    tile.margins[d].second.set(static_cast<std::int32_t>(stepping->kept[d].second));
  }
  options.symbols = stepping->symbols;
  Traffic traffic;
  const std::string why = iterate::schedule_levels(
      *state, tile, subject.target(), true,
      [&](const Func& last) { traffic = mica::traffic_of(last, options); }, iterate::Otherwise::Nothing);
  if (!why.empty()) throw UserError(why);
  return traffic;
}

double gpu_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates,
                   const std::vector<KernelInfo>& compiled) {
  const GpuFacts gpu = gpu_facts(subject.target());
  const Traffic traffic = traffic_of(subject, candidate);
  if (traffic.kernels.empty()) throw UserError("no kernel is on the GPU");
  double seconds = 0;
  const bool known = compiled.size() == traffic.kernels.size();
  for (std::size_t i = 0; i < traffic.kernels.size(); ++i) {
    const KernelTraffic& kernel = traffic.kernels[i];
    if (kernel.shared_bytes > gpu.max_shared_per_block_optin) {
      throw UserError("a block of " + kernel.name + " has " + std::to_string(kernel.shared_bytes) +
                      " bytes of shared memory; at most " +
                      std::to_string(gpu.max_shared_per_block_optin) + " are possible");
    }
    const Work work(kernel, subject.features().widest);
    const Effort effort = candidate.steps() > 1 ? effort_of_levels(subject, candidate, kernel, work)
                                                : effort_of(kernel, work, subject.features().widest);
    seconds += time_of(kernel, work, effort, rates, gpu, known ? &compiled[i] : nullptr);
  }
  return seconds / candidate.steps();
}

// ---- the CPU ---------------------------------------------------------------------------------------

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

/// A tile of several steps (codegen/iterate/schedule_levels.cpp), and how often points are computed for
/// each that is wanted.
struct Tiles {
  Shape shape;
  double again = 1;
};
Tiles tiles_of(const Subject& subject, int steps) {
  const auto& n = subject.extents();
  const std::size_t last = n.size() - 1;
  std::vector<double> tile, share;
  const iterate::HostTile sizes = iterate::host_tile(static_cast<int>(n.size()));
  Tiles tiles;
  tiles.shape.vector = std::max(1, 64 / subject.features().widest);
  for (std::size_t d = 0; d < n.size(); ++d) {
    const std::int64_t size = d == last ? sizes.slowest : d == 0 ? sizes.x : d == 1 ? sizes.y : 0;
    const auto points = static_cast<double>(size > 0 ? std::min(size, n[d]) : n[d]);
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
double host_tile_seconds(const Subject& subject, int steps, const Rates& rates) {
  const Features& features = subject.features();
  const auto [shape, again] = tiles_of(subject, steps);
  const auto points = static_cast<double>(subject.points());
  double read = 0, kept = 0;
  for (const Reads& reads : features.inputs) {
    const std::size_t last = reads.reach.size() - 1;
    read += reads.bytes;
    kept += features.written_bytes * static_cast<double>(reads.reach[last] + 1) * shape.x *
            (reads.reach.size() > 2 ? shape.y : 1.0) * steps;
  }
  const double bytes = points * again * (read + 2.0 * features.written_bytes) / steps;
  const double all = points * (read + features.written_bytes);
  const double memory_rate =
      all < 0.75 * static_cast<double>(rates.last_cache) ? rates.l2 : rates.memory;
  // Levels that no cache of a core holds come from the last one.
  const double levels = kept > 0.75 * static_cast<double>(rates.own_cache)
                            ? points * again * (read + features.written_bytes) / rates.l2
                            : 0;
  const double compute = points * again * cycles_a_point(features, shape, rates) / rates.instructions;
  const double moved = bytes / memory_rate + levels;
  const double rounds = shape.tasks / rates.units;
  return (std::max(moved, compute) + 0.5 * std::min(moved, compute)) * std::ceil(rounds) / rounds;
}

double host_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates) {
  if (candidate.steps() > 1) return host_tile_seconds(subject, candidate.steps(), rates);
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
  const double compute = points * cycles / rates.instructions;
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

}  // namespace

Rates rates_of(const Target& target, bool measure) {
  Rates rates;
  if (!target.is_gpu()) {
    rates.units = host_threads();
    const double threads = rates.units;
    rates.vector_bytes = vector_bytes();
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    // What is written is read before, which a copy does not count.
    rates.copy = measure ? host_copy_bandwidth(kBytes, 3) : 10e9 / 1.5 * threads;
    rates.memory = 1.5 * rates.copy;
    rates.l2 = 4 * rates.memory;
    rates.instructions = 3e9 * threads;
    constexpr double kFmas = 2;  // begun in a cycle
    rates.arithmetic = rates.instructions * kFmas * 2 * rates.vector_bytes / 4;
    rates.own_cache = cache_bytes(_SC_LEVEL2_CACHE_SIZE, rates.own_cache);
    rates.last_cache = cache_bytes(_SC_LEVEL3_CACHE_SIZE, rates.own_cache * rates.units);
    return rates;
  }
  const GpuFacts gpu = gpu_facts(target);
  rates.units = gpu.multiprocessors;
  const double h200 = rates.units / 132.0, clocks = rates.units * kClock;
  rates.copy = 4.21e12 * h200;
  rates.l2 = 5.7e13 * h200;
  rates.shared = 340 * clocks;
  rates.local = 330 * clocks;
  rates.instructions = 138 * clocks;
  constexpr double kLanes = 128;  // of a multiprocessor, each an fma a clock
  rates.arithmetic = 2 * kLanes * clocks;
  if (measure && target.backend == Backend::Cuda) {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    rates.copy = device_copy_bandwidth(target, kBytes, 1) * 1e9;
  }
  rates.memory = kOfCopy * rates.copy;
  return rates;
}

Traffic traffic_of(const Subject& subject, const TuneCandidate& candidate) {
  if (!subject.target().is_gpu()) return {};
  const GpuFacts gpu = gpu_facts(subject.target());
  TrafficOptions options{.extents = subject.extents()};
  options.device.multiprocessors = gpu.multiprocessors;
  options.device.l2_bytes = gpu.l2_bytes;
  options.device.threads_per_sm = gpu.max_threads_per_sm;
  options.device.shared_per_sm = gpu.max_shared_per_sm;
  return figures_of(subject, candidate, options);
}

double predicted_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates,
                         const std::vector<KernelInfo>& compiled) {
  return subject.target().is_gpu() ? gpu_seconds(subject, candidate, rates, compiled)
                                   : host_seconds(subject, candidate, rates);
}

}  // namespace mica::tuning
