// Outputs that are the memory of an input: the bits are those of an output of its own, under every
// schedule that may do so.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/compare_memory.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

template <typename T>
void put(const AnyBuffer& values_arg, Buffer<T> into) {
  const Buffer<T> values(values_arg);
  into.for_each([&](T& element, const Coordinates& at) {
    std::int64_t offset = 0;
    for (int d = 0; d < values.dimensions(); ++d) {
      offset += (at[static_cast<std::size_t>(d)] - values.min(d)) * values.stride(d);
    }
    element = values.data()[offset];
  });
}

/// Computes `f` over `box`, element i of its Tuple into the memory of `replaced[i]`, all of type T and
/// set to random values over `memory_box` whose first dimension has the stride `stride`. The elements
/// inside must get the oracle's bits, and those around keep theirs.
template <typename T = float>
::testing::AssertionResult in_place_matches(const Func& f, std::vector<ImageParam> replaced,
                                            const Box& box, const Box& memory_box, const Target& target,
                                            std::int64_t stride = 1) {
  std::vector<BufferDim> dims;
  for (const auto& [min, extent] : memory_box) {
    dims.push_back({min, extent, stride});
    stride *= extent + 3;
  }
  std::vector<Buffer<T>> memory, wanted;
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    memory.emplace_back(dims);
    fill_random(memory.back(), 77 + i);
    replaced[i].set(memory.back());
    wanted.push_back(memory.back().copy());
  }
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  std::vector<AnyBuffer> outputs;
  std::vector<AnyBuffer*> pointers;
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    put(expected[i], wanted[i].cropped(box));
    outputs.push_back(memory[i].cropped(box));
  }
  for (AnyBuffer& output : outputs) pointers.push_back(&output);
  try {
    compile(f, target).run(pointers);
  } catch (const std::exception& error) {
    return ::testing::AssertionFailure() << to_string(target) << ": " << error.what();
  }
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    const std::string difference = differing_bits(wanted[i], memory[i]);
    if (difference.empty()) continue;
    return ::testing::AssertionFailure()
           << to_string(target) << ", output " << i << ": " << difference << "\n"
           << to_string(f.schedule());
  }
  return ::testing::AssertionSuccess();
}

/// e'(x, y, z) = e + c (h(x, y, z) - h(x, y - 1, z) - h(x, y, z + 1)), as in staggered grids.
class InPlace : public ::testing::Test {
 protected:
  InPlace() {
    f_(x_, y_, z_) = e_(x_, y_, z_) + 0.25F * (h_(x_, y_, z_) - h_(x_, y_ - 1, z_) - h_(x_, y_, z_ + 1));
    memory_ = bind_random(h_, {{-4, 70}, {-3, 40}, {-3, 24}}, 5);
  }
  void check(std::int64_t stride = 1) {
    const bool on_gpu = to_string(f_.schedule()).find("gpu") != std::string::npos;
    for (const Target& target : on_gpu ? gpu_targets() : std::vector<Target>{Target::host()}) {
      EXPECT_TRUE(in_place_matches(f_, {e_}, {{0, 61}, {-1, 33}, {2, 15}}, {{-2, 64}, {-2, 35}, {0, 19}},
                                   target, stride));
    }
  }
  const Var x_{"x"}, y_{"y"}, z_{"z"};
  ImageParam e_{Float(32), 3, "e"}, h_{Float(32), 3, "h"};
  Func f_{"f"};
  std::shared_ptr<void> memory_;
};

TEST_F(InPlace, WithoutDirectives) {
  check();
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(
        in_place_matches(f_, {e_}, {{0, 61}, {-1, 33}, {2, 15}}, {{0, 61}, {-1, 33}, {2, 15}}, target));
  }
}

TEST_F(InPlace, InVectorsTilesAndThreads) {
  f_.split(x_, "xo", "xi", 24).vectorize("xi", 8).parallel(z_).unroll(y_, 3);
  check();
  f_.clear_schedule();
  f_.tile(x_, y_, "xo", "yo", "xi", "yi", 16, 5).vectorize("xi").parallel("yo").stream_loads(e_);
  f_.stream_stores();
  check();
  check(2);
}

TEST_F(InPlace, OnTilesOfAGpuWithVectorsAndRows) {
  f_.gpu_tile(x_, y_, z_, 8, 4, 2).vectorize(x_, 4).unroll(z_, 2);
  check();
  check(3);
  f_.clear_schedule();
  f_.gpu_tile(x_, y_, z_, 16, 4, 1, TailStrategy::ShiftInwards).stage(h_, MemoryType::Shared);
  check();
}

TEST_F(InPlace, AlongAMarch) {
  f_.gpu_tile(x_, y_, 16, 4).march(z_, 4).stage(h_, MemoryType::Shared).register_window(h_, z_);
  check();
  f_.clear_schedule();
  f_.gpu_tile(x_, y_, 8, 4)
      .vectorize(x_, 2)
      .march(z_)
      .stage(h_, MemoryType::Shared, LoadPolicy::AsyncCopy);
  f_.pipeline(h_, 2);
  check();
}

