#include "schedules/tune/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "runtime/cpu/cpu_device.h"
#include "schedules/tune/compile_pool.h"
#include "schedules/tune/rank_correlation.h"
#include "schedules/tune/ranking.h"
#include "schedules/tune/store.h"
#include "schedules/tune/trial_data.h"
#include "schedules/tune/usual.h"

namespace mica::tuning {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

/// Those of `only`, if it is named.
std::vector<TuneCandidate> of_recipe(const std::string& only, std::vector<TuneCandidate> candidates) {
  if (!only.empty()) {
    std::erase_if(candidates, [&](const TuneCandidate& c) { return c.recipe != only; });
  }
  return candidates;
}

/// What is taken where nothing was tuned.
TuneResult chosen_only(const Subject& subject, const std::string& only) {
  const Clock::time_point begun = Clock::now();
  TuneResult found;
  Choice choice = chosen(subject);
  choice.better = of_recipe(only, std::move(choice.better));
  found.best = choice.better.empty() ? choice.none : choice.better.front();
  found.candidates.push_back(choice.none);
  std::move(choice.better.begin(), choice.better.end(), std::back_inserter(found.candidates));
  found.considered = found.candidates.size();
  found.seconds = seconds_since(begun);
  return found;
}

/// The first candidate that compiles, in the order of the model: for targets whose time says nothing.
TuneResult ranked_only(const Wanted& wanted, const TuneOptions& options) {
  const Clock::time_point begun = Clock::now();
  const Subject& subject = wanted.subject;
  const Rates rates = rates_of(subject.target(), false);
  Ranking ranking(subject, rates, options.seconds, options.seed, options.only);
  TuneResult found;
  found.best.predicted = ranking.predicted(found.best);
  found.candidates.push_back(found.best);
  const double without = found.best.predicted > 0 ? found.best.predicted : HUGE_VAL;
  while (static_cast<int>(found.candidates.size()) <= options.budget && found.best.recipe.empty()) {
    std::optional<TuneCandidate> next = ranking.take();
    if (!next || next->predicted >= without) break;
    try {
      wanted.compile(*next);
      found.best = *next;
    } catch (const UserError& e) {
      next->refused = e.what();
    }
    found.candidates.push_back(*next);
  }
  found.considered = ranking.size();
  found.seconds = seconds_since(begun);
  return found;
}

/// The store of tuned schedules as one search uses it: what goes wrong with it is told, and the search
/// goes on without.
class Memory {
 public:
  Memory(const Wanted& wanted, const TuneOptions& options, const Target& target) : wanted_(wanted) {
    if (!options.keep) return;
    if (!options.only.empty()) {
      note_ = "candidates of " + options.only + " alone were looked at, and others may be faster";
      return;
    }
    if (wanted.subject.is_other_layout()) {
      note_ = "the outputs' arrays are laid out otherwise than those of realize, which asks the store";
      return;
    }
    try {
      const std::filesystem::path path = TuneStore::path_from_environment();
      if (path.empty()) return;
      store_.emplace(path, Database::kLongWait);
      key_ = {wanted.mark, device_name(target), wanted.subject.extents()};
      if (!options.again) trials_ = store_->trials(key_);
    } catch (const Error& e) {
      give_up(e);
    }
  }
  [[nodiscard]] const std::vector<TuneCandidate>& trials() const { return trials_; }
  [[nodiscard]] const std::string& note() const { return note_; }

  void keep_trial(const TuneCandidate& candidate) {
    if (store_) tried([&] { store_->keep_trial(key_, candidate); });
  }
  void keep(const TuneCandidate& best, double without) {
    if (!store_) return;
    const TunedEntry entry{key_, wanted_.name, mica_version(), best, without, std::time(nullptr)};
    tried([&] { store_->keep(entry); });
    wanted_.forget();
  }
  void keep_nothing(const std::string& why) {
    if (store_) note_ = why;
  }

 private:
  template <typename Work>
  void tried(const Work& work) {
    try {
      work();
    } catch (const Error& e) {
      give_up(e);
    }
  }
  void give_up(const Error& e) {
    note_ = e.what();
    store_.reset();
  }

