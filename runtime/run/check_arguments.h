// Whether a run's arguments fit its plan. All findings are UserErrors that name the array and both
// sides of the disagreement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"
#include "runtime/run/evaluate.h"
#include "runtime/run/plan.h"
#include "runtime/run/run_options.h"
#include "runtime/run/run_plan.h"

namespace mica {

/// Are a dimension's min and extent those that Mica computes with (dsl/expr/limits.h)?
bool lies_within_limits(std::int64_t min, std::int64_t extent);
/// "a min lies in ... and an extent is at most ...".
std::string limits_text();

/// Finds the buffers and values of `options`, which must outlive the result, or else those that
/// ImageParams and Params hold now, and the outputs given for the names `outputs`.
/// UserErrors: another number of outputs, an undefined output, an input that is not set, another
/// element type, another number of dimensions, coordinates beyond the limits, an input or a Param that
/// `options` name twice or that the plan does not have. Those about outputs stand at `at`.
BoundArguments bind_arguments(const Plan& plan, const std::vector<std::string>& outputs,
                              const std::vector<AnyBuffer*>& given, const RunOptions& options,
                              const CallSite& at);

/// Is an output the same memory as an input, which the plan and the two views allow? UserError if an
/// output shares memory with an input in another way, or with another output.
bool check_overlaps(const Plan& plan, const std::vector<const AnyBuffer*>& buffers,
                    const Target& target);

/// UserError with the message of the first PlanCheck that does not hold for `symbols`.
void check_conditions(const PreparedPlan& plan, const HostValue* symbols);
/// The same for check number `check` alone.
void check_condition(const PreparedPlan& plan, std::size_t check, const HostValue* symbols);

}  // namespace mica