TEST_F(InPlace, ThroughInlineFuncsAndBesideOthersAtRoot) {
  const ImageParam v(Float(32), 3, "v");
  const auto memory = bind_random(v, {{-4, 70}, {-3, 40}, {-3, 24}}, 6);
  Func scaled("scaled"), smooth("smooth"), g("g");
  scaled(x_, y_, z_) = 3.0F * e_(x_, y_, z_);
  smooth(x_, y_, z_) = v(x_ - 1, y_, z_) + v(x_ + 1, y_, z_);
  g(x_, y_, z_) = scaled(x_, y_, z_) * e_(x_, y_, z_) + smooth(x_, y_ - 1, z_) * smooth(x_, y_, z_);
  smooth.compute_root();
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(
        in_place_matches(g, {e_}, {{0, 61}, {-1, 33}, {2, 15}}, {{-2, 64}, {-2, 35}, {0, 19}}, target));
  }
  smooth.compute_at(g, "xo").vectorize(x_, 4);
  g.split(x_, "xo", "xi", 20).parallel(z_).vectorize("xi", 4);
  EXPECT_TRUE(in_place_matches(g, {e_}, {{0, 61}, {-1, 33}, {2, 15}}, {{-2, 64}, {-2, 35}, {0, 19}},
                               Target::host()));
}

TEST_F(InPlace, EveryValueOfATupleIntoAnInputOfItsOwn) {
  const ImageParam p(Float(32), 3, "p");
  Func g("g");
  g(x_, y_, z_) = Tuple(e_(x_, y_, z_) - h_(x_ - 1, y_, z_), p(x_, y_, z_) * 2.0F + h_(x_, y_, z_ - 1));
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(in_place_matches(g, {e_, p}, {{0, 61}, {-1, 33}, {2, 15}}, {{-2, 64}, {-2, 35}, {0, 19}},
                                 target));
  }
}

// All values are there before any is stored.
TEST_F(InPlace, ValuesOfATupleThatReadWhatOthersWriteOver) {
  const ImageParam p(Float(32), 3, "p"), q(Float(32), 3, "q");
  const Expr e = e_(x_, y_, z_), f = p(x_, y_, z_), h = q(x_, y_, z_);
  for (const Target& target : all_targets()) {
    for (int schedule = 0; schedule < 3; ++schedule) {
      Func g("g");
      g(x_, y_, z_) = Tuple(f, h - e, e + f * 2.0F);
      if (schedule == 1) target.is_gpu() ? g.gpu_tile(x_, y_, z_, 32, 4, 1) : g.vectorize(x_, 8);
      if (schedule == 2 && target.is_gpu()) {
        g.gpu_tile(x_, y_, z_, 8, 4, 2).vectorize(x_, 4).unroll(y_, 2);
      }
      if (schedule == 2 && !target.is_gpu()) g.unroll(x_, 3).parallel(z_);
      EXPECT_TRUE(in_place_matches(g, {e_, p, q}, {{0, 61}, {-1, 33}, {2, 15}},
                                   {{-2, 64}, {-2, 35}, {0, 19}}, target))
          << schedule;
    }
  }
}

TEST_F(InPlace, BeforeUpdatesThatReadTheResultAlone) {
  Func g("g");
  g(x_, y_, z_) = e_(x_, y_, z_) * 2.0F;
  const RDom r({{0, 3}}, "r");
  g(x_, y_, z_) += h_(x_, y_ + r, z_);
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(
        in_place_matches(g, {e_}, {{0, 61}, {-1, 33}, {2, 15}}, {{-2, 64}, {-2, 35}, {0, 19}}, target));
  }
}

TEST(InPlaceOfTypes, OfTwoAndEightBytes) {
  const Var x("x"), y("y");
  const ImageParam d(Float(64), 2, "d"), s(Int(16), 2, "s");
  Func f("f"), g("g");
  f(x, y) = d(x, y) * d(x, y) + 0.5;
  g(x, y) = select(s(x, y) > 3, s(x, y) * 5, s(x, y) - 7);
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(in_place_matches<double>(f, {d}, {{0, 100}, {0, 9}}, {{0, 100}, {0, 9}}, target));
    EXPECT_TRUE(in_place_matches<std::int16_t>(g, {s}, {{3, 50}, {1, 9}}, {{0, 64}, {0, 16}}, target));
  }
}

TEST(InPlaceAgain, RunsInTurnsWithRunsIntoOtherMemory) {
  const Var x("x");
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(x) + 1.0F;
  for (const Target& target : all_targets()) {
    Executable step = compile(f, target);
    Buffer<float> a(100), b(100);
    a.fill(0.0F);
    for (int i = 0; i < 3; ++i) {
      step.run(a, {.inputs = {{u, a}}});
      step.run(b, {.inputs = {{u, a}}});
    }
    EXPECT_EQ(std::as_const(a)(99), 3.0F) << to_string(target);
    EXPECT_EQ(std::as_const(b)(0), 4.0F) << to_string(target);
  }
}

TEST(InPlaceAgain, TwoWrappersOfOneMemoryAreOneOnTheHost) {
  const Var x("x");
  const ImageParam u(Int(32), 1, "u");
  Func f("f");
  f(x) = u(x) * 2;
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    std::vector<int> mine(64, 21);
    const Buffer<int> in(mine.data(), std::vector<BufferDim>{{0, 64, 1}});
    Buffer<int> out(mine.data() + 8, std::vector<BufferDim>{{8, 40, 1}});
    f.realize(out, target, {.inputs = {{u, in}}});
    EXPECT_EQ(mine[7], 21);
    EXPECT_EQ(mine[8], 42);
    EXPECT_EQ(mine[47], 42);
    EXPECT_EQ(mine[48], 21);
  }
}

}  // namespace
}  // namespace mica::test
