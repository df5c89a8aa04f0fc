// The CPU back end alone: hand-made kernels return the bits of plain C++ loops.
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "tests/support/hand_kernels.h"
#include "tests/support/operation_cases.h"

namespace mica {
namespace {

std::shared_ptr<LoadedKernel> load_kernel(const ir::Kernel& kernel) {
  ir::Module module;
  module.name = kernel.name;
  module.kernels.push_back(kernel);
  const llvm_backend::LoadedKernels loaded = llvm_backend::load_host_kernels(module);
  EXPECT_EQ(loaded.size(), 1U);
  return loaded.at(0).second;
}

template <typename... T>
void launch(LoadedKernel& kernel, T... values) {
  void* arguments[] = {static_cast<void*>(&values)...};
  kernel.launch({}, arguments, sizeof...(T), {});
}

std::vector<float> random_floats(std::size_t count) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  std::vector<float> data(count);
  for (float& v : data) v = values(engine);
  return data;
}

class SevenPoint {
 public:
  static constexpr int n = 34;
  static constexpr int sy = n, sz = n * n;
  std::vector<float> u = random_floats(static_cast<std::size_t>(sz) * n);
  float c0 = 0.4F, c1 = 0.1F;

  [[nodiscard]] std::vector<float> expected() const {
    std::vector<float> out(u.size(), -7.0F);
    for (int z = 1; z < n - 1; ++z) {
      for (int y = 1; y < n - 1; ++y) {
        for (int x = 1; x < n - 1; ++x) {
          const float* p = &u[static_cast<std::size_t>(x + y * sy + z * sz)];
          float sum = c0 * p[0];
          for (const int tap : {-sz, -sy, -1, 1, sy, sz}) sum = std::fma(c1, p[tap], sum);
          out[static_cast<std::size_t>(p - u.data())] = sum;
        }
      }
    }
    return out;
  }
  [[nodiscard]] std::vector<float> run(const ir::Kernel& kernel) const {
    std::vector<float> out(u.size(), -7.0F);
    launch(*load_kernel(kernel), u.data(), out.data(), sy, sz, n, c0, c1);
    return out;
  }
};

TEST(HostBackend, SevenPointStencilHasTheBitsOfAPlainLoop) {
  const SevenPoint problem;
  EXPECT_EQ(problem.run(test::seven_point_host(1)), problem.expected());
}

TEST(HostBackend, SevenPointStencilInVectorsHasTheSameBits) {
  const SevenPoint problem;
  for (const int lanes : {2, 4, 8, 16, 32}) {
    EXPECT_EQ(problem.run(test::seven_point_host(lanes)), problem.expected()) << lanes << " lanes";
  }
}

TEST(HostBackend, GpuLoopsRunEachBlockOnceWithItsOwnScratch) {
  // for blocks by, bx, threads t: tile[t] = u[...]; then out[...] = tile[T - 1 - t].
  constexpr int kThreads = 8, kBlocksX = 3, kBlocksY = 5;
  const Expr t = make_var("t");
  const Expr block = make_var("by") * kBlocksX + make_var("bx");
  const ir::Stmt fill =
      test::loop(LoopKind::GpuThread, "t", 0, kThreads,
                 test::store("tile", t, test::load("u", Int(32), block * kThreads + t)));
  const ir::Stmt drain = test::loop(
      LoopKind::GpuThread, "t", 0, kThreads,
      test::store("out", block * kThreads + t, test::load("tile", Int(32), kThreads - 1 - t)));
  ir::Kernel kernel;
  kernel.name = "blocks";
  kernel.params = {test::pointer("u", Int(32)), test::pointer("out", Int(32), true)};
  kernel.body = test::loop(LoopKind::GpuBlock, "by", 0, kBlocksY,
                           test::loop(LoopKind::GpuBlock, "bx", 0, kBlocksX,
                                      test::allocate(MemoryType::Shared, Int(32), "tile", {kThreads},
                                                     ir::make_block({fill, drain}))));
  std::vector<std::int32_t> u(kThreads * kBlocksX * kBlocksY), out(u.size(), -1), expected(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    u[i] = static_cast<std::int32_t>(i * i);
    expected[i / kThreads * kThreads + kThreads - 1 - i % kThreads] = u[i];
  }
  launch(*load_kernel(kernel), u.data(), out.data());
  EXPECT_EQ(out, expected);
}

TEST(HostBackend, ParallelLoopsNestAndSeeValuesAndMemoryAroundThem) {
  // let k = 2*n; allocate row[n]; row[i] = i*k; parallel y: parallel x: out[y*n + x] = row[x] + y
  const Expr n = make_var("n"), x = make_var("x"), y = make_var("y"), i = make_var("i");
  const ir::Stmt fill =
      test::loop(LoopKind::Serial, "i", 0, n, test::store("row", i, i * make_var("k")));
  const ir::Stmt use =
      test::loop(LoopKind::Parallel, "y", -1, n,
                 test::loop(LoopKind::Parallel, "x", 0, n,
                            test::store("out", (y + 1) * n + x, test::load("row", Int(32), x) + y)));
  ir::Allocate row{"row", Int(32), MemoryType::Heap, {0}, {n}, {1}, ir::make_block({fill, use})};
  ir::Kernel kernel;
  kernel.name = "nested";
  kernel.params = {test::pointer("out", Int(32), true), test::scalar("n")};
  kernel.body = ir::make_stmt(ir::LetStmt{"k", 2 * n, ir::make_stmt(row)});
  constexpr int kN = 37;
  std::vector<std::int32_t> out(kN * kN), expected(out.size());
  for (int b = 0; b < kN; ++b) {
    for (int a = 0; a < kN; ++a) expected[static_cast<std::size_t>(b * kN + a)] = a * 2 * kN + b - 1;
  }
  launch(*load_kernel(kernel), out.data(), kN);
  EXPECT_EQ(out, expected);
}

TEST(HostBackend, AnEmptyLoopDoesNothing) {
  ir::Kernel kernel;
  kernel.name = "empty";
  kernel.params = {test::pointer("out", Int(32), true), test::scalar("n")};
  kernel.body = test::loop(LoopKind::Parallel, "y", 0, make_var("n"),
                           test::loop(LoopKind::Serial, "x", 0, make_var("n"),
                                      test::store("out", make_var("x"), make_var("y"))));
  std::int32_t out = 5;
  const auto loaded = load_kernel(kernel);
  launch(*loaded, &out, 0);
  launch(*loaded, &out, -3);
  EXPECT_EQ(out, 5);
}

TEST(HostBackend, AKernelOutlivesTheListItCameIn) {
  auto kernel = load_kernel(test::seven_point_host(4));
  KernelInfo info;
  kernel->describe(info);
  EXPECT_EQ(info.name, "next.s0");
  EXPECT_FALSE(info.on_device);
}

TEST(HostBackend, AnUnsoundKernelIsAnInternalErrorThatNamesTheFault) {
  ir::Kernel kernel;
  kernel.name = "bad";
  kernel.params = {test::pointer("out", Int(32), true)};
  kernel.body = test::store("out", make_var("nowhere"), 1);
  ir::Module module;
  module.kernels.push_back(kernel);
  try {
    llvm_backend::load_host_kernels(module);
    FAIL() << "no error";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("nowhere is used but not defined"), std::string::npos)
        << e.what();
  }
}

