// How far a run is: for the user's callback, and as a bar on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mica::iterate {

/// Reports at most ten times a second, and at the end.
class ProgressReport {
 public:
  /// `total` 0: not known. Without a label no bar is drawn.
  ProgressReport(std::function<void(std::int64_t, std::int64_t)> callback,
                 const std::optional<std::string>& label, std::int64_t total);
  ProgressReport(const ProgressReport&) = delete;
  ProgressReport& operator=(const ProgressReport&) = delete;
  ~ProgressReport();
  void update(std::int64_t done);
  /// The run is over after `done` steps.
  void finish(std::int64_t done);

 private:
  void report(std::int64_t done);

  std::function<void(std::int64_t, std::int64_t)> callback_;
  std::optional<std::string> label_;
  std::int64_t total_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace mica::iterate