  const Wanted& wanted_;
  std::string note_;
  TunedKey key_;
  std::optional<TuneStore> store_;
  std::vector<TuneCandidate> trials_;
};

/// One search.
class Search {
 public:
  Search(const Wanted& wanted, const TuneOptions& options)
      : options_(options),
        alone_(!wanted.subject.target().is_gpu()),
        memory_(wanted, options, wanted.subject.target()),
        trials_(wanted.make_trials()),
        rates_(rates_of(wanted.subject.target(), true)),
        ranking_(wanted.subject, rates_, options.draw ? 0 : options.seconds / 2, options.seed,
                 options.only),
        usual_(options.draw ? std::vector<TuneCandidate>()
                            : of_recipe(options.only, usual_candidates(wanted.subject))),
        // One thread of the host launches what is measured.
        pool_(*trials_, static_cast<std::size_t>(std::max(1, host_threads() - (alone_ ? 0 : 1)))) {}

  TuneResult run() {
    TuneCandidate none;
    const Clock::time_point before = Clock::now();
    plain_ = trials_->compiled(none);  // what the user got wrong shows here
    pool_.learn(seconds_since(before));
    tell_registers(none, *plain_);
    none.predicted = ranking_.predicted(none, plain_->kernels());
    none.measured = plain_->seconds(0);
    note(none, plain_);
    for (const TuneCandidate& known : memory_.trials()) {
      if (!known.recipe.empty()) note(known, {});
    }
    while (measured_ < options_.budget && !is_over()) {
      std::optional<CompilePool::Made> next = most_promising();
      if (!next) break;
      try_out(std::move(*next));
    }
    const bool is_cut_off = measured_ >= options_.budget || is_over();
    pool_.clear();
    settle();
    TuneCandidate winner = tried_[best_];
    winner.measured = winner.seconds();
    // A search that was cut off before it compared anything has found nothing: no entry gives way to it.
    if (measured_ < 2 && is_cut_off) {
      memory_.keep_nothing("the search ended before it could compare no schedule with another");
    } else if (winner.measured > 0) {
      memory_.keep(winner, tried_.front().seconds());
    }
    return result();
  }

 private:
  struct Fast {
    std::size_t index;             ///< in tried_
    std::shared_ptr<Trial> trial;  ///< null of what an earlier search has measured
  };
  /// So many are compiled for each that is measured.
  static constexpr std::size_t kCompiled = 3;

  static void tell_registers(TuneCandidate& candidate, const Trial& trial) {
    for (const KernelInfo& kernel : trial.kernels()) {
      if (kernel.registers < 0) continue;
      candidate.registers.push_back(kernel.registers);
      candidate.local_bytes.push_back(kernel.local_bytes);
    }
  }
  [[nodiscard]] bool is_over() const { return options_.stop.stop_requested() || Clock::now() > end(); }
  void sort_fast() {
    std::sort(fast_.begin(), fast_.end(), [&](const Fast& a, const Fast& b) {
      return tried_[a.index].seconds() < tried_[b.index].seconds();
    });
  }

  void note(const TuneCandidate& candidate, const std::shared_ptr<Trial>& trial) {
    tried_.push_back(candidate);
    measured_ += candidate.measured > 0 ? 1 : 0;
    const bool is_best =
        candidate.measured > 0 && (tried_.size() == 1 || candidate.measured < tried_[best_].measured);
    if (is_best) best_ = tried_.size() - 1;
    if (candidate.measured > 0) fast_.push_back({tried_.size() - 1, trial});
    sort_fast();
    // The first has no schedule: it stays, whatever it takes, to be compared with at the end.
    constexpr std::size_t kFinalists = 4;
    if (fast_.size() > kFinalists) fast_.erase(fast_.end() - (fast_.back().index == 0 ? 2 : 1));
    ranking_.learn(candidate, is_best);
    if (options_.progress) options_.progress(candidate, tried_[best_]);
  }

