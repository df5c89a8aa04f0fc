// Messages of runs whose output shares memory with an input in a way that could change bits.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

/// f(x, y) = e(x, y) + h(x - 1, y)
class InPlaceErrors : public ::testing::Test {
 protected:
  InPlaceErrors() {
    h_.set(Buffer<float>(std::vector<BufferDim>{{-4, 32, 1}, {-4, 32, 32}}));
    e_.set(memory_);
    f_(x_, y_) = e_(x_, y_) + h_(x_ - 1, y_);
    memory_.fill(0.0F);
    inside_ = memory_.cropped({{2, 8}, {3, 8}});
  }
  /// A run of `f` into a part of e's memory is refused with these words, at `line` if it is not 0.
  void refused(Func& f, const std::vector<std::string>& parts, int line = 0,
               const Target& target = Target::host()) {
    std::vector<std::string> all = parts;
    all.emplace_back("shares memory with input e");
    all.emplace_back("write to a buffer of its own");
    EXPECT_TRUE(fails_with([&] { compile(f, target).run(inside_); }, all, line));
  }
  const Var x_{"x"}, y_{"y"};
  ImageParam e_{Float(32), 2, "e"}, h_{Float(32), 2, "h"};
  Func f_{"f"};
  Buffer<float> memory_{16, 16}, inside_;
};

TEST_F(InPlaceErrors, ATapBesideThePoint) {
  Func g("g");
  g(x_, y_) = e_(x_, y_) + e_(x_, y_ - 1);
  refused(g, {"g(x, y) reads e(x, y - 1)", "nothing but e(x, y)"}, __LINE__ - 1);
  Func turned("turned");
  turned(x_, y_) = e_(y_, x_);
  refused(turned, {"turned(x, y) reads e(y, x)"}, __LINE__ - 1);
}

TEST_F(InPlaceErrors, ABoundaryCondition) {
  Func g("g"), edge = BoundaryConditions::repeat_edge(e_);
  g(x_, y_) = edge(x_, y_) * 2.0F;
  refused(g, {"g(x, y) reads e(", "nothing but e(x, y)"});
}

TEST_F(InPlaceErrors, AnotherReader) {
  Func g("g"), before("before");
  before(x_, y_) = e_(x_, y_) * 2.0F;
  const int line = __LINE__ - 1;
  g(x_, y_) = e_(x_, y_) + before(x_, y_);
  before.compute_root();
  refused(g, {"before(x, y) reads e(x, y), too", "only g may read"}, line);
  before.compute_at(g, x_);
  refused(g, {"before(x, y) reads e(x, y), too"}, line);
  // Of two outputs the one reads what the other writes over.
  Func first("first"), second("second");
  first(x_, y_) = h_(x_, y_);
  second(x_, y_) = e_(x_, y_) + 1.0F;
  Buffer<float> own(std::vector<BufferDim>{{2, 8, 1}, {3, 8, 8}});
  EXPECT_TRUE(fails_with(
      [&] {
        compile({first, second}, Target::host()).run({&inside_, &own});
      },
      {"output first", "second(x, y) reads e(x, y), too"}));
}

TEST_F(InPlaceErrors, AnUpdate) {
  f_(x_, y_) += e_(x_, y_);
  refused(f_, {"update 1 of f reads e(x, y) after it was written over"}, __LINE__ - 1);
}

TEST_F(InPlaceErrors, AnotherValueOfATupleBesideThePoint) {
  Func g("g");
  g(x_, y_) = Tuple(e_(x_, y_) + 1.0F, e_(x_ + 1, y_) * 2.0F);
  const int line = __LINE__ - 1;
  Buffer<float> own(std::vector<BufferDim>{{2, 8, 1}, {3, 8, 8}});
  EXPECT_TRUE(fails_with(
      [&] {
        compile(g, Target::host()).run({&inside_, &own});
      },
      {"output g.0", "g(x, y) reads e(x + 1, y)", "nothing but e(x, y)"}, line));
}

TEST_F(InPlaceErrors, TilesThatComputePointsTwice) {
  f_.split(x_, "xo", "xi", 8, TailStrategy::ShiftInwards);
  refused(f_, {"TailStrategy::ShiftInwards", "a second time"}, __LINE__ - 1);
  f_.clear_schedule();
  f_.vectorize(x_, 8, TailStrategy::RoundUp);
  refused(f_, {"TailStrategy::RoundUp", "past the output's"}, __LINE__ - 1);
}

TEST_F(InPlaceErrors, CopiesThatAreFilledAhead) {
  const Target emulator = Target::gpu_emulator();
  f_.gpu_tile(x_, y_, 4, 4).stage(e_, MemoryType::Shared);
  refused(f_, {"stage(e) reads it ahead"}, __LINE__ - 1, emulator);
  f_.clear_schedule();
  f_.gpu_tile(x_, 4).march(y_).register_window(e_, y_);
  refused(f_, {"register_window(e) reads it ahead"}, __LINE__ - 1, emulator);
  Func g("g");
  g(x_, y_) = e_(x_, y_) + h_(x_, y_ - 1) + h_(x_, y_ + 1);
  const int line = __LINE__ - 1;
  g.gpu_tile(x_, 4).march(y_).scatter(y_);
  refused(g, {"reads e(x, y), too", "only g may read"}, line, emulator);
}

TEST_F(InPlaceErrors, LoadsThatNeedNotSeeWhatIsWritten) {
  const Target emulator = Target::gpu_emulator();
  f_.gpu_tile(x_, y_, 4, 4).read_only(e_);
  refused(f_, {"read_only(e) is for memory that nobody writes"}, __LINE__ - 1, emulator);
  f_.clear_schedule();
  f_.gpu_tile(x_, y_, 4, 4).texture(e_);
  refused(f_, {"texture(e) is for memory that nobody writes"}, __LINE__ - 1, emulator);
}

TEST_F(InPlaceErrors, ViewsWhoseElementsLieElsewhere) {
  inside_ = memory_.cropped({{2, 8}, {3, 8}}).translated({3, 3});
  refused(f_, {"f32 [3..10] x [3..10]", "-4 bytes from those of the same coordinates"});
  inside_ = memory_.cropped({{2, 8}, {3, 8}}).transposed(0, 1);
  refused(f_, {"their strides are (16, 1) and (1, 16)"});
  Buffer<float> fine = memory_.cropped({{2, 8}, {3, 8}});
  compile(f_, Target::host()).run(fine);
}

TEST_F(InPlaceErrors, AnInputThatIsReadElsewhereToo) {
  h_.set(memory_.cropped({{0, 16}, {0, 16}}));
  EXPECT_TRUE(fails_with([&] { compile(f_, Target::host()).run(inside_); },
                         {"shares memory with input h", "f(x, y) reads h(x - 1, y)"}));
}

TEST_F(InPlaceErrors, AnInputOfAnotherType) {
  const ImageParam i(Int(32), 2, "i");
  Func g("g");
  g(x_, y_) = cast<float>(i(x_, y_));
  std::vector<int> mine(64);
  const Buffer<int> in(mine.data(), std::vector<std::int64_t>{8, 8});
  Buffer<float> out(reinterpret_cast<float*>(mine.data()), std::vector<std::int64_t>{8, 8});
  EXPECT_TRUE(fails_with(
      [&] {
        g.realize(out, Target::host(), {.inputs = {{i, in}}});
      },
      {"shares memory with input i", "a buffer of its own"}));
}

}  // namespace
}  // namespace mica
