// The invariants of codegen/ir/verify.h, checked on a whole program between passes.
#pragma once

#include <string_view>

#include "codegen/program.h"

namespace mica {

/// Verifies every nest at the level that pass `after` ensures; InternalError naming the pass when
/// an invariant is broken. Does nothing unless MICA_VERIFY_PASSES is defined (debug builds, tests).
void verify_after(const Program& program, std::string_view after);

}  // namespace mica