void run_cases(const std::vector<test::OperationCase>& cases, int lanes,
               llvm_backend::HostCpu cpu = llvm_backend::HostCpu::Native) {
  ir::Module module;
  module.name = "operations";
  for (const test::OperationCase& c : cases) {
    module.kernels.push_back(test::operation_kernel(c, lanes, false));
  }
  const llvm_backend::LoadedKernels loaded = llvm_backend::load_host_kernels(module, cpu);
  ASSERT_EQ(loaded.size(), cases.size());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const std::vector<unsigned char> a = test::operation_samples(cases[k].from, 0);
    const std::vector<unsigned char> b = test::operation_samples(cases[k].from, 1);
    std::vector<unsigned char> out(static_cast<std::size_t>(test::kOperationSamples) *
                                   static_cast<std::size_t>(cases[k].to.bytes()));
    launch(*loaded[k].second, a.data(), b.data(), out.data());
    ASSERT_EQ(test::compare_results(cases[k], out), "") << lanes << " lanes";
  }
}

TEST(HostBackend, EveryOperationOfEveryTypeHasTheOraclesBits) {
  for (const Type type : test::all_types()) {
    if (type.is_half()) continue;  // a pass replaces arithmetic on f16 and bf16
    run_cases(test::arithmetic_cases(type), 1);
    run_cases(test::arithmetic_cases(type), 8);
  }
}

