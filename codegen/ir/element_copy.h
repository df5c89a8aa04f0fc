// What is too narrow for an AsyncCopy.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::ir {

/// A load and a store of the one element, of `type`, that `copy` is of: it has been copied when the
/// statement has run, and no CopyWait is for it.
Stmt element_copy(const AsyncCopy& copy, Type type);

}  // namespace mica::ir
