#include "schedules/tune/ranking.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <random>

#include "runtime/cpu/cpu_device.h"

namespace mica::tuning {
namespace {

// How much better than it is a candidate looks, as a logarithm, for each unit of its distance from those
// that were looked at.
constexpr double kCuriosity = 0.08;
// Of each family so many are taken before others are.
constexpr int kOfEach = 8;

}  // namespace

void predict_all(const Subject& subject, const Rates& rates, std::vector<TuneCandidate>& candidates,
                 std::chrono::steady_clock::time_point until) {
  struct Job {
    const Subject& subject;
    const Rates& rates;
    std::vector<TuneCandidate>& candidates;
    std::chrono::steady_clock::time_point until;
    std::vector<std::exception_ptr> errors = std::vector<std::exception_ptr>(candidates.size());
  } job{subject, rates, candidates, until};
  const auto predict = [](std::int64_t i, void* closure) {
    auto& [all_of, with, found, end, errors] = *static_cast<Job*>(closure);
    if (std::chrono::steady_clock::now() > end) return;
    TuneCandidate& one = found[static_cast<std::size_t>(i)];
    try {
      one.predicted = predicted_seconds(all_of, one, with);
    } catch (const UserError&) {
      one.predicted = 0;
    } catch (...) {
      errors[static_cast<std::size_t>(i)] = std::current_exception();
    }
  };
  mica_parallel_for(predict, 0, static_cast<std::int64_t>(candidates.size()), &job);
  for (const auto& error : job.errors)
    if (error) std::rethrow_exception(error);
}

Ranking::Ranking(const Subject& subject, const Rates& rates, double seconds, std::uint64_t seed,
                 const std::string& only)
    : subject_(subject), rates_(rates), families_(families_of(subject, only)), random_(seed) {
  const std::chrono::duration<double> share(seconds / static_cast<double>(families_.size() + 1));
  for (const Family& family : families_) {
    add_family(family, Clock::now() + std::chrono::duration_cast<Clock::duration>(share));
  }
}

double Ranking::predicted(const TuneCandidate& candidate,
                          const std::vector<KernelInfo>& compiled) const {
  try {
    return predicted_seconds(subject_, candidate, rates_, compiled);
  } catch (const UserError&) {
    return 0;
  }
}

std::optional<TuneCandidate> Ranking::take() {
  // Those of the family of which least were taken, until some of each are: no family is known to be slow
  // before some of it are compiled.
  std::set<std::string> families;
  int fewest = kOfEach;
  for (const Ranked& ranked : legal_) {
    const int taken = taken_of_[ranked.candidate.recipe];
    if (taken > fewest || taken_.count(ranked.candidate.text()) > 0) continue;
    if (taken < fewest) families.clear();
    fewest = taken;
    families.insert(ranked.candidate.recipe);
  }
  const TuneCandidate* best = nullptr;
  double least = 0;
  for (const Ranked& ranked : legal_) {
    if (fewest < kOfEach && families.count(ranked.candidate.recipe) == 0) continue;
    if (taken_.count(ranked.candidate.text()) > 0) continue;
    const double expected = corrected(ranked.candidate) * std::exp(-kCuriosity / 2 * ranked.apart);
    if (best == nullptr || expected < least) {
      best = &ranked.candidate;
      least = expected;
    }
  }
  if (best == nullptr) return std::nullopt;
  TuneCandidate found = *best;
  mark_taken(found);
  ++taken_of_[found.recipe];
  return found;
}

void Ranking::mark_taken(const TuneCandidate& candidate) {
  taken_.insert(candidate.text());
  for (Ranked& ranked : legal_) {
    ranked.apart =
        std::min(ranked.apart, distance(ranked.candidate, candidate.recipe, candidate.parameters));
  }
}

bool Ranking::reserve(const TuneCandidate& candidate) {
  if (taken_.count(candidate.text()) > 0) return false;
  mark_taken(candidate);
  ++taken_of_[candidate.recipe];
  return true;
}

std::optional<TuneCandidate> Ranking::draw(Clock::time_point until) {
  // So many are looked at together, by all threads: of several steps at once most are refused.
  constexpr std::size_t kTogether = 32;
  constexpr int kAttempts = 2000;
  while (drawn_.empty() && !families_.empty() && Clock::now() < until) {
    std::vector<TuneCandidate> some;
    for (int i = 0; i < kAttempts && some.size() < kTogether; ++i) {
      TuneCandidate candidate = drawn(families_[random_() % families_.size()], random_);
      if (taken_.insert(candidate.text()).second) some.push_back(std::move(candidate));
    }
    if (some.empty()) break;
    predict_all(subject_, rates_, some, until);
    for (TuneCandidate& candidate : some) {
      if (candidate.predicted > 0) drawn_.push_back(std::move(candidate));
    }
  }
  if (drawn_.empty()) return std::nullopt;
  TuneCandidate first = std::move(drawn_.front());
  drawn_.pop_front();
  return first;
}

void Ranking::learn(const TuneCandidate& candidate, bool is_best) {
  mark_taken(candidate);
  if (candidate.measured > 0 && candidate.predicted > 0) {
    known_.push_back(
        {candidate.recipe, candidate.parameters, std::log(candidate.measured / candidate.predicted)});
  }
  if (!is_best) return;
  for (const Family& family : families_) add(neighbours(family, candidate), Clock::time_point::max());
}

/// Half of the parameters in which two candidates of one family differ; of two families, more than any.
double Ranking::distance(const TuneCandidate& a, const std::string& recipe,
                         const schedules::Parameters& parameters) {
  constexpr double kOtherFamily = 8, kParameter = 0.5;
  if (a.recipe != recipe) return kOtherFamily;
  double differing = 0;
  for (const auto& [name, value] : a.parameters) {
    const auto other = parameters.find(name);
    differing += other == parameters.end() || other->second != value ? kParameter : 0;
  }
  return differing;
}

/// The prediction times what measurements of candidates like it say. What is unlike all of them looks a
/// little better than it is, so that no family stays untried. (With these numbers, searches among the
/// candidates of bench/results/2026-11-23-h200-tune.csv came closest to the best of them: 0.6 % on the
/// average.)
double Ranking::corrected(const TuneCandidate& candidate) const {
  constexpr double kPrior = 0.5;
  double mean = 0;
  for (const Known& known : known_) mean += known.ratio / static_cast<double>(known_.size());
  double weights = kPrior, sum = kPrior * mean, nearest = kFar;
  for (const Known& known : known_) {
    const double apart = distance(candidate, known.recipe, known.parameters);
    const double weight = std::exp(-apart);
    weights += weight;
    sum += weight * known.ratio;
    nearest = std::min(nearest, apart);
  }
  return candidate.predicted * std::exp(sum / weights - kCuriosity * nearest);
}

/// Predicts those that are new, several at once, and keeps those that are legal.
void Ranking::add(std::vector<TuneCandidate> candidates, Clock::time_point until) {
  std::erase_if(candidates, [&](const TuneCandidate& c) { return !seen_.insert(c.text()).second; });
  predict_all(subject_, rates_, candidates, until);
  for (TuneCandidate& candidate : candidates) {
    if (candidate.predicted <= 0) continue;
    double apart = kFar;
    for (const Known& known : known_) {
      apart = std::min(apart, distance(candidate, known.recipe, known.parameters));
    }
    legal_.push_back({std::move(candidate), apart});
  }
}

std::optional<TuneCandidate> Ranking::best_of(const Family& family) const {
  const TuneCandidate* best = nullptr;
  for (const Ranked& ranked : legal_) {
    if (ranked.candidate.recipe != family.recipe) continue;
    if (best == nullptr || ranked.candidate.predicted < best->predicted) best = &ranked.candidate;
  }
  return best != nullptr ? std::optional(*best) : std::nullopt;
}

void Ranking::add_family(const Family& family, Clock::time_point until) {
  constexpr std::size_t kDrawn = 48;
  constexpr int kWalks = 12;
  std::mt19937_64 random(1);  // of one seed: a search can be repeated
  std::vector<TuneCandidate> some;
  for (std::size_t i = 0; i < std::min(kDrawn, 2 * family.size()); ++i) {
    some.push_back(drawn(family, random));
  }
  add(std::move(some), until);
  double before = 0;
  for (int walk = 0; walk < kWalks; ++walk) {
    const auto best = best_of(family);
    if (!best || best->predicted == before) return;
    before = best->predicted;
    add(neighbours(family, *best), until);
  }
}

}  // namespace mica::tuning
