// unify_arrays: arrays that have one shape in all runs of the variant (Variant::alike) share the symbols
// of the first of them, so that a kernel of many fields works out one offset for all.
//
//   before  u[x, y - 1] + v[x, y - 1]: rows of u.stride.1 and of v.stride.1, held in u.extent.1 and v's
//   after   rows of u.stride.1, held in u.extent.1
//
// Strides appear in the nest with flatten_storage, which asks alike_arrays itself.
// Symbols that the user has compiled in stay what they are, and no min gives way to one of them.
// Requires: build_loop_nest. Ensures: no min or extent of an array that another one stands for is left
// in a nest, but such that bake_symbols replaces, and mins where the other's is compiled in.
#pragma once

#include <map>
#include <string>

#include "codegen/program.h"

namespace mica::passes {

/// The array that stands for each one that is like it, itself left out. InternalError for numbers that
/// no array of the plan has.
std::map<std::string, std::string> alike_arrays(const Plan& plan, const Variant& variant);

void unify_arrays(Program& program);

}  // namespace mica::passes
