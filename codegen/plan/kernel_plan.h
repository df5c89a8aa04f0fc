// The model of one kernel as a value: see docs/architecture.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/plan/loop_vars.h"
#include "codegen/plan/march_plan.h"

namespace mica::planning {

/// The points of a block along dimension 0.
struct BlockRow {
  Expr origin;  ///< the first; undefined where their number is not constant, or nothing is kept
  std::int64_t points = 1;
  int lanes = 1;  ///< how many a thread takes in one vector
};

struct KernelFrame {
  LoopVars vars;        ///< the loops
  bool on_gpu = false;  ///< some are over blocks or threads
  /// Loops that fuses make, and their extents.
  std::vector<std::pair<std::string, Expr>> fused = {};
  std::int64_t threads[3] = {1, 1, 1};  ///< of a block, in x, y, z, that compute its points
  int filling_warps = 0;                ///< further warps, which fill staged boxes (warp_split)
  BlockRow row = {};
};

struct KernelPlan {
  std::string func;
  std::size_t definition = 0;
  KernelFrame frame;
  MarchPlan march = {};
};

/// The plan of definition `index` of `func`; null if there is none.
const KernelPlan* find_kernel(const std::vector<KernelPlan>& kernels, const std::string& func,
                              std::size_t index);

}  // namespace mica::planning
