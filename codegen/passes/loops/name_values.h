// name_values: what the launch evaluates has no large expressions: their parts become values of the plan
// (PlanValue), each worked out once, so that a plan is no larger than its expressions are together.
//
//   before  check e <= 9, check e + p <= 9                  e has hundreds of operations
//   after   value launch.value.0 = e
//           check launch.value.0 <= 9, check launch.value.0 + p <= 9
//
// Requires: the plan is complete. Ensures: it evaluates to the same.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void name_values(Program& program);

}  // namespace mica::passes
