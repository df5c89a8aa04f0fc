// The values of Funcs in the place of calls of them: what inlining is, of the Funcs that are computed
// nowhere (codegen/passes/funcs/inline_funcs.h) and of helpers between a directive and its taps
// (dsl/pipeline/staged_helpers.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/expr/node_map.h"
#include "dsl/func/function.h"

namespace mica {

/// The value of `callee`, which has one definition, at the point that `access` reads.
Expr inlined(const FunctionData& callee, const Access& access);

/// Inlines in expressions of one Func, which stay shared where they share. Equal calls become one node:
/// f(x) written twice is computed once, and a chain of Funcs that each read the one before twice grows
/// with its length. What a callee reads is inlined in its place, so that each body is opened once a
/// call.
class CallInliner {
 public:
  /// Gives the Func whose value is to stand for an access, or null for one that stays. Has to go on
  /// giving the same.
  using CalleeOf = std::function<const FunctionData*(const Access&)>;
  /// `func`: in messages.
  CallInliner(std::string func, CalleeOf callee_of)
      : func_(std::move(func)), callee_of_(std::move(callee_of)) {}

  /// What follows belongs to the definition at `where`: its operations are counted from 0.
  void begin(const SourceLocation& where);
  /// UserError once the definition has more than 2 * kMostOperations (dsl/expr/limits.h) operations by
  /// inlining; what comes out is never made.
  Expr operator()(const Expr& e);

 private:
  struct Call {
    const FunctionData* callee;
    Expr access;
    Expr value;
  };

  Expr value_of(const FunctionData& callee, const Expr& call);
  [[noreturn]] void refuse() const;

  std::string func_;
  CalleeOf callee_of_;
  SourceLocation where_;
  std::int64_t operations_ = 0;        // of the definition, so far
  std::map<std::string, int> counts_;  // calls of each Func
  // Keyed by identity, the key kept alive beside the result; never iterated.
  NodeMap<std::pair<Expr, Expr>> done_;
  std::unordered_map<std::size_t, std::vector<Call>> calls_;  // by their hashes
};

}  // namespace mica
