// What a PreparedRun works on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/run/launch_run.h"
#include "runtime/run/prepared_run.h"
#include "runtime/run/run_plan.h"

namespace mica {

struct PreparedRun::State {
  /// What is to be done for these arguments.
  using Shape = std::function<std::shared_ptr<const ShapedRun>(const BoundArguments&)>;

  Target target;
  std::shared_ptr<Device> device;
  std::shared_ptr<const PreparedPlan> plan;  ///< of the default variant: all have the same scalars
  std::vector<AnyBuffer> outputs;
  RunOptions options;
  BoundArguments bound;  ///< shows at the members before
  Shape shape;
  std::shared_ptr<const ShapedRun> shaped;  ///< null: to be decided by the next run
  std::optional<RunLauncher> launcher;      ///< of `shaped`; none where there is nothing to do
  bool is_checked = true;                   ///< `shaped` suits the scalars that are only checked

  /// Decides what is to be done, and makes and fills memory. UserError for a check that does not hold.
  void make_ready();
};

}  // namespace mica
