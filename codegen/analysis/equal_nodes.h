// Equal parts of expressions as one node, so that what visits a node once visits them once.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {

class EqualNodes {
 public:
  EqualNodes() = default;
  EqualNodes(const EqualNodes&) = delete;
  EqualNodes& operator=(const EqualNodes&) = delete;
  /// `e` and all of its parts, from the leaves up, so that none is compared with another level by level.
  Expr whole(const Expr& e) { return rewrite_(e); }
  /// All of them, with the parts that they share.
  std::vector<Expr> whole(const std::vector<Expr>& values) {
    std::vector<Expr> all;
    for (const Expr& value : values) all.push_back(whole(value));
    return all;
  }
  /// The first node that was equal to `e`, which is most often `e` itself. Quick where the children of
  /// `e` come from here, too.
  Expr operator()(const Expr& e) {
    std::vector<Expr>& nodes = nodes_[e.node().hash];
    for (const Expr& known : nodes) {
      if (equal(known, e)) return known;
    }
    nodes.push_back(e);
    return e;
  }

 private:
  NodeRewriter rewrite_{[this](const Expr& e) { return (*this)(e); }};
  std::unordered_map<std::size_t, std::vector<Expr>> nodes_;  // by their hashes; never iterated
};

}  // namespace mica::analysis
