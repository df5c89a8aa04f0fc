// Specializations: other loops for runs in which a condition holds, with the same bits.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), xi("xi"), xo("xo");

/// next reads smooth reads u; `few` is a Param that conditions are made of.
class Specialize : public ::testing::Test {
 protected:
  Specialize() {
    smooth(x, y) = u(x - 1, y) + u(x, y) * scale + u(x + 1, y);
    next(x, y) = smooth(x, y - 1) + 0.5F * smooth(x, y + 1);
  }
  /// Runs over two boxes with each value of `few`.
  void expect_oracles_bits(const Target& target) {
    for (const Box& box : {Box{{-3, 37}, {2, 9}}, Box{{0, 5}, {0, 3}}}) {
      const Box around{{box[0].first - 1, box[0].second + 2}, {box[1].first - 1, box[1].second + 2}};
      const auto memory = bind_random(u, around, 3);
      const std::vector<AnyBuffer> expected = expected_values({next}, box);
      for (const int value : {0, 1, 2}) {
        few.set(value);
        EXPECT_TRUE(run_matches(expected, {next}, box, target)) << "few = " << value;
      }
    }
  }
  ImageParam u{Float(32), 2, "u"};
  Param<float> scale{"scale", 1.5F};
  Param<int> few{"few", 0};
  Func smooth{"smooth"}, next{"next"};
};

TEST_F(Specialize, OtherLoopsGiveTheSameBitsOnTheHost) {
  next.vectorize(x, 8);
  next.specialize(few == 1).serial(x);
  next.specialize(few == 2 && u.dim(0).extent() > 10).split(y, "yo", "yi", 2);
  next.parallel(y);
  expect_oracles_bits(Target::host());
}

TEST_F(Specialize, OtherLoopsGiveTheSameBitsOnGpus) {
  smooth.compute_root().gpu_tile(x, y, 16, 4);
  next.gpu_tile(x, y, 32, 4).stage(smooth, MemoryType::Shared);
  next.specialize(few > 0).vectorize(x, 2);
  smooth.specialize(few == 2).unroll(y, 2);
  for (const Target& target : gpu_targets()) expect_oracles_bits(target);
}

TEST_F(Specialize, DirectivesThatComeLaterAreForBoth) {
  next.specialize(few == 1).split(x, xo, xi, 8);
  smooth.compute_root();
  next.bound(x, -3, 37).vectorize(x, 4);
  const Box box{{-3, 37}, {2, 9}};
  const auto memory = bind_random(u, {{-4, 39}, {1, 11}}, 3);
  const auto expected = expected_values({next}, box);
  for (const int value : {0, 1}) {
    few.set(value);
    EXPECT_TRUE(run_matches(expected, {next}, box, Target::host()));
  }
}

TEST_F(Specialize, KeepsItsLoopsWhereOneThreadOrAMarchComesLater) {
  // The threads in a row of a block without and with the specialization.
  const auto shapes = [this](Func& f, const auto& later) {
    f.specialize(few == 1).gpu_tile(x, y, 16, 2);
    later();
    std::vector<unsigned> threads;
    for (const int value : {0, 1}) {
      few.set(value);
      Buffer<float> out(32, 8);
      Executable run = compile(f, Target::gpu_emulator());
      run.run(out);
      threads.push_back(run.kernels().front().shape.block[0]);
    }
    return threads;
  };
  Buffer<float> in(32, 8);
  in.fill(1.0F);
  u.set(in);
  Func alone("alone"), walked("walked");
  alone(x, y) = u(x, y) * scale;
  walked(x, y) = u(x, y) + scale;
  EXPECT_EQ(shapes(alone, [&] { alone.gpu_single_thread(); }), (std::vector<unsigned>{1, 16}));
  EXPECT_EQ(shapes(walked, [&] { walked.gpu_tile(x, 32).march(y); }), (std::vector<unsigned>{32, 16}));
}

