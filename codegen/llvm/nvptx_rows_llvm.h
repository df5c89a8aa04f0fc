// Vectors whose address is a multiple of nothing but their elements' size, as rows have them that are
// not aligned (511 floats a row): GPUs load and store aligned pieces of 4, 8 and 16 bytes only.
//
//   memory     | a b c d | e f g h | i j k l |       pieces of 16 bytes, f32
//   load           [ c d   e f ]                     two pieces, of which the vector is cut out
//   stores of  [ lane 0 ][ lane 1 ][ lane 2 ]        the threads of a warp side by side: each stores the
//   as            ...|=========|=========|=...       whole piece that ends in its vector; what it lacks
//   of
//                                                    that comes from the lane before
#pragma once

#include <functional>

#include "codegen/llvm/target_hooks_llvm.h"

namespace mica::llvm_backend {

/// Sets the hooks load_unaligned and store_unaligned. `threads_x`: of the kernel's blocks.
void add_row_hooks(TargetHooks& hooks, int threads_x);

}  // namespace mica::llvm_backend
