// Operators, stencils, boundary conditions and updates on the GPU of this machine, on grids large
// enough to fill many blocks.
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/test_pipelines.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
  }
};
class CudaOfType : public ::testing::TestWithParam<Type> {
 protected:
  void SetUp() override {
    if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
  }
};

TEST_P(CudaOfType, OperatorsOfSpecialValues) {
  const Type type = GetParam();
  const Box box{{0, 61}, {0, 17}};
  const ImageParam u(type, 2, "u");
  const ImageParam v(type, 2, "v");
  const auto memory_u = bind_random(u, box, 1, Contents::Special);
  const auto memory_v = bind_random(v, box, 2, Contents::Special);
  const Expr a = u(x, y);
  const Expr b = v(x, y);
  Func f("f");
  f(x, y) = Tuple(a + b, a - b, a * b, a / b, min(a, b), max(a, b), abs(a), -a,
                  select(a < b, a * b + a, b), cast<std::int32_t>(a), cast<float>(a));
  schedule_plain_gpu(f);
  EXPECT_TRUE(matches_oracle({f}, box, Target::cuda()));
}

TEST_P(CudaOfType, AStarOnAGridOfManyBlocks) {
  TestPipeline p = star(GetParam(), 3, 2);
  const Box box{{-1, 67}, {2, 33}, {0, 21}};
  const auto memory = p.bind(box, 3);
  schedule_plain_gpu(p.output());
  EXPECT_TRUE(matches_oracle(p.outputs, box, Target::cuda()));
}

INSTANTIATE_TEST_SUITE_P(Types, CudaOfType, ::testing::ValuesIn(number_types()), type_name);

class CudaFloats : public CudaOfType {};

TEST_P(CudaFloats, FunctionsOfFloats) {
  const Type type = GetParam();
  const Box box{{0, 61}, {0, 17}};
  const ImageParam u(type, 2, "u");
  const auto memory = bind_random(u, box, 4, Contents::Wide);
  const Expr a = u(x, y);
  Func f("f");
  f(x, y) = Tuple(floor(a), ceil(a), round(a), sqrt(abs(a)), fma(a, a, -a), exp(a), log(abs(a)), sin(a),
                  cos(a), tanh(a), pow(abs(a), a * 0.25));
  schedule_plain_gpu(f);
  EXPECT_TRUE(matches_oracle({f}, box, Target::cuda()));
}

INSTANTIATE_TEST_SUITE_P(Types, CudaFloats, ::testing::ValuesIn(float_types()), type_name);

TEST_F(Cuda, BoundaryConditions) {
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{-3, 29}, {4, 11}}, 5);
  const std::vector<Func> extended{
      BoundaryConditions::repeat_edge(u), BoundaryConditions::constant_exterior(u, 2.0F),
      BoundaryConditions::repeat_image(u), BoundaryConditions::mirror_image(u),
      BoundaryConditions::mirror_interior(u)};
  for (const Func& b : extended) {
    Func f("f");
    f(x, y) = b(x - 2, y) + b(x + 2, y) * 0.5F - b(x, y - 1) + b(x, y + 1);
    schedule_plain_gpu(f);
    EXPECT_TRUE(matches_oracle({f}, {{-9, 50}, {-2, 23}}, Target::cuda()));
  }
}

TEST_F(Cuda, ResultsStayOnTheDeviceBetweenRuns) {
  ImageParam u(Float(32), 2, "u");
  Func next("next");
  next(x, y) = (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1)) * 0.25F;
  schedule_plain_gpu(next);
  const Box interior{{0, 40}, {0, 30}};
  AnyBuffer a = AnyBuffer::with_halo(Float(32), {40, 30}, {1, 1});
  fill_random(a, 6);
  AnyBuffer b = a.copy();
  AnyBuffer expected_a = a.copy();
  AnyBuffer expected_b = a.copy();
  for (int step = 0; step < 6; ++step) {
    AnyBuffer& from = step % 2 == 0 ? a : b;
    AnyBuffer& to = step % 2 == 0 ? b : a;
    AnyBuffer target = to.cropped(interior);
    u.set(from);
    next.realize(target, Target::cuda());
    EXPECT_TRUE(to.device_dirty()) << "step " << step;
    AnyBuffer& expected_from = step % 2 == 0 ? expected_a : expected_b;
    AnyBuffer& expected_to = step % 2 == 0 ? expected_b : expected_a;
    AnyBuffer expected_target = expected_to.cropped(interior);
    u.set(expected_from);
    interpret(std::vector<Func>{next}, {&expected_target});
  }
  EXPECT_TRUE(same_bits(expected_a, a));
  EXPECT_TRUE(same_bits(expected_b, b));
}

TEST_F(Cuda, HostDeviceAndEmulatorAgreeOnEveryPipeline) {
  for (const PipelineMaker& maker : pipeline_makers()) {
    SCOPED_TRACE(maker.name);
    TestPipeline p = maker.make();
    const Box full{{-5, 59}, {3, 21}, {-2, 9}, {0, 3}};
    const Box box(full.begin(), full.begin() + maker.dimensions);
    const auto memory = p.bind(box, 7);
    EXPECT_TRUE(check_all_targets(p.outputs, box));
  }
}

}  // namespace
}  // namespace mica::test
