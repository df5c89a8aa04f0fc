#include "schedules/tune/predict.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "codegen/analysis/traffic/traffic.h"
#include "codegen/ir/kernel.h"
#include "codegen/iterate/time_levels.h"
#include "codegen/passes/loops/unroll_marches.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/gpu_timer.h"
#include "schedules/tune/figures.h"
#include "schedules/tune/forest.h"
#include "schedules/tune/occupancy.h"
#include "schedules/tune/predict_host.h"

namespace mica::tuning {
namespace {

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
  constexpr double kMost = ir::kMostRegisters, kLeast = 16, kUnit = 8;
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
  double written_out = 0;  ///< of one, in the code of a kernel
  double registers = 0;
  /// By how much more time instructions take where one warp is all that a scheduler has, divided by the
  /// warps that it has.
  double alone = 0;
  double steps = 1;           ///< of a march
  double levels = 1;          ///< steps of an Iteration at once
  double steps_early = 0;     ///< by which loads begin before they must
  double seconds_a_step = 0;  ///< that a block waits
  /// Planes are copied while others are computed: reads of shared memory stand behind them.
  bool hides_shared = false;
};

double steps_in_code(const KernelTraffic& kernel, const Work& work) {
  std::int64_t deepest = 1;
  for (const HeldArray& held : kernel.held) deepest = std::max(deepest, held.planes);
  return work.steps > 1 ? static_cast<double>(passes::steps_in_code(deepest)) : 1;
}

/// Of one step of an algorithm, or of no Iteration.
Effort effort_of(const KernelTraffic& kernel, const Work& work, int widest) {
  // Vectors of a thread make one instruction of several accesses.
  const double vector = static_cast<double>(widest) * static_cast<double>(kernel.lanes);
  Effort effort;
  effort.instructions = 0.31 * static_cast<double>(kernel.operations) * work.width +
                        4.4 * bytes(kernel.l1) / vector + 0.1 * bytes(kernel.shared) / vector +
                        1.6 * work.all_steps();
  effort.operations = static_cast<double>(kernel.steady.operations) / work.threads;
  effort.written_out = effort.operations * steps_in_code(kernel, work);
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
  Effort effort;
  const double levels = effort.levels = candidate.steps();
  const std::size_t march = subject.extents().size() - 1;
  const auto reach = static_cast<double>(features.reach_inside[march]);
  const auto rows = static_cast<double>(march == 1 ? 1 : candidate.parameter("rows", 4));
  const double points = static_cast<double>(kernel.lanes) * rows;
  // The first level runs ahead of the last, and so many planes earlier.
  const double lead = reach * (levels - 1);
  const double updates = work.blocks * work.threads * points * levels * (work.steps + lead / 2);
  const double a_point = 0.33 * features.operations + 0.57 + 4 / static_cast<double>(kernel.lanes);
  effort.instructions = updates * work.width * a_point + 5.9 * bytes(kernel.shared) / 4;
  effort.operations = effort.written_out = points * levels * features.operations;
  effort.registers = 25 + 0.9 * static_cast<double>(kernel.held_bytes) / 4;
  effort.alone = 0.38;
  effort.steps = work.steps + lead;
  effort.steps_early = kernel.async_copies ? kernel.steps_early : std::max(2.0, 16 / levels);
  return effort;
}

/// Refuses what would take the compiler and the assembler minutes. Eight fields with windows of seven
/// planes took them 9 s point by point, 50 s in vectors of four.
void check_operations(const KernelTraffic& kernel, const Effort& effort) {
  constexpr double kMostOperations = 8000;
  const auto check = [&](double operations, double most, const char* where) {
    if (operations <= most) return;
    throw UserError("a thread of " + kernel.name + " has " +
                    std::to_string(static_cast<std::int64_t>(operations)) + " operations in " + where +
                    "; at most " + std::to_string(static_cast<std::int64_t>(most)) + " are tried");
  };
  check(effort.operations, kMostOperations, "a step");
  check(effort.written_out, passes::kMostOperationsInCode, "its code");
}

/// The kernel on that machine, with the seconds that the formula expects.
Running running_of(const KernelTraffic& kernel, const Work& work, const Effort& effort,
                   const Rates& rates, const GpuFacts& gpu, const KernelInfo* made) {
  const double most = most_registers(kernel, work, gpu);
  const Registers registers = registers_of(effort.registers, most, made);
  KernelInfo info;
  for (int i = 0; i < 3; ++i) info.shape.block[i] = static_cast<std::uint32_t>(kernel.threads[i]);
  info.shape.shared_bytes = static_cast<std::uint32_t>(kernel.shared_bytes);
  info.registers = static_cast<int>(registers.count);
  const int resident = resident_blocks(info, gpu);
  if (resident < 1) throw UserError("no block of " + kernel.name + " fits a multiprocessor");

  // What a multiprocessor has under way: few bytes, and the memory waits for the next to be asked for.
  const double each = work.blocks / rates.units;
  const double running = std::min<double>(resident, each);
  const double in_a_step =
      running * static_cast<double>(kernel.dram.read) / (work.blocks * effort.steps);
  const double under_way = in_a_step * (1 + 1.5 * effort.steps_early);
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
  seconds += registers.spilled * work.blocks * work.threads * effort.steps / rates.local + kLaunch;
  const double once = static_cast<double>(kernel.once.read + kernel.dram.written);
  return {.seconds = seconds,
          .memory_seconds = std::max(once, 1.0) / rates.memory,
          .registers = registers.count,
          .spilled = registers.spilled,
          .most_registers = most,
          .resident = static_cast<double>(resident),
          .blocks = each,
          .at_once = running,
          .steps = effort.steps,
          .under_way = in_a_step,
          .levels = effort.levels};
}

/// The figures of the candidate's kernels. UserErrors: also several steps at once that no march holds.
Traffic figures_of(const Subject& subject, const TuneCandidate& candidate, TrafficOptions options) {
  const Stepping* const stepping = subject.stepping();
  if (stepping == nullptr || candidate.steps() < 2) {
    return mica::traffic_of(subject.scheduled(candidate), options);
  }
  const auto state = subject.scheduled_steps(candidate);
  iterate::TimeLevels tile = iterate::make_time_levels(
      *state, candidate.steps(),
      {.whole = stepping->whole, .open = subject.target().is_gpu(), .apart = stepping->apart},
      state->tile_where);
  for (std::size_t o = 0; o < tile.margins.size(); ++o) {
    for (std::size_t d = 0; d < tile.margins[o].size(); ++d) {
      tile.margins[o][d].first.set(static_cast<std::int32_t>(stepping->kept[o][d].first));
      tile.margins[o][d].second.set(static_cast<std::int32_t>(stepping->kept[o][d].second));
    }
  }
  options.symbols = stepping->symbols;
  Traffic traffic;
  const std::string why = iterate::schedule_levels(
      *state, tile, subject.target(), true,
      [&](const Func& last) {
        traffic = mica::traffic_of(last, options);
        return true;
      },
      iterate::Otherwise::Nothing);
  if (!why.empty()) throw UserError(why);
  return traffic;
}

}  // namespace

