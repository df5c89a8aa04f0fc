// fuse_thread_loops: the thread loops of a block's stages become the code of one thread, with
// barriers between stages. Device nests only. Crews of a march meet at barriers that build_loop_nest
// makes; all others are made here.
//
//   before  gpu_thread t in [0, 34): s[t] = u[..]           after  if thread.x < 34: s[thread.x] = ...
//           gpu_thread t in [0, 32): f[..] = s[t] + s[t + 2]       barrier
//                                                                  if thread.x < 32: f[..] = ...
//
// The block gets the largest extent of each axis (the innermost thread loop of a stage is x).
// Who waits for whom are the edges of the kernel's plan (plan_edges.h): a barrier stands before a stage
// that reads a plane of shared memory as many planes behind the newest as an edge says, or takes the
// place of one that was read or written; around a serial loop also between its iterations. Of memory
// that belongs to no stage of a plan everybody waits for whoever wrote it before, or read what is
// written. An asynchronous or bulk copy counts as a write of its target and a read of its source where
// it starts, and the set-up of transaction barriers as a write that a bulk copy reads; waits count as
// nothing. In a block with further warps, what the tile's threads alone touch is waited for at a named
// barrier of theirs, and what crews hand over is waited for already; a Barrier that stands where the
// crews part is left out if nothing was touched before. Code outside thread loops that stores, copies or
// expects bulk copies runs on one thread. Requires: flatten_storage, unroll_loops, vectorize_loops;
// constant extents of thread loops. Ensures: no GpuThread loop is left; thread axes are VarRefs; Shared
// Allocates stand at the top of the block loops; barriers of the block are not under thread-dependent
// conditions; `kernel.block` is set. UserErrors: more threads than a block may have.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void fuse_thread_loops(Program& program);

}  // namespace mica::passes
