// type_origin: which leaf of an expression made it wider than the arrays that it reads.
#pragma once

#include <string>

#include "dsl/pipeline/pipeline.h"

namespace mica::analysis {

/// Why value `value` of `func` is a f64, or an integer of 64 bits, where it reads narrower ones:
/// "because Param dt is a f64". Empty where nothing it reads is narrower, or nothing wider.
std::string type_origin(const Pipeline& pipeline, const FunctionData& func, std::size_t value);

}  // namespace mica::analysis
