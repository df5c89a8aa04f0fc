// Common frames: Funcs that the threads of a marched Func keep in registers, and that are read beside a
// thread's own points.
//
//   next of t, t of u, stars of radius 1;  t.compute_at(next, "z.march").store_in(MemoryType::Register)
//
//      +--------------------------+     frame: the points that a block's threads own, as gpu_tile,
//      vectorize |  +--------------------+  |            and unroll of next say. t is computed at all of
//      them. |  |        tile        |  |     tile:  the points of next that have all they need of t,
//      which a block |  +--------------------+  |            stores. Blocks stand a tile apart, so
//      frames overlap.
//      +--------------------------+
//
// All Funcs of a frame have one map of points to threads, so a tap at a thread's own points is a
// register, one beside them in its row comes from another lane of the warp, and only rows beside them
// pass through shared memory (codegen/passes/emit/shared_rows.cpp). Points of a frame for which a
// Func lacks its own taps hold values that nothing stored is made of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/func_schedule.h"
#include "dsl/func/function.h"

namespace mica {
struct Program;
}

namespace mica::planning {

/// Points along one dimension, counted from one or from an interval's ends.
struct Around {
  std::int64_t before = 0, after = 0;
  friend bool operator==(const Around&, const Around&) = default;
};

struct CommonFrame {
  /// The loop of the march, and its dimension.
  std::string loop, march;
  /// Per dimension of the marched Func: points of the frame before and behind those of the tile, at
  /// least.
  std::vector<Around> margin;
  /// Per Func in registers, and dimension: how far beside a thread's own points it is read. Of Funcs
  /// that are read nowhere else all are 0.
  struct Kept {
    std::vector<Around> beside;
    bool corners = false;  ///< in two dimensions at once
    [[nodiscard]] bool is_beside() const;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  std::map<std::string, Kept> kept;
  friend bool operator==(const CommonFrame& a, const CommonFrame& b) {
    return a.loop == b.loop && a.march == b.march && a.margin == b.margin && a.kept == b.kept;
  }
  SourceLocation where;  ///< the directive that keeps the first of the Funcs read beside
};

/// The frame of the blocks of `func`, if it is marched (`march`) and a Func in its threads' registers is
/// read beside a thread's own points, or keeps to the box of an input wherever it is read
/// (FunctionData). UserErrors: such a read whose distance is not constant, or by a Func that all threads
/// of a block compute together.
std::optional<CommonFrame> common_frame(const Program& program, const FunctionData& func,
                                        const std::optional<FuncSchedule::March>& march);

/// The Func in shared memory of which `func`, computed at the same march, is a copy point by point; null
/// if it is anything else.
const FunctionData* copied_plane(const Program& program, const FunctionData& func);

}  // namespace mica::planning
