// mica tune: the best schedule for an algorithm, a grid and a machine.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/algorithms.h"
#include "bench/report.h"
#include "bench/time.h"
#include "dsl/expr/names.h"
#include "schedules/tune/tune.h"
#include "tools/mica/commands.h"
#include "tools/mica/tune_report.h"

namespace mica::tools {
namespace {

/// While it lives, Ctrl-C asks for a stop; a second one ends the program as ever.
class StopOnInterrupt {
 public:
  StopOnInterrupt() {
    sigemptyset(&interrupt_);
    sigaddset(&interrupt_, SIGINT);
    // Threads that are made from here on leave the signal to the one that waits for it.
    pthread_sigmask(SIG_BLOCK, &interrupt_, &before_);
    waiting_ = std::jthread([this](const std::stop_token& done) {
      using Clock = std::chrono::steady_clock;
      // One Ctrl-C may come twice: to the program, and to the group that it is in.
      constexpr std::chrono::milliseconds kOne{300};
      const timespec moment{0, 50'000'000};
      Clock::time_point first;
      while (!done.stop_requested()) {
        if (sigtimedwait(&interrupt_, nullptr, &moment) != SIGINT) continue;
        if (stop_.stop_requested() && Clock::now() - first > kOne) _exit(128 + SIGINT);
        if (!stop_.stop_requested()) first = Clock::now();
        stop_.request_stop();
      }
    });
  }
  ~StopOnInterrupt() {
    waiting_.request_stop();
    waiting_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t interrupt_{}, before_{};
  std::stop_source stop_;
  std::jthread waiting_;
};

struct Choice {
  std::string algorithm = "stencil7", target, file, report, table;
  std::vector<std::int64_t> extents;
  std::int64_t size = 0;
  int budget = 20;
  double seconds = 15;
  std::string only;
  bool quiet = false, again = false, draw = false, wide = false;
  std::uint64_t seed = TuneOptions().seed;
};

void show(const TuneCandidate& latest, const TuneCandidate& best, int number, bool terminal) {
  const std::string time =
      latest.measured > 0 ? fmt::format("{:.4f} ms", latest.measured * 1e3) : "refused";
  const std::string line =
      fmt::format("{:3}  {:>12}  best {:.4f} ms  {}", number, time, best.measured * 1e3, latest.text());
  if (terminal) {
    std::cerr << "\r\033[K" << line.substr(0, 119) << std::flush;
  } else {
    std::cerr << line << "\n";
  }
}

/// All candidates as comma-separated values, in the order in which they were tried; times in ms,
/// registers of several kernels as "32+40".
std::string table_of(const std::string& algorithm, const std::vector<std::int64_t>& extents,
                     const TuneResult& found) {
  constexpr double kMs = 1e3;
  const auto of_kernels = [](const std::vector<int>& numbers) {
    return fmt::format("{}", fmt::join(numbers, "+"));
  };
  std::string text =
      "algorithm,extents,predicted,milliseconds,in_turn,registers,local_bytes,schedule,refused\n";
  for (const TuneCandidate& c : found.candidates) {
    std::string refused = c.refused.substr(0, c.refused.find('\n'));
    std::replace(refused.begin(), refused.end(), '"', '\'');
    text += fmt::format("{},{},{:.5f},{:.5f},{:.5f},{},{},{},\"{}\"\n", algorithm,
                        fmt::join(extents, "x"), c.predicted * kMs, c.measured * kMs, c.settled * kMs,
                        of_kernels(c.registers), of_kernels(c.local_bytes), c.text(), refused);
  }
  return text;
}

/// Errors name what stands on the command line and no line of C++.
constexpr CallSite kNowhere = CallSite::current("", 0, "");

/// What is tuned: an algorithm, or the step of an iterated one with its fields.
struct Job {
  std::vector<std::int64_t> extents;
  std::function<TuneResult(const TuneOptions&)> tune;
  /// The page of a search; what it found is put on the algorithm.
  std::function<std::string(const TuneResult&)> report;
};

std::vector<std::int64_t> extents_of(const Choice& choice, std::size_t dimensions, std::int64_t usual) {
  if (choice.extents.empty()) {
    return std::vector<std::int64_t>(dimensions, choice.size > 0 ? choice.size : usual);
  }
  if (choice.extents.size() != dimensions) {
    throw UserError("--extents has " + counted(choice.extents.size(), "number") + ", and " +
                    choice.algorithm + " has " + counted(dimensions, "dimension"));
  }
  for (const std::int64_t n : choice.extents) {
    if (n < 1) throw UserError("--extents has " + std::to_string(n) + ", and an extent is 1 at least");
  }
  return choice.extents;
}

Job algorithm_job(const Choice& choice, const Target& target) {
  const auto algorithm = std::make_shared<bench::Algorithm>(bench::make_algorithm(choice.algorithm));
  const bool image = algorithm->halo.size() < 3;
  const std::int64_t usual =
      target.backend == Backend::Host ? (image ? 2048 : 256) : (image ? 8192 : 512);
  Job job{extents_of(choice, algorithm->halo.size(), usual), {}, {}};
  job.tune = [algorithm, extents = job.extents](TuneOptions options) {
    options.extents = extents;
    return tune(algorithm->output, options, kNowhere);
  };
  job.report = [algorithm, extents = job.extents, target](const TuneResult& found) {
    algorithm->output.apply(found);
    return tune_report_html(found, algorithm->output, extents, target);
  };
  return job;
}

/// "time/7pt-f32": a case of `mica bench time`.
constexpr std::string_view kIterated = "time/";

Job iterated_job(const Choice& choice, const Target& target) {
  const std::string name = choice.algorithm.substr(kIterated.size());
  const std::vector<bench::TimeCase> cases = bench::time_cases();
  std::vector<std::string> names;
  for (const bench::TimeCase& c : cases) names.push_back(std::string(kIterated) + c.name);
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const bench::TimeCase& c) { return c.name == name; });
  if (found == cases.end()) {
    throw UserError("there is no iterated case named " + choice.algorithm +
                    did_you_mean(choice.algorithm, names) + "; there are " + joined(names));
  }
  const bench::TimeStep step = bench::make_time_step(name);
  const auto iteration = std::make_shared<Iteration>(bench::iteration_of(step));
  const std::int64_t usual =
      target.backend == Backend::Host ? (found->dimensions == 2 ? 2048 : 256) : found->size;
  Job job{extents_of(choice, static_cast<std::size_t>(found->dimensions), usual), {}, {}};
  job.tune = [iteration, step, c = *found, extents = job.extents](const TuneOptions& options) {
    const std::vector<AnyBuffer> fields = bench::random_fields(c, extents);
    std::vector<RunInput> inputs;
    for (std::size_t f = 0; f < fields.size(); ++f) inputs.emplace_back(step.fields[f], fields[f]);
    return tune(*iteration, inputs, options, kNowhere);
  };
  job.report = [iteration, name = choice.algorithm, extents = job.extents,
                target](const TuneResult& found_now) {
    iteration->apply(found_now);
    return tune_report_html(found_now, *iteration, name, extents, target);
  };
  return job;
}

void run(const Choice& choice) {
  TuneOptions options;
  options.target = choice.target.empty() ? Target::best() : Target::parse(choice.target);
  const Job job = choice.algorithm.starts_with(kIterated) ? iterated_job(choice, *options.target)
                                                          : algorithm_job(choice, *options.target);
  options.budget = choice.budget;
  options.seconds = choice.seconds;
  options.again = choice.again;
  options.draw = choice.draw;
  options.seed = choice.seed;
  options.only = choice.only;
  const StopOnInterrupt interrupt;
  options.stop = interrupt.token();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  int number = 0;
  if (!choice.quiet) {
    options.progress = [&](const TuneCandidate& latest, const TuneCandidate& best) {
      show(latest, best, number++, terminal);
    };
  }
  const TuneResult found = job.tune(options);
  if (!choice.quiet && terminal) std::cerr << "\r\033[K";
  bench::Page out = page_on_stdout(choice.wide);
  out << found.report() << "\n" << to_string(found.schedule);
  if (!choice.report.empty()) {
    bench::write_text(choice.report, job.report(found));
    out << "page " << choice.report << "\n";
  }
  if (!choice.table.empty()) {
    bench::write_text(choice.table, table_of(choice.algorithm, job.extents, found));
    out << "table " << choice.table << "\n";
  }
  if (!choice.file.empty()) {
    save_schedule(found.schedule, choice.file);
    out << "written to " << choice.file << "\n";
  }
}

}  // namespace

