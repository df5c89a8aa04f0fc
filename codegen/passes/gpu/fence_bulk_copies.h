// fence_bulk_copies: barriers put threads' own writes before those of the bulk-copy engine.
//
// The engine reaches shared memory by another way than the threads (PTX calls the two proxies), and a
// barrier orders what goes by one way only. Where threads store or copy to an array that bulk copies go
// to as well, every barrier of the kernel gets a fence; where they only read it, the wait for a phase
// and the barrier after the reads order all there is. PTX ISA, "Memory Consistency Model", section
// "Proxies".
//
//   before  s[thread.x] = 0        after  s[thread.x] = 0
//           barrier                       barrier after a fence
//           bulk_copy s, u                bulk_copy s, u
//
// Requires: fuse_thread_loops. Ensures: Barrier::fences_copies is set where it must be.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void fence_bulk_copies(Program& program);
/// The same for the body of one kernel.
ir::Stmt fence_bulk_copies(const ir::Stmt& body);

}  // namespace mica::passes
