// What tuning found, kept for other processes: a SQLite database.
//
// One row for each algorithm (by its graph, schedules/tune/graph_mark.h), device, version of Mica and
// class of shapes; and one for each candidate that was measured on the way, written as soon as it is
// known, so that a search that is cut off goes on where it was. Any number of threads and processes may
// use one store at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/run/target.h"
#include "schedules/tune/database.h"
#include "schedules/tune/tune.h"

namespace mica::tuning {

/// Where a schedule is the best.
struct TunedKey {
  std::uint64_t algorithm = 0;  ///< graph_mark
  std::string device;           ///< device_name
  std::vector<std::int64_t> extents;
  /// Extents whose logarithms to base 2 round to the same numbers: "9x9x9" of 512 x 512 x 512.
  [[nodiscard]] std::string shape_class() const;
};

struct TunedEntry {
  TunedKey key;
  std::string name;                        ///< of the output, for people
  std::string version;                     ///< of Mica
  TuneCandidate best;                      ///< recipe, parameters and times
  double without = 0;                      ///< seconds without a schedule
  std::int64_t when = 0;                   ///< seconds since 1970
  [[nodiscard]] std::string text() const;  ///< one line
};

/// "NVIDIA H200", or "AMD EPYC, 2 threads".
std::string device_name(const Target& target);
/// Of the library; schedules of another are not found.
std::string mica_version();

class TuneStore {
 public:
  /// The file MICA_TUNE_STORE, else mica/tuned.db in XDG_DATA_HOME or in .local/share in HOME. Empty
  /// where none of them is set, or MICA_TUNE_STORE is "off".
  static std::filesystem::path path_from_environment();
  /// Opens the store, which is made if it is not there. DeviceErrors that name the file: it cannot be
  /// opened or made, is no store or damaged, or others write to it for longer than `wait`. UserError: it
  /// is one of a newer Mica.
  explicit TuneStore(const std::filesystem::path& path,
                     std::chrono::milliseconds wait = Database::kShortWait);

  // DeviceErrors of all members name the file and what SQLite says: a disk that is full, a file that
  // may not be written, damage.

  /// The best schedule for the key's algorithm and device: of its class of shapes, or else of the
  /// nearest class in which no extent differs by more than a factor of four.
  [[nodiscard]] std::optional<TunedEntry> find(const TunedKey& key) const;
  /// Keeps an entry in place of the one of its class.
  void keep(const TunedEntry& entry);
  /// The candidates that were measured, or refused, on exactly these extents, in their order.
  [[nodiscard]] std::vector<TuneCandidate> trials(const TunedKey& key) const;
  void keep_trial(const TunedKey& key, const TuneCandidate& candidate);
  /// All entries, by name, those whose name or device contains `filter`.
  [[nodiscard]] std::vector<TunedEntry> list(const std::string& filter = {}) const;
  /// Removes them and their trials; the number of entries.
  std::size_t forget(const std::string& filter);
  /// Entries as JSON, and back: the number taken up. UserErrors name what is wrong in the text.
  [[nodiscard]] std::string to_json(const std::string& filter = {}) const;
  std::size_t from_json(const std::string& text);

 private:
  Database database_;
};

}  // namespace mica::tuning
