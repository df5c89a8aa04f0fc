// Where a Func is computed, as its own directives say.
#pragma once

#include <optional>

#include "dsl/func/function.h"

namespace mica {

struct ComputePlace {
  enum class Kind { Inline, Root, At };
  Kind kind = Kind::Inline;
  LoopLevel level;  ///< Kind::At
  /// The directive that decides, the last of its kind; null when the default holds.
  const Directive* directive = nullptr;
  /// The last store_at or store_root; null for none. It has a meaning where `kind` is At.
  const Directive* store = nullptr;

  /// The loop that store_at names; null for store_root or none.
  [[nodiscard]] const LoopLevel* store_level() const;
  /// A Func that is computed inside a loop is stored outside all.
  [[nodiscard]] bool stores_at_root() const;
};

/// Outputs are Root. Others are where their last compute_inline, compute_root or compute_at says; by
/// default Inline, and Root with updates, which cannot be inlined. `stage` is not looked at.
ComputePlace compute_place(const FunctionData& f, bool is_output);

}  // namespace mica
