// turn_tiles: on rows that are not aligned, a thread's points stand above one another.
//
//   next.gpu_tile(x, y, 32, 8).vectorize(x, 4)        a tile of 128 x 8 points, 256 threads
//
//   aligned     32 x 8 threads of 4 points of a row    one access of 16 bytes a thread
//   unaligned   128 x 2 threads of 4 rows              four accesses, each of whole lines of a warp
//
// In single elements a thread's points side by side would be four accesses of a warp that each touch
// all of its four lines. Turned, the tile and what it keeps stay the same; rows that a thread's points
// share stay in its registers. Elements of one byte stay together in vectors of four bytes: single ones
// would be more accesses than a multiprocessor takes.
//
// Of two bytes, where a tile keeps nothing and does not march, vectors of up to 16 bytes stay as they
// are, and a thread gets more rows of them, unless the schedule says how many it has: cut out of pieces
// of memory, wide vectors take the fewest instructions, which is what such rows wait for.
// bench/results/2026-11-27-h200-halves.txt has figures.
//
// Where a point has more taps than a thread has registers, its rows have none to share: a thread gets
// one point then, and the tile so many fewer. bench/results/2026-11-27-h100-edges.txt has figures.
//
// A tile is left as it is where its other dimensions have too few threads to give, where a vector or
// its rows have a tail of their own, where a Func is computed in its threads, where further warps fill
// its planes, whose rows of threads would change, and where the turned loops would be no kernel's: a
// reorder of the user's puts rows between threads, or the row's threads are the block's z axis.
// Requires: default_schedule. Ensures: no vector of more than four bytes in a tile whose threads are
// turned; the variant for aligned rows is not changed.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void turn_tiles(Program& program);

}  // namespace mica::passes
