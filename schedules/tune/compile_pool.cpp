#include "schedules/tune/compile_pool.h"

#include <limits>
#include <utility>

namespace mica::tuning {

void CompilePool::begin(const TuneCandidate& candidate) {
  auto work = [&trials = trials_, made = Made{candidate}]() mutable {
    const auto begun = std::chrono::steady_clock::now();
    (void)done(made.candidate, [&] { made.trial = trials.compiled(made.candidate); });
    made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return std::move(made);
  };
  jobs_.push_back({std::async(std::launch::async, std::move(work)), candidate});
}

double CompilePool::fastest_under_way(
    const std::function<double(const TuneCandidate&)>& seconds_of) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Job& job : jobs_) least = std::min(least, seconds_of(job.candidate));
  return least;
}

std::vector<CompilePool::Made> CompilePool::take() {
  std::vector<Made> all;
  std::erase_if(jobs_, [&](Job& job) {
    if (job.made.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    all.push_back(job.made.get());
    learn(all.back().seconds);
    return true;
  });
  return all;
}

void CompilePool::wait(std::chrono::milliseconds most) const {
  if (!jobs_.empty()) jobs_.front().made.wait_for(most);
}

void CompilePool::wait_for_all() const {
  for (const Job& job : jobs_) job.made.wait();
}

}  // namespace mica::tuning
