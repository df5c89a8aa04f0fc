#include "tests/soak/gpu.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "codegen/compile.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/run/gpu_stream.h"
#include "tests/soak/growth.h"
#include "tests/soak/problems.h"
#include "tests/soak/spawn.h"
#include "tests/soak/undertaker.h"

namespace mica::soak {
namespace {

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

int draw(Random& random, int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); }

const Target kGpu{Backend::Cuda, 0};

/// Bytes of the GPU's memory that the driver has given away, to this process and to others.
double device_bytes() {
  const std::shared_ptr<CudaContext> context = cuda_context(0);
  const CudaContext::Scope scope(*context);
  std::size_t free = 0, total = 0;
  context->driver().call(context->driver().cuMemGetInfo_v2, &free, &total);
  return static_cast<double>(total - free);
}

/// What the threads share.
struct Session {
  const GpuOptions& options;
  Target target;
  References references;
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> results = 0, launches = 0, compiles = 0, dropped = 0;
  std::mutex mutex = {};
  std::vector<std::string> faults = {};
  Undertaker undertaker{[this] { ++dropped; }};

  void fail(const std::string& what) {
    const std::lock_guard lock(mutex);
    faults.push_back(what);
    over = true;
  }
};

class Thread {
 public:
  Thread(Session& session, int number)
      : session_(session),
        target_(session.target),
        number_(number),
        random_(session.options.seed * 1000 + static_cast<std::uint64_t>(number)) {}

  void run() {
    static constexpr void (Thread::*kKinds[])(int) = {&Thread::queued,    &Thread::dropped_running,
                                                      &Thread::no_stream, &Thread::iterated,
                                                      &Thread::in_place,  &Thread::realized};
    static constexpr const char* kNames[] = {
        "a queue", "dropped while it runs", "Mica's own stream", "iterate", "in place", "realize"};
    while (!session_.over) {
      const auto kind = static_cast<std::size_t>(draw(random_, static_cast<int>(std::size(kKinds))));
      const int problem = draw(random_, kProblems);
      what_ = fmt::format("thread {}: {} {}", number_, kNames[kind], problem);
      try {
        (this->*kKinds[kind])(problem);
      } catch (const std::exception& e) {
        session_.fail(what_ + ": " + e.what());
      }
    }
  }

 private:
  void compare(const char* kind, int n, const std::vector<AnyBuffer>& found) {
    std::string bits = bits_of(found);
    if (session_.options.fault == Fault::Bits && draw(random_, 4) == 0) bits[bits.size() / 2] ^= 1;
    const std::string wrong = difference(session_.references.at(name_of(kind, n)), bits);
    if (!wrong.empty()) session_.fail(what_ + ": " + wrong);
    ++session_.results;
    if (session_.options.fault == Fault::Leak) leak();
  }
  /// Not so fast that the GPU's memory is gone before anybody looks.
  void leak() {
    constexpr std::int64_t kElements = std::int64_t{16} << 20;
    if (Clock::now() < next_leak_) return;
    next_leak_ = Clock::now() + std::chrono::milliseconds(200);
    auto* const never = new Buffer<float>(kElements);
    never->fill(1.0F);
    (void)never->device_data(target_, false);
  }
  /// Launches that are put into a stream at once: some milliseconds' worth.
  [[nodiscard]] int many() {
    const int count = target_.backend == Backend::Cuda ? 300 + draw(random_, 500) : 2;
    session_.launches += static_cast<std::uint64_t>(count);
    return count;
  }
  /// A pipeline under a name that others have, or of its own.
  std::unique_ptr<Blur> problem(int n) {
    auto made = std::make_unique<Blur>(
        n, draw(random_, 4) != 0 ? std::string() : fmt::format("_{}_{}", number_, made_++));
    made->on_gpu();
    return made;
  }
  Executable compiled(const Blur& blur) {
    ++session_.compiles;
    return compile(blur.blur, target_);
  }

