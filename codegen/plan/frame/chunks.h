// The chunks of a march, of which the last may be shorter:
//
//   march(z, 64, 8)     ... 64  64  32  16   8   8      planes of a block; of the first what is left
//   from the end            6   5   4   3   2   1
//   planes from there on  192 128  64  32  16   8
#pragma once

#include "dsl/expr/expr.h"

namespace mica::planning {

/// Chunks of `chunk` planes, down to `shortest` at the end; chunk is shortest times 2, 4, 8, ...
struct Chunks {
  int chunk = 0, shortest = 0;
  /// How many cover `extent` planes. Then each has one at least.
  [[nodiscard]] Expr count(const Expr& extent) const;
  /// The planes of the last `chunks` ones; of a negative number no more than 0.
  [[nodiscard]] Expr planes(const Expr& chunks) const;
};

}  // namespace mica::planning
