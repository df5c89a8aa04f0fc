#include "fuzz/run_isolated.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <execinfo.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mica::test {
namespace {

/// What the child sends before a message's text.
struct Header {
  std::uint8_t verdict = 0;
  std::uint32_t length = 0;
};

void write_all(int fd, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

/// Memory that nothing has written holds neither zeros nor an earlier case's values, which could be the
/// right ones.
void poison_new_memory(std::uint64_t seed) {
#ifdef M_PERTURB
  mallopt(M_PERTURB, static_cast<int>(1 + seed % 255));
#endif
}

/// Of a case that does not end: where its thread is.
void print_where(int /*signal*/) {
  std::array<void*, 64> calls{};
  backtrace_symbols_fd(calls.data(), backtrace(calls.data(), calls.size()), STDERR_FILENO);
}

[[noreturn]] void run_as_child(const std::vector<FuzzCase>& cases, std::size_t first, int fd,
                               const RunCase& run) {
  // Who is killed does not leave a case behind that computes for ever.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::array<void*, 1> first_call{};
  (void)backtrace(first_call.data(), 1);  // loads what a handler must not
  (void)std::signal(SIGUSR1, print_where);
  for (std::size_t i = first; i < cases.size(); ++i) {
    poison_new_memory(cases[i].seed);
    const Outcome outcome = run(cases[i]);
    const Header header{static_cast<std::uint8_t>(outcome.verdict),
                        static_cast<std::uint32_t>(outcome.message.size())};
    write_all(fd, &header, sizeof(header));
    write_all(fd, outcome.message.data(), outcome.message.size());
  }
  _exit(0);
}

class Child {
 public:
  Child(const std::vector<FuzzCase>& cases, std::size_t first, const Stop& stop, const RunCase& run)
      : stop_(stop) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    (void)std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) {
      close(ends[0]);
      run_as_child(cases, first, ends[1], run);
    }
    close(ends[1]);
    fd_ = ends[0];
  }
  ~Child() {
    kill(pid_, SIGKILL);
    (void)ended();
    close(fd_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next case's outcome; a crash or a hang if the child sends none. Nothing if it is to stop.
  std::optional<Outcome> next(int seconds) {
    processor_limit_ = processor_seconds() + seconds;
    deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds * kPatience);
    Header header;
    std::string message;
    bool whole = read_all(&header, sizeof(header));
    if (whole) {
      message.resize(header.length);
      whole = read_all(message.data(), message.size());
    }
    if (whole) return Outcome{static_cast<Verdict>(header.verdict), message};
    if (stopped_) return std::nullopt;
    return lost();
  }

 private:
  // A busy machine makes cases slow in time of day, and a case that waits for ever takes no other time.
  static constexpr int kPatience = 10;
  static constexpr int kLookEvery = 500;  // milliseconds

  [[nodiscard]] double processor_seconds() const {
    clockid_t clock = 0;
    timespec used{};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  }
  [[nodiscard]] std::string too_late() const {
    if (processor_seconds() > processor_limit_) return "no result: an endless loop, or too much work";
    if (std::chrono::steady_clock::now() > deadline_) return "no result: it waits for something";
    return {};
  }

  bool read_all(void* data, std::size_t size) {
    auto* at = static_cast<char*>(data);
    while (size > 0) {
      pollfd waiting{fd_, POLLIN, 0};
      const int ready = poll(&waiting, 1, kLookEvery);
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return false;
      if (ready == 0) {
        stopped_ = stop_ && stop_();
        if (stopped_) return false;
        late_ = too_late();
        if (!late_.empty()) return false;
        continue;
      }
      const ssize_t n = read(fd_, at, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }
  Outcome lost() {
    if (!late_.empty()) {
      constexpr int kToPrint = 500'000;  // microseconds
      kill(pid_, SIGUSR1);
      usleep(kToPrint);
      return {Verdict::Hung, late_};
    }
    const int status = ended();
    return {Verdict::Crashed, WIFSIGNALED(status)
                                  ? "signal " + std::to_string(WTERMSIG(status))
                                  : "exit status " + std::to_string(WEXITSTATUS(status))};
  }
  int ended() {
    if (!status_) {
      int status = 0;
      while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
      status_ = status;
    }
    return *status_;
  }

  const Stop& stop_;
  bool stopped_ = false;
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string late_;  ///< why no more is waited
  double processor_limit_ = 0;
  std::optional<int> status_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace

std::vector<Outcome> run_isolated(const std::vector<FuzzCase>& cases, int seconds, const Stop& stop,
                                  const std::function<void(const Outcome&)>& seen, const RunCase& run) {
  std::vector<Outcome> outcomes;
  while (outcomes.size() < cases.size()) {
    Child child(cases, outcomes.size(), stop, run);
    while (outcomes.size() < cases.size()) {
      if (stop && stop()) return outcomes;
      std::optional<Outcome> outcome = child.next(seconds);
      if (!outcome) return outcomes;
      outcomes.push_back(std::move(*outcome));
      if (seen) seen(outcomes.back());
      if (outcomes.back().verdict >= Verdict::Crashed) break;
    }
  }
  return outcomes;
}

}  // namespace mica::test