  /// Others drop the Executable while what it has prepared is running.
  void queued(int n) {
    const std::unique_ptr<Blur> blur = problem(n);
    Executable executable = compiled(*blur);
    auto stream = std::make_shared<GpuStream>(target_);
    Buffer<float> out = Blur::output();
    PreparedRun run = executable.prepare(out, {.inputs = {{blur->u, blur->input}}, .stream = *stream});
    for (int i = many(); i > 0; --i) run.run();
    session_.undertaker.take(std::move(executable));
    stream->synchronize();
    compare("blur", n, {out});
    session_.undertaker.take(std::pair(stream, std::move(run)));  // the run ends first
  }
  /// The Executable, its temporaries, the run and the stream end while the stream is running. What is
  /// read or freed on the host waits for an event.
  void dropped_running(int n) {
    const std::unique_ptr<Blur> blur = problem(n);
    Buffer<float> out = Blur::output();
    GpuEvent done(target_);
    {
      const GpuStream stream(target_);
      Executable executable = compiled(*blur);
      PreparedRun run = executable.prepare(out, {.inputs = {{blur->u, blur->input}}, .stream = stream});
      for (int i = many(); i > 0; --i) run.run();
      executable.run(out, {.inputs = {{blur->u, blur->input}}, .stream = stream});
      done.record(stream);
    }
    done.wait();
    compare("blur", n, {out});
  }
  /// In Mica's own stream, whose order everything keeps, Buffers end while they are used, too.
  void no_stream(int n) {
    std::unique_ptr<Blur> blur = problem(n);
    Executable executable = compiled(*blur);
    Buffer<float> out = Blur::output();
    for (int i = many() / 10; i >= 0; --i) {
      Buffer<float> other = Blur::output();
      executable.run(other);
      executable.run(out);
      session_.undertaker.take(std::move(other));
    }
    session_.undertaker.take(std::move(executable));
    blur.reset();
    compare("blur", n, {out});
  }
  void iterated(int n) {
    Heat heat(n);
    if (const int tile = draw(random_, 4); tile > 1) heat.steps.time_tile(tile);
    const Buffer<float> field = Heat::field(n);
    (void)heat.steps.run({{heat.u, field}}, kHeatSteps, {.target = target_});
    session_.launches += kHeatSteps;
    session_.undertaker.take(std::move(heat.steps));
    compare("heat", n, {field});
  }
  void in_place(int n) {
    Lattice lattice(n);
    lattice.steps.in_place();
    const std::vector<AnyBuffer> fields = lattice.fields(n);
    (void)lattice.steps.run(lattice.inputs(fields), kLatticeSteps, {.target = target_});
    session_.launches += kLatticeSteps;
    compare("lattice", n, fields);
  }
  void realized(int n) {
    std::unique_ptr<Blur> blur = problem(n);
    Buffer<float> out = Blur::output();
    blur->blur.realize(out, target_);
    ++session_.launches;
    blur.reset();
    compare("blur", n, {out});
  }

  Session& session_;
  const Target target_;
  const int number_;
  Random random_;
  int made_ = 0;
  std::string what_;
  Clock::time_point next_leak_;
};

/// What the memory came to, and whether that is too much.
void judge(const char* what, const Growth& growth, std::vector<std::string>& faults) {
  fmt::print("{:<28} {}\n", what, growth.text());
  if (growth.is_too_much()) {
    faults.push_back(fmt::format("{} grows: {}", what, growth.text()));
  }
}

}  // namespace

int fault_on_gpu() {
  Blur blur(0);
  blur.on_gpu();
  constexpr std::uint64_t kNowhere = 0x7ff000000000;
  blur.u.set(Buffer<float>::wrap_device(kNowhere, blur.input.dims(), kGpu));
  try {
    Buffer<float> out = Blur::output();
    compile(blur.blur, kGpu).run(out);
    (void)bits_of({out});
  } catch (const DeviceError& e) {
    fmt::print("{}\n", e.what());
    std::fflush(stdout);
    std::_Exit(kFaulted);  // the context is lost, and nothing of it can be given back
  }
  return 0;
}

int soak_gpu(const GpuOptions& options) {
  std::string why_none;
  const bool gpu = cuda_device_count(&why_none) > 0;
  if (!gpu) fmt::print("no GPU ({}): on the emulator\n", why_none);
  Session session{options, gpu ? kGpu : Target::gpu_emulator(), compute_references()};
  std::vector<std::jthread> threads;
  for (int t = 0; t < options.threads; ++t) {
    threads.emplace_back([&session, t] { Thread(session, t).run(); });
  }
  // Samples, and other processes' faults between them: those take memory of the GPU while they live.
  constexpr double kSamples = 200, kFaults = 10;
  const double sample_every = std::max(0.25, options.seconds / kSamples);
  double next_fault = options.seconds / kFaults / 2;
  std::vector<Sample> device, host;
  int survived = 0;
  const Clock::time_point begun = Clock::now();
  const auto lasted = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
  while (!session.over && lasted() < options.seconds) {
    if (gpu && lasted() > next_fault) {
      const int status = wait_for(start({"--fault-kernel"}));
      if (!WIFEXITED(status) || WEXITSTATUS(status) != kFaulted) {
        session.fail("the process whose kernel faults " + told(status));
      }
      ++survived;
      next_fault += options.seconds / kFaults;
    }
    host.push_back({lasted(), resident_bytes()});
    if (gpu) device.push_back({lasted(), device_bytes()});
    std::this_thread::sleep_for(std::chrono::duration<double>(sample_every));
  }
  const double seconds = lasted();
  session.over = true;
  threads.clear();

  const auto line = [](std::string_view name, const auto& value) {
    fmt::print("{:<28} {}\n", name, value);
  };
  line("target", to_string(session.target));
  line("seconds", fmt::format("{:.0f}", seconds));
  line("threads", options.threads);
  line("results compared", session.results.load());
  line("launches", session.launches.load());
  line("compiles", session.compiles.load());
  line("objects dropped elsewhere", session.dropped.load());
  line("faulting processes survived", survived);
  if (gpu) judge("device memory", growth_of(device), session.faults);
  judge("host memory", growth_of(host), session.faults);
  for (const std::string& fault : session.faults) fmt::print("FAULT {}\n", fault);
  fmt::print("{}\n", session.faults.empty() ? "nothing is wrong"
                                            : fmt::format("{} faults", session.faults.size()));
  return session.faults.empty() ? 0 : 1;
}

}  // namespace mica::soak
