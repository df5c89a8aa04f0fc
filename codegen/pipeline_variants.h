// The pipelines that a compilation is about: one for each combination of specializations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/program.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/pipeline.h"
#include "runtime/run/target.h"

namespace mica {

/// As Variant::chosen.
using Chosen = std::vector<std::uint8_t>;
/// The pipeline with each combination of its specializations; with none at all first.
using Pipelines = std::map<Chosen, Pipeline>;

/// The pipeline behind `outputs`, with the directives of these specializations.
Pipeline pipeline_of(const std::vector<Func>& outputs, const Chosen& chosen = {});
/// UserError if there are too many combinations.
Pipelines pipelines_of(const std::vector<Func>& outputs);

/// What the target's device, which a GPU's target opens, allows a schedule.
DeviceLimits device_limits(const Target& target);
/// The kernels of `module` that run on the device, or those that run on the host; no plan.
ir::Module part_of(const ir::Module& module, bool on_device);
/// The names of the output buffers in the order in which a run takes them.
std::vector<std::string> output_names(const Pipeline& pipeline);

}  // namespace mica
