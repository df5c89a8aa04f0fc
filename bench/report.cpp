#include "bench/report.h"

#include <ctime>
#include <fstream>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/page.h"
#include "runtime/run/device.h"

namespace mica::bench {
namespace {

// A number, or a dash for one that is not known.
std::string number(double value, int width, int digits) {
  return value < 0 ? fmt::format("{:>{}}", "-", width) : fmt::format("{:>{}.{}f}", value, width, digits);
}

std::string percent(double share, int width) {
  return share < 0 ? fmt::format("{:>{}}", "-", width)
                   : fmt::format("{:>{}.1f}%", 100 * share, width - 1);
}

std::string verdict(const Result& r) {
  std::string text;
  if (r.ms >= 0) text = r.right ? "right" : "WRONG";
  if (r.twin_ms >= 0) {
    text += (text.empty() ? "" : ", ") + std::string(r.twin_right ? "twin equal" : "twin DIFFERS");
  }
  if (!r.note.empty()) text += (text.empty() ? "" : "; ") + r.note;
  return text;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

nlohmann::json to_json(const Resources& r) {
  return {{"registers", r.registers},
          {"shared_bytes", r.shared_bytes},
          {"local_bytes", r.local_bytes},
          {"occupancy", r.occupancy}};
}

}  // namespace

void print_heading(const Target& target, std::ostream& out) {
  std::string heading = fmt::format("{:<24}{:>10}{:>10}{:>9}", "case", "ms", "copy ms", "of copy");
  if (target.backend == Backend::Cuda) {
    heading += fmt::format("{:>10}{:>8}{:>6}{:>10}{:>9}{:>8}", "twin ms", "ratio", "regs", "shared B",
                           "local B", "warps");
  }
  out << Inked{Ink::Strong, heading + "  bits"} << "\n";
}

void print_result(const Result& r, const Target& target, std::ostream& out) {
  const double of_copy = r.ms > 0 ? r.copy_ms / r.ms : -1;
  out << fmt::format("{:<24}", r.name) << number(r.ms, 10, 4) << number(r.copy_ms, 10, 4)
      << percent(of_copy, 9);
  if (target.backend == Backend::Cuda) {
    const double ratio = r.ms > 0 && r.twin_ms > 0 ? r.ms / r.twin_ms : -1;
    out << number(r.twin_ms, 10, 4) << number(ratio, 8, 3) << number(r.mica.registers, 6, 0)
        << number(r.ms < 0 ? -1 : r.mica.shared_bytes, 10, 0) << number(r.mica.local_bytes, 9, 0)
        << percent(r.mica.occupancy, 8);
  }
  const bool good = r.ms >= 0 && r.right && (r.twin_ms < 0 || r.twin_right);
  out << "  " << Inked{good ? Ink::Good : Ink::Bad, verdict(r)} << std::endl;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();  // what a full disk refuses shows when the last bytes are written
  if (!out) throw UserError("cannot write " + path);
}

void write_json(const std::string& path, const Options& options, const std::vector<Result>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const Result& r : results) {
    list.push_back({{"name", r.name},
                    {"schedule", r.schedule},
                    {"parameters", r.parameters},
                    {"points", r.points},
                    {"bytes", r.bytes},
                    {"ms", r.ms},
                    {"copy_ms", r.copy_ms},
                    {"twin_ms", r.twin_ms},
                    {"mica", to_json(r.mica)},
                    {"twin", to_json(r.twin)},
                    {"right", r.right},
                    {"twin_right", r.twin_right},
                    {"note", r.note}});
  }
  const nlohmann::json document{{"date", utc_now()},
                                {"target", to_string(options.target)},
                                {"device", device_for(options.target)->name()},
                                {"runs", options.runs},
                                {"results", list}};
  write_text(path, document.dump(2) + "\n");
}

}  // namespace mica::bench
