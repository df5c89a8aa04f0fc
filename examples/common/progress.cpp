#include "examples/common/progress.h"

#include <cstdio>

#include <unistd.h>

namespace mica::examples {

Progress::Progress(std::string label, std::int64_t total)
    : label_(std::move(label)), total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (on_terminal_) std::fputc('\n', stderr);
}

void Progress::update(std::int64_t done, const std::string& note) {
  const auto now = std::chrono::steady_clock::now();
  if (!on_terminal_ || (done < total_ && now - drawn_ < std::chrono::milliseconds(100))) return;
  drawn_ = now;
  constexpr int kWidth = 40;
  const int filled = total_ > 0 ? static_cast<int>(done * kWidth / total_) : kWidth;
  std::string bar(static_cast<std::size_t>(filled), '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r%s [%s] %lld/%lld %s ", label_.c_str(), bar.c_str(),
               static_cast<long long>(done), static_cast<long long>(total_), note.c_str());
  std::fflush(stderr);
}

}  // namespace mica::examples
