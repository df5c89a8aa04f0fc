// keep_sums: what a loop adds up at points that do not depend on it stays in registers until the loop is
// done, rather than being loaded and stored in each iteration. On the host only; a thread of a GPU has
// one point, whose sum LLVM keeps.
//
//   before  vectorized v in [0, 16):
//             for r in [0, n): unrolled j in [0, 4): f[x + v, y + j] = f[x + v, y + j] + u[x + v + r, y
//             + j]
//   after   allocate f.kept[16, 4] in registers
//             vectorized v: unrolled j: f.kept[v, j] = f[x + v, y + j]
//             vectorized v: for r: unrolled j: f.kept[v, j] = f.kept[v, j] + u[x + v + r, y + j]
//             vectorized v: unrolled j: f[x + v, y + j] = f.kept[v, j]
//
// LLVM keeps one such vector by itself, but no two rows of them, of which it cannot know that they are
// apart: each addition would wait for memory.
//
// Requires: loops over lanes and those to be written out are loops yet; no output is the memory of an
// input (else nothing is done). Ensures: the same values, in the same order; a loop without iterations
// stores what was there.
#pragma once

#include <cstdint>

#include "codegen/program.h"

namespace mica::passes {

/// Of sums that are kept at a time: half of AVX-512's registers.
inline constexpr std::int64_t kMostKeptBytes = 1024;

void keep_sums(Program& program);

}  // namespace mica::passes
