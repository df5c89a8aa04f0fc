#include "codegen/iterate/progress_report.h"

#include <cstdio>

#include <unistd.h>

namespace mica::iterate {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::int64_t kWidth = 40;  // characters of the bar

}  // namespace

ProgressReport::ProgressReport(std::function<void(std::int64_t, std::int64_t)> callback,
                               const std::optional<std::string>& label, std::int64_t total)
    : callback_(std::move(callback)), total_(total), next_(std::chrono::steady_clock::now() + kPause) {
  if (label && isatty(STDERR_FILENO) == 1) label_ = label;
}

ProgressReport::~ProgressReport() {
  if (label_) std::fputc('\n', stderr);
}

void ProgressReport::update(std::int64_t done) {
  if (!callback_ && !label_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kPause;
  report(done);
}

void ProgressReport::finish(std::int64_t done) {
  if (callback_ || label_) report(done);
}

void ProgressReport::report(std::int64_t done) {
  if (label_) {
    const auto steps = static_cast<long long>(done);
    if (total_ > 0) {
      const std::int64_t filled = done * kWidth / total_;
      std::string bar(static_cast<std::size_t>(filled), '#');
      bar.resize(static_cast<std::size_t>(kWidth), '.');
      std::fprintf(stderr, "\r%s [%s] %lld/%lld ", label_->c_str(), bar.c_str(), steps,
                   static_cast<long long>(total_));
    } else {
      std::fprintf(stderr, "\r%s %lld steps ", label_->c_str(), steps);
    }
    std::fflush(stderr);
  }
  if (callback_) callback_(done, total_);
}

}  // namespace mica::iterate
