// Hand-written kernels with their arguments bound.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/device.h"
#include "runtime/run/target.h"

namespace mica::bench {

/// Finds the machine code of a kernel of a cubin (its name without the ending).
using KernelLoader =
    std::function<std::shared_ptr<LoadedKernel>(const std::string& cubin, const TwinKernel& kernel)>;

/// Planes or rows a block of `twin` walks under `parameters`; 0 when it has no such number.
std::int64_t twin_chunk(const Twin& twin, const schedules::Parameters& parameters);

class TwinRun {
 public:
  /// Inputs have one layout and outputs one, rows without gaps between elements; inputs hold the halo
  /// that the kernels read. Kernels with a scratch array ask that the inputs were made by
  /// AnyBuffer::with_halo. The buffers are kept alive. InternalError for other layouts.
  TwinRun(const Twin& twin, const schedules::Parameters& parameters, const Target& target,
          const std::vector<AnyBuffer>& inputs, const std::vector<AnyBuffer>& outputs,
          const KernelLoader& loader);
  /// Launches the kernels in order on the device's own stream.
  void launch();
  /// What is known of the kernels, launch shapes included.
  [[nodiscard]] std::vector<KernelInfo> kernels() const;

 private:
  struct Launch {
    std::string name;
    std::shared_ptr<LoadedKernel> kernel;
    LaunchShape shape;
    std::vector<std::uint64_t> pointers;
  };
  void bind(const TwinKernel& kernel, const Target& target, std::shared_ptr<LoadedKernel> loaded);
  void make_scratch();
  std::uint64_t address(const TwinArray& array, const Target& target);

  std::vector<AnyBuffer> inputs_, outputs_;
  AnyBuffer scratch_;
  std::vector<Launch> launches_;
  int extents_[3] = {1, 1, 1};
  int chunk_ = 0;
  std::int64_t strides_[4] = {0, 0, 0, 0};  // isy, isz, osy, osz
};

}  // namespace mica::bench
