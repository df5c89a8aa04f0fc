// bake_symbols: puts the constants that the user asked to compile in (CompileOptions::bake) in place
// of their symbols, and checks at launch that the arguments agree.
//
//   before  for y in [0, f.extent.1) ... u.stride.1         bake f.extent.1 = 512
//   after   for y in [0, 512) ... u.stride.1                and the check f.extent.1 == 512
//
// Strides appear in the nest with flatten_storage, which takes their constants by itself.
// Requires: build_loop_nest, check_baked. Ensures: no baked symbol is left in a nest.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "codegen/program.h"

namespace mica::passes {

/// UserError for a symbol that no input or output has, or a value that no array may have there.
void check_baked(const Pipeline& pipeline, const std::map<std::string, std::int64_t>& bake);

void bake_symbols(Program& program);

}  // namespace mica::passes
