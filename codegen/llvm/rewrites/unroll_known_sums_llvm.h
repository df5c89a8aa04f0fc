// Loops of GPU code in which ptxas would add floating-point numbers that it knows.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Function.h>

namespace mica::llvm_backend {

/// The assembler of driver 580 (CUDA 13.0) unrolls loops of a constant number of turns, computes what it
/// knows then, and rounds some differences to the wrong neighbour: 59546840 - 2 in f32 gives 59546836,
/// which stands as far from the exact 59546838 as 59546840, whose last bit is even. (ptxas 13.0.88, the
/// program, computes it rightly.) Sums whose operands are made of constants and of what such loops
/// count,
///
///   for r in 0..2:  f(r + 1) = max(f(r), float(r * 1103515245 + 59546838) - float(r + 2))
///
/// are to be computed before: this marks the loops that count for them, so that LLVM unrolls them, which
/// rounds as the machine does; where that would be much code, by four turns. False: there are none.
bool mark_known_sums(llvm::Function& function, const llvm::LoopInfo& loops,
                     llvm::ScalarEvolution& evolution);
/// Then: nobody unrolls those that are left, of whose turns ptxas knows nothing so.
void keep_known_sums_rolled(llvm::Function& function, const llvm::LoopInfo& loops,
                            llvm::ScalarEvolution& evolution);

}  // namespace mica::llvm_backend
