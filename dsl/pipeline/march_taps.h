// The taps of a marched Func: which of them a thread's own registers can serve, and where its sum can be
// cut into partial sums.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/func/function.h"

namespace mica {

struct Pipeline;  // dsl/pipeline/pipeline.h

/// c when `e` is `var + c`.
std::optional<std::int64_t> offset_from(const Expr& e, const std::string& var);

/// c of each argument of an access, `vars[d] + c`; nothing where one is no such sum, or there are more
/// or fewer than `vars`.
std::optional<std::vector<std::int64_t>> offsets_from(const std::vector<Expr>& args,
                                                      const std::vector<std::string>& vars);

/// For each argument of an access the variable that it is, offset along `march` alone; empty when the
/// access leaves the point's own column: u(x, y, z + 2) has {x, y, z}, u(x + 1, y, z) nothing.
std::vector<std::string> own_column(const std::vector<Expr>& args, const std::vector<std::string>& vars,
                                    const std::string& march);

/// A Func that takes over part of another's computation, and the plane it computes when the other
/// computes plane z: z + ahead.
struct PartialSum {
  std::shared_ptr<FunctionData> func;
  std::int64_t ahead = 0;
};
struct ScatteredSum {
  std::vector<PartialSum> parts;  ///< producers before consumers; empty when `refused` says why
  std::string refused;
};
/// Cuts the value of `f`, whose rounding is fixed, into partial sums along `march`:
///
///   before  f(x, z) = fma(c, u(x, z + 1), fma(b, u(x, z), a*u(x, z - 1)))
///   after   f.sum0(x, z) = a*u(x, z - 1)                     computed when plane z - 1 arrives
///           f.sum1(x, z) = fma(b, u(x, z), f.sum0(x, z))     ... z ...
///           f(x, z)      = fma(c, u(x, z + 1), f.sum1(x, z)) ... z + 1 ...
///
/// The sum is the value itself or the one part of it that reads several planes. The terms keep their
/// order, so the bits stay. Terms of planes z - 1 and z + 1 may choose by the plane to read plane z in
/// place of it, all of a plane by one condition, as at the edges of a field:
///
///   before  f(x, z) = fma(c, select(z < n, u(x, z + 1), u(x, z)), fma(b, u(x, z), a*u(x, z - 1)))
///   after   f.sum1(x, z) = select(z < n, s(x, z), fma(c, u(x, z), s(x, z)))     s: fma(b, ..., f.sum0)
///           f(x, z)      = select(z < n, fma(c, u(x, z + 1), f.sum1(x, z)), f.sum1(x, z))
///
/// Refused: no sum of several planes, another term that itself reads several planes, strict(...),
/// several values, updates.
ScatteredSum scatter_sum(FunctionData& f, const std::string& march, Partials partials);

/// The loop that walks `var` in a Func: the one that its first march makes of it; empty if none.
std::string march_loop(const FunctionData& f, const std::string& var);
/// The Func of a name, or null.
using FindFunc = std::function<const FunctionData*(const std::string&)>;
/// The march over the dimension `var` of `f` that a step of `f` belongs to: its own, or that of the Func
/// at whose march loop it is computed, if their dimensions have the same order. An empty func: none.
LoopLevel march_of(const FunctionData& f, const std::string& var, const FindFunc& find);
/// Adds `funcs`, producers first, to `pipeline`, with the partial sums that scatters of them ask for.
void add_with_partial_sums(const std::vector<std::shared_ptr<FunctionData>>& funcs, Pipeline& pipeline);

}  // namespace mica
