// Each ported code gives the oracle's bits with no schedule at all, keeps what its field knows it keeps,
// and is ready to run in the time that a user waits without noticing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/traverse.h"
#include "codegen/lower.h"
#include "dsl/pipeline/pipeline.h"
#include "tests/ported/first_run.h"
#include "tests/ported/programs.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

/// Fills `input` over `box` with value(coordinates).
AnyBuffer bind_values(const ImageParam& input, const Box& box,
                      const std::function<float(const std::vector<std::int64_t>&)>& value) {
  std::vector<BufferDim> dims;
  std::int64_t stride = 1;
  for (const auto& [min, extent] : box) {
    dims.push_back({min, extent, stride});
    stride *= extent;
  }
  Buffer<float> buffer(dims);
  buffer.for_each([&](float& element, const auto& at) {
    element = value(std::vector<std::int64_t>(at.begin(), at.end()));
  });
  ImageParam(input).set(buffer);
  return buffer;
}

TEST(Ported, LatticeBoltzmann) {
  const Ported step = d3q19(0.6F);
  const auto weight = [](const std::vector<std::int64_t>& at) {
    const auto wave = static_cast<float>(std::sin(0.7 * static_cast<double>(at[0] + 2 * at[1] - at[2])));
    return static_cast<float>(d3q19_weight(static_cast<int>(at[3]))) * (1.0F + 0.01F * wave);
  };
  const auto memory = bind_values(step.inputs[0], {{-1, 14}, {-1, 8}, {-1, 7}, {0, 19}}, weight);
  EXPECT_TRUE(matches_oracle({step.output}, {{0, 12}, {0, 6}, {0, 5}}, Target::host()));
  EXPECT_LT(seconds_to_first_run({step.output}, {12, 6, 5}), kPatience);

  // Collisions keep mass and momentum: those that stream to a point are those that leave it.
  const auto values = expected_values({step.output}, {{0, 12}, {0, 6}, {0, 5}});
  const Buffer<float> in(memory);
  const auto& c = d3q19_velocities();
  for (const auto& at : std::vector<std::vector<int>>{{0, 0, 0}, {5, 3, 2}, {11, 5, 4}}) {
    double mass = 0, arrived = 0, momentum = 0, brought = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double out = Buffer<float>(values[i])(at[0], at[1], at[2]);
      const double from = in(at[0] - c[i][0], at[1] - c[i][1], at[2] - c[i][2], static_cast<int>(i));
      mass += out;
      arrived += from;
      momentum += c[i][0] * out;
      brought += c[i][0] * from;
    }
    EXPECT_NEAR(mass, arrived, 1e-5);
    EXPECT_NEAR(momentum, brought, 1e-5);
  }
}

// 19 values of the same four moments: what they have in common is there once in every loop, and so
// are its loads.
TEST(Ported, TheValuesOfALatticeBoltzmannStepShareTheirPartsInTheKernel) {
  const Ported step = d3q19(0.6F);
  const Program program =
      lower(make_pipeline({step.output.function()}), {Target::host(), Variant{}, {}, DeviceLimits{}});
  ASSERT_EQ(program.nests.size(), 1U);
  std::set<const ExprNode*> nodes, loads;
  ir::walk(program.nests[0].kernel.body, nullptr, [&](const Expr& e) {
    nodes.insert(&e.node());
    if (e.as<Load>() != nullptr) loads.insert(&e.node());
  });
  EXPECT_EQ(loads.size(), 3U * 19U) << "in vectors, the last of a row, and rows shorter than one";
  EXPECT_LT(nodes.size(), 4500U);
}

TEST(Ported, BilateralGrid) {
  const Ported filter = bilateral_grid(4, 0.1F);
  // A step that the filter keeps, with noise that it takes away.
  const auto image = [](const std::vector<std::int64_t>& at) {
    const float noise = 0.02F * static_cast<float>((at[0] * 7 + at[1] * 13) % 5 - 2);
    return (at[0] < 12 ? 0.2F : 0.8F) + noise;
  };
  const auto memory = bind_values(filter.inputs[0], {{0, 24}, {0, 20}}, image);
  EXPECT_TRUE(matches_oracle({filter.output}, {{0, 24}, {0, 20}}, Target::host()));
  EXPECT_LT(seconds_to_first_run({filter.output}, {24, 20}), kPatience);
  const Buffer<float> smooth(expected_values({filter.output}, {{0, 24}, {0, 20}}).front());
  for (int y = 0; y < 20; ++y) {
    EXPECT_NEAR(smooth(4, y), 0.2F, 0.02F);
    EXPECT_NEAR(smooth(20, y), 0.8F, 0.02F);
    EXPECT_GT(smooth(13, y) - smooth(10, y), 0.5F);
  }
}