TEST(HostBackend, EveryCastHasTheOraclesBits) {
  run_cases(test::cast_cases(), 1);
  run_cases(test::cast_cases(), 8);
}

// Without f16 conversions and fma in hardware other code runs, for the same bits.
TEST(HostBackend, ACpuWithoutExtensionsHasTheOraclesBits) {
  run_cases(test::cast_cases(), 8, llvm_backend::HostCpu::Baseline);
  for (const Type type : {Float(32), Float(64)}) {
    run_cases(test::arithmetic_cases(type), 4, llvm_backend::HostCpu::Baseline);
  }
}

TEST(HostBackend, StridedReversedAndGatheredLanesReachTheirElements) {
  constexpr int kLanes = 4;
  const Type i4 = Int(32).with_lanes(kLanes);
  const auto ramp = [&](int base, int stride) { return make_expr(i4, Ramp{base, stride}); };
  const auto at = [&](const Expr& index) { return make_expr(i4, Load{"u", {index}, {}, 1}); };
  const Expr reversed = at(ramp(7, -1));  // 7 6 5 4
  const Expr strided = at(ramp(0, 3));    // 0 3 6 9
  const Expr gathered = at(at(ramp(0, 1)) % test::broadcast(8, kLanes));
  const Expr same = at(test::broadcast(Expr(2), kLanes));
  const Expr mixed = make_expr(i4, Shuffle{{reversed, strided}, {0, 4, 3, 7}});
  ir::Kernel kernel;
  kernel.name = "lanes";
  kernel.params = {test::pointer("u", Int(32)), test::pointer("out", Int(32), true)};
  const auto put = [&](const Expr& index, const Expr& value) {
    return ir::make_stmt(ir::Store{"out", {index}, value, {}, 1});
  };
  kernel.body =
      ir::make_block({put(ramp(0, 1), reversed), put(ramp(4, 1), strided), put(ramp(8, 1), gathered),
                      put(ramp(12, 1), same), put(ramp(16, 1), mixed), put(ramp(23, -1), reversed),
                      put(ramp(24, 2), strided)});
  std::vector<std::int32_t> u(12), out(32, -1);
  for (std::size_t k = 0; k < u.size(); ++k) u[k] = static_cast<std::int32_t>(10 * k + 3);
  launch(*load_kernel(kernel), u.data(), out.data());
  const auto e = [&](std::int32_t k) { return u[static_cast<std::size_t>(k)]; };
  const std::vector<std::int32_t> expected = {
      e(7),      e(6), e(5), e(4), e(0), e(3), e(6), e(9), e(3), e(13 % 8), e(23 % 8),
      e(33 % 8), e(2), e(2), e(2), e(2), e(7), e(0), e(4), e(9), e(4),      e(5),
      e(6),      e(7), e(0), -1,   e(3), -1,   e(6), -1,   e(9), -1};
  EXPECT_EQ(out, expected);
}

TEST(HostBackend, ALetHidesAnOuterOneOfItsName) {
  const Expr t = make_var("t");
  const Expr shared = t * t;  // one node under two bindings
  const Expr inner = make_expr(Int(32), Let{"t", t + 10, shared});
  const Expr value = make_expr(Int(32), Let{"t", make_var("n"), shared + inner + shared});
  ir::Kernel kernel;
  kernel.name = "lets";
  kernel.params = {test::pointer("out", Int(32), true), test::scalar("n")};
  kernel.body = test::store("out", 0, value);
  std::int32_t out = 0;
  launch(*load_kernel(kernel), &out, 3);
  EXPECT_EQ(out, 9 + 169 + 9);
}

}  // namespace
}  // namespace mica
