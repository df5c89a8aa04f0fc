#include "schedules/tune/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "codegen/compile.h"
#include "dsl/expr/names.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/space.h"
#include "schedules/tune/trials.h"

namespace mica {
namespace tuning {
namespace {

using Clock = std::chrono::steady_clock;

/// The candidates that the model has ranked, and what measurements say of the model.
class Ranking {
 public:
  Ranking(const Subject& subject, const Rates& rates)
      : subject_(subject), rates_(rates), families_(families_of(subject)) {
    for (const Family& family : families_) add_family(family);
  }

  [[nodiscard]] std::size_t size() const { return legal_.size(); }
  [[nodiscard]] double predicted(const TuneCandidate& candidate) const {
    try {
      return predicted_seconds(subject_, candidate, rates_);
    } catch (const UserError&) {
      return 0;
    }
  }
  /// The most promising candidate that was not taken yet; nothing when there is none.
  [[nodiscard]] std::optional<TuneCandidate> take() {
    const TuneCandidate* best = nullptr;
    double least = 0;
    for (const TuneCandidate& entry : legal_) {
      if (taken_.count(entry.text()) > 0) continue;
      const double expected = corrected(entry);
      if (best == nullptr || expected < least) {
        best = &entry;
        least = expected;
      }
    }
    if (best == nullptr) return std::nullopt;
    taken_.insert(best->text());
    return *best;
  }
  /// Takes up what a candidate came to; those beside one that is fast are ranked, too.
  void learn(const TuneCandidate& candidate, bool is_best) {
    if (candidate.measured > 0 && candidate.predicted > 0) {
      known_.push_back(
          {candidate.recipe, candidate.parameters, std::log(candidate.measured / candidate.predicted)});
    }
    if (!is_best) return;
    for (const Family& family : families_) {
      if (family.recipe == candidate.recipe) add(neighbours(family, candidate));
    }
  }

 private:
  struct Known {
    std::string recipe;
    schedules::Parameters parameters;
    double ratio;  ///< logarithm of measured over predicted
  };

  /// Parameters in which two candidates of one family differ; of two families, more than any.
  static double distance(const TuneCandidate& a, const Known& b) {
    if (a.recipe != b.recipe) return 8;
    double differing = 0;
    for (const auto& [name, value] : a.parameters) {
      const auto other = b.parameters.find(name);
      differing += other == b.parameters.end() || other->second != value ? 1 : 0;
    }
    return differing;
  }
  /// The prediction times what measurements of candidates like it say. What is unlike all of them looks
  /// a little better than it is, so that no family stays untried.
  [[nodiscard]] double corrected(const TuneCandidate& entry) const {
    constexpr double kPrior = 0.05, kCuriosity = 0.04, kFar = 4;
    double weights = kPrior, sum = 0, nearest = kFar;
    double mean = 0;
    for (const Known& known : known_) mean += known.ratio / static_cast<double>(known_.size());
    sum = kPrior * mean;
    for (const Known& known : known_) {
      const double apart = distance(entry, known);
      const double weight = std::exp(-apart);
      weights += weight;
      sum += weight * known.ratio;
      nearest = std::min(nearest, apart);
    }
    return entry.predicted * std::exp(sum / weights - kCuriosity * nearest);
  }

