// How the threads of a block fill a staged box: in pieces of how many elements, into rows of which
// length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/analysis/bounds.h"
#include "codegen/program.h"

namespace mica::planning {

/// What both ends and the size of a bulk copy are multiples of.
inline constexpr std::int64_t kBulkBytes = 16;

/// Is it a read at the very point that `reader` computes?
bool is_own_point(const Access& read, const FunctionData& reader);
/// The one read that `func` is, of another Func or an input at the point itself; null if it is anything
/// else.
const Access* own_point_read(const FunctionData& func);
/// The read of an array in memory, an input's or a root Func's, that `func` copies point by point; null
/// if it does anything else.
const Access* copied_tap(const Program& program, const FunctionData& func);
/// The Func in the threads' registers that holds their own points of what `staged`, a copy in memory, is
/// made of: the window of the same source that the same Func reads. Null: there is none.
const FunctionData* window_beside(const Program& program, const FunctionData& staged);
/// The dimensions of the marched Func by whose variables a window reads its source, in the source's
/// order. Empty for a window whose values are computed.
std::vector<std::string> column_of(const FunctionData& window);
/// May warps that compute nothing fill what a march keeps of `func`? It is staged by a LoadPolicy that
/// deals points to any threads, and reads arrays only.
bool is_filled_apart(const Program& program, const FunctionData& func);
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