TEST(Ported, LocalLaplacian) {
  const Ported filter = local_laplacian(4, 4, 1.0F / 3, 1.0F);
  const auto memory = bind_random(filter.inputs[0], {{0, 24}, {0, 20}, {0, 3}}, 1);
  EXPECT_TRUE(matches_oracle({filter.output}, {{0, 24}, {0, 20}, {0, 3}}, Target::host()));
  const Ported deep = local_laplacian(8, 8, 1.0F / 7, 1.0F);
  const auto large = bind_random(deep.inputs[0], {{0, 64}, {0, 48}, {0, 3}}, 1);
  EXPECT_LT(seconds_to_first_run({deep.output}, {64, 48, 3}), kPatience);
}

TEST(Ported, Harris) {
  const Ported detector = harris();
  // A bright quadrant: its corner scores, its edges do not.
  const auto image = [](const std::vector<std::int64_t>& at) {
    return at[0] >= 8 && at[1] >= 8 ? 1.0F : 0.0F;
  };
  const auto memory = bind_values(detector.inputs[0], {{-2, 20}, {-2, 20}}, image);
  EXPECT_TRUE(matches_oracle({detector.output}, {{0, 16}, {0, 16}}, Target::host()));
  EXPECT_LT(seconds_to_first_run({detector.output}, {16, 16}), kPatience);
  const Buffer<float> score(expected_values({detector.output}, {{0, 16}, {0, 16}}).front());
  EXPECT_GT(score(8, 8), 0.05F);
  EXPECT_LT(score(8, 14), 0.0F);
  EXPECT_EQ(score(3, 3), 0.0F);
}

/// `output` in strips of 4 rows, in each of which `stages` slide.
void slide_in_strips(Func output, const std::vector<std::string>& stages, const std::string& loop) {
  const auto at = [&](const std::string& var) { return LoopLevel{output.name(), var}; };
  Schedule schedule;
  schedule.stages.push_back({output.name(),
                             0,
                             {{directive::Split{"y", "yo", "yi", 4, TailStrategy::Auto}, {}},
                              {directive::Vectorize{"x", 8, TailStrategy::Auto}, {}},
                              {directive::MarkLoop{"yo", LoopKind::Parallel}, {}}}});
  for (const std::string& stage : stages) {
    schedule.stages.push_back({stage,
                               0,
                               {{directive::ComputeAt{at(loop)}, {}},
                                {directive::StoreAt{at("yo")}, {}},
                                {directive::Vectorize{"x", 8, TailStrategy::Auto}, {}}}});
  }
  output.apply(schedule);
}

TEST(Ported, HarrisSlides) {
  const Ported detector = harris();
  const auto memory = bind_random(detector.inputs[0], {{-2, 43}, {-2, 23}}, 1);
  slide_in_strips(detector.output, {"ix", "iy"}, "yi");
  EXPECT_TRUE(matches_oracle({detector.output}, {{0, 39}, {0, 19}}, Target::host()));
  const std::string loops = detector.output.print_loop_nest(Target::host());
  for (const char* const stage : {"ix", "iy"}) {
    const std::string note = std::string(stage) +
                             ": an iteration of loop yi of harris computes only what earlier ones have "
                             "not of y; storage holds 4 of y";
    EXPECT_NE(loops.find(note), std::string::npos) << loops;
  }
}

TEST(Ported, UnsharpSlides) {
  const Ported filter = unsharp();
  const auto memory = bind_random(filter.inputs[0], {{0, 41}, {0, 18}, {0, 3}}, 1);
  slide_in_strips(filter.output, {"blur_y"}, "x");
  EXPECT_TRUE(matches_oracle({filter.output}, {{0, 41}, {0, 18}, {0, 3}}, Target::host()));
  const std::string loops = filter.output.print_loop_nest(Target::host());
  EXPECT_NE(loops.find("loop x of unsharp computes only what earlier ones have not of x"),
            std::string::npos)
      << loops;
}

TEST(Ported, Unsharp) {
  const Ported filter = unsharp();
  const auto memory = bind_values(filter.inputs[0], {{0, 24}, {0, 16}, {0, 3}},
                                  [](const auto& at) { return 0.25F * static_cast<float>(at[2] + 1); });
  EXPECT_TRUE(matches_oracle({filter.output}, {{0, 24}, {0, 16}, {0, 3}}, Target::host()));
  EXPECT_LT(seconds_to_first_run({filter.output}, {24, 16, 3}), kPatience);
  // What has no detail stays as it is, but for the weights of the truncated Gaussian.
  const Buffer<float> sharp(expected_values({filter.output}, {{0, 24}, {0, 16}, {0, 3}}).front());
  EXPECT_NEAR(sharp(12, 8, 1), 0.5F, 0.03F);
}

