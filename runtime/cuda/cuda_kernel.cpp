#include "runtime/cuda/cuda_kernel.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/cuda/cuda_module.h"

namespace mica {

namespace {

std::string triple_text(const std::uint32_t (&values)[3]) {
  return std::to_string(values[0]) + "x" + std::to_string(values[1]) + "x" + std::to_string(values[2]);
}

/// The number of parameters of entry point `name`, or nothing if `ptx` does not have it.
std::optional<std::size_t> count_parameters(const std::string& ptx, const std::string& name) {
  constexpr std::string_view kSpace = " \t\r\n", kParameter = ".param ";
  const std::string entry = ".entry " + name;
  for (std::size_t at = 0; (at = ptx.find(entry, at)) != std::string::npos; at += entry.size()) {
    const std::size_t end_of_name = at + entry.size();
    const std::size_t next = ptx.find_first_not_of(kSpace, end_of_name);
    if (next == std::string::npos) return std::nullopt;
    if (ptx[next] != '(') {
      if (next == end_of_name) continue;  // the start of a longer name
      return 0;
    }
    const std::size_t end = std::min(ptx.find(')', next), ptx.size());
    std::size_t count = 0;
    for (std::size_t p = next; (p = ptx.find(kParameter, p)) < end; p += kParameter.size()) ++count;
    return count;
  }
  return std::nullopt;
}

}  // namespace

CudaModule::CudaModule(std::shared_ptr<const CudaContext> context, const std::string& cubin,
                       std::string ptx, bool from_cache)
    : context_(std::move(context)),
      ptx_(std::move(ptx)),
      overlaps_launches_(ptx_.find("griddepcontrol.wait") != std::string::npos),
      from_cache_(from_cache) {
  const CudaContext::Scope scope(*context_);
  const cuda::Driver& driver = context_->driver();
  const cuda::Result result = driver.cuModuleLoadData(&handle_, cubin.data());
  if (result != cuda::kSuccess) {
    throw driver.error("cuModuleLoadData", result,
                       cuda::bytes_text(cubin.size()) + " of machine code for sm_" +
                           std::to_string(context_->facts().sm));
  }
}

CudaModule::~CudaModule() {
  // Errors say that the process ends or that the context is already broken.
  try {
    const CudaContext::Scope scope(*context_);
    (void)context_->driver().cuCtxSynchronize();
    (void)context_->driver().cuModuleUnload(handle_);
  } catch (const DeviceError&) {
  }
}

CudaKernel::CudaKernel(std::shared_ptr<const CudaModule> module, std::string name, int shared_bytes)
    : module_(std::move(module)), name_(std::move(name)) {
  const cuda::Driver& driver = module_->context().driver();
  const cuda::Result result = driver.cuModuleGetFunction(&function_, module_->handle(), name_.c_str());
  if (result != cuda::kSuccess) {
    throw driver.error("cuModuleGetFunction", result, "kernel " + name_);
  }
  registers_ = attribute(cuda::kRegisters);
  local_bytes_ = attribute(cuda::kLocalBytes);
  static_shared_bytes_ = attribute(cuda::kStaticSharedBytes);
  most_threads_ = attribute(cuda::kMaxThreadsPerBlock);
  ask_for_shared(shared_bytes);
  parameters_ = count_parameters(module_->ptx(), name_);
}

int CudaKernel::attribute(cuda::FunctionAttribute which) const {
  const cuda::Driver& driver = module_->context().driver();
  int value = 0;
  driver.call(driver.cuFuncGetAttribute, &value, int{which}, function_);
  return value;
}

void CudaKernel::ask_for_shared(int shared_bytes) {
  const cuda::Driver& driver = module_->context().driver();
  const GpuFacts& facts = module_->context().facts();
  const auto refusal = [&](cuda::Result result) {
    return driver.error("cuFuncSetAttribute", result,
                        "kernel " + name_ + " needs " + std::to_string(shared_bytes) +
                            " bytes of dynamic and " + std::to_string(static_shared_bytes_) +
                            " of static shared memory a block; " + facts.name + " allows " +
                            std::to_string(facts.max_shared_per_block_optin) + " together");
  };
  const std::int64_t together = std::int64_t{shared_bytes} + static_shared_bytes_;
  if (together > facts.max_shared_per_block_optin) throw refusal(cuda::kErrorInvalidValue);
  if (together <= facts.max_shared_per_block) return;
  const cuda::Result result =
      driver.cuFuncSetAttribute(function_, cuda::kMaxDynamicSharedBytes, shared_bytes);
  if (result != cuda::kSuccess) throw refusal(result);
}

void CudaKernel::check_count(std::size_t count) const {
  const auto mismatch = [&](const std::string& takes) {
    return InternalError("kernel " + name_ + " takes " + takes + " arguments and was given " +
                         std::to_string(count));
  };
  if (parameters_.has_value()) {
    if (count != *parameters_) throw mismatch(std::to_string(*parameters_));
    return;
  }
  // To ask for one parameter too many is an error of the driver's, which tools that watch calls would
  // report: so only the last argument is asked for.
  const cuda::Driver& driver = module_->context().driver();
  std::size_t offset = 0, size = 0;
  if (count > 0 && driver.cuFuncGetParamInfo.available() &&
      driver.cuFuncGetParamInfo(function_, count - 1, &offset, &size) == cuda::kErrorInvalidValue) {
    throw mismatch("fewer");
  }
}

void CudaKernel::launch(const LaunchShape& shape, void* const* arguments, std::size_t count,
                        Stream stream) {
  const CudaContext& context = module_->context();
  const CudaContext::Scope scope(context);
  check_count(count);
  const auto& [grid, block, shared_bytes] = shape;
  const cuda::Result result = context.driver().cuLaunchKernel(
      function_, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes,
      context.stream(stream), const_cast<void**>(arguments), nullptr);
  if (result != cuda::kSuccess) {
    throw context.driver().error("cuLaunchKernel", result,
                                 "kernel " + name_ + ", grid " + triple_text(grid) + ", block " +
                                     triple_text(block) + ", " + std::to_string(shared_bytes) +
                                     " bytes of shared memory; the kernel takes up to " +
                                     std::to_string(most_threads_) + " threads a block and has " +
                                     std::to_string(registers_) + " registers a thread");
  }
}

cuda::KernelNode CudaKernel::node(const LaunchShape& shape, void* const* arguments,
                                  std::size_t count) const {
  check_count(count);
  const auto& [grid, block, shared_bytes] = shape;
  return {.function = function_,
          .grid = {grid[0], grid[1], grid[2]},
          .block = {block[0], block[1], block[2]},
          .shared_bytes = shared_bytes,
          .arguments = const_cast<void**>(arguments)};
}

void CudaKernel::describe(KernelInfo& info) const {
  info.ptx = module_->ptx();
  info.registers = registers_;
  info.local_bytes = local_bytes_;
  info.static_shared_bytes = static_shared_bytes_;
  info.from_cache = module_->from_cache();
}

LoadedKernels load_module(const std::shared_ptr<const CudaContext>& context, const std::string& cubin,
                          const std::vector<KernelRequest>& requests, const std::string& ptx,
                          bool from_cache) {
  const auto module = std::make_shared<const CudaModule>(context, cubin, ptx, from_cache);
  const CudaContext::Scope scope(*context);
  LoadedKernels kernels;
  for (const KernelRequest& request : requests) {
    kernels.emplace_back(request.name,
                         std::make_shared<CudaKernel>(module, request.name, request.shared_bytes));
  }
  return kernels;
}

}  // namespace mica
