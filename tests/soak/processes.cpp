#include "tests/soak/processes.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/soak/checks.h"
#include "tests/soak/growth.h"
#include "tests/soak/spawn.h"

namespace mica::soak {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point when) {
  return std::chrono::duration<double>(Clock::now() - when).count();
}

class Soak {
 public:
  Soak(const SoakOptions& options, const Folder& folder)
      : options_(options),
        folder_(folder),
        figures_(map_figures(folder)),
        watch_(folder),
        random_(options.seed),
        places_(static_cast<std::size_t>(options.processes)) {}

  int run() {
    prepare();
    begun_ = Clock::now();
    for (std::size_t p = 0; p < places_.size(); ++p) begin(p);
    Clock::time_point next_look = begun_;
    next_kill_ = begun_ + pause();
    while (seconds_since(begun_) < options_.seconds && faults_.empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      reap();
      if (Clock::now() >= next_kill_) kill_one();
      if (Clock::now() >= next_look) {
        add(watch_.look(false));
        add(read_lines(folder_.failures()));
        look_for_hangs();
        next_look = Clock::now() + std::chrono::seconds(1);
      }
    }
    lasted_ = seconds_since(begun_);
    end();
    return report();
  }

 private:
  struct Running {
    pid_t process = 0;
    std::uint64_t rounds = 0;  ///< when last looked
    Clock::time_point since;   ///< when that was new
  };

  void add(const std::vector<std::string>& faults) {
    faults_.insert(faults_.end(), faults.begin(), faults.end());
  }

