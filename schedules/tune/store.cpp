#include "schedules/tune/store.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "codegen/llvm/backend.h"
#include "dsl/expr/names.h"
#include "dsl/schedule/json_depth.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/gpu_facts.h"

namespace mica::tuning {

using nlohmann::json;

namespace {

constexpr int kFormat = 1;  // of the tables, PRAGMA user_version

constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS best (
    algorithm TEXT, device TEXT, version TEXT, class TEXT, extents TEXT, name TEXT,
    recipe TEXT, parameters TEXT, predicted REAL, measured REAL, without REAL, time INTEGER,
    PRIMARY KEY (algorithm, device, version, class));
  CREATE TABLE IF NOT EXISTS trials (
    algorithm TEXT, device TEXT, version TEXT, extents TEXT,
    recipe TEXT, parameters TEXT, predicted REAL, measured REAL, refused TEXT,
    PRIMARY KEY (algorithm, device, version, extents, recipe, parameters));
)";

std::string hex(std::uint64_t mark) { return fmt::format("{:016x}", mark); }

std::string text_of(const schedules::Parameters& parameters) { return json(parameters).dump(); }

/// What a field of a row holds as JSON. DeviceError for text that is none, or another.
template <typename T>
T read_as(const std::string& text) {
  try {
    return json::parse(text).get<T>();
  } catch (const json::exception& e) {
    throw DeviceError("tune store: a row is damaged", SQLITE_CORRUPT, e.what());
  }
}

std::uint64_t mark_of(const std::string& text) {
  std::uint64_t mark = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mark, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UserError("\"" + text + "\" is no mark of an algorithm, 16 hexadecimal digits");
  }
  return mark;
}

int log_of(std::int64_t extent) {
  return static_cast<int>(
      std::lround(std::log2(static_cast<double>(std::max<std::int64_t>(extent, 1)))));
}

}  // namespace

std::string TunedKey::shape_class() const {
  std::vector<int> logs;
  for (const std::int64_t n : extents) logs.push_back(log_of(n));
  return fmt::format("{}", fmt::join(logs, "x"));
}

std::string TunedEntry::text() const {
  return fmt::format("{} {} on {}: {:.4f} ms ({:.2f} of no schedule), {}", name,
                     fmt::join(key.extents, " x "), key.device, best.measured * 1e3,
                     without > 0 ? best.measured / without : 1.0, best.text());
}

std::string mica_version() { return MICA_VERSION; }

std::string device_name(const Target& target) {
  if (target.is_gpu()) return gpu_facts(target).name;
  return fmt::format("{}, {} threads{}", llvm_backend::host_cpu_name(), host_threads(),
                     target.backend == Backend::HostChecked ? ", checked" : "");
}

std::filesystem::path TuneStore::path_from_environment() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  const std::filesystem::path own = variable("MICA_TUNE_STORE");
  if (own == "off") return {};
  if (!own.empty()) return own;
  if (const auto xdg = variable("XDG_DATA_HOME"); xdg.is_absolute()) return xdg / "mica" / "tuned.db";
  if (const auto home = variable("HOME"); home.is_absolute()) {
    return home / ".local" / "share" / "mica" / "tuned.db";
  }
  return {};
}

namespace {

/// The path, in a folder that is there if it can be.
const std::filesystem::path& with_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  return path;
}

}  // namespace

TuneStore::TuneStore(const std::filesystem::path& path, std::chrono::milliseconds wait)
    : database_(with_folder(path), "tune store", Database::Access::Write, wait) {
  const std::int64_t format = database_.pragma("user_version");
  if (format > kFormat) {
    throw UserError(
        fmt::format("tune store {} is of format {}, of a newer Mica; this one knows {}. Name "
                    "another file in MICA_TUNE_STORE, or remove it",
                    path.string(), format, kFormat));
  }
  if (format == kFormat) return;
  database_.run(std::string("BEGIN IMMEDIATE;") + kTables +
                fmt::format("PRAGMA user_version = {}; COMMIT;", kFormat));
}

// ---- rows ------------------------------------------------------------------------------------------

namespace {

constexpr const char* kColumns =
    "algorithm, device, version, extents, name, recipe, parameters, predicted, measured, without, time";

template <typename Row>
TunedEntry entry_of(const Row& row) {
  TunedEntry entry;
  entry.key.algorithm = mark_of(row.text(0));
  entry.key.device = row.text(1);
  entry.version = row.text(2);
  entry.key.extents = read_as<std::vector<std::int64_t>>(row.text(3));
  entry.name = row.text(4);
  entry.best.recipe = row.text(5);
  entry.best.parameters = read_as<schedules::Parameters>(row.text(6));
  entry.best.predicted = row.number(7);
  entry.best.measured = row.number(8);
  entry.without = row.number(9);
  entry.when = row.integer(10);
  return entry;
}

/// How far two shapes are apart, the largest difference of logarithms to base 2.
double apart(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    most = std::max(most, std::abs(std::log2(static_cast<double>(a[d]) / static_cast<double>(b[d]))));
  }
  return most;
}

bool matches(const TunedEntry& entry, const std::string& filter) {
  return entry.name.find(filter) != std::string::npos ||
         entry.key.device.find(filter) != std::string::npos;
}

}  // namespace

std::optional<TunedEntry> TuneStore::find(const TunedKey& key) const {
  constexpr double kFarthest = 2;  // a factor of four
  Statement rows(database_, (std::string("SELECT ") + kColumns +
                             " FROM best WHERE algorithm = ? AND device = ? AND version = ?"));
  rows.bind(hex(key.algorithm)).bind(key.device).bind(mica_version());
  std::optional<TunedEntry> nearest;
  double least = kFarthest;
  while (rows.step()) {
    TunedEntry entry = entry_of(rows);
    if (entry.key.shape_class() == key.shape_class()) return entry;
    const double distance = apart(entry.key.extents, key.extents);
    if (distance > least) continue;
    least = distance;
    nearest = std::move(entry);
  }
  return nearest;
}

