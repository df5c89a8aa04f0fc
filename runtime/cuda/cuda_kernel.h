// One kernel of a loaded module.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cuda/cuda_context.h"

namespace mica {

/// A module of machine code in a context, unloaded when the last kernel of it is gone. Unloading waits
/// for the work in the context.
class CudaModule {
 public:
  /// DeviceError when the driver refuses the code.
  CudaModule(std::shared_ptr<const CudaContext> context, const std::string& cubin, std::string ptx,
             bool from_cache);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  [[nodiscard]] const CudaContext& context() const { return *context_; }
  [[nodiscard]] cuda::ModuleHandle handle() const { return handle_; }
  [[nodiscard]] const std::string& ptx() const { return ptx_; }
  [[nodiscard]] bool from_cache() const { return from_cache_; }
  /// Its kernels say when the next one may be launched, and wait for the one before.
  [[nodiscard]] bool overlaps_launches() const { return overlaps_launches_; }

 private:
  const std::shared_ptr<const CudaContext> context_;
  const std::string ptx_;
  const bool overlaps_launches_;
  const bool from_cache_;
  cuda::ModuleHandle handle_ = nullptr;
};

class CudaKernel final : public LoadedKernel {
 public:
  /// Kernel `name` of `module`, which launches may give `shared_bytes` bytes of dynamic shared memory.
  /// The context must be current. DeviceError when there is no such kernel, or the GPU has less shared
  /// memory.
  CudaKernel(std::shared_ptr<const CudaModule> module, std::string name, int shared_bytes);

  /// InternalError when the number of arguments is not the kernel's. Without PTX only too many of them
  /// are noticed, and only with drivers for CUDA 12.4 and newer.
  void launch(const LaunchShape& shape, void* const* arguments, std::size_t count,
              Stream stream) override;
  void describe(KernelInfo& info) const override;

  /// A launch as graphs hold it; `arguments` as in launch(), whose checks are made.
  [[nodiscard]] cuda::KernelNode node(const LaunchShape& shape, void* const* arguments,
                                      std::size_t count) const;
  /// As the module's.
  [[nodiscard]] bool overlaps_launches() const { return module_->overlaps_launches(); }

 private:
  [[nodiscard]] int attribute(cuda::FunctionAttribute which) const;
  void ask_for_shared(int shared_bytes);
  void check_count(std::size_t count) const;

  const std::shared_ptr<const CudaModule> module_;
  const std::string name_;
  cuda::FunctionHandle function_ = nullptr;
  int registers_ = 0, local_bytes_ = 0, static_shared_bytes_ = 0, most_threads_ = 0;
  std::optional<std::size_t> parameters_;  // from the PTX; nothing for machine code made elsewhere
};

}  // namespace mica
