// Sizes, mins and strides of the arrays a pipeline is run on.
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

/// Runs one compiled executable on many boxes: one compilation, as users do it.
::testing::AssertionResult runs_match(TestPipeline& p, const Target& target,
                                      const std::vector<Box>& boxes) {
  CompileOptions options;
  options.use_cache = false;
  Executable executable = compile(p.outputs, target, options);
  for (const Box& box : boxes) {
    const auto memory = p.bind(box, 5);
    const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
    PoisonedOutput out(expected.front().type(), box);
    executable.run(out.crop());
    executable.synchronize();
    const ::testing::AssertionResult same = same_bits(expected.front(), out.crop());
    if (!same) return ::testing::AssertionFailure() << to_string(target) << ": " << same.message();
    const ::testing::AssertionResult rest = outside_untouched(out);
    if (!rest) return ::testing::AssertionFailure() << to_string(target) << ": " << rest.message();
  }
  return ::testing::AssertionSuccess();
}

TEST(Extents, FromOneTo70In1d) {
  std::vector<Box> boxes;
  for (int n = 1; n <= 70; ++n) boxes.push_back({{n - 30, n}});
  TestPipeline p = star(Float(32), 1, 2);
  EXPECT_TRUE(runs_match(p, Target::host(), boxes));
}

TEST(Extents, FromOneTo70In1dOnAGpu) {
  std::vector<Box> boxes;
  for (int n = 1; n <= 70; ++n) boxes.push_back({{n - 30, n}});
  TestPipeline p = star(Float(32), 1, 2);
  schedule_plain_gpu(p.output());
  for (const Target& target : gpu_targets()) EXPECT_TRUE(runs_match(p, target, boxes));
}

TEST(Extents, FromOneTo70In1dWithVectorsOfEight) {
  std::vector<Box> boxes;
  for (int n = 1; n <= 70; ++n) boxes.push_back({{n - 30, n}});
  TestPipeline p = star(Float(32), 1, 2);
  p.output().vectorize("x", 8);
  EXPECT_TRUE(runs_match(p, Target::host(), boxes));
}

// Where points past the end are left out, vectors and copies written out have tests of their own.
TEST(Extents, FromOneTo40In1dWithTestedTails) {
  std::vector<Box> boxes;
  for (int n = 1; n <= 40; ++n) boxes.push_back({{n - 30, n}});
  for (const bool vectors : {true, false}) {
    TestPipeline p = star(Float(32), 1, 1);
    p.output().split("x", "xo", "xi", 16, TailStrategy::GuardWithIf);
    if (vectors) {
      p.output().vectorize("xi", 8);
    } else {
      p.output().unroll("xi", 4);
    }
    EXPECT_TRUE(runs_match(p, Target::host(), boxes)) << vectors;
  }
}

TEST(Extents, OfOneInSomeDimensionsOf3d) {
  std::vector<Box> boxes;
  for (const std::int64_t nx : {1, 9, 33}) {
    for (const std::int64_t ny : {1, 5}) {
      for (const std::int64_t nz : {1, 3}) boxes.push_back({{-2, nx}, {7, ny}, {0, nz}});
    }
  }
  TestPipeline p = star(Float(32), 3, 1);
  EXPECT_TRUE(runs_match(p, Target::host(), boxes));
  schedule_plain_gpu(p.output());
  for (const Target& target : gpu_targets()) EXPECT_TRUE(runs_match(p, target, boxes));
}

TEST(Extents, OfZeroComputeNothing) {
  const ImageParam u(Float(32), 2, "u");
  const Var x("x");
  const Var y("y");
  Func f("f");
  f(x, y) = u(x, y) + 1.0F;
  const auto memory = bind_random(u, {{0, 8}, {0, 8}}, 1);
  for (const Box& box : std::vector<Box>{{{0, 0}, {0, 4}}, {{1, 5}, {2, 0}}, {{0, 0}, {0, 0}}}) {
    EXPECT_TRUE(check_all_targets(f, box)) << to_string(box);
  }
}

TEST(Extents, OneCompilationServesShapesAndPlaces) {
  const std::vector<Box> boxes{{{0, 32}, {0, 8}},
                               {{-17, 33}, {5, 9}},
                               {{100, 1}, {-1, 1}},
                               {{3, 64}, {-64, 2}},
                               {{0, 7}, {0, 40}}};
  TestPipeline p = gradient();
  EXPECT_TRUE(runs_match(p, Target::host(), boxes));
  schedule_plain_gpu(p.output());
  for (const Target& target : gpu_targets()) EXPECT_TRUE(runs_match(p, target, boxes));
}

