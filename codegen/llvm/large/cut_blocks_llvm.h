// Long blocks in pieces, for a code generator whose time grows with the square of a block's length.
#pragma once

#include <llvm/IR/Function.h>

namespace mica::llvm_backend {

/// How the pieces of a block hand values on.
enum class Handing {
  Registers,  ///< as before
  Memory,     ///< through the frame: no value lives in two pieces
};

/// Cuts blocks into pieces of about 1000 instructions, one after the other. Requires: no pass that puts
/// blocks together comes after (the function is kept as it is). Ensures: the same values, and with
/// Handing::Memory no register that two pieces of a block use.
void cut_long_blocks(llvm::Function& function, Handing handing);

}  // namespace mica::llvm_backend