TEST_F(Specialize, TheFirstConditionThatHoldsCounts) {
  // A kernel's block tells which schedule it has.
  const auto block_of = [&](int value) {
    Executable run = compile(next, Target::gpu_emulator());
    Buffer<float> in(39, 11), out(37, 9);
    in.fill(1.0F);
    u.set(in.translated({-1, -1}));
    few.set(value);
    run.run(out);
    return run.kernels().front().shape.block[0];
  };
  next.specialize(few >= 2).gpu_tile(x, y, 16, 4);
  next.specialize(few >= 1).gpu_tile(x, y, 32, 4);
  next.gpu_tile(x, y, 8, 4);
  EXPECT_EQ(block_of(0), 8U);
  EXPECT_EQ(block_of(1), 32U);
  EXPECT_EQ(block_of(2), 16U);
}

TEST_F(Specialize, RealizeSeesANewSpecialization) {
  Buffer<float> in(39, 11), out(37, 9);
  in.fill(1.0F);
  u.set(in.translated({-1, -1}));
  next.realize(out, Target::host());
  next.specialize(few == 0).vectorize("z", 8);
  EXPECT_TRUE(fails_with([&] { next.realize(out, Target::host()); }, {"no loop z"}));
  next.clear_schedule();
  next.realize(out, Target::host());
  EXPECT_EQ(out(3, 3), 3.5F * 1.5F);
}

TEST_F(Specialize, AnUpdateHasSpecializationsOfItsOwn) {
  Func f("f");
  const RDom r({{0, 5}});
  f(x, y) = u(x, y);
  f(x, y) += u(x, y) * cast<float>(r);
  f.vectorize(x, 8);
  f.update().specialize(few == 1).parallel(y);
  f.update().specialize(few == 2).vectorize(x, 4);
  const Box box{{-3, 37}, {2, 9}};
  const auto memory = bind_random(u, box, 3);
  const auto expected = expected_values({f}, box);
  for (const int value : {0, 1, 2}) {
    few.set(value);
    EXPECT_TRUE(run_matches(expected, {f}, box, Target::host()));
  }
}

TEST_F(Specialize, LoopNestsOfAllAreShown) {
  next.specialize(few == 1).split(x, xo, xi, 8);
  smooth.compute_root().specialize(few > 1).unroll(y, 2);
  const std::string text = next.print_loop_nest(Target::host());
  for (const char* part :
       {"\nwhere few == 1:\n", "\nwhere few > 1:\n", "\nwhere few > 1, few == 1:\n", "next.xi"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST_F(Specialize, MistakesNameTheirLine) {
  Func later("later");
  EXPECT_FAILS((void)next.specialize(few), "the condition is i32", "compare it");
  EXPECT_FAILS((void)next.specialize(x > 3), "depends on x", "Params");
  EXPECT_FAILS((void)next.specialize(u(3, 3) > 0.0F), "depends on u");
  EXPECT_FAILS((void)next.specialize(Expr()), "undefined Expr");
  EXPECT_FAILS((void)later.specialize(few > 1), "later, which is not defined");
  Stage special = next.specialize(few == 1);
  EXPECT_FAILS((void)special.specialize(few == 2), "is a specialization of next itself");
  next.clear_schedule();
  EXPECT_FAILS(special.serial(x), "this specialization of next is gone");
}

TEST_F(Specialize, AMistakeInALoopIsFoundWhenTheFuncIsCompiled) {
  next.specialize(few == 1).vectorize("z", 4);
  EXPECT_TRUE(fails_with([&] { (void)compile(next, Target::host()); },
                         {"next.vectorize(z, 4): there is no loop z", "x, y"}, __LINE__ - 2));
}

TEST_F(Specialize, TooManyCombinationsAreRefused) {
  for (int i = 0; i < 5; ++i) next.specialize(few == i).serial(x);
  smooth.compute_root();
  for (int i = 0; i < 2; ++i) smooth.specialize(few == i).serial(x);
  EXPECT_TRUE(
      fails_with([&] { (void)compile(next, Target::host()); }, {"have 18 combinations", "at most 16"}));
}

TEST_F(Specialize, MoreCombinationsThanANumberHoldsAreRefused) {
  std::vector<Func> chain{smooth};
  for (int i = 0; i < 64; ++i) {
    Func f("f" + std::to_string(i));
    f(x, y) = chain.back()(x, y) + 1.0F;
    f.compute_root().specialize(few == 1).serial(x);
    chain.push_back(f);
  }
  EXPECT_TRUE(fails_with([&] { (void)compile(chain.back(), Target::host()); },
                         {"have more than 4294967296 combinations", "at most 16"}));
}

}  // namespace
}  // namespace mica::test
