// What an algorithm is, whatever its parts are called.
#pragma once

#include <cstdint>

#include "dsl/func/func.h"

namespace mica::tuning {

/// 64 bits of the definitions of `output` and of all Funcs behind it: their operations, types, constants
/// and taps. Names, directives, values of Params and buffers do not count; Funcs, inputs, Params and
/// Vars are told apart by the order in which they are met. Algorithms that are written in the same way
/// have equal marks in every process; others have not, but for a chance of 2^-64.
std::uint64_t graph_mark(const Func& output);

}  // namespace mica::tuning
