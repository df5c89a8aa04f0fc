// An exact image of a kernel as text, for cache keys.
#pragma once

#include <string>

#include "codegen/ir/kernel.h"

namespace mica::ir {

/// Kernels with equal fingerprints compile to the same machine code. Unlike to_string it holds types,
/// alignments, exact floats and the lengths of lists and names. The same construction gives the same
/// text in every process; it is made for hashing, not for reading.
std::string fingerprint(const Kernel& kernel);

}  // namespace mica::ir
