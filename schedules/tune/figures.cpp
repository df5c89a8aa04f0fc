#include "schedules/tune/figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>

namespace mica::tuning {

Figures figures_of(const KernelTraffic& kernel, const Running& running, const Features& features) {
  constexpr double kWarp = 32, kStep = 1e-7, kWord = 4;
  const auto bytes = [](const Moved& moved) { return static_cast<double>(moved.sum()); };
  const double once = std::max(static_cast<double>(kernel.once.read + kernel.dram.written), 1.0);
  const double points = std::max(static_cast<double>(kernel.points), 1.0);
  const auto threads = static_cast<double>(kernel.threads[0] * kernel.threads[1] * kernel.threads[2]);
  const double vector = static_cast<double>(features.widest) * static_cast<double>(kernel.lanes);
  const double rounds = running.blocks / running.resident;
  const double held = static_cast<double>(kernel.held_bytes) / kWord;
  const double operations = static_cast<double>(kernel.operations) / points;
  std::int64_t planes = 1;
  for (const HeldArray& array : kernel.held) planes = std::max(planes, array.planes);
  const double early = kernel.async_copies ? kernel.steps_early : 0;
  const double shared_written = static_cast<double>(std::max<std::int64_t>(kernel.shared.written, 1));
  const double all[] = {std::log(running.seconds / running.memory_seconds),
                        bytes(kernel.dram) / once,
                        bytes(kernel.l2) / once,
                        bytes(kernel.l1) / once,
                        bytes(kernel.l1) / vector / points,
                        bytes(kernel.shared) / once,
                        bytes(kernel.shared) / vector / points,
                        static_cast<double>(kernel.shared.read) / shared_written,
                        static_cast<double>(kernel.dram.written) / once,
                        operations * features.widest / (once / points),
                        operations,
                        static_cast<double>(kernel.steady.operations) / threads,
                        running.steps,
                        running.resident,
                        running.at_once * std::ceil(threads / kWarp),
                        rounds,
                        std::ceil(rounds) / rounds,
                        running.under_way,
                        running.under_way * (1 + early),
                        kernel.async_copies ? 1.0 : 0.0,
                        early,
                        static_cast<double>(kernel.lanes),
                        static_cast<double>(features.widest),
                        static_cast<double>(kernel.threads[0]),
                        static_cast<double>(kernel.threads[1]),
                        static_cast<double>(kernel.threads[2]),
                        threads,
                        static_cast<double>(kernel.grid[0]),
                        vector * static_cast<double>(kernel.threads[0]),
                        static_cast<double>(kernel.steady.points) / threads,
                        static_cast<double>(kernel.steady.bytes_loaded) /
                            std::max(static_cast<double>(kernel.steady.points), 1.0),
                        static_cast<double>(kernel.shared_bytes),
                        running.steps * std::max(rounds, 1.0) * kStep / running.memory_seconds,
                        held,
                        static_cast<double>(planes),
                        running.most_registers,
                        running.most_registers - held,
                        static_cast<double>(kernel.min_blocks),
                        running.registers,
                        running.spilled,
                        static_cast<double>(features.dimensions),
                        static_cast<double>(kernel.staged.size()),
                        running.levels};
  static_assert(std::size(all) == std::tuple_size_v<Figures>);
  Figures figures;
  std::transform(std::begin(all), std::end(all), figures.begin(),
                 [](double figure) { return static_cast<float>(figure); });
  return figures;
}

}  // namespace mica::tuning
