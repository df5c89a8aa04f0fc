// Candidates compiled on several threads while others are measured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "schedules/tune/trials.h"

namespace mica::tuning {

class CompilePool {
 public:
  /// A candidate with its code, or one that says why it was refused.
  struct Made {
    TuneCandidate candidate;
    std::shared_ptr<Trial> trial = {};
    double seconds = 0;  ///< that compiling took
  };

  /// `trials` outlives the pool; `threads` compile at once.
  CompilePool(const Trials& trials, std::size_t threads) : trials_(trials), threads_(threads) {}

  [[nodiscard]] std::size_t under_way() const { return jobs_.size(); }
  [[nodiscard]] bool has_room() const { return jobs_.size() < threads_; }
  /// What `seconds_of` says of the fastest under way; infinity: nothing is.
  [[nodiscard]] double fastest_under_way(
      const std::function<double(const TuneCandidate&)>& seconds_of) const;
  /// Seconds that the slowest so far has taken, others that learn() tells included.
  [[nodiscard]] double slowest() const { return slowest_; }
  void learn(double seconds) { slowest_ = std::max(slowest_, seconds); }
  /// Begins with one more.
  void begin(const TuneCandidate& candidate);
  /// Those that are done and were not taken yet. What is neither a UserError nor a DeviceError is
  /// thrown.
  [[nodiscard]] std::vector<Made> take();
  /// Waits for the oldest that is under way, or as long.
  void wait(std::chrono::milliseconds most) const;
  void wait_for_all() const;
  /// Forgets what is under way, when it has come to its end.
  void clear() { jobs_.clear(); }

 private:
  const Trials& trials_;
  const std::size_t threads_;
  struct Job {
    std::future<Made> made;
    TuneCandidate candidate;
  };
  std::deque<Job> jobs_;
  double slowest_ = 0;
};

/// Does `work` with a candidate; false, and the candidate says why, when it is refused on the way.
template <typename Work>
bool done(TuneCandidate& candidate, const Work& work) {
  try {
    work();
    return true;
  } catch (const UserError& e) {
    candidate.refused = e.what();
  } catch (const DeviceError& e) {
    candidate.refused = e.what();
  }
  candidate.measured = candidate.settled = 0;
  return false;
}

}  // namespace mica::tuning
