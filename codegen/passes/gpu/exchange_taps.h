// Carries out taps that a kernel's plan has the next lanes serve (`shuffle`): what stands beside a
// thread's own points comes from the registers of its neighbours.
//
//   threads of a warp     0         1              31
//   own points         [a b c d] [e f g h]  ...  [y z . .]
//   thread 1's row      b c d [e f g h] i j k      three values of each neighbour, by WarpShuffle
//
// The first thread of a warp has no left and the last no right neighbour: those load what they miss.
// Only code that all threads of a warp run is changed (blocks inside the domain). The plan has such taps
// in rows of which the thread holds its own points, in a register window or because it reads them too.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

/// For nests of the GPU; before flatten_storage.
void exchange_taps(Program& program);

}  // namespace mica::passes
