// The threads that fill a staged box.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/ir/stmt.h"

namespace mica::planning {

/// The endings of the names of a box's thread loops, in x, y and z.
inline constexpr const char* kThreadAxis[] = {".tx", ".ty", ".tz"};

/// The threads of the block, or the warps that stand behind them in its last dimension.
struct Crew {
  std::int64_t extents[3] = {1, 1, 1};  ///< of the thread loops that reach them, in x, y, z
  std::int64_t first = 0;               ///< the number, x fastest, of the first that fills
  std::int64_t count = 1;

  Crew() = default;
  /// In a block of `threads`: all of them, or else the `filling_warps` behind them.
  Crew(const std::int64_t (&threads)[3], int filling_warps);
  /// A thread's number in the crew, from the variables of its loops, prefix.tx, .ty, .tz.
  [[nodiscard]] Expr number(const std::string& prefix) const;
  /// Which threads are in the crew; undefined: all.
  [[nodiscard]] Expr condition(const std::string& prefix) const;
  /// `stmt` inside those loops, carried out by the crew.
  [[nodiscard]] ir::Stmt around(const std::string& prefix, ir::Stmt stmt) const;
  friend bool operator==(const Crew&, const Crew&) = default;
};

}  // namespace mica::planning