  /// Predicts those that are new, several at once, and keeps those that are legal.
  void add(std::vector<TuneCandidate> candidates) {
    std::erase_if(candidates, [&](const TuneCandidate& c) { return !seen_.insert(c.text()).second; });
    tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t i) {
      candidates[i].predicted = predicted(candidates[i]);
    });
    for (TuneCandidate& candidate : candidates) {
      if (candidate.predicted > 0) legal_.push_back(std::move(candidate));
    }
  }
  [[nodiscard]] std::optional<TuneCandidate> best_of(const Family& family) const {
    const TuneCandidate* best = nullptr;
    for (const TuneCandidate& entry : legal_) {
      if (entry.recipe != family.recipe) continue;
      if (best == nullptr || entry.predicted < best->predicted) best = &entry;
    }
    return best != nullptr ? std::optional(*best) : std::nullopt;
  }
  /// Candidates drawn from all of a family, and those that are better and better along its axes.
  void add_family(const Family& family) {
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

  const Subject& subject_;
  const Rates& rates_;
  std::vector<Family> families_;
  std::vector<TuneCandidate> legal_;
  std::vector<Known> known_;
  std::set<std::string> seen_, taken_;
};

/// Ranks of values, the mean rank for equal ones.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

double rank_correlation(const std::vector<TuneCandidate>& candidates) {
  std::vector<double> predicted, measured;
  for (const TuneCandidate& c : candidates) {
    if (c.predicted <= 0 || c.measured <= 0) continue;
    predicted.push_back(c.predicted);
    measured.push_back(c.measured);
  }
  if (predicted.size() < 3) return 0;
  const std::vector<double> a = ranks_of(predicted), b = ranks_of(measured);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

/// The first candidate that compiles, in the order of the model: for targets whose time says nothing.
TuneResult ranked_only(const Subject& subject, const TuneOptions& options) {
  const Rates rates = rates_of(subject.target(), false);
  Ranking ranking(subject, rates);
  TuneResult found;
  TuneCandidate none;
  none.predicted = ranking.predicted(none);
  found.candidates.push_back(none);
  found.best = none;
  while (static_cast<int>(found.candidates.size()) <= options.budget) {
    std::optional<TuneCandidate> next = ranking.take();
    if (!next || (none.predicted > 0 && next->predicted >= none.predicted)) break;
    try {
      static_cast<void>(compile(subject.scheduled(*next), subject.target()).kernels());
      found.best = *next;
    } catch (const UserError& e) {
      next->refused = e.what();
    }
    found.candidates.push_back(*next);
    if (found.best.recipe == next->recipe && next->refused.empty()) break;
  }
  found.considered = ranking.size();
  return found;
}

/// One search.
class Search {
 public:
  Search(const Subject& subject, const TuneOptions& options)
      : options_(options), trials_(subject, options), rates_(rates_of(subject.target(), true)),
        ranking_(subject, rates_) {}

  TuneResult run() {
    TuneCandidate none;
    none.predicted = ranking_.predicted(none);
    Executable plain = trials_.compiled(none);  // what the user got wrong shows here
    trials_.expect(plain);
    none.measured = trials_.seconds(plain, 0);
    note(none, plain);
    while (static_cast<int>(measured_) < options_.budget && !is_over()) {
      std::optional<TuneCandidate> next = ranking_.take();
      if (!next) break;
      try_out(*next);
    }
    settle();
    return result();
  }

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - begun_).count();
  }
  [[nodiscard]] bool is_over() const {
    return options_.stop.stop_requested() || elapsed() > options_.seconds;
  }

  void note(const TuneCandidate& candidate, const Executable& executable) {
    tried_.push_back(candidate);
    measured_ += candidate.measured > 0 ? 1 : 0;
    const bool is_best = candidate.measured > 0 && (best_ == kNone || candidate.measured < tried_[best_].measured);
    if (is_best) best_ = tried_.size() - 1;
    if (candidate.measured > 0) fast_.push_back({tried_.size() - 1, executable});
    std::sort(fast_.begin(), fast_.end(), [&](const Fast& a, const Fast& b) {
      return tried_[a.index].measured < tried_[b.index].measured;
    });
    // The first has no schedule: it stays, whatever it takes, to be compared with at the end.
    constexpr std::size_t kFinalists = 4;
    if (fast_.size() > kFinalists) {
      const bool last_is_plain = fast_.back().index == 0;
      fast_.erase(fast_.end() - (last_is_plain ? 2 : 1));
    }
    ranking_.learn(candidate, is_best);
    if (options_.progress) options_.progress(candidate, tried_[best_]);
  }

  void try_out(TuneCandidate candidate) {
    Executable executable;
    try {
      executable = trials_.compiled(candidate);
      candidate.measured = trials_.seconds(executable, tried_[best_].measured);
    } catch (const UserError& e) {
      candidate.refused = e.what();
    } catch (const DeviceError& e) {
      candidate.refused = e.what();
    }
    note(candidate, executable);
  }

