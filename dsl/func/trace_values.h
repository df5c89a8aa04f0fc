// The lines that Func::trace_stores and Func::trace_loads ask for, as prints around values:
//
//   before  g(x) = 2 * f(x + 1)                  f.trace_loads(), g.trace_stores()
//   after   g(x) = print("store g(", x, ") = ", 2 * f(x + 1))
//                    of print("load f(", x + 1, ") = ", f(x + 1))
//
// What reads a Func for a staged copy of it (a wrapper that Mica made) has no lines.
#pragma once

#include <memory>

#include "dsl/func/function.h"

namespace mica {

/// `copy`, a Pipeline's copy of `f` with its traces, whose values print what is traced of it and of the
/// Funcs that it reads, which have theirs already.
std::shared_ptr<FunctionData> traced(const FunctionData& f, std::shared_ptr<FunctionData> copy);

}  // namespace mica
