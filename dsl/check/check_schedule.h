// Legality of a pipeline's schedule, before anything is lowered.
#pragma once

#include "dsl/pipeline/pipeline.h"

namespace mica {

/// Everything in the schedule that is illegal whatever the extents are, each finding with the names
/// and numbers that disagree, the user's line and the fix or the legal choices:
///
///  - loops: a directive on a loop that does not exist, names taken, factors, marks (expand_loops);
///    nests that are no kernel: threads outside blocks, more than 3 axes, more than 1,024 threads, a
///    dimension left outside the blocks (on a GPU target), threads without a constant extent;
///  - places: compute_at and store_at at loops that do not exist or do not enclose all uses,
///    compute_inline of outputs and of Funcs with updates, shared memory outside a block;
///  - stage, read_only, bound, align_storage, fold_storage, reorder_storage, launch_bounds,
///  max_registers.
///
/// Bytes of shared memory and a device's own limits are checked when kernels are made.
Diagnostics check_schedule(const Pipeline& pipeline, bool target_is_gpu);

/// What is so about the loops alone of a definition of a Func at the root, on a GPU: after a rewrite of
/// its directives.
Diagnostics check_loops(const FunctionData& root, std::size_t definition);

}  // namespace mica
