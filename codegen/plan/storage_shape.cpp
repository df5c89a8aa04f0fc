#include "codegen/plan/storage_shape.h"

#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/plan/filling.h"
#include "dsl/expr/operators.h"

namespace mica::planning {

using passes::constant;
using passes::simplify;

bool StorageShape::fixed() const {
  return std::all_of(extents.begin(), extents.end(), [](const auto& extent) { return extent; });
}

StorageShape storage_shape(const Program& program, const FunctionData& func, const analysis::Box& box,
                           const std::optional<Fold>& fold, const BlockRow* block) {
  StorageShape shape;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < box.size(); ++d) {
    auto count = analysis::constant_extent(box[d]);
    if (fold && fold->dim == d) count = fold->factor;
    const int align = storage_alignment(program, func, d, 1);
    if (count) count = (*count + align - 1) / align * align;
    shape.mins.push_back(box[d].min);
    if (d == 0 && count && block != nullptr) {
      const std::int64_t before = row_padding(program, func, box[0], *block, *count);
      shape.mins[0] = simplify(shape.mins[0] - constant(before));
    }
    shape.extents.push_back(count);
    if (count) elements *= *count;
  }
  for (const auto& type : func.types) shape.bytes += elements * type.bytes();
  return shape;
}

MemoryType memory_in_block(MemoryType asked, bool in_thread) {
  if (asked != MemoryType::Auto) return asked;
  return in_thread ? MemoryType::Register : MemoryType::Shared;
}

}  // namespace mica::planning
