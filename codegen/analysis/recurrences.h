// Funcs that read themselves: from where to where they are computed.
#pragma once

#include "codegen/analysis/bounds.h"
#include "codegen/program.h"

namespace mica::analysis {

/// The point where the recurrence of `func` starts, i32: as its definition says, or else the first point
/// on the way of the output that it then is.
Expr recurrence_start(const Pipeline& pipeline, const FunctionData& func);

/// `box` of a recurrence grown to hold its start; any other Func's as it is.
Box with_start(const Pipeline& pipeline, const FunctionData& func, const Box& box);

/// `box` so much larger that what `update` computes in it, all colors one after the other, is what it
/// would be in any larger box.
Box around_reads(const FunctionData& func, const Definition& update, const Box& box);

}  // namespace mica::analysis
