// One algorithm under several schedules on all targets.
#pragma once

#include <functional>
#include <vector>

#include "dsl/func/func.h"
#include "fuzz/oracle.h"

namespace mica::test {

/// Writes directives on the Func that it is given, and on what it knows besides.
using Directives = std::function<void(Func&)>;

/// Expects the oracle's bits of `output` over `box` on every target under each of `schedules`, which are
/// given `scheduled`, a Func behind the output or the output itself. Directives present before, and
/// after each schedule, are removed.
void check_schedules(Func scheduled, Func output, const Box& box,
                     const std::vector<Directives>& schedules);
void check_schedules(const Func& output, const Box& box, const std::vector<Directives>& schedules);

}  // namespace mica::test
