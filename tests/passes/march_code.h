// The code of marches, taken apart for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "tests/passes/lowered.h"

namespace mica::test {

inline const Var x("x"), y("y"), z("z");

/// next, a star of radius `r` over u or the box of all 27 neighbours, in tiles of 16 x 4 and chunks
/// of 8.
struct March {
  ImageParam u{Float(32), 3, "u"};
  Func next{"next"};

  static March star(int r = 1) {
    March m;
    Expr total = 0.5F * m.u(x, y, z);
    for (int i = 1; i <= r; ++i) {
      total = total + 0.1F * (m.u(x - i, y, z) + m.u(x + i, y, z) + m.u(x, y - i, z) + m.u(x, y + i, z) +
                              m.u(x, y, z - i) + m.u(x, y, z + i));
    }
    return m.defined(total);
  }
  static March box() {
    March m;
    Expr total;
    for (int k = 0; k < 27; ++k) {
      const Expr tap = m.u(x + (k % 3 - 1), y + (k / 3 % 3 - 1), z + (k / 9 - 1));
      total = total.defined() ? total + 0.1F * tap : 0.1F * tap;
    }
    return m.defined(total);
  }
  March& window() {
    next.register_window(u, z);
    return *this;
  }
  March& stage(LoadPolicy load = LoadPolicy::TwoStep) {
    next.stage(u, MemoryType::Shared, load);
    return *this;
  }
  March& ahead(int depth) {
    next.pipeline(u, depth);
    return *this;
  }
  [[nodiscard]] std::string text() const { return loops(next, Backend::Cuda); }

 private:
  March defined(const Expr& value) {
    next(x, y, z) = value;
    next.gpu_tile(x, y, 16, 4).march(z, 32);
    return *this;
  }
};

inline ir::Stmt nest_after(const Func& f, const std::string& pass) {
  return lowered(f, Backend::Cuda, pass).nests.front().body;
}

inline void visit(const ir::Stmt& s, const std::function<void(const ir::Stmt&)>& look) {
  ir::walk(
      s, [&](const ir::Stmt& child) { look(child); }, [](const Expr&) {});
}

inline int barriers(const ir::Stmt& s) {
  int n = 0;
  visit(s, [&](const ir::Stmt& child) { n += child.as<ir::Barrier>() ? 1 : 0; });
  return n;
}
inline int stores(const ir::Stmt& s, const std::string& buffer) {
  int n = 0;
  visit(s, [&](const ir::Stmt& child) {
    const auto* store = child.as<ir::Store>();
    n += store && store->buffer == buffer ? 1 : 0;
  });
  return n;
}
inline int conditions(const ir::Stmt& s, const std::string& part) {
  int n = 0;
  visit(s, [&](const ir::Stmt& child) {
    const auto* branch = child.as<ir::If>();
    if (branch) n += count(to_string(branch->condition), part);
  });
  return n;
}

/// The code of blocks that lie inside the domain, and of those at its edge.
struct Split {
  ir::Stmt interior, edge;
};
inline Split split_of(const ir::Stmt& nest) {
  Split split;
  visit(nest, [&](const ir::Stmt& s) {
    const auto* branch = s.as<ir::If>();
    if (!branch || !branch->else_case.defined() || split.interior.defined()) return;
    split = {branch->then_case, branch->else_case};
  });
  return split;
}

/// The loop over undisturbed steps of a march, and what stands before it.
struct Walk {
  ir::Stmt before, steps;
  int period = 0;  ///< steps written out in `steps`
};
inline Walk walk_of(const ir::Stmt& code, const std::string& output = "next") {
  Walk walk;
  visit(code, [&](const ir::Stmt& s) {
    const auto* block = s.as<ir::Block>();
    if (!block || walk.steps.defined()) return;
    std::vector<ir::Stmt> before;
    for (const auto& child : block->stmts) {
      const auto* loop = child.as<ir::For>();
      const bool walks = loop && loop->kind == LoopKind::Serial &&
                         loop->name.rfind(loop_name("next", "z"), 0) == 0 && stores(child, output) > 0;
      if (walks) {
        walk = {ir::make_block(before), loop->body, stores(loop->body, output)};
        return;
      }
      before.push_back(child);
    }
  });
  return walk;
}

}  // namespace mica::test
