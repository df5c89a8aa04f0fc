// Counting over pieces: how many elements are touched while some loops run, summed over the others.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "codegen/analysis/traffic/access_pieces.h"
#include "codegen/analysis/traffic/index_sets.h"

namespace mica::analysis {

using PieceList = std::vector<const Piece*>;

/// Which of a piece's loops (by their place in its region) are summed over.
using IsOuter = std::function<bool(const Piece&, std::size_t)>;

/// For each iteration of the outer loops the number of different elements (units of `grain` elements of
/// dimension 0) that the pieces touch while their other loops run; the sum of these numbers. The pieces
/// are of one array. Pieces under different outer loops are counted apart.
std::int64_t sum_of_unions(const PieceList& pieces, const IsOuter& outer, std::int64_t grain);

/// Boxes of iterations of the outer loops, numbered as in Span::loop, in each of which the same pieces
/// are carried out.
std::vector<Region> common_regions(const PieceList& pieces, const IsOuter& outer);

/// The pieces with only those iterations that lie in `where`, which names some of their loops. Pieces
/// that lack one of these loops are left out.
std::vector<Piece> restricted(const PieceList& pieces, const Region& where);

}  // namespace mica::analysis
