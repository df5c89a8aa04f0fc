// What LLVM takes more than its share of time for in large functions.
#pragma once

#include <llvm/IR/Module.h>

namespace mica::llvm_backend {

/// Do more than 256 integer operations other than sums stand inside one another? LLVM follows them from
/// each to the first (InstCombine, ScalarEvolution), in a time that grows with the square of the depth,
/// so that such functions are translated much as they stand.
bool has_deep_integers(llvm::Function& function);
/// The code generator is to translate the function as it stands.
void keep_as_is(llvm::Function& function);
/// For the host: functions of more than 4096 different floating-point constants load them from an array.
/// The constant pool that LLVM would make is searched from its start for each of them.
void tabulate_numbers(llvm::Module& module);

}  // namespace mica::llvm_backend