  /// One of each family, then the usual ones in turn with what the model likes best: the fastest of a
  /// kind seldom are.
  std::optional<TuneCandidate> next_to_compile() {
    const bool usual = begun_so_far_ >= ranking_.families() && begun_so_far_ % 2 == 0;
    ++begun_so_far_;
    while (usual && !usual_.empty()) {
      TuneCandidate next = std::move(usual_.back());
      usual_.pop_back();
      next.predicted = ranking_.predicted(next);
      if (next.predicted <= 0 || !ranking_.reserve(next)) continue;
      usual_texts_.insert(next.text());
      return next;
    }
    return options_.draw ? ranking_.draw(end()) : ranking_.take();
  }
  [[nodiscard]] Clock::time_point end() const {
    const std::chrono::duration<double> all(std::min(options_.seconds, 1e9));
    return begun_ + std::chrono::duration_cast<Clock::duration>(all);
  }
  /// Other threads compile candidates, several for each that will be measured: those that the assembler
  /// makes fast are measured.
  void compile_ahead() {
    const auto left = static_cast<std::size_t>(options_.budget - measured_);
    const std::size_t wanted = options_.draw || alone_ ? left : kCompiled * left;
    // What would come too late is not begun.
    while (pool_.has_room() && pool_.under_way() + compiled_.size() < wanted &&
           seconds_since(begun_) + pool_.slowest() < options_.seconds) {
      std::optional<TuneCandidate> next = next_to_compile();
      if (!next) return;
      pool_.begin(*next);
    }
  }
  void collect() {
    for (CompilePool::Made& made : pool_.take()) {
      if (made.candidate.refused.empty()) {
        const double better = ranking_.predicted(made.candidate, made.trial->kernels());
        if (better <= 0) continue;  // no block of its fits a multiprocessor
        made.candidate.predicted = better;
        tell_registers(made.candidate, *made.trial);
        compiled_.push_back(std::move(made));
      } else {
        memory_.keep_trial(made.candidate);
        note(made.candidate, {});
      }
    }
  }
  /// Is something under way that is worth waiting for? What looks far better than all there is, for half
  /// of the time: the kernels of many steps take the assembler longest, and budgets are spent before
  /// they come. And whatever looks better than what is compiled, where none of that could be the best.
  [[nodiscard]] bool awaits_better() const {
    constexpr double kFar = 0.7, kHopeless = 1.15;
    if (options_.draw) return false;
    const auto expected = [&](const TuneCandidate& candidate) { return ranking_.corrected(candidate); };
    const double best = tried_[best_].seconds(), under_way = pool_.fastest_under_way(expected);
    double least = HUGE_VAL;
    bool is_new = false;  // what the model has wrong it has wrong for a family
    for (const auto& made : compiled_) {
      least = std::min(least, expected(made.candidate));
      is_new = is_new || families_.count(made.candidate.recipe) == 0;
    }
    if (!is_new && least > kHopeless * best && under_way < least) return true;
    if (seconds_since(begun_) > options_.seconds / 2) return false;
    return under_way < kFar * std::min(best, least);
  }
  /// Waits until there is enough to choose from: on a GPU until many are compiled, for a third of the
  /// time at most, and later for one; on the CPU until nothing is compiled beside what is measured.
  void wait_for_choice() {
    const auto many = kCompiled * static_cast<std::size_t>(options_.budget) / 2;
    const bool one = measured_ > 1 || options_.draw;
    constexpr std::chrono::milliseconds kMoment{5};
    for (;;) {
      compile_ahead();
      const bool is_last = pool_.under_way() == 0;
      if (alone_) pool_.wait_for_all();
      collect();
      const bool late = one || seconds_since(begun_) > options_.seconds / 3;
      if (is_last || is_over()) return;
      // Where all that was compiled is refused, there may be others.
      if (pool_.under_way() == 0 && !compiled_.empty()) return;
      if (compiled_.size() >= (late ? 1 : many) && !awaits_better()) return;
      pool_.wait(kMoment);
    }
  }
  /// The compiled candidate to be measured next, now that registers and spills are known.
  std::optional<CompilePool::Made> most_promising() {
    wait_for_choice();
    if (compiled_.empty() || is_over()) return std::nullopt;
    auto best = compiled_.begin();
    if (!options_.draw) {
      // One of each family first, as what the model has wrong it has wrong for a family; then of the
      // usual ones as many as half of the budget.
      const auto expected = [&](const CompilePool::Made& made) {
        const bool is_new = families_.count(made.candidate.recipe) == 0;
        const bool is_usual =
            2 * usual_measured_ < options_.budget && usual_texts_.count(made.candidate.text()) > 0;
        return std::pair(is_new ? 0 : is_usual ? 1 : 2, ranking_.corrected(made.candidate));
      };
      best = std::min_element(compiled_.begin(), compiled_.end(),
                              [&](const auto& a, const auto& b) { return expected(a) < expected(b); });
    }
    families_.insert(best->candidate.recipe);
    usual_measured_ += usual_texts_.count(best->candidate.text()) > 0 ? 1 : 0;
    CompilePool::Made found = std::move(*best);
    compiled_.erase(best);
    return found;
  }
  void try_out(CompilePool::Made next) {
    TuneCandidate& candidate = next.candidate;
    (void)done(candidate, [&] { candidate.measured = next.trial->seconds(tried_[best_].measured); });
    memory_.keep_trial(candidate);
    note(candidate, next.trial);
  }