void add_tune(CLI::App& app) {
  auto* command = app.add_subcommand(
      "tune", "look for the fastest schedule of an algorithm; Ctrl-C ends with the best so far");
  auto choice = std::make_shared<Choice>();
  command
      ->add_option("algorithm", choice->algorithm,
                   "algorithm: see `mica list`; or one of `mica bench time`, iterated: time/7pt-f32")
      ->capture_default_str();
  command->add_option("--target", choice->target,
                      "cuda, cuda:N, host, emulator or host-checked (default: the best there is)");
  command->add_option("--size", choice->size, "points along each side (0: what is usual for the target)")
      ->check(natural_number());
  command->add_option("--extents", choice->extents, "points along each side, one for each dimension")
      ->delimiter(',');
  command
      ->add_option("--budget", choice->budget,
                   "candidates measured at most; 0: the model's choice, unmeasured")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_option("--seconds", choice->seconds, "after this time no other candidate is begun")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--output,-o", choice->file,
                      "JSON file for the schedule (Func::apply, Iteration::apply, load_schedule)");
  command->add_option("--report", choice->report, "HTML page of the search and the winner");
  command->add_option("--table", choice->table, "CSV file of all candidates");
  command->add_flag(
      "--random", choice->draw,
      "draw candidates in place of trying the most promising ones: a measure of the search");
  command->add_option("--seed", choice->seed, "of --random: another number draws others");
  command->add_option("--only", choice->only, "candidates of this recipe alone, such as march/plane");
  command->add_flag("--again", choice->again, "measure again what the store of tuned schedules knows");
  command->add_flag("--quiet,-q", choice->quiet, "no progress");
  add_wide(*command, choice->wide);
  set_example(*command, "mica tune star25 --size 64 --budget 3 --seconds 5");
  command->callback([choice] { run(*choice); });
}

}  // namespace mica::tools
