// Helper Funcs between a directive and the taps that it means. stage(u), register_window(u, z),
// shuffle(u, x) and pipeline(u, n) of f speak of the taps of u that f makes, itself or through Funcs
// without directives:
//
//   before  flux(x) = u(x + 1) - u(x);  f(x) = flux(x) - flux(x - 1);  f.stage(u, ...)
//   after   f(x) = (u(x + 1) - u(x)) - (u(x) - u(x - 1)), every value with the rounding that it had
#pragma once

#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "dsl/pipeline/func_graph.h"

namespace mica {

struct Pipeline;

class StagedHelpers {
 public:
  /// Of each Func whose directives name a source: those it reads (through others of them) that have no
  /// directive, no update and no reads of their own values, and read that source.
  explicit StagedHelpers(const FuncGraph& graph);

  [[nodiscard]] bool takes_in(const FunctionData& f, const FunctionData* helper) const;
  /// What `f` reads once its helpers are part of it.
  [[nodiscard]] std::vector<Source> sources_of(const FunctionData& f) const;
  /// The values of `f`, as the user wrote it, with those of its helpers in the place of calls.
  /// UserErrors: see CallInliner.
  [[nodiscard]] std::vector<Expr> taken_in(const FunctionData& f) const;
  [[nodiscard]] const std::set<const FunctionData*>& of(const FunctionData& f) const;
  /// The helpers of any Func.
  [[nodiscard]] std::set<const FunctionData*> all() const;

 private:
  bool collect(const FuncGraph& graph, const FunctionData& reader, const std::set<std::string>& wanted,
               std::set<const FunctionData*>& helpers) const;

  std::unordered_map<const FunctionData*, std::set<const FunctionData*>> helpers_;
};

/// Removes those of `funcs`, named as in the pipeline, that no other Func of it reads.
void drop_unread(Pipeline& pipeline, const std::set<std::string>& funcs);

}  // namespace mica
