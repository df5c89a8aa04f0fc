// The candidates that the model has ranked, and what measurements say of the model.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "schedules/tune/predict.h"
#include "schedules/tune/space.h"

namespace mica::tuning {

/// predicted_seconds for several candidates at once, on all threads of the host: `predicted` is 0 of
/// those that are refused, and stays as it is of those that were not begun before `until`.
void predict_all(
    const Subject& subject, const Rates& rates, std::vector<TuneCandidate>& candidates,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

class Ranking {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of each family some candidates, drawn and then improved along its axes, as the model sees them.
  /// Each family has its share of `seconds`, after which no other of it is looked at. `seed`: of draw().
  /// `only`: of that family alone, if it is named.
  Ranking(const Subject& subject, const Rates& rates, double seconds, std::uint64_t seed,
          const std::string& only = {});

  [[nodiscard]] std::size_t size() const { return legal_.size(); }
  [[nodiscard]] std::size_t families() const { return families_.size(); }
  /// Seconds, or 0 for a candidate that is refused; better founded with the kernels that it became.
  [[nodiscard]] double predicted(const TuneCandidate& candidate,
                                 const std::vector<KernelInfo>& compiled = {}) const;
  /// The prediction as what was measured of candidates like it corrects it.
  [[nodiscard]] double corrected(const TuneCandidate& candidate) const;
  /// The most promising candidate that was not taken or learned of yet, some of each family first, and
  /// of several alike one that is unlike those taken; nothing when there is none.
  [[nodiscard]] std::optional<TuneCandidate> take();
  /// Takes this candidate; false if it was taken or learned of before.
  [[nodiscard]] bool reserve(const TuneCandidate& candidate);
  /// One that was not taken, drawn at random: each family is as likely as any other. Nothing when it
  /// hardly finds a new one that is legal, or none before `until`.
  [[nodiscard]] std::optional<TuneCandidate> draw(Clock::time_point until);
  /// Takes up what a candidate came to; those beside the best are ranked, too.
  void learn(const TuneCandidate& candidate, bool is_best);

 private:
  struct Known {
    std::string recipe;
    schedules::Parameters parameters;
    double ratio;  ///< logarithm of measured over predicted
  };
  struct Ranked {
    TuneCandidate candidate;
    double apart = kFar;  ///< from the nearest that was taken
  };
  /// Candidates as far apart as this have nothing in common.
  static constexpr double kFar = 4;
  static double distance(const TuneCandidate& a, const std::string& recipe,
                         const schedules::Parameters& parameters);
  void mark_taken(const TuneCandidate& candidate);
  void add(std::vector<TuneCandidate> candidates, Clock::time_point until);
  [[nodiscard]] std::optional<TuneCandidate> best_of(const Family& family) const;
  void add_family(const Family& family, Clock::time_point until);

  const Subject& subject_;
  const Rates& rates_;
  std::vector<Family> families_;
  std::vector<Ranked> legal_;
  std::vector<Known> known_;
  std::set<std::string> seen_, taken_;
  std::map<std::string, int> taken_of_;  ///< a family
  std::deque<TuneCandidate> drawn_;      ///< and found legal, to be taken
  std::mt19937_64 random_;               // of one seed: a search can be repeated
};

}  // namespace mica::tuning
