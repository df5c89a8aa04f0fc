// Deterministic text of statements, kernels and modules, for people and golden tests. It leaves out
// alignments and the types of constants: cache keys use codegen/ir/fingerprint.h.
#pragma once

#include <string>

#include "codegen/ir/kernel.h"

namespace mica::ir {

/// The statement, one line each, two spaces of indentation a level:
///
///     produce next:
///       gpu_block next.y.o in [0, 64):
///         allocate shared f32 u.s[10][34] at [-1][-1]
///         for z in [zmin, zmin + 8):
///           let c = u[x, y, z]
///           if x < 512:
///             next[x, y, z] = c * 2.0
///           else:
///             barrier
///
/// `for` is a serial loop; parallel, vectorized, unrolled, gpu_block and gpu_thread are the others.
/// Extents and mins stand with the slowest dimension first, mins only when one is not 0, strides
/// after flatten_storage. A let or an allocation holds until its enclosing indentation ends; where
/// it ends earlier its body is indented after a colon. An alignment above 1 is printed as `@4`.
/// Copies and streamed stores:
///
///     async_copy tile[t] = u[x] x4
///     copy_commit
///     copy_wait pending 1
///     bulk_init full x2
///     bulk_expect full[0] bytes 1024
///     bulk_copy tile[0] = u[x] count 256 at full[0]
///     bulk_wait full[0] parity 1
///     streamed out[x] = 0.0
std::string to_string(const Stmt& s);
/// "kernel next(f32* u, f32* next written, i32 n) block 32x8x1:" and the body.
std::string to_string(const Kernel& kernel);
/// All kernels in order.
std::string to_string(const Module& module);

/// The keyword of a loop: "for", "parallel", "vectorized", "unrolled", "gpu_block", "gpu_thread".
const char* keyword(LoopKind kind);

}  // namespace mica::ir
