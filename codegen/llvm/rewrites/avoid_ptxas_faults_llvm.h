// Integer code that ptxas translates wrongly, written in another way.
#pragma once

#include <string>

#include <llvm/IR/Module.h>

namespace mica::llvm_backend {

/// Rewrites GPU code whose PTX would meet faults of ptxas. Seen on an H200 with the assembler of driver
/// 580 (CUDA 13.0) and the PTX that LLVM writes, the first at optimisation levels 1 to 4, the others at
/// the driver's own; the kernels are in tests/numeric/ptxas_faults_test.cpp:
///
///   neg.s32 / neg.s16 of an operand of two nested min or max: they become VIMNMX3, which loses the
///     sign of its middle operand, so max(max(-3, 9), -4) gives -3
///   the same after a multiplication by -2^k, which becomes a shift and a negation
///   abs.s32 before rem.s32 or div.s32: the result is taken for positive, which |-2^31| is not
///   neg.s16 of -32768, then shr.s16, setp, selp or cvt: the value is taken for 32768
///   add.s16x2 of two constants: the upper half keeps one of them alone, so {1, 1} + {1, 1} is {2, 1}
///   min.s16 or max.s16 with 0, then setp.eq with 0: VIMNMX.S16x2 says which operand it took, and the
///     answer is read the wrong way round, so (min(5, 0) == 0) is false
///   mov.b32 {_, upper} of what ld.s16 or ld.s8 extended, or of an exclusive or with it: `upper` is the
///     lower half, so 5 + (5 >> 16) of an i16 is 10
///   cvt.rn.f64.s16 of the second of ld.global.nc.v2.b16, where registers are too few to keep both: the
///     load is repeated to one register, and the register behind it is converted
///   cvt.rn.f32.u32 (f16, f64, u64) of bfe.s32 that takes a byte or a half: I2F takes the field itself,
///     as signed, so 2^32 - 5 becomes -5. (Permutations, shifts and extending loads are converted
///     whole.)
///   shl.b64 by 31 that is used several times: it becomes a multiplication by -2^31, so 2 << 31 is -2^32
///     (by ptxas 13.0.88, too)
///   div or rem of 16 bits, a call of a function of ptxas' own, where a comparison of an operand is
///   wanted
///     after it: the comparison is repeated there, with what the call has left in the operand's register
///
/// A negation of up to 32 bits becomes not and add 1 in inline assembly, out of the reach of LLVM's
/// instruction selection, which would make neg of it again; abs likewise a shift, an exclusive or and a
/// subtraction. Vectors are added, subtracted and multiplied lane by lane (those of 32 bits too, which
/// LLVM narrows where only the lower halves are used). Minima and maxima of up to 16 bits are taken in
/// 32, lane by lane, as are quotients and remainders by what is no constant, as f32.
void avoid_ptxas_faults(llvm::Module& module);

/// The same for the PTX that LLVM has written: negations of 16 and 32 bits that its instruction
/// selection has made of other code, such as the lower half of one of 64 bits; upper halves, as shifts,
/// where the PTX extends what it loads; and integers of 16 bits that become floats, as such of 32 (of
/// single precision the same form of an instruction was seen, but not that it goes wrong); signed bytes
/// and halves of words, as permutations, where unsigned integers become floats; and 64 bits that are
/// shifted by 31, as two words.
std::string avoid_ptxas_faults(const std::string& ptx);

}  // namespace mica::llvm_backend