double memory_rate(double copy, double usual) {
  constexpr double kAlike = 0.1;
  return kOfCopy * (std::abs(copy / usual - 1) <= kAlike ? usual : copy);
}

Rates rates_of(const Target& target, bool measure) {
  if (!target.is_gpu()) return host_rates(measure);
  Rates rates;
  const GpuFacts gpu = gpu_facts(target);
  rates.units = gpu.multiprocessors;
  const double h200 = rates.units / 132.0, clocks = rates.units * kClock;
  const double usual = 4.21e12 * h200;
  rates.copy = usual;
  rates.l2 = 5.7e13 * h200;
  rates.shared = 340 * clocks;
  rates.local = 330 * clocks;
  rates.instructions = 138 * clocks;
  constexpr double kLanes = 128;  // of a multiprocessor, each an fma a clock
  rates.arithmetic = 2 * kLanes * clocks;
  if (measure && target.backend == Backend::Cuda) {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    constexpr int kRepeats = 3;  // the first of a process may be at a clock that still rises
    rates.copy = device_copy_bandwidth(target, kBytes, kRepeats) * 1e9;
  }
  rates.memory = memory_rate(rates.copy, usual);
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

std::vector<Seen> kernels_seen(const Subject& subject, const TuneCandidate& candidate,
                               const Rates& rates, const std::vector<KernelInfo>& compiled) {
  const GpuFacts gpu = gpu_facts(subject.target());
  const Traffic traffic = traffic_of(subject, candidate);
  if (traffic.kernels.empty()) throw UserError("no kernel is on the GPU");
  const bool known = compiled.size() == traffic.kernels.size();
  std::vector<Seen> all;
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
    check_operations(kernel, effort);
    const Running running = running_of(kernel, work, effort, rates, gpu, known ? &compiled[i] : nullptr);
    all.push_back({running.seconds, figures_of(kernel, running, subject.features())});
  }
  return all;
}

double predicted_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates,
                         const std::vector<KernelInfo>& compiled) {
  if (!subject.target().is_gpu()) return host_seconds(subject, candidate, rates);
  const std::vector<Seen> kernels = kernels_seen(subject, candidate, rates, compiled);
  const bool known = compiled.size() == kernels.size();
  const Forest& forest = Forest::of(candidate.steps() > 1, known);
  // Of smaller grids, where what a launch and its blocks take counts for more, trees have seen nothing.
  constexpr std::int64_t kFewestPoints = 1 << 24;
  const bool are_like_those = subject.points() >= kFewestPoints;
  double seconds = 0;
  for (const Seen& kernel : kernels) {
    seconds += kernel.seconds * (are_like_those ? std::exp(forest(kernel.figures)) : 1);
  }
  return seconds / candidate.steps();
}

}  // namespace mica::tuning
