// How large the memory of a Func is that a block or thread keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/analysis/bounds.h"
#include "codegen/program.h"

namespace mica::planning {

/// A dimension of a Func's storage that holds `factor` indices, i in the place of i modulo that.
struct Fold {
  std::size_t dim = 0;
  std::int64_t factor = 1;
};

struct StorageShape {
  std::vector<Expr> mins;                            ///< the index of the first element
  std::vector<std::optional<std::int64_t>> extents;  ///< empty: not constant
  /// Of all values of the Func; extents that are not constant count as 1.
  std::int64_t bytes = 0;
  [[nodiscard]] bool fixed() const;
};

/// The memory of `box` of `func`, folded as `fold` says, aligned as its schedule says. Rows are padded
/// for the block of `block`; null: they are not.
StorageShape storage_shape(const Program& program, const FunctionData& func, const analysis::Box& box,
                           const std::optional<Fold>& fold, const BlockRow* block);
/// What MemoryType::Auto means for it inside a block.
MemoryType memory_in_block(MemoryType asked, bool in_thread);

}  // namespace mica::planning
