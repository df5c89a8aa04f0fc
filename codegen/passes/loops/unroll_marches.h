// unroll_marches: march loops as plain code in which every place of a ring in registers is a constant.
//
//   before  march f.z.march in [-2, planes):               ring of 3 in registers
//             if f.z.march >= -1: ...
//             if f.z.march + 2 < planes: ...
//   after   step -2; step -1                                 peeled, conditions decided
//           for f.z.march.turn in [0, (planes - 2)/3):       steps 3*turn, 3*turn + 1, 3*turn + 2, in
//           which
//             ...                                            nothing needs a condition
//           for f.z.march.left in [(planes - 2)/3, (planes + 2)/3):
//             if 3*left < planes: step 3*left                what may be left, with its conditions
//               if 3*left + 1 < planes: ...
//
// Of overlapping blocks of one warp, many first steps are loops of six, in which a condition stays where
// it holds in some of their steps: deep time tiles have more first steps than code in all else.
//
// The period is the least common multiple of the depths of the rings in registers, so that index mod
// depth is known in each step; a scalar per place remains when stack memory is promoted. A ring in
// shared memory of which a step reads several planes joins while the period stays within a dozen steps
// and their code within the cache of instructions: its planes are then constant offsets. (Reading one
// plane costs one remainder a step, and writing steps out costs more in registers: 25 points with
// partial sums on an H200, 0.342 ms against 0.337.) Nests for the host keep one step per turn: their
// rings are arrays. Steps of a block are the same for all its threads, so barriers may stand in them.
//
// Requires: build_loop_nest. Ensures: no March loop is left but, in kernels whose blocks overlap, those
// two of turns, which split_blocks knows by it.
#pragma once

#include <cstdint>

#include "codegen/program.h"

namespace mica::passes {

/// Steps of a march that stand in the code: those at its ends and a turn, of each as many as the deepest
/// ring in registers has planes.
constexpr std::int64_t steps_in_code(std::int64_t deepest) { return deepest > 1 ? 3 * deepest : 1; }
/// Operations of a thread that should stand in the code of a kernel at most: more than these take the
/// compiler and the assembler minutes.
inline constexpr std::int64_t kMostOperationsInCode = 24000;

void unroll_marches(Program& program);

}  // namespace mica::passes
