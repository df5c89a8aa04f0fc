#include "tests/support/fake_cuda.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <dlfcn.h>

namespace mica::test {

std::filesystem::path fake_cuda_path(const std::string& library) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / "lib" / library;
}

FakeCuda::FakeCuda() {
  void* const library = dlopen(fake_cuda_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto find = [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(std::string("no function ") + name);
  };
  find(reset, "fakecuda_reset");
  find(set_driver_version, "fakecuda_set_driver_version");
  find(set_devices, "fakecuda_set_devices");
  find(set_sm, "fakecuda_set_sm");
  find(set_total_memory, "fakecuda_set_total_memory");
  find(fail, "fakecuda_fail");
  find(calls, "fakecuda_calls");
  find(live, "fakecuda_live");
  find(called, "fakecuda_called");
  find(texture_start, "fakecuda_texture_start");
  find(on_launch, "fakecuda_on_launch");
  find(make_context, "fakecuda_make_context");
  find(context_depth, "fakecuda_context_depth");
  find(current_context, "fakecuda_current_context");
  find(make_stream, "fakecuda_make_stream");
}

FakeGpuProcess::FakeGpuProcess(const std::string& library) {
  setenv("MICA_LIBCUDA", fake_cuda_path(library).c_str(), 1);
  setenv("MICA_CACHE_DIR", cache().c_str(), 1);
}

void FakeGpuProcess::expect(bool holds, const std::string& what) {
  if (!holds) std::fprintf(stderr, "%s\n", what.c_str());
  failed_ = failed_ || !holds;
}

void FakeGpuProcess::end() const {
  folder_.remove();
  std::_Exit(failed_ ? 1 : 0);
}

void FakeGpuTest::SetUp() {
  ASSERT_TRUE(std::filesystem::exists(fake_cuda_path())) << fake_cuda_path() << " is not built";
  fake_ = std::make_unique<FakeCuda>();
  fake_->reset();
}

void FakeGpuTest::TearDown() {
  if (fake_ == nullptr || may_leak_) return;
  EXPECT_EQ(fake_->context_depth(), 0);
  const FakeCudaLive live = fake_->live();
  EXPECT_EQ(live.allocations, 0U);
  EXPECT_EQ(live.pinned, 0U);
  EXPECT_EQ(live.streams, 0U);
  EXPECT_EQ(live.events, 0U);
  EXPECT_EQ(live.modules, 0U);
  EXPECT_EQ(live.links, 0U);
  EXPECT_EQ(live.textures, 0U);
  EXPECT_EQ(live.graphs, 0U);
  EXPECT_EQ(live.retained_contexts, 0U);
}

std::shared_ptr<CudaContext> FakeGpuTest::open(int ordinal) {
  return std::make_shared<CudaContext>(std::make_shared<const cuda::Driver>(fake_cuda_path()), ordinal);
}

std::string fake_ptx(const std::vector<std::string>& names, int parameters,
                     const std::string& comments) {
  std::string ptx = comments + "\n.version 9.0\n.target sm_90\n.address_size 64\n";
  for (const std::string& name : names) {
    ptx += ".visible .entry " + name + "(";
    for (int i = 0; i < parameters; ++i) {
      ptx += (i == 0 ? ".param .u64 p" : ", .param .u64 p") + std::to_string(i);
    }
    ptx += ") { ret; }\n";
  }
  return ptx;
}

}  // namespace mica::test
