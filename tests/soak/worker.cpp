#include "tests/soak/worker.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/compile.h"
#include "schedules/tune/graph_mark.h"
#include "schedules/tune/tune.h"
#include "tests/soak/growth.h"
#include "tests/soak/problems.h"
#include "tests/soak/undertaker.h"

namespace mica::soak {
namespace {

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

int draw(Random& random, int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); }

/// What all threads of the process run, until one of them puts another in its place.
struct SharedBlur {
  explicit SharedBlur(int number) : problem(number), executable(compile(problem.blur, Target::host())) {}
  Blur problem;
  Executable executable;
};

template <typename T>
class Place {
 public:
  [[nodiscard]] std::shared_ptr<T> get() const {
    const std::lock_guard lock(mutex_);
    return thing_;
  }
  [[nodiscard]] std::shared_ptr<T> exchange(std::shared_ptr<T> other) {
    const std::lock_guard lock(mutex_);
    return std::exchange(thing_, std::move(other));
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<T> thing_;
};

struct Process {
  const Folder& folder;
  const WorkerOptions& options;
  Figures& figures;
  References references;
  Undertaker undertaker{[this] { figures.add(Count::Replaced); }};
  std::array<Place<SharedBlur>, kProblems> blurs = {};
  std::array<Place<Heat>, kProblems> heats = {};
  std::array<std::atomic<bool>, std::size_t{kProblems}* Blur::kSchedules> compiled = {};
  std::atomic<bool> failed = false;
  const Clock::time_point begun = Clock::now();
  std::atomic<std::size_t> leaked = 0;

  void fail(const std::string& what) {
    failed = true;
    append_line(folder.failures(), fmt::format("process {} ({}): {}", options.place, getpid(), what));
  }
  [[nodiscard]] bool is_over() const { return failed || figures.stop.load() != 0; }
};

class Thread {
 public:
  Thread(Process& process, int number)
      : process_(process),
        figures_(process.figures),
        number_(number),
        random_(process.options.seed + static_cast<std::uint64_t>(number)) {}

  void run() {
    struct Kind {
      int weight;
      const char* name;
      void (Thread::*work)(int);
    };
    static constexpr Kind kKinds[] = {
        {6, "compile", &Thread::compiled},   {4, "realize", &Thread::realized},
        {8, "shared", &Thread::shared},      {4, "iterate", &Thread::iterated},
        {3, "time-tile", &Thread::tiled},    {3, "in place", &Thread::in_place},
        {6, "checkpoint", &Thread::resumed}, {2, "emulator", &Thread::emulated},
        {2, "tune", &Thread::tuned},         {1, "tune steps", &Thread::tuned_steps}};
    int weights = 0;
    for (const Kind& kind : kKinds) weights += kind.weight;
    while (!process_.is_over()) {
      int left = draw(random_, weights);
      const Kind* kind = kKinds;
      while (left >= kind->weight) left -= kind++->weight;
      const int problem = draw(random_, kProblems);
      what_ = fmt::format("{} {}", kind->name, problem);
      try {
        (this->*kind->work)(problem);
      } catch (const std::exception& e) {
        process_.fail(what_ + ": " + e.what());
      }
    }
  }

 private:
  void compare(const char* kind, int number, const std::vector<AnyBuffer>& found) {
    std::string bits = bits_of(found);
    if (process_.options.fault == Fault::Bits && draw(random_, 30) == 0) bits[bits.size() / 2] ^= 1;
    if (process_.options.fault == Fault::Crash && draw(random_, 30) == 0) std::raise(SIGSEGV);
    while (process_.options.fault == Fault::Hang && figures_.of(Count::Rounds) > 30) pause();
    if (process_.options.fault == Fault::Leak) leak();
    const std::string wrong = difference(process_.references.at(name_of(kind, number)), bits);
    if (!wrong.empty()) process_.fail(what_ + ": " + wrong);
    figures_.add(Count::Rounds);
    figures_.alive[static_cast<std::size_t>(process_.options.place)].fetch_add(1);
  }
  /// So much a second that it stands out, however few results a busy machine has in that time.
  void leak() {
    constexpr std::size_t kBytes = std::size_t{8} << 20;
    constexpr double kBytesASecond = 400.0 * (1 << 20);
    const double seconds = std::chrono::duration<double>(Clock::now() - process_.begun).count();
    while (static_cast<double>(process_.leaked) < seconds * kBytesASecond) {
      process_.leaked += kBytes;
      auto* const bytes = static_cast<volatile char*>(std::malloc(kBytes));
      for (std::size_t i = 0; bytes != nullptr && i < kBytes; i += 4096) bytes[i] = 1;
    }
  }

