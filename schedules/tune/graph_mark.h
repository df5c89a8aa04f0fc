// What an algorithm is, whatever its parts are called.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/iterate/iteration_state.h"
#include "dsl/func/func.h"

namespace mica::tuning {

/// 64 bits of the definitions of `output` and of all Funcs behind it: their operations, types, constants
/// and taps. Names, directives, values of Params and buffers do not count; Funcs, inputs, Params and
/// Vars are told apart by the order in which they are met. Algorithms that are written in the same way
/// have equal marks in every process; others have not, but for a chance of 2^-64.
std::uint64_t graph_mark(const Func& output);
/// Of a pipeline of several outputs; of one, the same as that.
std::uint64_t graph_mark(const std::vector<Func>& outputs);
/// Of the step of an Iteration: its Funcs, which fields they replace, whether a step computes all points
/// of its fields, and whether something acts between single steps.
std::uint64_t step_mark(const Iteration::State& state, bool whole);

}  // namespace mica::tuning
