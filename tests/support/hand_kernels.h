// Kernels written by hand as lowering would leave them, for tests of the back ends alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "dsl/expr/operators.h"

namespace mica::test {

/// A scalar element of a flattened buffer.
Expr load(const std::string& buffer, Type type, Expr index);
/// `lanes` neighbouring elements from `base` on, the first at a multiple of `alignment` elements.
Expr load_vector(const std::string& buffer, Type type, Expr base, int lanes, int alignment);
ir::Stmt store(const std::string& buffer, Expr index, Expr value);
ir::Stmt store_vector(const std::string& buffer, Expr base, Expr value, int alignment);
ir::Stmt loop(LoopKind kind, const std::string& name, Expr min, Expr extent, ir::Stmt body);
ir::Stmt allocate(MemoryType memory, Type type, const std::string& buffer,
                  const std::vector<int>& extents, ir::Stmt body);
/// a*b + c in one rounding.
Expr fused(Expr a, Expr b, Expr c);
Expr broadcast(Expr value, int lanes);

ir::KernelParam pointer(const std::string& name, Type type, bool written = false);
ir::KernelParam scalar(const std::string& name, Type type = Int(32));

/// The 7-point stencil  out = fma(c1, sum of the six neighbours, c0 * u)  on points [1, n-1) of each
/// dimension, one point a thread in 32x8 blocks; parameters u, out, sy, sz (elements), n, c0, c1.
ir::Kernel seven_point_gpu(int min_blocks = 0);
/// The same points by loops: z parallel, y and x serial; `lanes` > 1 takes that many x at once and
/// then serves n - 2 divisible by lanes only.
ir::Kernel seven_point_host(int lanes);
/// Four points a thread along x, marching over `planes` planes with neighbours in z kept in
/// registers; rows are aligned to 16 bytes.
ir::Kernel seven_point_march(int planes);
/// Every thread writes its element of u into shared memory and reads that of the opposite thread.
ir::Kernel shared_reverse(int threads);

}  // namespace mica::test
