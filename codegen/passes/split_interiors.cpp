#include "codegen/passes/split_interiors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/analysis/intervals.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/simplify.h"
#include "dsl/names.h"
#include "dsl/operators.h"
#include "dsl/traverse.h"

namespace mica::passes {
namespace {

using analysis::Interval;
using analysis::Linear;
using analysis::Ranges;
using analysis::Scope;

constexpr std::int64_t kFewIterations = 64;
constexpr std::size_t kMostTries = 1000;  // to find inequalities in one loop

/// What holds in the interior: factor*v + rest >= 0, in integers without bounds.
struct Inequality {
  std::int64_t factor = 0;
  Linear rest;
};

/// Expressions of one loop's body as they are in the interior.
class Interior {
 public:
  Interior(const ir::For& loop, const Ranges& ranges) : loop_(loop), ranges_(ranges) {
    ir::walk(
        loop.body,
        [&](const ir::Stmt& s) {
          if (const auto* inner = s.as<ir::For>()) add_inner(*inner);
          if (const auto* let = s.as<ir::LetStmt>()) unknown_.insert(let->name);
        },
        nullptr);
  }

  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* store = s.as<ir::Store>()) {
      ir::Store copy = *store;
      copy.value = run(store->value, false);
      return copy.value.same_as(store->value) ? s : ir::make_stmt(std::move(copy));
    }
    if (const auto* let = s.as<ir::LetStmt>()) {
      const Expr value = run(let->value, false);
      const ir::Stmt body = run(let->body);
      if (value.same_as(let->value) && body.same_as(let->body)) return s;
      return ir::make_stmt(ir::LetStmt{let->name, value, body});
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
  }
  [[nodiscard]] const std::vector<Inequality>& inequalities() const { return inequalities_; }

 private:
  void add_inner(const ir::For& inner) {
    const auto* extent = as_int(inner.extent);
    if (extent && *extent > 0) {
      const Expr last = make_const(Int(32), *extent - 1);
      inner_[inner.name] = {inner.min, is_const(inner.min, 0) ? last : simplify(inner.min + last)};
    } else {
      unknown_.insert(inner.name);
    }
  }

  Expr run(const Expr& e, bool coordinate) {
    return memo_[coordinate ? 1 : 0](e, [&] { return run_new(e, coordinate); });
  }

  Expr run_new(const Expr& e, bool coordinate) {
    if (const auto* load = e.as<Load>()) {
      Load copy = *load;
      for (auto* list : {&copy.index, &copy.logical}) {
        for (auto& at : *list) at = run(at, true);
      }
      const bool same = std::equal(copy.index.begin(), copy.index.end(), load->index.begin(),
                                   [](const Expr& a, const Expr& b) { return a.same_as(b); });
      return same ? e : make_expr(e.type(), std::move(copy));
    }
    const auto* mod = e.as<Binary>();
    // The dividend of a remainder may wrap, other coordinates not.
    const bool inside = coordinate && !(mod && mod->op == BinaryOp::Mod);
    Expr r = map_children(e, [&](const Expr& child) { return run(child, inside); });
    if (const auto* op = r.as<Binary>(); op && r.type() == Int(32))
      return run_binary(r, *op, coordinate);
    if (const auto* op = r.as<Compare>(); op && op->a.type() == Int(32)) return run_compare(r, *op);
    return r;
  }

  Expr run_binary(const Expr& e, const Binary& op, bool coordinate) {
    if (op.op == BinaryOp::Mod && coordinate && !follows(op.b) && follows(op.a)) {
      const bool small = assume(op.b - 1, op.a) && assume(op.a, Expr(0));
      return small ? op.a : e;
    }
    if (op.op != BinaryOp::Min && op.op != BinaryOp::Max) return e;
    if (!coordinate && !(ranges_.never_wraps(op.a) && ranges_.never_wraps(op.b))) {
      return e;
    }
    if (!follows(op.a) && !follows(op.b)) return e;
    // Of two that follow, the one that an extent pushes up is the bound.
    const bool both = follows(op.a) && follows(op.b);
    if (both && (op.op == BinaryOp::Max || reaches_up(op.a) == reaches_up(op.b))) return e;
    const bool first = both ? reaches_up(op.b) : follows(op.a);
    const Expr& moving = first ? op.a : op.b;
    const Expr& still = first ? op.b : op.a;
    const bool holds = op.op == BinaryOp::Min ? assume(still, moving) : assume(moving, still);
    return holds ? moving : e;
  }