void TuneStore::keep(const TunedEntry& entry) {
  Statement row(database_,
                "INSERT OR REPLACE INTO best (algorithm, device, version, class, extents, name, recipe, "
                "parameters, predicted, measured, without, time) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
  row.bind(hex(entry.key.algorithm)).bind(entry.key.device).bind(entry.version);
  row.bind(entry.key.shape_class()).bind(json(entry.key.extents).dump()).bind(entry.name);
  row.bind(entry.best.recipe).bind(text_of(entry.best.parameters)).bind(entry.best.predicted);
  row.bind(entry.best.measured).bind(entry.without).bind(entry.when);
  row.step();
}

std::vector<TuneCandidate> TuneStore::trials(const TunedKey& key) const {
  Statement rows(
      database_,
      "SELECT recipe, parameters, predicted, measured, refused FROM trials WHERE algorithm = ? "
      "AND device = ? AND version = ? AND extents = ? ORDER BY rowid");
  rows.bind(hex(key.algorithm)).bind(key.device).bind(mica_version()).bind(json(key.extents).dump());
  std::vector<TuneCandidate> trials;
  while (rows.step()) {
    TuneCandidate candidate;
    candidate.recipe = rows.text(0);
    candidate.parameters = read_as<schedules::Parameters>(rows.text(1));
    candidate.predicted = rows.number(2);
    candidate.measured = rows.number(3);
    candidate.refused = rows.text(4);
    trials.push_back(std::move(candidate));
  }
  return trials;
}

void TuneStore::keep_trial(const TunedKey& key, const TuneCandidate& candidate) {
  Statement row(
      database_,
      "INSERT OR REPLACE INTO trials (algorithm, device, version, extents, recipe, parameters, "
      "predicted, measured, refused) VALUES (?,?,?,?,?,?,?,?,?)");
  row.bind(hex(key.algorithm)).bind(key.device).bind(mica_version()).bind(json(key.extents).dump());
  row.bind(candidate.recipe).bind(text_of(candidate.parameters)).bind(candidate.predicted);
  row.bind(candidate.measured).bind(candidate.refused);
  row.step();
}

std::vector<TunedEntry> TuneStore::list(const std::string& filter) const {
  Statement rows(database_,
                 std::string("SELECT ") + kColumns + " FROM best ORDER BY name, device, extents");
  std::vector<TunedEntry> entries;
  while (rows.step()) {
    TunedEntry entry = entry_of(rows);
    if (matches(entry, filter)) entries.push_back(std::move(entry));
  }
  return entries;
}

std::size_t TuneStore::forget(const std::string& filter) {
  const std::vector<TunedEntry> entries = list(filter);
  for (const TunedEntry& entry : entries) {
    for (const char* table : {"best", "trials"}) {
      const std::string sql = fmt::format(
          "DELETE FROM {} WHERE algorithm = ? AND device = ? AND version = ? AND extents = ?", table);
      Statement row(database_, sql);
      row.bind(hex(entry.key.algorithm)).bind(entry.key.device).bind(entry.version);
      row.bind(json(entry.key.extents).dump());
      row.step();
    }
  }
  return entries.size();
}

std::string TuneStore::to_json(const std::string& filter) const {
  json all = json::array();
  for (const TunedEntry& e : list(filter)) {
    all.push_back({{"algorithm", hex(e.key.algorithm)},
                   {"device", e.key.device},
                   {"extents", e.key.extents},
                   {"name", as_utf8(e.name)},
                   {"version", e.version},
                   {"recipe", e.best.recipe},
                   {"parameters", e.best.parameters},
                   {"predicted", e.best.predicted},
                   {"measured", e.best.measured},
                   {"without", e.without},
                   {"time", e.when}});
  }
  return json{{"mica_tuned", kFormat}, {"entries", all}}.dump(2) + "\n";
}

std::size_t TuneStore::from_json(const std::string& text) {
  std::vector<TunedEntry> entries;
  if (nests_deeper(text)) throw UserError("tuned schedules cannot be read: the text nests too deep");
  try {
    const json whole = json::parse(text);
    if (whole.at("mica_tuned").get<int>() != kFormat) {
      throw UserError(fmt::format("tuned schedules of format {}; this Mica knows {}",
                                  whole.at("mica_tuned").get<int>(), kFormat));
    }
    for (const json& row : whole.at("entries")) {
      TunedEntry e;
      e.key.algorithm = mark_of(row.at("algorithm").get<std::string>());
      e.key.device = row.at("device").get<std::string>();
      e.key.extents = row.at("extents").get<std::vector<std::int64_t>>();
      e.name = row.at("name").get<std::string>();
      e.version = row.at("version").get<std::string>();
      e.best.recipe = row.at("recipe").get<std::string>();
      e.best.parameters = row.at("parameters").get<schedules::Parameters>();
      e.best.predicted = row.at("predicted").get<double>();
      e.best.measured = row.at("measured").get<double>();
      e.without = row.at("without").get<double>();
      e.when = row.at("time").get<std::int64_t>();
      if (!e.best.recipe.empty()) static_cast<void>(schedules::find(e.best.recipe));
      entries.push_back(std::move(e));
    }
  } catch (const json::exception& e) {
    throw UserError(std::string("tuned schedules cannot be read: ") + e.what());
  }
  for (const TunedEntry& entry : entries) keep(entry);
  return entries.size();
}

}  // namespace mica::tuning
