// Funcs again, with other reads: the levels of a time tile, and Funcs without their directives.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/func/func.h"

namespace mica {
class RewriteMemo;  // dsl/expr/traverse.h
}

namespace mica::iterate {

/// Copies Funcs and what they read. A Func in which nothing changes stays the one that it is; others are
/// copied once, whoever reads them.
class FuncCopier {
 public:
  /// `read`: what stands in the place of a node, such as an access of an input or a Param, or nothing;
  /// what is inside the node is new already. `finish`, if there is one, is called with each copy and
  /// what it is a copy of.
  using Read = std::function<std::optional<Expr>(const Expr&)>;
  using Finish =
      std::function<void(const std::shared_ptr<FunctionData>& copy, const FunctionData& original)>;
  explicit FuncCopier(Read read, Finish finish = {})
      : read_(std::move(read)), finish_(std::move(finish)) {}

  /// `func` is to be copied even if nothing in it changes.
  void require(const FunctionData* func) { required_.push_back(func); }
  Expr operator()(const Expr& e);
  std::shared_ptr<const FunctionData> operator()(const std::shared_ptr<const FunctionData>& func);

 private:
  Expr rewritten(const Expr& e, RewriteMemo& memo);

  Read read_;
  Finish finish_;
  std::vector<const FunctionData*> required_;
  std::map<const FunctionData*, std::shared_ptr<const FunctionData>> copies_;
};

void clear_directives(FunctionData& func);

/// Copies of `outputs` and of all that they read, without their directives. `finish` as FuncCopier's, of
/// copies that have none.
std::vector<Func> without_schedule(const std::vector<Func>& outputs,
                                   const FuncCopier::Finish& finish = {});

/// `e` with `funcs`, and what is computed or stored in their loops, as they are without directives.
Expr without_directives(const Expr& e, const std::vector<Func>& funcs);

}  // namespace mica::iterate
