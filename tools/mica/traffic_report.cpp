#include "tools/mica/traffic_report.h"

#include <ostream>
#include <string>

#include <fmt/format.h>

#include "bench/page.h"
#include "codegen/llvm/backend.h"

namespace mica::tools {
namespace {

using nlohmann::ordered_json;

struct Level {
  const char* name;
  Moved KernelTraffic::*moved;
  const char* meaning;
};
constexpr Level kLevels[] = {
    {"shared", &KernelTraffic::shared, "asked of shared memory"},
    {"l1", &KernelTraffic::l1, "asked of global memory"},
    {"l2", &KernelTraffic::l2, "sectors, once a block and step"},
    {"dram", &KernelTraffic::dram, "after what the L2 keeps (a model)"},
    {"once", &KernelTraffic::once, "sectors, once for the grid"},
};

template <typename List>
std::string by(const List& list) {
  std::string text;
  for (const auto n : list) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

// Bytes in thousands, millions, ... with four digits.
std::string bytes(std::int64_t n) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(n);
  std::size_t unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", n) : fmt::format("{:.4g} {}", value, kUnits[unit]);
}

void print(const StagedArray& array, std::ostream& out) {
  std::string shape;
  for (const auto& side : array.sides) {
    shape += (shape.empty() ? "" : " x ") + std::to_string(side.extent);
    if (side.low != 0 || side.high != 0) shape += fmt::format(" (halo {}, {})", side.low, side.high);
  }
  if (array.planes > 1) shape += fmt::format(", a ring of {} planes", array.planes);
  out << fmt::format("  in shared memory    {}: {}, {} bytes\n", array.name, shape, array.bytes);
}

void print(const KernelTraffic& k, std::ostream& out) {
  out << bench::Inked{bench::Ink::Strong, "kernel " + k.name} << "\n";
  out << fmt::format("  grid                {} blocks of {} threads; a block covers {} points\n",
                     by(k.grid), by(k.threads), by(k.block_points));
  for (const auto& array : k.staged) print(array, out);
  if (k.staged.size() > 1)
    out << fmt::format("  shared memory       {} bytes a block\n", k.shared_bytes);
  for (const auto& array : k.held) {
    out << fmt::format("  in registers        {}: {} x {} values a thread, {} bytes\n", array.name,
                       array.planes, array.points, array.bytes);
  }
  out << fmt::format("  {:<19} {:>10} {:>10}  {:>7} {:>7}  (in cubes)\n", "memory", "read", "written",
                     "read", "written");
  const auto cube = static_cast<double>(k.points * k.element_bytes);
  for (const Level& level : kLevels) {
    const Moved& m = k.*level.moved;
    if (m.sum() == 0) continue;
    out << fmt::format("    {:<17} {:>10} {:>10}  {:>7.3f} {:>7.3f}  {}\n", level.name, bytes(m.read),
                       bytes(m.written), static_cast<double>(m.read) / cube,
                       static_cast<double>(m.written) / cube, level.meaning);
  }
  const SteadyStep& s = k.steady;
  out << fmt::format(
      "  redundancy          {:.2f} elements accessed per element; {:.2f} with all loaded\n",
      s.redundancy(), s.redundancy_as_loaded());
  out << fmt::format("  operations          {} a point; {:.2f} per byte loaded, {:.2f} without a halo\n",
                     s.points == 0 ? 0 : s.operations / s.points, s.ops_per_byte(),
                     s.ops_per_byte_limit());
  if (k.data_dependent) out << "  some indices or conditions depend on data: these are not exact\n";
}

ordered_json to_json(const Moved& moved) { return {{"read", moved.read}, {"written", moved.written}}; }

std::vector<std::string> ptx_names(const Traffic& traffic) {
  std::vector<std::string> kernels;
  for (const auto& k : traffic.kernels) kernels.push_back(k.name);
  return llvm_backend::ptx_names(kernels);
}

ordered_json to_json(const KernelTraffic& k, const std::string& name) {
  ordered_json j;
  j["name"] = name;
  j["grid"] = k.grid;
  j["threads"] = k.threads;
  j["block_points"] = k.block_points;
  j["points"] = k.points;
  j["element_bytes"] = k.element_bytes;
  j["staged"] = ordered_json::array();
  for (const auto& a : k.staged) {
    ordered_json sides = ordered_json::array();
    for (const auto& s : a.sides) {
      sides.push_back({{"extent", s.extent}, {"halo_low", s.low}, {"halo_high", s.high}});
    }
    j["staged"].push_back(
        {{"name", a.name}, {"planes", a.planes}, {"sides", sides}, {"bytes", a.bytes}});
  }
  j["shared_bytes"] = k.shared_bytes;
  j["held"] = ordered_json::array();
  for (const auto& a : k.held) {
    j["held"].push_back(
        {{"name", a.name}, {"planes", a.planes}, {"points", a.points}, {"bytes", a.bytes}});
  }
  j["held_bytes"] = k.held_bytes;
  for (const Level& level : kLevels) j[level.name] = to_json(k.*level.moved);
  j["operations"] = k.operations;
  const SteadyStep& s = k.steady;
  j["steady_step"] = {{"points", s.points},
                      {"elements_used", s.used},
                      {"elements_loaded", s.loaded},
                      {"elements_written", s.written},
                      {"operations", s.operations},
                      {"bytes_loaded", s.bytes_loaded},
                      {"redundancy", s.redundancy()},
                      {"redundancy_as_loaded", s.redundancy_as_loaded()},
                      {"ops_per_byte", s.ops_per_byte()},
                      {"ops_per_byte_limit", s.ops_per_byte_limit()}};
  j["data_dependent"] = k.data_dependent;
  return j;
}

}  // namespace

ordered_json to_json(const Traffic& traffic) {
  ordered_json j;
  j["kernels"] = ordered_json::array();
  const std::vector<std::string> names = ptx_names(traffic);
  for (std::size_t i = 0; i < names.size(); ++i) {
    j["kernels"].push_back(to_json(traffic.kernels[i], names[i]));
  }
  j["computed"] = ordered_json::array();
  for (const auto& func : traffic.computed) {
    j["computed"].push_back({{"name", func.name},
                             {"computed", func.computed},
                             {"distinct", func.distinct},
                             {"recomputed", func.recomputed()},
                             {"ratio", func.ratio()}});
  }
  j["points"] = traffic.points;
  j["redundancy"] = traffic.redundancy();
  j["redundancy_as_loaded"] = traffic.redundancy_as_loaded();
  return j;
}

ordered_json to_predictions(const Traffic& traffic) {
  ordered_json j;
  j["kernels"] = ordered_json::array();
  const std::vector<std::string> names = ptx_names(traffic);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const KernelTraffic& k = traffic.kernels[i];
    j["kernels"].push_back({{"name", names[i]},
                            {"l1_read", k.l1.read},
                            {"l1_write", k.l1.written},
                            {"l2_read", k.l2.read},
                            {"l2_write", k.l2.written},
                            {"dram_read", k.dram.read},
                            {"dram_write", k.dram.written}});
  }
  return j;
}

void print(const Traffic& traffic, std::ostream& out) {
  for (const auto& kernel : traffic.kernels) print(kernel, out);
  for (const auto& func : traffic.computed) {
    out << fmt::format("computed {}: {} points for {} different ones ({:.3f} times each)\n", func.name,
                       func.computed, func.distinct, func.ratio());
  }
  if (traffic.kernels.size() < 2) return;
  out << fmt::format("all kernels: redundancy {:.2f}, {:.2f} with all loaded\n", traffic.redundancy(),
                     traffic.redundancy_as_loaded());
}

}  // namespace mica::tools
