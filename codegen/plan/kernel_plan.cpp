#include "codegen/plan/kernel_plan.h"

#include <algorithm>

namespace mica::planning {

const KernelPlan* find_kernel(const std::vector<KernelPlan>& kernels, const std::string& func,
                              std::size_t index) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelPlan& kernel) {
    return kernel.func == func && kernel.definition == index;
  });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace mica::planning
