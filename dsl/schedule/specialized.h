// Which directives a definition has in a run: its own, or those of one of its specializations
// (Stage::specialize).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dsl/pipeline/func_graph.h"

namespace mica {

/// The Funcs of a graph with the directives that were chosen for their loops.
class Specialized {
 public:
  /// `chosen`: as of make_pipeline, by the definitions with specializations in the graph's order.
  Specialized(const FuncGraph& graph, const std::vector<std::uint8_t>& chosen);
  /// `f` itself, or a copy with the directives that were chosen.
  [[nodiscard]] const FunctionData& of(const FunctionData& f) const;

 private:
  std::unordered_map<const FunctionData*, std::shared_ptr<FunctionData>> copies_;
};

/// Adds to `all` the conditions of each definition of `f` that has specializations, with nodes as `copy`
/// gives them back (undefined: as they are).
void add_conditions(const FunctionData& f, const std::function<Expr(const Expr&)>& copy,
                    std::vector<std::vector<Expr>>& all);

}  // namespace mica
