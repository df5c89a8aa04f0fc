// From an algorithm with its schedule to kernels: the list of passes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/program.h"

namespace mica {

/// One step of the compiler. A pass takes the whole program; its header is its contract.
struct Pass {
  std::string_view name;
  void (*run)(Program&);
};
/// All passes in order.
const std::vector<Pass>& pass_list();

/// Runs the passes on `pipeline`, verifying after each when MICA_VERIFY_PASSES is defined. Stops
/// after the pass named `last` if one is given (UserError listing the names if there is no such pass).
/// UserErrors name the directive at fault.
Program lower(const Pipeline& pipeline, const LowerOptions& options, std::string_view last = {});

/// The kernels and plan of a fully lowered program.
ir::Module to_module(Program program);

/// The program as text at any stage: definitions before build_loop_nest, loops after it.
std::string to_string(const Program& program);

}  // namespace mica