/// An input and an output with the given strides in place of dense rows.
::testing::AssertionResult strided_matches(const std::vector<BufferDim>& in_dims,
                                           const std::vector<BufferDim>& out_dims, const Target& target,
                                           std::optional<LoadPolicy> staged = std::nullopt,
                                           Type type = Float(32)) {
  const Var x("x");
  const Var y("y");
  ImageParam u(type, 2, "u");
  Func f("f");
  f(x, y) = u(x - 1, y) + u(x + 1, y) * cast(type, 5) + u(x, y + 1);
  AnyBuffer in(type, in_dims);
  fill_random(in, 3);
  u.set(in);
  if (staged) {
    f.gpu_tile(x, y, 4, 2).stage(u, MemoryType::Shared, *staged);
  } else if (target.is_gpu()) {
    schedule_plain_gpu(f);
  }
  AnyBuffer out(type, out_dims);
  fill_random(out, 4);
  Box box;
  for (const BufferDim& d : out_dims) box.emplace_back(d.min, d.extent);
  const AnyBuffer expected = expected_values({f}, box).front();
  CompileOptions options;
  options.use_cache = false;
  Executable executable = compile(std::vector<Func>{f}, target, options);
  executable.run(out);
  executable.synchronize();
  return same_bits(expected, out);
}

TEST(Strides, OfTransposedAndSpacedArrays) {
  for (const Target& target : all_targets()) {
    // Rows far apart; columns fastest; every third element.
    EXPECT_TRUE(strided_matches({{-1, 22, 1}, {0, 9, 100}}, {{0, 20, 1}, {0, 8, 37}}, target));
    EXPECT_TRUE(strided_matches({{-1, 22, 9}, {0, 9, 1}}, {{0, 20, 1}, {0, 8, 20}}, target));
    EXPECT_TRUE(strided_matches({{-1, 22, 1}, {0, 9, 22}}, {{0, 20, 8}, {0, 8, 1}}, target));
    EXPECT_TRUE(strided_matches({{-1, 22, 3}, {0, 9, 70}}, {{0, 20, 3}, {0, 8, 61}}, target));
  }
}

TEST(Strides, OfTransposedAndSpacedArraysThatAreStaged) {
  for (const Target& target : all_targets()) {
    for (const LoadPolicy load :
         {LoadPolicy::HaloThreads, LoadPolicy::TwoStep, LoadPolicy::Strided, LoadPolicy::AsyncCopy}) {
      for (const Type type : {UInt(8), UInt(16), Float(32), Float(64)}) {
        SCOPED_TRACE(to_string(type));
        EXPECT_TRUE(
            strided_matches({{-1, 22, 9}, {0, 9, 1}}, {{0, 20, 1}, {0, 8, 20}}, target, load, type));
        EXPECT_TRUE(
            strided_matches({{-1, 22, 3}, {0, 9, 70}}, {{0, 20, 3}, {0, 8, 61}}, target, load, type));
      }
    }
  }
}

TEST(Strides, OfBuffersWithAHalo) {
  for (const Target& target : all_targets()) {
    TestPipeline p = star(Float(32), 3, 2);
    AnyBuffer in = AnyBuffer::with_halo(Float(32), {30, 9, 5}, {2, 2, 2});
    fill_random(in, 5);
    p.inputs.front().set(in);
    AnyBuffer out = AnyBuffer::with_halo(Float(32), {30, 9, 5}, {2, 2, 2});
    fill_random(out, 6);
    const Buffer<float> before(out.copy());
    AnyBuffer interior = out.cropped({{0, 30}, {0, 9}, {0, 5}});
    if (target.is_gpu()) schedule_plain_gpu(p.output());
    p.output().realize(interior, target);
    const Box box{{0, 30}, {0, 9}, {0, 5}};
    EXPECT_TRUE(same_bits(expected_values(p.outputs, box).front(), interior));
    // The halo kept its bits.
    Buffer<float> after(out.copy());
    for_each_point(box, [&](const std::vector<std::int64_t>& at) {
      after(at[0], at[1], at[2]) = before(at[0], at[1], at[2]);
    });
    EXPECT_TRUE(same_bits(before, after));
  }
}

TEST(Storage, AlignedRowsOfARootFunc) {
  for (const int elements : {4, 32}) {
    TestPipeline p = gradient();
    const Box box{{-3, 37}, {1, 9}};
    const auto memory = p.bind(box, 7);
    const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
    p.func("smooth").compute_root().align_storage("x", elements);
    p.func("gx").compute_root().align_storage("y", elements);
    EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host()));
    for (const char* const root : {"smooth", "gx", "energy"}) schedule_plain_gpu(p.func(root));
    for (const Target& target : gpu_targets()) {
      EXPECT_TRUE(run_matches(expected, p.outputs, box, target));
    }
  }
}

TEST(Storage, ABoundFuncIsComputedOverThatBox) {
  TestPipeline p = blur();
  const Box box{{0, 32}, {0, 9}};
  const auto memory = p.bind(box, 8);
  p.func("blur_x").compute_root();
  p.output().bound("x", 0, 32).vectorize("x", 16);
  EXPECT_TRUE(matches_oracle(p.outputs, box, Target::host()));
}

}  // namespace
}  // namespace mica::test
