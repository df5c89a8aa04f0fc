// The plans of a pipeline's kernels as values, for those who draw or count them. codegen/compile.cpp has
// it.
#pragma once

#include <string>
#include <vector>

#include "codegen/program.h"
#include "dsl/func/func.h"

namespace mica {

/// A pipeline as far as the plans of its kernels, Program::kernels, which point into it.
struct Planned {
  std::string where;  ///< the conditions of specialize that hold; empty: none
  Program program;
};
/// One for each combination of such conditions, with none first. UserErrors name the directive at fault.
std::vector<Planned> planned(const std::vector<Func>& outputs, const Target& target);

}  // namespace mica