  /// What is right, by a process that nobody disturbs, with a cache of its own and without a store.
  void prepare() {
    fs::create_directories(folder_.checkpoints());
    unsetenv("MICA_TUNE");
    setenv("MICA_CACHE_DIR", (folder_.root() / "first_cache").c_str(), 1);
    setenv("MICA_TUNE_STORE", "off", 1);
    const int status = wait_for(start({"--references", folder_.root()}));
    if (status != 0) throw std::runtime_error("the process that computes what is right " + told(status));
    setenv("MICA_CACHE_DIR", folder_.cache().c_str(), 1);
    setenv("MICA_TUNE_STORE", folder_.store().c_str(), 1);
  }
  void begin(std::size_t place) {
    // The memory of the first is looked at some hundred times.
    constexpr double kSamples = 200;
    const double sample = place == 0 ? std::max(0.25, options_.seconds / kSamples) : 0;
    places_[place] = {
        start({"--worker", std::to_string(place), "--folder", folder_.root(), "--threads",
               std::to_string(options_.threads), "--seed", std::to_string(random_() >> 1), "--sample",
               std::to_string(sample), "--fault", std::to_string(static_cast<int>(options_.fault))}),
        figures_.alive[place].load(), Clock::now()};
  }
  void reap() {
    for (std::size_t p = 0; p < places_.size(); ++p) {
      int status = 0;
      if (waitpid(places_[p].process, &status, WNOHANG) != places_[p].process) continue;
      faults_.push_back(fmt::format("process {} ({}) {}", p, places_[p].process, told(status)));
      places_[p].process = 0;
      return;
    }
  }
  [[nodiscard]] Clock::duration pause() {
    if (options_.kill_every <= 0 || places_.size() < 2) return std::chrono::hours(24 * 365);
    std::exponential_distribution<double> seconds(1 / options_.kill_every);
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds(random_)));
  }
  void kill_one() {
    const std::size_t p = 1 + random_() % (places_.size() - 1);
    kill(places_[p].process, SIGKILL);
    const int status = wait_for(places_[p].process);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      faults_.push_back(fmt::format("process {} {}", p, told(status)));
    }
    ++kills_;
    begin(p);
    next_kill_ = Clock::now() + pause();
  }
  void look_for_hangs() {
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const std::uint64_t rounds = figures_.alive[p].load();
      if (rounds != places_[p].rounds) {
        places_[p].rounds = rounds;
        places_[p].since = Clock::now();
      } else if (seconds_since(places_[p].since) > options_.patience) {
        faults_.push_back(fmt::format("process {} ({}) has no result for {:.0f} s: it hangs", p,
                                      places_[p].process, seconds_since(places_[p].since)));
      }
    }
  }
  /// Tells all to end, and waits. Then nothing is under way, and all is looked at.
  void end() {
    figures_.stop = 1;
    const Clock::time_point told_at = Clock::now();
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const pid_t process = places_[p].process;
      if (process == 0) continue;
      int status = 0;
      while (waitpid(process, &status, WNOHANG) != process) {
        if (seconds_since(told_at) > options_.patience) {
          faults_.push_back(fmt::format("process {} ({}) does not end", p, process));
          kill(process, SIGKILL);
          (void)wait_for(process);
          status = 0;
          break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      if (status != 0) faults_.push_back(fmt::format("process {} ({}) {}", p, process, told(status)));
    }
    add(watch_.look(false));
    if (options_.fault == Fault::Cache) damage_entry(folder_);
    if (options_.fault == Fault::Lost) lose_entry(folder_);
    if (options_.fault == Fault::Store) lose_row(folder_);
    add(watch_.look(true));
    add(check_store(folder_));
    add(check_compiled(folder_));
    add(read_lines(folder_.failures()));
    constexpr std::uint64_t kSome = 100;
    const std::uint64_t searches = figures_.of(Count::Searches);
    if (searches >= kSome && read_lines(folder_.kept()).empty()) {
      faults_.push_back(fmt::format("none of {} searches measured anything", searches));
    }
    grown_ = growth_of(samples());
    if (grown_.is_too_much()) {
      faults_.push_back("the memory of the process that lived grows: " + grown_.text());
    }
  }
  [[nodiscard]] std::vector<Sample> samples() const {
    std::vector<Sample> all;
    for (const std::string& line : read_lines(folder_.memory())) {
      Sample sample;
      std::istringstream(line) >> sample.seconds >> sample.bytes;
      all.push_back(sample);
    }
    return all;
  }
  int report() {
    const auto line = [](std::string_view name, const auto& value) {
      fmt::print("{:<28} {}\n", name, value);
    };
    line("seconds", fmt::format("{:.0f}", lasted_));
    line("processes x threads", fmt::format("{} x {}", options_.processes, options_.threads));
    line("kills", kills_);
    for (int c = 0; c < static_cast<int>(Count::Kinds); ++c) {
      line(name_of(static_cast<Count>(c)), figures_.of(static_cast<Count>(c)));
    }
    line("entries of the cache", watch_.entries());
    line("trials found in the store", read_lines(folder_.kept()).size());
    line("partial files left by kills", partial_files(folder_));
    line("memory", grown_.text());
    constexpr std::size_t kShown = 20;
    for (std::size_t i = 0; i < faults_.size() && i < kShown; ++i) fmt::print("FAULT {}\n", faults_[i]);
    fmt::print("{}\n", faults_.empty() ? "nothing is wrong" : fmt::format("{} faults", faults_.size()));
    return faults_.empty() ? 0 : 1;
  }

  const SoakOptions& options_;
  const Folder& folder_;
  Figures& figures_;
  CacheWatch watch_;
  std::mt19937_64 random_;
  std::vector<Running> places_;
  std::vector<std::string> faults_;
  Clock::time_point begun_, next_kill_;
  double lasted_ = 0;
  std::uint64_t kills_ = 0;
  Growth grown_;
};

}  // namespace

int soak(SoakOptions options) {
  const bool own = options.folder.empty();
  if (own) {
    std::string pattern = (fs::temp_directory_path() / "mica-soak-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder " + pattern);
    options.folder = pattern;
  } else if (fs::exists(options.folder) && !fs::is_empty(options.folder)) {
    throw std::runtime_error(options.folder.string() + " is not empty");
  }
  fs::create_directories(options.folder);
  const Folder folder(options.folder);
  const int status = Soak(options, folder).run();
  if (own && status == 0) {
    fs::remove_all(options.folder);
  } else {
    fmt::print("files are in {}\n", options.folder.string());
  }
  return status;
}

}  // namespace mica::soak
