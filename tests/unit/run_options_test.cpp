// Inputs and scalars that one run is given in place of those that ImageParams and Params hold.
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "runtime/run/executable.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

static_assert(std::is_constructible_v<RunParam, Param<int>, std::uint8_t>);
static_assert(std::is_constructible_v<RunParam, Param<float>, double>);
static_assert(std::is_constructible_v<RunParam, Param<float16>, float16>);
static_assert(!std::is_constructible_v<RunParam, Param<int>, double>, "it would lose its fraction");
static_assert(!std::is_constructible_v<RunParam, Param<float>, const char*>);

Buffer<float> filled(float value) {
  Buffer<float> buffer(8);
  buffer.fill(value);
  return buffer;
}

/// f(x) = a * u(x) + b * v(x)
class RunOptionsTest : public ::testing::Test {
 protected:
  RunOptionsTest() { f_(x_) = a_ * u_(x_) + b_ * v_(x_); }
  const Var x_{"x"};
  ImageParam u_{Float(32), 1, "u"}, v_{Float(32), 1, "v"};
  Param<float> a_{"a", 1.0F}, b_{"b", 1.0F};
  Func f_{"f"};
  Buffer<float> out_{8};
};

TEST_F(RunOptionsTest, WinOverWhatIsSet) {
  u_.set(filled(1));
  v_.set(filled(2));
  Executable run = compile(f_, Target::host());
  run.run(out_, {.inputs = {{v_, filled(20)}}, .params = {{a_, 100}, {b_, 0.5}}});
  EXPECT_EQ(out_(0), 110.0F);
  run.run(out_);
  EXPECT_EQ(out_(0), 3.0F) << "they are of that run only";
}

TEST_F(RunOptionsTest, ServeInputsThatAreNotSet) {
  f_.realize(out_, Target::host(), {.inputs = {{u_, filled(1)}, {v_, filled(2)}}});
  EXPECT_EQ(out_(7), 3.0F);
  EXPECT_EQ(u_.data()->bound, nullptr);
  const Buffer<float> made =
      f_.realize({4}, Target::host(), {.inputs = {{u_, filled(3)}, {v_, filled(4)}}});
  EXPECT_EQ(made(3), 7.0F);
  EXPECT_TRUE(fails_with([&] { f_.realize(out_, Target::host()); },
                         {"input u is not set", "u.set(buffer)", ".inputs = {{u, buffer}}"}));
}

TEST_F(RunOptionsTest, KeepTheBufferThatWasNamed) {
  Buffer<float> input = filled(1);
  const RunOptions options{.inputs = {{u_, input}, {v_, input}}};
  input = filled(50);
  f_.realize(out_, Target::host(), options);
  EXPECT_EQ(out_(0), 2.0F);
}

TEST_F(RunOptionsTest, RefuseWhatIsNamedTwice) {
  u_.set(filled(1));
  v_.set(filled(2));
  const RunInput first(u_, filled(1));
  const RunInput second(u_, filled(2));
  const int line = __LINE__ - 1;
  EXPECT_TRUE(fails_with(
      [&] {
        f_.realize(out_, Target::host(), {.inputs = {first, second}});
      },
      {"input u twice", "(line " + std::to_string(line - 1) + ")", "once"}, line));
  const RunOptions params{.params = {{b_, 1}, {b_, 1}}};
  const int params_line = __LINE__ - 1;
  EXPECT_TRUE(
      fails_with([&] { f_.realize(out_, Target::host(), params); }, {"Param b twice"}, params_line));
}

TEST_F(RunOptionsTest, RefuseWhatThePipelineDoesNotUse) {
  u_.set(filled(1));
  v_.set(filled(2));
  const ImageParam other(Float(32), 1, "v");
  const Param<float> speed("speed");
  const RunOptions inputs{.inputs = {{other, filled(1)}}};
  const RunOptions params{.params = {{speed, 1.5}}};
  const int line = __LINE__ - 1;
  EXPECT_TRUE(fails_with([&] { f_.realize(out_, Target::host(), inputs); },
                         {"input v, which the pipeline does not use", "its inputs are u, v"}, line - 1));
  EXPECT_TRUE(fails_with([&] { f_.realize(out_, Target::host(), params); },
                         {"Param speed, which the pipeline does not use", "its Params are a, b"}, line));
}

TEST_F(RunOptionsTest, RefuseAnotherTypeOrRank) {
  const auto type = [&] { (void)RunInput(u_, Buffer<double>(8)); };
  const auto rank = [&] { (void)RunInput(u_, Buffer<float>(8, 8)); };
  const auto undefined = [&] { (void)RunInput(u_, AnyBuffer()); };
  const int line = __LINE__ - 1;
  EXPECT_TRUE(fails_with(type, {"input u is f32 with 1 dimension", "the buffer is f64"}, line - 2));
  EXPECT_TRUE(fails_with(rank, {"input u is f32 with 1 dimension", "f32 with 2 dimensions"}, line - 1));
  EXPECT_TRUE(fails_with(undefined, {"input u", "undefined buffer"}, line));
}

TEST_F(RunOptionsTest, RefuseIntegersThatTheParamDoesNotHold) {
  const Param<std::uint8_t> count("count");
  const Param<bool> flag("flag");
  EXPECT_EQ(RunParam(count, 255).bits, 255U);
  EXPECT_EQ(RunParam(flag, true).bits, 1U);
  EXPECT_TRUE(fails_with([&] { (void)RunParam(count, 256); },
                         {"Param count is u8, which does not hold 256"}, __LINE__ - 1));
  EXPECT_TRUE(fails_with([&] { (void)RunParam(count, -1); }, {"does not hold -1"}, __LINE__));
  const Param<std::uint32_t> word("word");
  const Param<std::uint64_t> long_word("long_word");
  EXPECT_EQ(RunParam(word, 0xffffffffU).bits, 0xffffffffU);
  EXPECT_EQ(RunParam(long_word, ~std::uint64_t{0}).bits, ~std::uint64_t{0});
  EXPECT_TRUE(fails_with([&] { (void)RunParam(word, std::int64_t{1} << 32); },
                         {"Param word is u32, which does not hold 4294967296"}, __LINE__ - 1));
  EXPECT_TRUE(fails_with([&] { (void)RunParam(long_word, -1); }, {"u64, which does not hold -1"}));
  EXPECT_TRUE(fails_with([&] { (void)RunParam(flag, 2); }, {"flag is bool", "does not hold 2"}));
}

TEST_F(RunOptionsTest, ReportAnInputThatIsTooSmallAtItsTap) {
  EXPECT_TRUE(fails_with(
      [&] {
        f_.realize(out_, Target::host(), {.inputs = {{u_, Buffer<float>(7)}, {v_, filled(2)}}});
      },
      {"reads u(x) as far as index 7", "ends at 6"}));
}

}  // namespace
}  // namespace mica
