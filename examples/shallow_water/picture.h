// Pictures of the flow.
#pragma once

#include <string>
#include <vector>

#include "examples/common/pictures.h"
#include "examples/shallow_water/flow.h"

namespace mica::examples {

/// Which field is drawn, and what is drawn in full colour: vorticity over f, or thickness minus depth in
/// m.
struct Shown {
  bool vorticity = true;
  double scale = 1;
};

/// The field after `days`.
Page draw_flow(const State& state, const Plane& plane, const Shown& shown, double days);

struct DriftAt {
  double days = 0;
  Drift by;
};

/// The field at the end, and the drifts on the way, the mass's beside its bound; what is below 1e-20 is
/// drawn there.
Page draw_result(const State& state, const Plane& plane, const Shown& shown,
                 const std::vector<DriftAt>& drifts, double bound);

}  // namespace mica::examples
