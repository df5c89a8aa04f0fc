// What a block keeps in shared memory and a thread for itself, for messages.
#pragma once

#include <string>

#include "codegen/ir/stmt.h"

namespace mica::analysis {

/// "u.staged 5440 bytes (2 planes of 34 x 20 of f32), b 1360 bytes (34 x 10 of f32)": the shared arrays
/// made in `body`, largest first. A ring's planes are the places of its last dimension.
std::string shared_arrays(const ir::Stmt& body);
/// The same of arrays in registers and in threads' own memory.
std::string thread_arrays(const ir::Stmt& body);

}  // namespace mica::analysis
