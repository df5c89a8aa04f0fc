// Sets of array elements as unions of boxes, and how many elements they have.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/analysis/traffic/affine_form.h"

namespace mica::analysis {

/// First and last index of each dimension, both included.
using IndexBox = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The indices that forms take in a region. Its first `far` loops are those that move a whole pattern of
/// accesses, such as blocks; what the others touch is joined before it is moved.
struct IndexSet {
  std::vector<Form> index;
  Region region;
  std::size_t far = 0;
};

/// Boxes that together hold all indices of the sets, of equally many dimensions. Dimension 0 counts in
/// units of `grain` elements: a unit is in a box when one of its elements is in a set.
std::vector<IndexBox> boxes_of(const std::vector<IndexSet>& sets, std::int64_t grain = 1);

/// The number of different elements in the boxes, which have equally many dimensions.
std::int64_t union_size(std::vector<IndexBox> boxes);

}  // namespace mica::analysis
