// Carries out a run whose shapes are known: makes temporaries, passes arguments, launches in order.
#pragma once

#include <memory>
#include <vector>

#include "runtime/run/device.h"
#include "runtime/run/print_line.h"
#include "runtime/run/run_plan.h"

namespace mica {

/// `bound` has the shapes that `run` was made for. Kernels on a CUDA device get device addresses, all
/// others host addresses; copies between the two follow from what each launch reads and writes. An
/// output that covers its storage is not copied before it is written. What is printed goes to `lines`;
/// a run on a GPU may be under way still when this returns, but prints nothing there any more.
void launch_run(const ShapedRun& run, const BoundArguments& bound, const Target& target,
                const std::shared_ptr<Device>& device, Stream stream, LineSink& lines);

}  // namespace mica