  // A bound that an extent pushes up is passed late in the loop, another one early: the longer part is
  // the interior.
  Expr run_compare(const Expr& e, const Compare& op) {
    if (follows(op.a) == follows(op.b)) return e;
    if (!ranges_.never_wraps(op.a) || !ranges_.never_wraps(op.b)) return e;
    Expr low = op.a, high = op.b;  // low < high or low <= high
    bool or_equal = op.op == CompareOp::Le || op.op == CompareOp::Ge;
    switch (op.op) {
      case CompareOp::Lt:
      case CompareOp::Le: break;
      case CompareOp::Gt:
      case CompareOp::Ge: std::swap(low, high); break;
      default: return e;
    }
    const bool late = reaches_up(follows(low) ? high : low);
    // `low` follows: true before the bound. `high` follows: true after it.
    const bool holds = follows(low) ? late : !late;
    const bool assumed =
        holds ? assume(or_equal ? high : high - 1, low) : assume(or_equal ? low - 1 : low, high);
    return assumed ? make_const(Bool(), std::int64_t{holds}) : e;
  }

  static bool reaches_up(const Expr& bound) {
    const Linear form = analysis::linearize(bound);
    return std::any_of(form.terms.begin(), form.terms.end(), [](const auto& term) {
      const auto* var = term.first.template as<VarRef>();
      return term.second > 0 && var && is_array_symbol(var->name, "extent");
    });
  }

  bool follows(const Expr& e) {
    if (const auto* var = e.as<VarRef>()) return var->name == loop_.name;
    const auto found = follows_.find(e.ptr().get());
    if (found != follows_.end()) return found->second.second;
    bool result = false;
    for_each_child(e, [&](const Expr& child) { result = result || follows(child); });
    follows_.emplace(e.ptr().get(), std::pair(e, result));
    return result;
  }

  /// Takes low <= high for granted, for all iterations of the inner loops, if that can be said by an
  /// inequality in the loop's variable.
  bool assume(const Expr& high, const Expr& low) {
    if (++tries_ > kMostTries) return false;
    const Interval above = analysis::interval_of(high, inner_);
    const Interval below = analysis::interval_of(low, inner_);
    if (!above.min.defined() || !below.max.defined()) return false;
    Inequality found;
    found.rest = analysis::linearize(above.min);
    found.rest.add(analysis::linearize(below.max), -1);
    found.factor = found.rest.take(loop_.name);
    if (found.factor == 0) return false;
    for (const auto& term : found.rest.terms) {
      if (follows(term.first) || !is_known(term.first)) return false;
    }
    for (auto& other : inequalities_) {
      if (other.factor != found.factor || !same_terms(other.rest, found.rest)) continue;
      other.rest.constant = std::min(other.rest.constant, found.rest.constant);
      return true;
    }
    inequalities_.push_back(std::move(found));
    return true;
  }

  // Has the expression a value before the loop begins?
  [[nodiscard]] bool is_known(const Expr& e) const {
    bool known = true;
    mica::walk(e, [&](const Expr& node) {
      const auto* var = node.as<VarRef>();
      if (node.as<Load>() || (var && (unknown_.count(var->name) || inner_.count(var->name))))
        known = false;
    });
    return known;
  }

  static bool same_terms(const Linear& a, const Linear& b) {
    if (a.terms.size() != b.terms.size()) return false;
    return std::all_of(a.terms.begin(), a.terms.end(), [&](const auto& term) {
      return std::any_of(b.terms.begin(), b.terms.end(), [&](const auto& other) {
        return term.second == other.second && equal(term.first, other.first);
      });
    });
  }

  const ir::For& loop_;
  analysis::RangeFinder ranges_;
  Scope inner_;                    // loops of constant extents inside this one
  std::set<std::string> unknown_;  // other names that are bound inside
  std::vector<Inequality> inequalities_;
  std::size_t tries_ = 0;
  RewriteMemo memo_[2];
  // Keyed by address for lookup only; the Expr of a value keeps the node alive.
  std::unordered_map<const ExprNode*, std::pair<Expr, bool>> follows_;
};

Expr wide(const Expr& e) { return cast(Int(64), e); }
Expr wide(std::int64_t value) { return make_const(Int(64), value); }

Expr wide(const Linear& form) {
  Expr sum = wide(form.constant);
  for (const auto& [atom, k] : form.terms) sum = sum + wide(atom) * wide(k);
  return sum;
}

/// The first iteration of the interior and the one after its last, within the loop.
std::pair<Expr, Expr> ends_of(const ir::For& loop, const std::vector<Inequality>& inequalities) {
  const Expr begin = wide(loop.min), end = wide(loop.min) + wide(loop.extent);
  Expr first = begin, last = end;
  for (const auto& [factor, rest] : inequalities) {
    if (factor > 0) {
      first = max(first, (wide(factor - 1) - wide(rest)) / wide(factor));
    } else {
      last = min(last, wide(rest) / wide(-factor) + wide(1));
    }
  }
  first = min(first, end);
  last = max(last, first);
  return {cast(Int(32), first), cast(Int(32), last)};
}

std::size_t size_of(const ir::Stmt& s) {
  std::size_t nodes = 0;
  ir::walk(s, nullptr, [&](const Expr&) { ++nodes; });
  return nodes;
}

class Splitter {
 public:
  explicit Splitter(std::size_t size) : size_(size) {}

