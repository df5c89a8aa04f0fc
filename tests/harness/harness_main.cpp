// Drives a harness where there is no libFuzzer: inputs made from its seeds, in child processes, until
// one crashes, hangs, takes too much memory or raises what is no UserError.
//
//   mica_harness_png --seconds 60 --first 1     input 1, 2, ...: the same on every machine
//   mica_harness_png FILE...                    these inputs, in this process
//   mica_harness_png --seeds FOLDER             writes the seeds there, for libFuzzer
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/harness/mutate.h"
#include "tests/support/temporary_folder.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBatch = 2000;           // inputs of one child
constexpr rlim_t kMostMemory = rlim_t{2} << 30;  // bytes of addresses that an input may add
constexpr double kMostSeconds = 20;              // for one input

void run(const std::string& bytes) {
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

/// Input 0 is the first seed as it is; those after the seeds are mutated.
std::string input(const std::vector<std::string>& seeds, std::uint64_t number) {
  if (number < seeds.size()) return seeds[number];
  mica::test::Random random(number);
  return mica::test::mutated(seeds, random);
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__)
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + kMostMemory;
  const rlimit limit{most, most};
  (void)setrlimit(RLIMIT_AS, &limit);
#endif
}

/// Where a child is, for its parent.
struct Progress {
  std::atomic<std::uint64_t> number;
};

[[noreturn]] void run_batch(const std::vector<std::string>& seeds, std::uint64_t first,
                            Clock::time_point end, Progress& progress) {
  limit_memory();
  for (std::uint64_t number = first; number < first + kBatch; ++number) {
    progress.number = number;
    if (Clock::now() >= end) _exit(2);
    run(input(seeds, number));
  }
  progress.number = first + kBatch;
  _exit(0);
}

/// Waits for the child; true if it is well.
bool watch(pid_t child, const Progress& progress, bool& more) {
  std::uint64_t seen = progress.number;
  auto since = Clock::now();
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      more = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (more || (WIFEXITED(status) && WEXITSTATUS(status) == 2)) return true;
      std::printf(WIFSIGNALED(status) ? "ended by signal %d\n" : "ended with status %d\n",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      return false;
    }
    if (progress.number != seen) {
      seen = progress.number;
      since = Clock::now();
    } else if (std::chrono::duration<double>(Clock::now() - since).count() > kMostSeconds) {
      kill(child, SIGKILL);
      (void)waitpid(child, &status, 0);
      std::printf("takes longer than %.0f s\n", kMostSeconds);
      return false;
    }
    usleep(5000);
  }
}

int search(std::uint64_t first, double seconds) {
  // Children end without destructors: what they leave is removed with this.
  const mica::test::TemporaryFolder folder;
  setenv("TMPDIR", folder.path().c_str(), 1);
  const std::vector<std::string> seeds = mica::test::harness_seeds();
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* const progress = new (shared) Progress{first};
  for (bool more = true; more;) {
    (void)std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) run_batch(seeds, progress->number, end, *progress);
    if (watch(child, *progress, more)) continue;
    const std::uint64_t bad = progress->number;
    const std::string file = "input-" + std::to_string(bad);
    std::ofstream(file, std::ios::binary) << input(seeds, bad);
    std::printf("input %llu fails; it is in the file %s\n", static_cast<unsigned long long>(bad),
                file.c_str());
    return 1;
  }
  const std::uint64_t count = progress->number - first;
  std::printf("%llu inputs from %llu on: all read or refused\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(first));
  // However short the time, the seeds are tried.
  return count >= seeds.size() || first > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 10;
  std::uint64_t first = 0;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--seconds") {
      seconds = std::strtod(value, nullptr), ++i;
    } else if (word == "--first") {
      first = std::strtoull(value, nullptr, 10), ++i;
    } else if (word == "--seeds") {
      const std::vector<std::string> seeds = mica::test::harness_seeds();
      for (std::size_t s = 0; s < seeds.size(); ++s) {
        std::ofstream(std::filesystem::path(value) / ("seed-" + std::to_string(s)), std::ios::binary)
            << seeds[s];
      }
      return 0;
    } else {
      files.push_back(word);
    }
  }
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    run({std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
    std::printf("%s: read or refused\n", file.c_str());
  }
  return files.empty() ? search(first, seconds) : 0;
}