  /// Under names that all use, or sometimes under one that no other has, which is compiled anew.
  std::string suffix() {
    if (draw(random_, 3) != 0) return {};
    return fmt::format("_{}_{}_{}", getpid(), number_, made_++);
  }

  void compiled(int n) {
    const std::string name = suffix();
    const int which = draw(random_, Blur::kSchedules);
    Blur problem(n, name);
    problem.schedule(which);
    Executable executable = compile(problem.blur, Target::host());
    Buffer<float> out = Blur::output();
    executable.run(out);
    figures_.add(Count::Compiles);
    compare("blur", n, {out});
    if (name.empty() &&
        !process_.compiled[static_cast<std::size_t>(n * Blur::kSchedules + which)].exchange(true)) {
      append_line(process_.folder.compiled(), fmt::format("{} {}", n, which));
    }
    if (draw(random_, 2) == 0) process_.undertaker.take(std::move(executable));
    if (draw(random_, 2) == 0) process_.undertaker.take(std::move(problem));
  }
  void realized(int n) {
    Blur problem(n, suffix());
    Buffer<float> out = Blur::output();
    problem.blur.realize(out, Target::host());
    figures_.add(Count::Realized);
    compare("blur", n, {out});
    process_.undertaker.take(std::move(problem.blur));
  }
  /// Runs an Executable that others run, too; now and then another takes its place meanwhile.
  void shared(int n) {
    Place<SharedBlur>& place = process_.blurs[static_cast<std::size_t>(n)];
    std::shared_ptr<SharedBlur> mine = place.get();
    if (mine == nullptr || draw(random_, 10) == 0) {
      mine = std::make_shared<SharedBlur>(n);
      process_.undertaker.take(place.exchange(mine));
    }
    Executable executable = mine->executable;
    Buffer<float> input = mine->problem.input;
    ImageParam u = mine->problem.u;
    if (draw(random_, 2) == 0) mine.reset();  // what runs keeps what it needs
    for (int i = 0; i < 5; ++i) {
      Buffer<float> out = Blur::output();
      executable.run(out, {.inputs = {{u, input}}});
      figures_.add(Count::Shared);
      compare("blur", n, {out});
      process_.undertaker.take(std::move(out));
    }
    if (mine != nullptr) {
      Buffer<float> out = Blur::output();
      mine->problem.blur.realize(out, Target::host());
      compare("blur", n, {out});
    }
    process_.undertaker.take(std::move(executable));
    process_.undertaker.take(std::move(input));
  }

  /// An Iteration that other threads run, too.
  void iterated(int n) {
    Place<Heat>& place = process_.heats[static_cast<std::size_t>(n)];
    std::shared_ptr<Heat> mine = place.get();
    if (mine == nullptr || draw(random_, 6) == 0) {
      mine = std::make_shared<Heat>(n);
      process_.undertaker.take(place.exchange(mine));
    }
    Iteration steps = mine->steps;
    const ImageParam u = mine->u;
    mine.reset();
    Buffer<float> field = Heat::field(n);
    (void)steps.run({{u, field}}, kHeatSteps, {.target = Target::host()});
    figures_.add(Count::Iterations);
    compare("heat", n, {field});
    process_.undertaker.take(std::move(steps));
    process_.undertaker.take(std::move(field));
  }
  void tiled(int n) {
    Heat heat(n);
    heat.steps.time_tile(2 + draw(random_, 4));
    const Buffer<float> field = Heat::field(n);
    (void)heat.steps.run({{heat.u, field}}, kHeatSteps, {.target = Target::host()});
    figures_.add(Count::Tiled);
    compare("heat", n, {field});
    process_.undertaker.take(std::move(heat.steps));
  }
  void in_place(int n) {
    Lattice lattice(n);
    if (draw(random_, 4) != 0) lattice.steps.in_place();
    const std::vector<AnyBuffer> fields = lattice.fields(n);
    (void)lattice.steps.run(lattice.inputs(fields), kLatticeSteps, {.target = Target::host()});
    figures_.add(Count::InPlace);
    compare("lattice", n, fields);
  }
  /// Goes on where the thread of this number in a process that was killed has left off, if one did.
  void resumed(int n) {
    const std::string path =
        process_.folder.checkpoints() / fmt::format("{}.{}.{}", process_.options.place, number_, n);
    Heat heat(n);
    heat.steps.checkpoint(path, 2);
    if (draw(random_, 3) == 0) heat.steps.time_tile(2);
    Buffer<float> field = Heat::field(n);
    std::int64_t done = 0;
    if (std::filesystem::exists(path)) {
      field.fill(0.0F);
      done = heat.steps.resume(path, {{heat.u, field}});
      figures_.add(Count::Resumed);
    }
    (void)heat.steps.run({{heat.u, field}}, kHeatSteps - done,
                         {.target = Target::host(), .first_step = done});
    figures_.add(Count::Checkpoints);
    compare("heat", n, {field});
    Buffer<float> again = Heat::field(n);
    done = heat.steps.resume(path, {{heat.u, again}});
    if (done != kHeatSteps)
      process_.fail(fmt::format("{}: the last checkpoint is of step {}", what_, done));
    compare("heat", n, {again});
    std::filesystem::remove(path);
  }
  void emulated(int n) {
    Blur problem(n);
    problem.on_gpu();
    Buffer<float> out = Blur::output();
    compile(problem.blur, Target::gpu_emulator()).run(out);
    figures_.add(Count::Emulated);
    compare("blur", n, {out});
  }