  ir::Stmt run(const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) {
      if (const auto* let = s.as<ir::LetStmt>()) {
        analysis::push_let(ranges_, let->name, let->value);
        ir::Stmt body = run(let->body);
        ranges_.pop();
        return body.same_as(let->body) ? s : ir::make_stmt(ir::LetStmt{let->name, let->value, body});
      }
      return ir::map_children(
          s, [this](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
    }
    analysis::push_loop(ranges_, loop->name, loop->min, loop->extent);
    ir::Stmt result = run_loop(s, *loop);
    ranges_.pop();
    return result;
  }

 private:
  ir::Stmt run_loop(const ir::Stmt& s, const ir::For& loop) {
    const auto count = analysis::range_of(loop.extent, ranges_).max;
    const bool splits = (loop.kind == LoopKind::Serial || loop.kind == LoopKind::Parallel) &&
                        !(count && *count <= few_) && !allocates(loop.body);
    if (splits) {
      Interior interior(loop, ranges_);
      const ir::Stmt inside = interior.run(loop.body);
      const std::size_t grown = size_ + (is_innermost(loop.body) ? 4 : 1) * size_of(loop.body);
      if (!interior.inequalities().empty() && grown <= kLargestSplit) {
        size_ = grown;
        return split(loop, inside, ends_of(loop, interior.inequalities()));
      }
    }
    const ir::Stmt body = run(loop.body);
    if (body.same_as(loop.body)) return s;
    return ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled});
  }

  ir::Stmt split(const ir::For& loop, const ir::Stmt& inside, const std::pair<Expr, Expr>& ends) {
    const std::string first = loop.name + ".inside", last = loop.name + ".outside";
    const Expr begin = make_var(first), end = make_var(last), at = make_var(loop.name);
    const auto with_ends = [&](const ir::Stmt& body) {
      return ir::make_stmt(
          ir::LetStmt{first, ends.first, ir::make_stmt(ir::LetStmt{last, ends.second, body})});
    };
    if (loop.kind == LoopKind::Serial && is_innermost(loop.body)) {
      const auto part = [&](const Expr& from, const Expr& to, const ir::Stmt& body) {
        return ir::make_stmt(
            ir::For{loop.name, from, simplify(to - from), loop.kind, body, loop.rolled});
      };
      // Of a vector at an edge most points are inside: one by one, they need no clamp either.
      const std::int64_t few = std::exchange(few_, 1);
      const ir::Stmt edge = run(one_by_one(loop.body));
      few_ = few;
      return with_ends(ir::make_block({part(loop.min, begin, edge), part(begin, end, inside),
                                       part(end, simplify(loop.min + loop.extent), edge)}));
    }
    const ir::Stmt chosen = ir::make_stmt(ir::If{begin <= at && at < end, run(inside), run(loop.body)});
    return ir::make_stmt(
        ir::For{loop.name, loop.min, loop.extent, loop.kind, with_ends(chosen), loop.rolled});
  }

  // No loop inside takes more than a few iterations.
  static bool is_innermost(const ir::Stmt& body) {
    bool innermost = true;
    ir::walk(
        body,
        [&](const ir::Stmt& s) {
          const auto* loop = s.as<ir::For>();
          const auto* extent = loop ? as_int(loop->extent) : nullptr;
          if (loop && !(extent && *extent <= kFewIterations)) innermost = false;
        },
        nullptr);
    return innermost;
  }
  static ir::Stmt one_by_one(const ir::Stmt& s) {
    const ir::Stmt r = ir::map_children(
        s, [](const ir::Stmt& child) { return one_by_one(child); }, [](const Expr& e) { return e; });
    const auto* loop = r.as<ir::For>();
    if (!loop || loop->kind != LoopKind::Vectorized) return r;
    return ir::make_stmt(
        ir::For{loop->name, loop->min, loop->extent, LoopKind::Serial, loop->body, loop->rolled});
  }
  static bool allocates(const ir::Stmt& body) {
    bool found = false;
    ir::walk(
        body, [&](const ir::Stmt& s) { found = found || s.as<ir::Allocate>(); }, nullptr);
    return found;
  }

  Ranges ranges_;
  std::size_t size_;
  std::int64_t few_ = kFewIterations;  // loops of no more iterations stay whole
};

}  // namespace

void split_interiors(Program& program) {
  for (auto& nest : program.nests) {
    if (!nest.on_device) nest.body = Splitter(size_of(nest.body)).run(nest.body);
  }
}

}  // namespace mica::passes
