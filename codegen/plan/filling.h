// How the threads of a block fill a staged box: which of them, in pieces of how many elements, into rows
// of which length.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/analysis/bounds.h"
#include "codegen/ir/stmt.h"
#include "codegen/program.h"

namespace mica::planning {

/// The endings of the names of a box's thread loops, in x, y and z.
inline constexpr const char* kThreadAxis[] = {".tx", ".ty", ".tz"};

/// The threads that fill a staged box: those of the block, or the warps that stand behind them in its
/// last dimension.
struct Crew {
  std::int64_t extents[3] = {1, 1, 1};  ///< of the thread loops that reach them, in x, y, z
  std::int64_t first = 0;               ///< the number, x fastest, of the first that fills
  std::int64_t count = 1;

  /// Of a Func in a block of `threads` and `filling_warps` further warps.
  Crew(const Placement& placement, const std::int64_t (&threads)[3], int filling_warps);
  /// A thread's number in the crew, from the variables of its loops, prefix.tx, .ty, .tz.
  [[nodiscard]] Expr number(const std::string& prefix) const;
  /// Which threads are in the crew; undefined: all.
  [[nodiscard]] Expr condition(const std::string& prefix) const;
  /// `stmt` inside those loops, carried out by the crew.
  [[nodiscard]] ir::Stmt around(const std::string& prefix, ir::Stmt stmt) const;
};

/// Elements that one access moves when rows of `func` are filled in whole vectors. Where rows are not
/// aligned, elements go one by one, those of a warp beside one another.
int fill_lanes(const Program& program, const FunctionData& func, const BlockRow& block);
/// Are rows of `func` filled by asynchronous copies of 16 bytes, and the block's first point at a
/// distance of whole sectors from that of the next block?
bool copies_sectors(const Program& program, const FunctionData& func, const BlockRow& block);
/// How many elements stand in shared memory before those of `row`; `count`, the row's length, becomes
/// the whole one. Rows start and end at whole vectors of the block's first point. Rows of asynchronous
/// copies are whole sectors: where an element's place within a sector differs between global and shared
/// memory, an H200 fetches the sector once for each of its copies of 16 bytes, which nearly doubles what
/// the L2 reads.
std::int64_t row_padding(const Program& program, const FunctionData& func, const analysis::Interval& row,
                         const BlockRow& block, std::int64_t& count);
/// Does the bulk-copy engine fill the box in blocks inside the domain? Its rows are known to be whole
/// pieces of 16 bytes at both ends; where they are not, threads copy as by LoadPolicy::AsyncCopy.
bool copies_in_bulk(const Program& program, const FunctionData& func, const analysis::Box& box,
                    const BlockRow& block);

}  // namespace mica::planning