  /// The fastest few once more, in turn, so that what disturbs one disturbs all; then the bits of the
  /// winner.
  void settle() {
    const auto drop_refused = [&] {
      std::erase_if(fast_, [&](const Fast& fast) { return tried_[fast.index].measured <= 0; });
    };
    for (Fast& fast : fast_) {
      TuneCandidate& candidate = tried_[fast.index];
      if (fast.trial != nullptr) continue;
      if (!done(candidate, [&] { fast.trial = trials_->compiled(candidate); })) {
        memory_.keep_trial(candidate);
      }
    }
    drop_refused();
    if (!options_.stop.stop_requested() && fast_.size() > 1) measure_in_turn();
    drop_refused();
    best_ = 0;
    for (Fast& fast : fast_) {
      TuneCandidate& candidate = tried_[fast.index];
      bool right = fast.index == 0;
      if (!right && done(candidate, [&] { right = is_right(*fast.trial); }) && !right) {
        candidate.refused = "its bits differ from those of no schedule: this is a defect of Mica";
        candidate.measured = candidate.settled = 0;
      }
      if (right) {
        best_ = fast.index;
        return;
      }
      memory_.keep_trial(candidate);
    }
  }
  /// Does it compute the bits of no schedule?
  [[nodiscard]] bool is_right(Trial& trial) {
    const int steps = trial.steps_to_compare();
    const std::vector<AnyBuffer> expected = plain_->results(steps), found = trial.results(steps);
    return std::equal(found.begin(), found.end(), expected.begin(), same_bits);
  }
  void measure_in_turn() {
    constexpr int kRounds = 3;
    std::vector<std::vector<double>> times(fast_.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < fast_.size(); ++i) {
        TuneCandidate& candidate = tried_[fast_[i].index];
        if (candidate.measured <= 0) continue;
        (void)done(candidate,
                   [&] { times[i].push_back(fast_[i].trial->seconds(tried_[best_].measured)); });
      }
    }
    for (std::size_t i = 0; i < fast_.size(); ++i) {
      TuneCandidate& candidate = tried_[fast_[i].index];
      if (candidate.measured > 0) candidate.settled = median(times[i]);
    }
    sort_fast();
  }

  TuneResult result() {
    TuneResult found;
    found.best = tried_[best_];
    found.rank_correlation = rank_correlation(tried_);
    found.candidates = std::move(tried_);
    found.considered = ranking_.size();
    found.seconds = seconds_since(begun_);
    found.note = memory_.note();
    return found;
  }

  const TuneOptions& options_;
  const bool alone_;  ///< nothing is compiled while something is measured
  Clock::time_point begun_ = Clock::now();
  Memory memory_;
  std::unique_ptr<Trials> trials_;
  std::shared_ptr<Trial> plain_;  ///< no schedule
  Rates rates_;
  Ranking ranking_;
  std::vector<TuneCandidate> tried_;
  std::vector<Fast> fast_;
  std::vector<TuneCandidate> usual_;   ///< left to be compiled
  std::set<std::string> usual_texts_;  ///< of those that were begun
  std::size_t begun_so_far_ = 0;
  int usual_measured_ = 0;
  CompilePool pool_;
  std::vector<CompilePool::Made> compiled_;  ///< and not measured yet
  std::set<std::string> families_;           ///< of those that were measured
  std::size_t best_ = 0;
  int measured_ = 0;
};

}  // namespace

TuneResult searched(const Wanted& wanted, const TuneOptions& options, const CallSite& at) {
  if (options.budget < 0) {
    throw UserError("tune: the budget is " + std::to_string(options.budget) +
                        " candidates, and must be 0 (the model's choice) at least",
                    at);
  }
  if (!(options.seconds > 0)) {
    throw UserError(fmt::format("tune: {} seconds were given, and must be more than 0", options.seconds),
                    at);
  }
  if (families_of(wanted.subject, options.only).empty() && !options.only.empty()) {
    std::vector<std::string> others;
    for (const Family& family : families_of(wanted.subject)) others.push_back(family.recipe);
    throw UserError(
        fmt::format("tune: no candidate of {} suits this algorithm; there are some of {}", options.only,
                    others.empty() ? "no recipe" : fmt::format("{}", fmt::join(others, ", "))),
        at);
  }
  const bool emulated = wanted.subject.target().backend == Backend::GpuEmulator;
  TuneResult found = options.budget == 0 ? chosen_only(wanted.subject, options.only)
                     : emulated          ? ranked_only(wanted, options)
                                         : Search(wanted, options).run();
  found.schedule = schedule_of(wanted.subject.scheduled(found.best));
  found.schedule.steps = found.best.steps();
  for (auto& stage : found.schedule.stages) {
    for (auto& directive : stage.directives) directive.where = at;
  }
  return found;
}

}  // namespace mica::tuning
