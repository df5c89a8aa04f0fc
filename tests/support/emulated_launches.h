// Whole pipelines on the stand-in driver: what it is told to launch runs in the emulator.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "dsl/func/func.h"
#include "runtime/run/device.h"
#include "tests/support/fake_cuda.h"

namespace mica::test {

/// Carries out the launches of libfakecuda.so with checked accesses to the stand-in's memory, so that a
/// pipeline compiled for Target::cuda() gives its values without a GPU. One at a time; it must be made
/// after fakecuda_reset. Launches may come from several threads.
class EmulatedLaunches {
 public:
  EmulatedLaunches();
  ~EmulatedLaunches();
  EmulatedLaunches(const EmulatedLaunches&) = delete;
  EmulatedLaunches& operator=(const EmulatedLaunches&) = delete;

  /// Makes the kernels known that compile() makes of `outputs`, as they are scheduled now, for a GPU.
  /// Not while a launch runs. std::logic_error for the name of a kernel that is known already, and at
  /// the launch of one that is not.
  void add(const std::vector<Func>& outputs, const Variant& variant = {});

 private:
  struct Kernel {
    std::vector<ir::KernelParam> params;
    std::shared_ptr<LoadedKernel> loaded;
  };
  void run(const FakeCudaLaunch& launch) const;

  const FakeCuda fake_;
  std::map<std::string, Kernel> kernels_;  // by the name of their entry point
};

}  // namespace mica::test
