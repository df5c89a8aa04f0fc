// The taps of a stencil, input by input.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dsl/func/func.h"

namespace mica::schedules {

/// An input's taps, in a Func and in the Funcs that become part of it.
struct InputTaps {
  std::string name;
  std::set<std::vector<std::int64_t>> offsets{};  ///< from the point; other taps are not counted
  bool in_column = false;                         ///< several of them at the point's own column
};

/// Is a tap that a boundary condition keeps inside of an array counted at its place inside?
enum class Boundaries : std::uint8_t { NotCounted, Inside };

/// The inputs with taps at constant offsets from the point, those of most taps first.
std::vector<InputTaps> input_taps_of(const Func& func, Boundaries boundaries = Boundaries::NotCounted);

}  // namespace mica::schedules
