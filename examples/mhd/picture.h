// The flow drawn.
#pragma once

#include <string>
#include <vector>

#include "examples/mhd/fluid.h"

namespace mica::examples {

/// What a fluid has at a time.
struct TotalsAt {
  double time = 0;
  Totals totals;
};

/// The energies against time, as shares of what moves at the start, and beside them the vorticity in the
/// middle plane at the end. UserError when it cannot be written.
void draw(const std::string& path, const std::vector<TotalsAt>& history,
          const Buffer<double>& vorticity);

}  // namespace mica::examples
