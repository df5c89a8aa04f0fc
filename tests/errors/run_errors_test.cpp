// Messages of runs whose arguments do not fit.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_pipeline.h"

namespace mica {
namespace {

using test::FakePipeline;
using test::pointer_argument;

void expect_error(const std::function<void()>& action, const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "no UserError";
  } catch (const UserError& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << error.what() << "\nlacks: " << part;
    }
  }
}

class RunErrors : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(pipeline_.next().take().empty()) << "launched all the same"; }
  void expect(AnyBuffer output, const std::vector<std::string>& parts) {
    expect_error([&] { run_.run(output); }, parts);
  }
  FakePipeline pipeline_{2};
  Executable run_ = pipeline_.executable();
  Buffer<float> u_{8, 8};
};

TEST_F(RunErrors, AnInputThatIsNotSet) {
  expect(Buffer<float>(4, 4), {"input u is not set", "call u.set(buffer)", "fake_pipeline.h:"});
}

TEST_F(RunErrors, AnInputOfAnotherType) {
  pipeline_.set_u(Buffer<double>(8, 8));
  expect(Buffer<float>(4, 4), {"input u has elements of type f32", "f64 [0..7] x [0..7]"});
}

TEST_F(RunErrors, AnInputOfAnotherRank) {
  pipeline_.set_u(Buffer<float>(8));
  expect(Buffer<float>(4, 4), {"input u has 2 dimensions", "has 1: f32 [0..7]"});
}

TEST_F(RunErrors, AnOutputOfAnotherTypeOrRank) {
  pipeline_.set_u(u_);
  expect(Buffer<std::uint8_t>(4, 4), {"output next has elements of type f32", "u8 [0..3] x [0..3]"});
  expect(Buffer<float>(4, 4, 4), {"output next has 2 dimensions", "has 3"});
}

TEST_F(RunErrors, AnUndefinedOutput) {
  pipeline_.set_u(u_);
  expect(AnyBuffer(), {"the buffer given for output next is undefined"});
}

TEST_F(RunErrors, AnotherNumberOfOutputs) {
  pipeline_.set_u(u_);
  Buffer<float> a(4, 4), b(4, 4);
  expect_error([&] { run_.run({&a, &b}); }, {"writes 1 buffer (next)", "was given 2"});
  expect_error([&] { run_.run(std::vector<AnyBuffer*>{}); }, {"was given 0"});
}

TEST_F(RunErrors, AnOutputThatIsTheInput) {
  pipeline_.set_u(u_);
  expect(u_, {"output next f32 [0..7] x [0..7] shares memory with input u f32 [0..7] x [0..7]"});
  expect(u_.cropped({{2, 3}, {1, 4}}), {"output next f32 [2..4] x [1..4] shares memory with input u"});
}

TEST_F(RunErrors, TwoOutputsThatMeet) {
  pipeline_.plan.buffers.push_back({"other", Float(32), 2, true, nullptr});
  pipeline_.set_u(u_);
  Executable run(Target::host(), {"next", "other"}, [&](const Variant&) {
    auto made = std::make_shared<CompiledVariant>();
    made->plan = pipeline_.plan;
    made->kernels.emplace_back("next", pipeline_.kernels.at("next"));
    return made;
  });
  Buffer<float> both(8, 8);
  Buffer<float> top = both.cropped({{0, 8}, {0, 5}});
  Buffer<float> bottom = both.cropped({{0, 8}, {4, 4}});
  expect_error(
      [&] {
        run.run({&top, &bottom});
      },
      {"output next f32 [0..7] x [0..4] shares memory with output other f32 [0..7] x [4..7]"});
}

TEST_F(RunErrors, CoordinatesBeyond32Bits) {
  pipeline_.set_u(u_);
  expect(Buffer<float>(4, 4).translated({std::int64_t{1} << 31, 0}),
         {"output next, f32 [2147483648..2147483651]", "2147483648", "268435456"});
}

TEST_F(RunErrors, AConditionOfThePlanWithItsValues) {
  PlanCheck check;
  check.holds = make_var("u.extent.0") >= make_var("next.extent.0") + 2;
  check.message = "input u has {0} columns and next needs {1}: {0} is too few";
  check.values = {make_var("u.extent.0"), make_var("next.extent.0") + 2};
  check.where = CallSite::current();
  pipeline_.plan.checks.push_back(check);
  pipeline_.set_u(u_);
  expect(Buffer<float>(8, 4),
         {"input u has 8 columns and next needs 10: 8 is too few", "run_errors_test.cpp:"});
  Buffer<float> fits(6, 4);
  run_.run(fits);
  EXPECT_EQ(pipeline_.next().take().size(), 1U);
  expect(Buffer<float>(8, 4), {"8 is too few"});
}

TEST_F(RunErrors, AGridThatNoLaunchCanHave) {
  pipeline_.on_device();
  pipeline_.plan.launches[0].grid = {
      make_expr(Int(64), Cast{make_var("next.extent.0")}) * (std::int64_t{1} << 31), Expr(1), Expr(1)};
  Executable run = pipeline_.executable(Target::gpu_emulator());
  pipeline_.set_u(u_);
  Buffer<float> next(4, 4);
  expect_error([&] { run.run(next); }, {"kernel next needs a grid of 8589934592 blocks", "2147483647"});
}

TEST_F(RunErrors, PlansThatNameWhatTheyLackAreMicasOwnBugs) {
  pipeline_.set_u(u_);
  Buffer<float> next(4, 4);
  pipeline_.plan.launches[0].arguments.push_back(pointer_argument("ghost", Float(32), false));
  EXPECT_THROW(pipeline_.executable().run(next), InternalError);
  pipeline_.plan.launches[0].arguments.pop_back();
  pipeline_.plan.launches[0].kernel = "ghost";
  EXPECT_THROW(pipeline_.executable().run(next), InternalError);
}

}  // namespace
}  // namespace mica
