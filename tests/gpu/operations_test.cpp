// The NVIDIA back end alone: hand-made kernels return the oracle's bits on a GPU.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/run/device.h"
#include "runtime/run/gpu_module.h"
#include "tests/support/hand_kernels.h"
#include "tests/support/operation_cases.h"

namespace mica {
namespace {

/// A copy of host bytes on the GPU.
class OnGpu {
 public:
  OnGpu(Device& device, std::size_t bytes)
      : device_(device), bytes_(bytes), address_(device.allocate(bytes, {})) {}
  OnGpu(Device& device, const std::vector<unsigned char>& data) : OnGpu(device, data.size()) {
    device.copy_to_device(address_, data.data(), data.size(), {});
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() { device_.release(address_, bytes_, {}); }
  [[nodiscard]] std::vector<unsigned char> read() const {
    std::vector<unsigned char> data(bytes_);
    device_.copy_to_host(data.data(), address_, bytes_, {});
    device_.synchronize({});
    return data;
  }
  [[nodiscard]] void* argument() { return &address_; }

 private:
  Device& device_;
  std::size_t bytes_;
  std::uint64_t address_;
};

class PtxOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_device_count(&why) == 0) GTEST_SKIP() << why;
    device = device_for(target);
  }
  LoadedKernels load(const ir::Module& module) {
    std::vector<std::string> names;
    std::vector<int> shared;
    for (const ir::Kernel& k : module.kernels) {
      names.push_back(llvm_backend::ptx_name(k.name));
      shared.push_back(static_cast<int>(ir::shared_bytes(k)));
    }
    return load_cuda_kernels(target, llvm_backend::emit_ptx(module, 90, 0), names, shared, {}, false);
  }
  void run_cases(const std::vector<test::OperationCase>& cases, int lanes) {
    ir::Module module;
    module.name = "operations";
    for (const test::OperationCase& c : cases) {
      module.kernels.push_back(test::operation_kernel(c, lanes, true));
    }
    const LoadedKernels loaded = load(module);
    for (std::size_t k = 0; k < cases.size(); ++k) {
      OnGpu a(*device, test::operation_samples(cases[k].from, 0));
      OnGpu b(*device, test::operation_samples(cases[k].from, 1));
      OnGpu out(*device, static_cast<std::size_t>(test::kOperationSamples) *
                             static_cast<std::size_t>(cases[k].to.bytes()));
      LaunchShape shape;
      shape.block[0] = 64;
      shape.grid[0] = static_cast<unsigned>(test::kOperationSamples / lanes / 64);
      void* arguments[] = {a.argument(), b.argument(), out.argument()};
      loaded[k].second->launch(shape, arguments, 3, {});
      EXPECT_EQ(test::compare_results(cases[k], out.read()), "") << lanes << " lanes";
    }
  }

  Target target{Backend::Cuda, 0};
  std::shared_ptr<Device> device;
};

TEST_F(PtxOnGpu, EveryOperationOfEveryTypeHasTheOraclesBits) {
  for (const Type type : test::all_types()) {
    if (type.is_half()) continue;  // a pass replaces arithmetic on f16 and bf16
    run_cases(test::arithmetic_cases(type), 1);
    run_cases(test::arithmetic_cases(type), 4);
  }
}

TEST_F(PtxOnGpu, EveryCastHasTheOraclesBits) {
  run_cases(test::cast_cases(), 1);
  run_cases(test::cast_cases(), 4);
}

TEST_F(PtxOnGpu, BlocksExchangeValuesThroughSharedMemory) {
  constexpr int kThreads = 96, kBlocks = 5;
  ir::Module module;
  module.kernels.push_back(test::shared_reverse(kThreads));
  const LoadedKernels loaded = load(module);
  std::vector<float> u(kThreads * kBlocks), expected(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    u[i] = static_cast<float>(i);
    expected[i / kThreads * kThreads + kThreads - 1 - i % kThreads] = u[i];
  }
  std::vector<unsigned char> bytes(u.size() * sizeof(float));
  std::memcpy(bytes.data(), u.data(), bytes.size());
  OnGpu in(*device, bytes), out(*device, bytes.size());
  LaunchShape shape;
  shape.block[0] = kThreads;
  shape.grid[0] = kBlocks;
  shape.shared_bytes = static_cast<unsigned>(ir::shared_bytes(module.kernels[0]));
  void* arguments[] = {in.argument(), out.argument()};
  loaded[0].second->launch(shape, arguments, 2, {});
  std::memcpy(u.data(), out.read().data(), bytes.size());
  EXPECT_EQ(u, expected);
}

}  // namespace
}  // namespace mica
