#include "schedules/tune/compile_pool.h"

#include <utility>

namespace mica::tuning {

void CompilePool::begin(const TuneCandidate& candidate) {
  jobs_.push_back(std::async(std::launch::async, [&trials = trials_, made = Made{candidate}]() mutable {
    const auto begun = std::chrono::steady_clock::now();
    (void)done(made.candidate, [&] { made.trial = trials.compiled(made.candidate); });
    made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return std::move(made);
  }));
}

std::vector<CompilePool::Made> CompilePool::take() {
  std::vector<Made> all;
  std::erase_if(jobs_, [&](std::future<Made>& job) {
    if (job.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    all.push_back(job.get());
    learn(all.back().seconds);
    return true;
  });
  return all;
}

void CompilePool::wait(std::chrono::milliseconds most) const {
  if (!jobs_.empty()) jobs_.front().wait_for(most);
}

void CompilePool::wait_for_all() const {
  for (const std::future<Made>& job : jobs_) job.wait();
}

}  // namespace mica::tuning
