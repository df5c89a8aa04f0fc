// Iterations whose steps are launched as graphs, on the stand-in driver: the launches of a graph run in
// the emulator, and the fields get the bits of the host.
//
// Target::cuda() uses the process's driver, which is loaded once, so each test runs in a process of its
// own and says there what is wrong.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "tests/support/compare.h"
#include "tests/support/emulated_launches.h"

namespace mica {
namespace {

const Target kGpu{Backend::Cuda, 0};
const Var x("x"), y("y");

/// A leapfrog step whose coefficient changes with time.
struct Wave {
  Wave() {
    const Expr damping = 1.0F - 1e-3F * cast<float>(step());
    next(x, y) = damping * (2.0F * now(x, y) - before(x, y)) +
                 0.2F * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1));
  }
  ImageParam before{Float(32), 2, "before"}, now{Float(32), 2, "now"};
  Func next{"next"};
};

class Process : public test::FakeGpuProcess {
 public:
  explicit Process(const std::string& library = "libfakecuda.so") : FakeGpuProcess(library) {
    launches_ = std::make_unique<test::EmulatedLaunches>();
    Wave wave;
    wave.next.gpu_tile(x, y, 16, 4);
    launches_->add({wave.next});
    const ImageParam from(Float(32), 2, "from");  // as fields are copied
    const Var d0("d0"), d1("d1");
    Func copy("copy");
    copy(d0, d1) = from(d0, d1);
    Variant any_rows;  // sides of fields begin anywhere
    any_rows.aligned = false;
    launches_->add({copy}, any_rows);
  }

  /// The field after so many steps, with a callback every so many (0: none).
  Buffer<float> run(const Target& target, int steps, int every) {
    Wave wave;
    if (target.is_gpu()) wave.next.gpu_tile(x, y, 16, 4);
    Iteration iteration({{wave.before, wave.now}, {wave.now, wave.next}});
    Buffer<float> a(32, 12), b(32, 12);
    test::fill_random(a, 1);
    test::fill_random(b, 2);
    float seen = 0;
    if (every > 0) {
      iteration.every(
          every, [&](const RunningIteration& now) { seen += Buffer<float>(now.field(wave.now))(3, 3); });
    }
    iteration.run({{wave.before, a}, {wave.now, b}}, steps, {.target = target});
    b(0, 0) = seen;
    return b;
  }
  void compare(int steps, int every) {
    const std::string what = std::to_string(steps) + " steps, every " + std::to_string(every);
    const auto same = test::same_bits(run(Target::host(), steps, every), run(kGpu, steps, every));
    expect(static_cast<bool>(same), what + ": " + same.message());
  }
  void add(const Func& func) { launches_->add({func}); }
  [[nodiscard]] int calls(const char* function) const { return fake().calls(function); }
  [[nodiscard]] std::size_t graphs() const { return fake().live().graphs; }

 private:
  std::unique_ptr<test::EmulatedLaunches> launches_;
};

class IterationGraphs : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

void many_steps() {
  Process process;
  for (const int steps : {1, 3, 40, 300}) {
    for (const int every : {0, 5, 33}) process.compare(steps, every);
  }
  const int graphs = process.calls("cuGraphLaunch"), single = process.calls("cuLaunchKernel");
  process.expect(graphs >= 10, std::to_string(graphs) + " launches of graphs");
  process.expect(single < 300, std::to_string(single) + " kernels are launched by themselves");
  process.expect(process.graphs() == 0, "a graph is left");
  process.end();
}

TEST_F(IterationGraphs, HaveTheBitsOfTheHost) {
  EXPECT_EXIT(many_steps(), testing::ExitedWithCode(0), "");
}

void old_driver() {
  Process process("libfakecuda_old.so");
  (void)process.run(kGpu, 40, 0);  // nobody carries its launches out
  process.end();
}

TEST_F(IterationGraphs, AnOldDriverLaunchesStepByStepAndSaysSo) {
  EXPECT_EXIT(old_driver(), testing::ExitedWithCode(0),
              "iteration_graphs_test.cpp:[0-9]+: each step costs the host.*CUDA 12.0");
}

void steps_that_decide_bounds() {
  Process process;
  const ImageParam u(Float(32), 2, "u"), table(Float(32), 1, "table");
  Func timed("timed");
  timed(x, y) = 0.5F * u(x, y) + 0.25F * (u(x - 1, y) + u(x, y + 1)) + table(step());
  Buffer<float> values(40);
  test::fill_random(values, 5);
  const auto run = [&](const Target& target) {
    Buffer<float> a(32, 12);
    test::fill_random(a, 6);
    Iteration({{u, timed}}).run({{u, a}, {table, values}}, 40, {.target = target});
    return a;
  };
  const Buffer<float> expected = run(Target::host());
  timed.gpu_tile(x, y, 16, 4);
  process.add(timed);
  process.expect(static_cast<bool>(test::same_bits(expected, run(kGpu))), "other bits");
  process.expect(process.calls("cuGraphLaunch") == 0, "a graph is launched");
  process.end();
}

TEST_F(IterationGraphs, StepsThatDecideBoundsAreLaunchedOneByOne) {
  EXPECT_EXIT(steps_that_decide_bounds(), testing::ExitedWithCode(0),
              "each step costs the host a few microseconds: sizes or bounds depend on step");
}

}  // namespace
}  // namespace mica
