// A progress bar on standard error, drawn at most ten times a second and only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mica::examples {

class Progress {
 public:
  Progress(std::string label, std::int64_t total);
  ~Progress();
  /// `done` of `total` steps are finished; `note` stands behind the bar.
  void update(std::int64_t done, const std::string& note = {});

 private:
  std::string label_;
  std::int64_t total_;
  bool on_terminal_;
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace mica::examples
