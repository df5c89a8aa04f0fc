// Runs of hand-written plans on the host: what kernels are given, which variant serves, what is
// evaluated again.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/export/limits.h"
#include "tests/support/fake_pipeline.h"

namespace mica {
namespace {

using test::FakeKernel;
using test::FakePipeline;
using test::pointer_argument;
using test::scalar_argument;

std::uint64_t address_of_zero(const AnyBuffer& b) {
  std::int64_t origin = 0;
  for (const BufferDim& dim : b.dims()) origin += dim.min * dim.stride;
  return reinterpret_cast<std::uintptr_t>(b.host_data()) -
         static_cast<std::uint64_t>(origin * b.type().bytes());
}

constexpr Variant kDefault{};

TEST(Executable, LoadCompilesAndLaunchesNothing) {
  FakePipeline p;
  Buffer<float> u(std::vector<BufferDim>{{-1, 10, 1}});
  Buffer<float> next(8);
  u.fill(1.0F);
  p.set_u(u);
  Executable executable = p.executable();
  executable.load({&next});
  EXPECT_TRUE(p.next().take().empty());
  EXPECT_FALSE(executable.kernels().empty());
  executable.run(next);
  EXPECT_EQ(p.next().take().size(), 1U);
}

TEST(Executable, KernelsGetAddressesOfIndexZeroAndScalars) {
  FakePipeline p;
  Buffer<float> u(std::vector<BufferDim>{{-1, 10, 1}});
  Buffer<float> next(std::vector<BufferDim>{{100, 8, 1}});
  u.fill(1.0F);
  p.set_u(u);
  p.c->bits = std::bit_cast<std::uint32_t>(2.5F);
  p.executable().run(next);
  const auto launches = p.next().take();
  ASSERT_EQ(launches.size(), 1U);
  ASSERT_EQ(launches[0].arguments.size(), 4U);
  EXPECT_EQ(launches[0].arguments[0], address_of_zero(u));
  EXPECT_EQ(launches[0].arguments[1], address_of_zero(next))
      << "outside the allocation, by 100 elements";
  EXPECT_EQ(launches[0].arguments[2], 8U);
  EXPECT_EQ(launches[0].arguments[3], std::bit_cast<std::uint32_t>(2.5F));
}

TEST(Executable, AWarmRunCompilesNothingAndSeesNewAddressesAndParams) {
  FakePipeline p;
  Executable run = p.executable();
  for (int i = 0; i < 3; ++i) {
    Buffer<float> u(16), next(16);
    u.fill(0.0F);
    p.set_u(u);
    p.c->bits = std::bit_cast<std::uint32_t>(static_cast<float>(i));
    run.run(next);
    const auto launches = p.next().take();
    ASSERT_EQ(launches.size(), 1U);
    EXPECT_EQ(launches[0].arguments[0], address_of_zero(u));
    EXPECT_EQ(launches[0].arguments[1], address_of_zero(next));
    EXPECT_EQ(launches[0].arguments[3], std::bit_cast<std::uint32_t>(static_cast<float>(i)));
  }
  EXPECT_EQ(p.compiled(), std::vector<Variant>{kDefault});
}

TEST(Executable, EveryShapeIsEvaluatedForItself) {
  FakePipeline p;
  Executable run = p.executable();
  for (const std::int64_t n : {8, 16, 8, 1, 40}) {
    p.set_u(Buffer<float>(n));
    Buffer<float> next(n);
    run.run(next);
    EXPECT_EQ(p.next().take().at(0).arguments[2], static_cast<std::uint64_t>(n));
  }
}

TEST(Executable, ScalarsComputedFromParamsAreFreshInEveryRun) {
  FakePipeline p;
  const Expr c = make_var("c", Float(32));
  p.plan.launches[0].arguments[3] =
      scalar_argument("c2", Float(32), c * c + cast(Float(32), make_var("next.extent.0")));
  Executable run = p.executable();
  p.set_u(Buffer<float>(4));
  Buffer<float> next(4);
  for (const float value : {1.5F, -2.0F}) {
    p.c->bits = std::bit_cast<std::uint32_t>(value);
    run.run(next);
    EXPECT_EQ(p.next().take().at(0).arguments[3], std::bit_cast<std::uint32_t>(value * value + 4.0F));
  }
}

TEST(Executable, LaunchesDecidedByParamsFollowThem) {
  FakePipeline p;
  p.plan.launches[0].when = make_var("c", Float(32)) > Expr(0.0F);
  Executable run = p.executable();
  p.set_u(Buffer<float>(4));
  Buffer<float> next(4);
  for (const float value : {1.0F, -1.0F, 1.0F}) {
    p.c->bits = std::bit_cast<std::uint32_t>(value);
    run.run(next);
    EXPECT_EQ(p.next().take().size(), value > 0 ? 1U : 0U);
  }
}

TEST(Executable, AnEmptyOutputLaunchesNothing) {
  FakePipeline p;
  p.plan.checks.push_back({Expr(false), "never holds", {}, {}});
  p.set_u(Buffer<float>(4));
  Buffer<float> next(0);
  p.executable().run(next);
  EXPECT_TRUE(p.next().take().empty());
}

TEST(Executable, TemporariesArePaddedDenseAndNamedBySymbols) {
  FakePipeline p(2);
  PlanTemporary blur{"blur",
                     Float(32),
                     {Expr(-1), make_var("next.min.1")},
                     {make_var("next.extent.0") + 2, make_var("next.extent.1")},
                     {8, 1}};
  p.plan.temporaries.push_back(blur);
  p.plan.launches[0].arguments = {
      pointer_argument("blur", Float(32), true),
      scalar_argument("s", Int(64), make_expr(Int(64), Cast{make_var("blur.stride.1")})),
      scalar_argument("e", Int(32), make_var("blur.extent.0")), pointer_argument("u", Float(32), false),
      pointer_argument("next", Float(32), true)};
  p.kernels["next"] = std::make_shared<FakeKernel>([](const FakeKernel::Launch& launch) {
    auto* zero = reinterpret_cast<float*>(launch.arguments[0]);
    for (int y = 2; y < 5; ++y) {
      for (int x = -1; x < 9; ++x) zero[y * 16 + x] = 1.0F;  // a sanitizer build checks the bounds
    }
  });
  p.set_u(Buffer<float>(8, 3));
  Buffer<float> next(std::vector<BufferDim>{{0, 8, 1}, {2, 3, 8}});
  p.executable().run(next);
  const auto launch = p.next().take().at(0);
  EXPECT_EQ(launch.arguments[1], 16U);
  EXPECT_EQ(launch.arguments[2], 10U);
  EXPECT_EQ((launch.arguments[0] + (2 * 16 - 1) * sizeof(float)) % 256, 0U)
      << "the first element is aligned";
}

TEST(Executable, SeveralOutputsAreTakenInTheNamedOrder) {
  FakePipeline p;
  p.plan.buffers.push_back({"flag", Bool(), 1, true, nullptr});
  p.plan.launches[0].arguments = {pointer_argument("flag", Bool(), true),
                                  pointer_argument("next", Float(32), true)};
  Executable run(Target::host(), {"flag", "next"}, [&](const Variant&) {
    auto made = std::make_shared<CompiledVariant>();
    made->plan = p.plan;
    made->kernels.emplace_back("next", p.kernels.at("next"));
    return made;
  });
  p.set_u(Buffer<float>(4));
  Buffer<float> next(4);
  Buffer<bool> flag(4);
  run.run({&flag, &next});
  const auto launch = p.next().take().at(0);
  EXPECT_EQ(launch.arguments[0], address_of_zero(flag));
  EXPECT_EQ(launch.arguments[1], address_of_zero(next));
}

TEST(ExecutableVariants, OffsetsBeyond32BitsTakeTheWideOne) {
  FakePipeline p(2);
  std::vector<float> few(64);
  const auto strided = [&](std::int64_t stride) {
    return Buffer<float>(few.data(), std::vector<BufferDim>{{0, 4, 1}, {0, 1, stride}});
  };
  Executable run = p.executable();
  p.set_u(Buffer<float>(4, 1));
  // The row stands 2^30 or 2^31 elements from logical row 0.
  Buffer<float> fits = strided(4).translated({0, -(std::int64_t{1} << 28)});
  run.run(fits);
  Buffer<float> exceeds = strided(8).translated({0, -(std::int64_t{1} << 28)});
  run.run(exceeds);
  EXPECT_EQ(p.compiled(), (std::vector<Variant>{kDefault, {.index32 = false}}));
}

TEST(ExecutableVariants, TheLargestOffsetOf32BitsIsTheLast) {
  FakePipeline p(2);
  std::vector<float> few(4);
  constexpr std::int64_t kFar = std::int64_t{1} << 28, kStride = 7;
  Executable run = p.executable();
  p.set_u(Buffer<float>(4, 1));
  for (const std::int64_t beyond : {0, 1}) {
    const std::int64_t last = LARGEST_OFFSET32 - kStride * kFar + beyond;
    Buffer<float> out(few.data(), std::vector<BufferDim>{{last - 3, 4, 1}, {-kFar, 1, kStride}});
    run.run(out);
    EXPECT_EQ(p.compiled().size(), static_cast<std::size_t>(1 + beyond));
  }
  EXPECT_EQ(p.compiled().back(), (Variant{.index32 = false}));
}

TEST(ExecutableVariants, UnalignedRowsTakeTheUnalignedOne) {
  FakePipeline p(2);
  p.plan.alignments.push_back({"u", {make_var("next.min.0"), make_var("next.min.1")}, 16});
  Executable run = p.executable();
  Buffer<float> next(4, 4);
  const auto run_with = [&](const AnyBuffer& u) {
    p.set_u(u);
    run.run(next);
  };
  Buffer<float> u(16, 4);
  run_with(u);
  run_with(u.cropped({{4, 8}, {0, 4}}).translated({0, 0}));
  run_with(Buffer<float>::with_halo({8, 4}, {1, 1}));
  EXPECT_EQ(p.compiled(), std::vector<Variant>{kDefault}) << "16-byte rows, interior points aligned";
  run_with(u.cropped({{1, 8}, {0, 4}}).translated({0, 0}));
  EXPECT_EQ(p.compiled(), (std::vector<Variant>{kDefault, {.aligned = false}}));
  run_with(Buffer<float>(17, 4));  // odd pitch
  std::vector<float> mine(65);
  const std::size_t odd = reinterpret_cast<std::uintptr_t>(mine.data()) % 16 == 0 ? 1 : 0;
  run_with(Buffer<float>(mine.data() + odd, std::vector<std::int64_t>{16, 4}));
  EXPECT_EQ(p.compiled().size(), 2U);
}

TEST(ExecutableVariants, AnUnalignedStrideOfAnyDimensionTakesTheUnalignedOne) {
  for (const std::size_t rank : {2, 3, 4}) {
    for (std::size_t odd = 1; odd <= rank; ++odd) {  // the last one is none
      FakePipeline p(static_cast<int>(rank));
      p.plan.alignments.push_back({"u", {}, 16});
      std::vector<BufferDim> dims;
      std::int64_t stride = 1;
      for (std::size_t d = 0; d < rank; ++d) {
        p.plan.alignments[0].at.push_back(make_var("u.min." + std::to_string(d)));
        if (d == odd) ++stride;
        dims.push_back({0, 4, stride});
        stride = (stride * 4 + 3) / 4 * 4;
      }
      Executable run = p.executable();
      p.set_u(AnyBuffer(Float(32), dims));
      AnyBuffer next(Float(32), std::vector<std::int64_t>(rank, 4));
      run.run(next);
      EXPECT_EQ(p.compiled().back().aligned, odd == rank) << "dimension " << odd << " of " << rank;
      // A single index takes no stride.
      if (odd < rank) dims[odd].extent = 1;
      p.set_u(AnyBuffer(Float(32), dims));
      Executable fresh = p.executable();
      fresh.run(next);
      EXPECT_TRUE(p.compiled().back().aligned) << "dimension " << odd << " of " << rank;
    }
  }
}

TEST(ExecutableVariants, RowsOfAnotherStrideTakeTheGeneralOne) {
  FakePipeline p;
  Executable run = p.executable();
  Buffer<float> next(4);
  p.set_u(Buffer<float>(std::vector<BufferDim>{{0, 4, 5}}));
  run.run(next);
  EXPECT_EQ(p.compiled(), (std::vector<Variant>{kDefault, {.unit_stride = false}}));
}

TEST(ExecutableVariants, ChannelsOfPixelsHaveOneOfTheirOwn) {
  FakePipeline p;
  Executable run = p.executable();
  Buffer<float> next(4);
  for (const std::int64_t stride : {2, 4, 2}) {
    p.set_u(Buffer<float>(std::vector<BufferDim>{{0, 4, stride}}));
    run.run(next);
  }
  ASSERT_EQ(p.compiled().size(), 3U);
  for (const std::size_t i : {1, 2}) {
    EXPECT_FALSE(p.compiled()[i].unit_stride);
    const std::vector<Variant::Inner> inner = p.compiled()[i].inner;
    ASSERT_EQ(inner.size(), 2U);
    EXPECT_EQ(std::max(inner[0].stride, inner[1].stride), 2 * i);
    EXPECT_EQ(std::min(inner[0].stride, inner[1].stride), 1);
  }
}

TEST(ExecutableVariants, GridsTooTallAreNumberedAlongX) {
  FakePipeline p(2);
  p.on_device();
  p.plan.launches[0].grid = {Expr(2), make_var("next.extent.1"), Expr(1)};
  Executable run = p.executable(Target::gpu_emulator());
  p.set_u(Buffer<float>(1, 1));
  const auto grid_for = [&](std::int64_t rows) {
    Buffer<float> next(1, rows);
    run.run(next);
    const LaunchShape shape = p.next().take().at(0).shape;
    return std::vector<std::uint32_t>(shape.grid, shape.grid + 3);
  };
  EXPECT_EQ(grid_for(65535), (std::vector<std::uint32_t>{2, 65535, 1}));
  EXPECT_EQ(grid_for(65536), (std::vector<std::uint32_t>{131072, 1, 1}));
  EXPECT_EQ(p.compiled(), (std::vector<Variant>{kDefault, {.grid3 = false}}));
}

TEST(ExecutableVariants, OnlyWhatIsLaunchedIsLoaded) {
  FakePipeline p;
  std::vector<bool> loaded;  // the variants' unit_stride
  int attempts = 0;
  Executable run(Target::host(), {"next"}, [&](const Variant& variant) {
    auto made = std::make_shared<CompiledVariant>();
    made->plan = p.plan;
    made->load = [&loaded, &attempts, &p, variant]() -> CompiledVariant::Kernels {
      if (++attempts == 1) throw UserError("first attempt");
      loaded.push_back(variant.unit_stride);
      return {{"next", p.kernels.at("next")}};
    };
    return made;
  });
  p.set_u(Buffer<float>(4));
  Buffer<float> spaced(std::vector<BufferDim>{{0, 4, 2}}), dense(4);
  EXPECT_THROW(run.run(spaced), UserError);
  run.run(spaced);
  EXPECT_EQ(loaded, std::vector<bool>{false}) << "the default variant only said that it does not serve";
  run.run(dense);
  run.run(spaced);
  EXPECT_EQ(loaded, (std::vector<bool>{false, true}));
}

TEST(ExecutableVariants, FailedCompilationIsTriedAgain) {
  FakePipeline p;
  int attempts = 0;
  Executable run(Target::host(), {"next"},
                 [&](const Variant&) -> std::shared_ptr<const CompiledVariant> {
                   if (++attempts == 1) throw UserError("first attempt");
                   auto made = std::make_shared<CompiledVariant>();
                   made->plan = p.plan;
                   made->kernels.emplace_back("next", p.kernels.at("next"));
                   return made;
                 });
  p.set_u(Buffer<float>(4));
  Buffer<float> next(4);
  EXPECT_THROW(run.run(next), UserError);
  run.run(next);
  EXPECT_EQ(attempts, 2);
}

TEST(Executable, ThreadsMayRunAtOnceAndCompileOnce) {
  FakePipeline p;
  p.kernels["next"] = std::make_shared<FakeKernel>([](const FakeKernel::Launch& launch) {
    const auto* u = reinterpret_cast<const float*>(launch.arguments[0]);
    auto* next = reinterpret_cast<float*>(launch.arguments[1]);
    for (std::uint64_t i = 0; i < launch.arguments[2]; ++i) next[i] = 2.0F * u[i];
  });
  Buffer<float> u(64);
  u.for_each([](float& e, const Coordinates& at) { e = static_cast<float>(at[0]); });
  p.set_u(u);
  Executable run = p.executable();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 100; ++i) {
        Buffer<float> next(1 + (t + i) % 64);
        next.fill(-1.0F);
        run.run(next);
        if (next((t + i) % 64) != 2.0F * static_cast<float>((t + i) % 64)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(p.compiled(), std::vector<Variant>{kDefault});
}

TEST(Executable, KernelInfosTellTheLastLaunch) {
  FakePipeline p;
  p.on_device();
  Executable run = p.executable(Target::gpu_emulator());
  ASSERT_EQ(run.kernels().size(), 1U);
  EXPECT_EQ(run.kernels()[0].name, "next");
  EXPECT_EQ(run.kernels()[0].shape.block[0], 32U) << "known before the first run";
  EXPECT_EQ(run.kernels()[0].registers, 24);
  EXPECT_TRUE(run.kernels()[0].on_device);
  p.set_u(Buffer<float>(100));
  Buffer<float> next(100);
  run.run(next);
  EXPECT_EQ(run.kernels()[0].shape.grid[0], 4U);
}

TEST(Executable, NothingCompiledIsAUserError) {
  Executable nothing;
  Buffer<float> next(4);
  EXPECT_FALSE(nothing.defined());
  EXPECT_THROW(nothing.run(next), UserError);
  EXPECT_THROW((void)nothing.kernels(), UserError);
}

}  // namespace
}  // namespace mica
