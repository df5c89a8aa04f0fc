// Iterations whose steps are launched as graphs, on the stand-in driver: the launches of a graph run in
// the emulator, and the fields get the bits of the host.
//
// Target::cuda() uses the process's driver, which is loaded once, so each test runs in a process of its
// own and says there what is wrong.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "codegen/iterate/run_setup.h"
#include "codegen/iterate/step_runs.h"
#include "dsl/func/boundary.h"
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

TEST(Parts, AreWholeChunksThatReachNoFurtherThanTheNext) {
  const iterate::Parts parts{.reach = 6, .unit = 8, .points = 1};
  const auto rows = [&](std::int64_t n) {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (const iterate::Ranges& part : parts.of({{3, 100}, {1, n}})) {
      EXPECT_EQ(part.front(), (std::pair<std::int64_t, std::int64_t>(3, 100)));
      all.push_back(part.back());
    }
    return all;
  };
  using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(rows(64), (Rows{{1, 16}, {17, 16}, {33, 16}, {49, 16}}));
  EXPECT_EQ(rows(62), (Rows{{1, 16}, {17, 16}, {33, 16}, {49, 14}}));
  EXPECT_EQ(rows(53), (Rows{{1, 16}, {17, 16}, {33, 21}})) << "five rows alone would be read across";
  EXPECT_EQ(rows(7), (Rows{{1, 7}}));
  const iterate::Parts large{.reach = 6, .unit = 8};
  EXPECT_EQ(large.of({{0, 1024}, {0, 4096}}).size(), 1U);
  EXPECT_EQ(large.of({{0, 16384}, {0, 16384}}).size(), 4U);
}

/// Steps of a tile in graphs of whose launches each is cut: the stand-in runs what nothing orders in
/// another order.
void tiles_in_parts(const ImageParam& u, const std::function<Func()>& make, Func scheduled, int tile,
                    const std::vector<std::int64_t>& extents) {
  constexpr int kSteps = 60;
  AnyBuffer expected(Float(32), extents), a(Float(32), extents);
  test::fill_random(expected, 7);
  test::fill_random(a, 7);
  Iteration({{u, make()}}).run({{u, expected}}, kSteps, {.target = Target::host()});

  Process process;
  Iteration heat({{u, scheduled}});
  heat.time_tile(tile);
  process.add(heat.steps_at_once(kGpu));
  const iterate::RunSetup setup(*heat.state(), {{u, a}}, kGpu, {}, CallSite::current());
  std::unique_ptr<iterate::StepPlan> plan = setup.tile();
  process.expect(plan != nullptr && plan->parts.has_value(), "the tile is not cut");
  process.expect(plan->parts->reach == tile && plan->parts->unit == 8, "reach or chunk are others");
  plan->parts->points = 1;
  iterate::StepRuns runs(*heat.state(), setup.compiled(), setup.options(), setup.single(),
                         std::move(plan), kSteps, CallSite::current());
  for (std::int64_t done = 0; done < kSteps;) done += runs.advance(done, kSteps - done, kSteps - done);
  runs.finish();
  const auto same = test::same_bits(expected, a);
  process.expect(static_cast<bool>(same), same.message());
  process.expect(process.calls("cuGraphLaunch") > 0, "no graph is launched");
  const int nodes = process.calls("cuGraphAddKernelNode_v2");
  process.expect(nodes > 0 && nodes % 4 == 0, std::to_string(nodes) + " launches, no multiple of four");
  process.end();
}

void rows_in_parts(bool bent) {
  const ImageParam u(Float(32), 2, "u");
  const Func around = BoundaryConditions::repeat_edge(u);
  const auto at = [&](const Expr& i, const Expr& j) {
    return bent ? Expr(around(i, j)) : Expr(u(i, j));
  };
  const auto make = [&] {
    Func next("next");
    next(x, y) = 0.4F * u(x, y) + 0.15F * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1));
    return next;
  };
  Func next = make();
  next.gpu_tile(x, 32).vectorize(x, 4).march(y, 8).scatter(y);
  tiles_in_parts(u, make, next, 3, {90, bent ? 64 : 66});
}

TEST_F(IterationGraphs, RowsInPartsWaitForWhatTheyRead) {
  EXPECT_EXIT(rows_in_parts(false), testing::ExitedWithCode(0), "");
}
TEST_F(IterationGraphs, RowsInPartsWithABoundaryCondition) {
  EXPECT_EXIT(rows_in_parts(true), testing::ExitedWithCode(0), "");
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

/// Steps that read a table where their number says, or a profile that is made anew around it.
void timed_steps(bool makes_profile) {
  Process process;
  const ImageParam u(Float(32), 2, "u"), table(Float(32), 1, "table");
  Func timed("timed"), profile("profile");
  profile(x) = 0.01F * table(x);
  const Expr at = makes_profile ? Expr(profile(step())) : Expr(table(step()));
  timed(x, y) = 0.5F * u(x, y) + 0.25F * (u(x - 1, y) + u(x, y + 1)) + at;
  profile.compute_root();
  Buffer<float> values(40);
  test::fill_random(values, 5);
  const auto run = [&](const Target& target, int steps) {
    Buffer<float> a(32, 12);
    test::fill_random(a, 6);
    Iteration({{u, timed}}).run({{u, a}, {table, values}}, steps, {.target = target});
    return a;
  };
  const Buffer<float> expected = run(Target::host(), 40);
  timed.gpu_tile(x, y, 16, 4);
  profile.gpu_tile(x, 16);
  process.add(timed);
  process.expect(static_cast<bool>(test::same_bits(expected, run(kGpu, 40))), "other bits");
  const bool is_graph = process.calls("cuGraphLaunch") > 0;
  process.expect(is_graph != makes_profile, is_graph ? "a graph is launched" : "no graph is launched");
  try {
    (void)run(kGpu, 41);
    process.expect(false, "what the table lacks is read");
  } catch (const UserError& error) {
    process.expect(error.message().find("40") != std::string::npos, error.message());
  }
  process.end();
}

TEST_F(IterationGraphs, IndicesThatFollowTheStepAreChecked) {
  EXPECT_EXIT(timed_steps(false), testing::ExitedWithCode(0), "");
}

TEST_F(IterationGraphs, StepsThatDecideSizesAreLaunchedOneByOne) {
  EXPECT_EXIT(timed_steps(true), testing::ExitedWithCode(0),
              "each step costs the host a few microseconds: sizes or bounds depend on step");
}

}  // namespace
}  // namespace mica