  /// The fastest few once more, in turn, so that what disturbed one disturbs all; then the bits of the
  /// winner.
  void settle() {
    constexpr int kRounds = 3;
    if (!options_.stop.stop_requested() && fast_.size() > 1) {
      std::vector<std::vector<double>> times(fast_.size());
      for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < fast_.size(); ++i) {
          times[i].push_back(trials_.seconds(fast_[i].executable, tried_[best_].measured));
        }
      }
      for (std::size_t i = 0; i < fast_.size(); ++i) tried_[fast_[i].index].measured = median(times[i]);
    }
    std::sort(fast_.begin(), fast_.end(), [&](const Fast& a, const Fast& b) {
      return tried_[a.index].measured < tried_[b.index].measured;
    });
    for (Fast& fast : fast_) {
      best_ = fast.index;
      if (best_ == 0 || trials_.right(fast.executable)) return;
      tried_[best_].refused = "its bits differ from those of no schedule: this is a defect of Mica";
      tried_[best_].measured = 0;
    }
  }

  TuneResult result() {
    TuneResult found;
    found.best = tried_[best_];
    found.rank_correlation = rank_correlation(tried_);
    found.candidates = std::move(tried_);
    found.considered = ranking_.size();
    found.seconds = elapsed();
    return found;
  }

  struct Fast {
    std::size_t index;  ///< in tried_
    Executable executable;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  const TuneOptions& options_;
  Clock::time_point begun_ = Clock::now();
  Trials trials_;
  Rates rates_;
  Ranking ranking_;
  std::vector<TuneCandidate> tried_;
  std::vector<Fast> fast_;
  std::size_t best_ = kNone, measured_ = 0;
};

}  // namespace
}  // namespace tuning

std::string TuneCandidate::text() const {
  if (recipe.empty()) return "no schedule";
  std::string text = recipe;
  for (const auto& [name, value] : parameters) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string TuneResult::report() const {
  std::vector<const TuneCandidate*> order;
  for (const TuneCandidate& c : candidates) order.push_back(&c);
  std::stable_sort(order.begin(), order.end(), [](const TuneCandidate* a, const TuneCandidate* b) {
    return (a->measured > 0 ? a->measured : 1e30) < (b->measured > 0 ? b->measured : 1e30);
  });
  std::string text = "measured ms  predicted ms  schedule\n";
  for (const TuneCandidate* c : order) {
    const std::string time = c->measured > 0 ? fmt::format("{:11.4f}", c->measured * 1e3) : "          -";
    text += fmt::format("{}  {:12.4f}  {}{}\n", time, c->predicted * 1e3, c->text(),
                        c->refused.empty() ? "" : "  (" + c->refused + ")");
  }
  const double before = candidates.front().measured;
  text += fmt::format("{} of {} candidates measured in {:.1f} s; rank correlation with the model {:.2f}\n",
                      std::count_if(candidates.begin(), candidates.end(),
                                    [](const TuneCandidate& c) { return c.measured > 0; }),
                      considered, seconds, rank_correlation);
  if (best.measured > 0 && before > 0) {
    text += fmt::format("best {:.4f} ms, {:.2f} times as fast as without a schedule\n",
                        best.measured * 1e3, before / best.measured);
  }
  return text;
}

TuneResult tune(const Func& output, const TuneOptions& options, CallSite at) {
  if (options.budget < 1) {
    throw UserError("tune: the budget is " + std::to_string(options.budget) +
                        " candidates, and must be 1 at least",
                    at);
  }
  if (!(options.seconds > 0)) {
    throw UserError(fmt::format("tune: {} seconds were given, and must be more than 0", options.seconds),
                    at);
  }
  const Target target = options.target ? *options.target : Target::best();
  const tuning::Subject subject(output, options.extents, target, at);
  TuneResult found = target.backend == Backend::GpuEmulator ? tuning::ranked_only(subject, options)
                                                            : tuning::Search(subject, options).run();
  found.schedule = subject.scheduled(found.best).schedule();
  for (auto& stage : found.schedule.stages) {
    for (auto& directive : stage.directives) directive.where = at;
  }
  return found;
}

}  // namespace mica
