// The candidates that the model has ranked, and what measurements say of the model.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedules/tune/predict.h"
#include "schedules/tune/space.h"

namespace mica::tuning {

class Ranking {
 public:
  /// Of each family some candidates, drawn and then improved along its axes, as the model sees them.
  Ranking(const Subject& subject, const Rates& rates);

  [[nodiscard]] std::size_t size() const { return legal_.size(); }
  /// Seconds, or 0 for a candidate that is refused.
  [[nodiscard]] double predicted(const TuneCandidate& candidate) const;
  /// The most promising candidate that was not taken or learned of yet; nothing when there is none.
  [[nodiscard]] std::optional<TuneCandidate> take();
  /// Takes up what a candidate came to; those beside the best are ranked, too.
  void learn(const TuneCandidate& candidate, bool is_best);

 private:
  struct Known {
    std::string recipe;
    schedules::Parameters parameters;
    double ratio;  ///< logarithm of measured over predicted
  };
  static double distance(const TuneCandidate& a, const Known& b);
  [[nodiscard]] double corrected(const TuneCandidate& candidate) const;
  void add(std::vector<TuneCandidate> candidates);
  [[nodiscard]] std::optional<TuneCandidate> best_of(const Family& family) const;
  void add_family(const Family& family);

  const Subject& subject_;
  const Rates& rates_;
  std::vector<Family> families_;
  std::vector<TuneCandidate> legal_;
  std::vector<Known> known_;
  std::set<std::string> seen_, taken_;
};

}  // namespace mica::tuning
