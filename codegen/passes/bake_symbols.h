// bake_symbols: puts the constants that the user asked to compile in (CompileOptions::bake) in place
// of their symbols, and checks at launch that the arguments agree.
//
//   before  for y in [0, f.extent.1) ... u.stride.1         bake f.extent.1 = 512
//   after   for y in [0, 512) ... u.stride.1                and the check f.extent.1 == 512
//
// Strides appear in the nest with flatten_storage, which takes their constants by itself.
// Requires: build_loop_nest. Ensures: no baked symbol is left in a nest. UserError for a symbol that
// no array of the pipeline has.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void bake_symbols(Program& program);

}  // namespace mica::passes
