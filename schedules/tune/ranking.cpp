#include "schedules/tune/ranking.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <tbb/parallel_for.h>

namespace mica::tuning {

Ranking::Ranking(const Subject& subject, const Rates& rates)
    : subject_(subject), rates_(rates), families_(families_of(subject)) {
  for (const Family& family : families_) add_family(family);
}

double Ranking::predicted(const TuneCandidate& candidate) const {
  try {
    return predicted_seconds(subject_, candidate, rates_);
  } catch (const UserError&) {
    return 0;
  }
}

std::optional<TuneCandidate> Ranking::take() {
  const TuneCandidate* best = nullptr;
  double least = 0;
  for (const TuneCandidate& candidate : legal_) {
    if (taken_.count(candidate.text()) > 0) continue;
    const double expected = corrected(candidate);
    if (best == nullptr || expected < least) {
      best = &candidate;
      least = expected;
    }
  }
  if (best == nullptr) return std::nullopt;
  taken_.insert(best->text());
  return *best;
}

void Ranking::learn(const TuneCandidate& candidate, bool is_best) {
  taken_.insert(candidate.text());
  if (candidate.measured > 0 && candidate.predicted > 0) {
    known_.push_back(
        {candidate.recipe, candidate.parameters, std::log(candidate.measured / candidate.predicted)});
  }
  if (!is_best) return;
  for (const Family& family : families_) {
    if (family.recipe == candidate.recipe) add(neighbours(family, candidate));
  }
}

/// Parameters in which two candidates of one family differ; of two families, more than any.
double Ranking::distance(const TuneCandidate& a, const Known& b) {
  constexpr double kOtherFamily = 8;
  if (a.recipe != b.recipe) return kOtherFamily;
  double differing = 0;
  for (const auto& [name, value] : a.parameters) {
    const auto other = b.parameters.find(name);
    differing += other == b.parameters.end() || other->second != value ? 1 : 0;
  }
  return differing;
}

/// The prediction times what measurements of candidates like it say. What is unlike all of them looks a
/// little better than it is, so that no family stays untried.
double Ranking::corrected(const TuneCandidate& candidate) const {
  constexpr double kPrior = 0.05, kCuriosity = 0.04, kFar = 4;
  double mean = 0;
  for (const Known& known : known_) mean += known.ratio / static_cast<double>(known_.size());
  double weights = kPrior, sum = kPrior * mean, nearest = kFar;
  for (const Known& known : known_) {
    const double apart = distance(candidate, known);
    const double weight = std::exp(-apart);
    weights += weight;
    sum += weight * known.ratio;
    nearest = std::min(nearest, apart);
  }
  return candidate.predicted * std::exp(sum / weights - kCuriosity * nearest);
}

/// Predicts those that are new, several at once, and keeps those that are legal.
void Ranking::add(std::vector<TuneCandidate> candidates) {
  std::erase_if(candidates, [&](const TuneCandidate& c) { return !seen_.insert(c.text()).second; });
  tbb::parallel_for(std::size_t{0}, candidates.size(),
                    [&](std::size_t i) { candidates[i].predicted = predicted(candidates[i]); });
  for (TuneCandidate& candidate : candidates) {
    if (candidate.predicted > 0) legal_.push_back(std::move(candidate));
  }
}

std::optional<TuneCandidate> Ranking::best_of(const Family& family) const {
  const TuneCandidate* best = nullptr;
  for (const TuneCandidate& candidate : legal_) {
    if (candidate.recipe != family.recipe) continue;
    if (best == nullptr || candidate.predicted < best->predicted) best = &candidate;
  }
  return best != nullptr ? std::optional(*best) : std::nullopt;
}

void Ranking::add_family(const Family& family) {
  constexpr std::size_t kDrawn = 48;
  constexpr int kWalks = 12;
  std::mt19937_64 random(1);  // of one seed: a search can be repeated
  std::vector<TuneCandidate> some;
  for (std::size_t i = 0; i < std::min(kDrawn, 2 * family.size()); ++i) {
    some.push_back(drawn(family, random));
  }
  add(std::move(some));
  double before = 0;
  for (int walk = 0; walk < kWalks; ++walk) {
    const auto best = best_of(family);
    if (!best || best->predicted == before) return;
    before = best->predicted;
    add(neighbours(family, *best));
  }
}

}  // namespace mica::tuning