  TuneOptions search() {
    TuneOptions options;
    options.target = Target::host();
    options.budget = 2 + draw(random_, 3);
    options.seconds = 10;  // a core may have 16 threads: in 2 seconds none would measure anything
    options.again = draw(random_, 3) == 0;
    return options;
  }
  /// What tune() says it has kept is written down, to be looked for at the end.
  void keep(const TuneResult& found, std::uint64_t mark, const std::vector<std::int64_t>& extents) {
    figures_.add(Count::Searches);
    const bool compared_nothing = found.note.starts_with("the search ended before");
    if (!found.note.empty() && !compared_nothing) process_.fail(what_ + ": not kept: " + found.note);
    for (const TuneCandidate& candidate : found.candidates) {
      if (candidate.refused.find("defect") != std::string::npos) {
        process_.fail(what_ + ": " + candidate.text() + ": " + candidate.refused);
      }
      if (candidate.recipe.empty() || candidate.measured <= 0) continue;
      append_line(process_.folder.kept(),
                  fmt::format("{:x} {} {}", mark, fmt::join(extents, ","), candidate.text()));
    }
  }
  void tuned(int n) {
    Blur problem(n);
    TuneOptions options = search();
    options.extents = {16 + 8 * draw(random_, 20), 16 + 8 * draw(random_, 10)};
    const TuneResult found = tune(problem.blur, options);
    keep(found, tuning::graph_mark(problem.blur), options.extents);
    problem.blur.apply(found);
    Buffer<float> out = Blur::output();
    problem.blur.realize(out, Target::host());
    compare("blur", n, {out});
  }
  void tuned_steps(int n) {
    Heat heat(n);
    const Buffer<float> field = Heat::field(n);
    const TuneResult found = tune(heat.steps, {{heat.u, field}}, search());
    keep(found, tuning::step_mark(*heat.steps.state(), false),
         {field.extent(0) - 2, field.extent(1) - 2});
    heat.steps.apply(found);
    (void)heat.steps.run({{heat.u, field}}, kHeatSteps, {.target = Target::host()});
    compare("heat", n, {field});
  }

  Process& process_;
  Figures& figures_;
  const int number_;
  Random random_;
  int made_ = 0;
  std::string what_;
};

}  // namespace

int work(const Folder& folder, const WorkerOptions& options) {
  Process process{folder, options, map_figures(folder), read_references(folder.references())};
  std::vector<std::jthread> threads;
  for (int t = 0; t < options.threads; ++t) {
    threads.emplace_back([&process, t] { Thread(process, t).run(); });
  }
  const Clock::time_point begun = Clock::now();
  Clock::time_point next = begun;
  while (!process.is_over()) {
    if (options.sample_every > 0 && Clock::now() >= next) {
      next += std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(options.sample_every));
      const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
      append_line(folder.memory(), fmt::format("{:.3f} {:.0f}", seconds, resident_bytes()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  threads.clear();
  return process.failed ? 1 : 0;
}

}  // namespace mica::soak
