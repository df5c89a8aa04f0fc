// in_place: which outputs may be the same memory as which inputs.
//
// f(x, y) = u(x, y) + v(x - 1, y) may be computed into u's own memory: each element of u is read for
// the element of f that takes its place, before that is written, and for nothing else. So
//
//  - nothing but the output's own definition reads the input, and that only at the point's own
//    coordinates, or where it puts this value (Definition::places). All values of a Tuple are computed
//    before any is stored, so it does not matter which of them read it. What reads it otherwise, or
//    ahead of the point, is another Func by now: a stage, a register_window, the partial sums of a
//    scatter;
//  - no update reads it, which would come after all points were written;
//  - the loops come to each point once: TailStrategy::ShiftInwards computes some twice, RoundUp others
//    than the output's;
//  - it is not read through a path that need not see what the kernel writes (read_only, texture).
//
// The kernel that is compiled for it (Variant::separate is false) assumes nothing about whether the two
// are one.
#pragma once

#include <vector>

#include "codegen/program.h"

namespace mica::analysis {

/// What stands in the way, for each output and each input of its element type and number of dimensions.
/// Requires: inline_funcs and read_schedule.
std::vector<PlanSharing> find_sharing(const Program& program);

/// Is definition `index` of `func` a copy f(x, y) = u(x, y) in a variant in which f is the memory of u,
/// so that nothing is left to do? Its updates then work on the elements that are there. Requires:
/// plan.sharing.
bool copies_onto_itself(const Program& program, const FunctionData& func, std::size_t index);

}  // namespace mica::analysis