TEST(Ported, TenSweepsOneAfterAnother) {
  const Ported ten = sweeps(10);
  const auto memory = bind_random(ten.inputs[0], {{-10, 40}, {-10, 32}}, 1);
  EXPECT_TRUE(matches_oracle({ten.output}, {{0, 20}, {0, 12}}, Target::host()));
  EXPECT_LT(seconds_to_first_run({ten.output}, {20, 12}), kPatience);
}

/// The new u of each column by plain loops in double precision.
std::vector<double> advected_column(const Buffer<float>& u, const Buffer<float>& w, int x, int y, int n,
                                    double dt) {
  std::vector<double> c(static_cast<std::size_t>(n)), d(c.size());
  for (int z = 0; z < n; ++z) {
    const auto at = static_cast<std::size_t>(z);
    const double low = z == 0 ? 0.0 : -0.125 * (double{w(x, y, z)} + w(x + 1, y, z));
    const double up = z == n - 1 ? 0.0 : 0.125 * (double{w(x, y, z + 1)} + w(x + 1, y, z + 1));
    const double here = u(x, y, z);
    const double under = u(x, y, std::max(z - 1, 0)), over = u(x, y, std::min(z + 1, n - 1));
    const double known = here / dt - low * (under - here) - up * (over - here);
    const double pivot = 1 / dt - low - up - (z == 0 ? 0.0 : low * c[at - 1]);
    c[at] = up / pivot;
    d[at] = (known - (z == 0 ? 0.0 : low * d[at - 1])) / pivot;
  }
  for (std::size_t at = d.size() - 1; at-- > 0;) d[at] -= c[at] * d[at + 1];
  return d;
}

TEST(Ported, VerticalAdvection) {
  constexpr int kWide = 19, kHigh = 5, kDeep = 23;
  const Ported step = vertical_advection(0.25F);
  const auto wave = [](const std::vector<std::int64_t>& at) {
    return static_cast<float>(std::sin(0.3 * static_cast<double>(at[0] + 3 * at[1] - 2 * at[2])));
  };
  const auto u = bind_values(step.inputs[0], {{0, kWide}, {0, kHigh}, {0, kDeep}}, wave);
  const auto w = bind_values(step.inputs[1], {{0, kWide + 1}, {0, kHigh}, {0, kDeep + 1}}, wave);
  const Box box{{0, kWide}, {0, kHigh}, {0, kDeep}};
  const auto values = expected_values({step.output}, box);
  for (int y = 0; y < kHigh; ++y) {
    for (int x = 0; x < kWide; ++x) {
      const auto column = advected_column(Buffer<float>(u), Buffer<float>(w), x, y, kDeep, 0.25);
      for (int z = 0; z < kDeep; ++z) {
        const double expected = column[static_cast<std::size_t>(z)];
        ASSERT_NEAR(Buffer<float>(values[0])(x, y, z), expected, 1e-5 * (1 + std::abs(expected)));
      }
    }
  }
  EXPECT_TRUE(run_matches(values, {step.output}, box, Target::host()));
  EXPECT_LT(seconds_to_first_run({step.output}, {kWide, kHigh, kDeep}), kPatience);
  // A thread a column.
  const Var x("x"), y("y");
  Func forward = step.others[0], next = step.output;
  forward.gpu_tile(x, y, 16, 2);
  next.gpu_tile(x, y, 16, 2);
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(run_matches(values, {next}, box, target));
  }
  // Both walks of a column in one kernel.
  forward.clear_schedule().compute_at(next, "x.thread");
  EXPECT_EQ(compile(next, Target::gpu_emulator()).kernels().size(), 1U);
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(run_matches(values, {next}, box, target));
  }
}

TEST(Ported, Magnetohydrodynamics) {
  const Ported sweep = mhd_sweep();
  const auto state = [](const std::vector<std::int64_t>& at) {
    const auto wave = static_cast<float>(std::sin(0.4 * static_cast<double>(at[0] + at[1])));
    const float rest[] = {1.0F, 0.1F, -0.2F, 0.05F, 0.5F, 0.3F, -0.1F, 2.5F};
    return rest[at[2]] * (1.0F + 0.1F * wave);
  };
  const auto memory = bind_values(sweep.inputs[0], {{-5, 42}, {0, 3}, {0, 8}}, state);
  EXPECT_TRUE(matches_oracle({sweep.output}, {{0, 32}, {0, 3}}, Target::host()));
  EXPECT_LT(seconds_to_first_run({sweep.output}, {32, 3}), kPatience);
  // A uniform state does not change.
  const auto rest = bind_values(sweep.inputs[0], {{-5, 42}, {0, 3}, {0, 8}}, [&](const auto& at) {
    return state({0, 0, at[2]});
  });
  for (const auto& rate : expected_values({sweep.output}, {{0, 8}, {0, 2}})) {
    EXPECT_EQ(Buffer<float>(rate)(3, 1), 0.0F);
  }
}

}  // namespace
}  // namespace mica::test
