// PTX of scheduled Funcs.
#pragma once

#include <string>

#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "tests/passes/lowered.h"

namespace mica::test {

/// The PTX of all kernels of `f` as it is scheduled, for sm_90.
inline std::string ptx_of(const Func& f, const Variant& variant = {}) {
  ir::Module all = to_module(lowered(f, Backend::Cuda, {}, variant)), device;
  for (const auto& kernel : all.kernels) {
    if (kernel.on_device) device.kernels.push_back(kernel);
  }
  return llvm_backend::emit_ptx(device, 90, 0);
}

}  // namespace mica::test
