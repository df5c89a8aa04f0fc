#include "codegen/passes/loops/partition_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/loops/loop_parts.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

// Loops inside of one whose iterations are written out or few do not count as loops of a guard's.
constexpr std::int64_t kFewIterations = 64;
constexpr std::size_t kLargestGuarded = 4'000;  // nodes of a body that is copied

// `condition` as form <= 0.
std::optional<analysis::Linear> at_most_zero(const Expr& condition) {
  const auto* op = condition.as<Compare>();
  if (!op || !op->a.type().is_int()) return std::nullopt;
  if (op->op != CompareOp::Lt && op->op != CompareOp::Le) return std::nullopt;
  analysis::Linear form = analysis::linearize(op->a);
  form.add(analysis::linearize(op->b), -1);
  if (op->op == CompareOp::Lt) form.constant += 1;
  return form;
}

// The number of places p = 0, 1, ... for which form <= 0, when it is k*p + c with k > 0. A place is an
// atom of the form: v, or another without v in the rest.
std::optional<Expr> leading_places(analysis::Linear form, const Expr& place, const std::string& v) {
  const auto at = std::find_if(form.terms.begin(), form.terms.end(),
                               [&](const auto& term) { return equal(term.first, place); });
  if (at == form.terms.end() || at->second <= 0) return std::nullopt;
  const std::int64_t k = at->second;
  form.terms.erase(at);
  for (const auto& term : form.terms) {
    if (uses_var(term.first, v)) return std::nullopt;
  }
  return simplify(analysis::to_expr(form.scaled(-1)) / make_const(Int(32), k) + 1);
}

// The quotient v/n of a loop that was fused of n iterations and others, if the form has it; else v.
Expr place_in(const analysis::Linear& form, const std::string& v) {
  for (const auto& term : form.terms) {
    const auto* op = term.first.as<Binary>();
    const auto* dividend = op && op->op == BinaryOp::Div ? op->a.as<VarRef>() : nullptr;
    if (dividend && dividend->name == v && !uses_var(op->b, v)) return term.first;
  }
  return make_var(v);
}

bool is_few(const Expr& extent) {
  const auto* count = as_int(extent);
  return count && *count <= kFewIterations;
}

// The guards inside of a loop that its unrolled loops test for each copy of what they write out.
class Guards {
 public:
  explicit Guards(const ir::For& loop) : loop_(loop) {
    ir::walk(
        loop.body,
        [this](const ir::Stmt& s) {
          if (const auto* let = s.as<ir::LetStmt>()) {
            bound_.insert(let->name);
            extents_.erase(let->name);
          }
          if (const auto* inner = s.as<ir::For>()) add(*inner);
        },
        [this](const Expr&) { ++nodes_; });
    if (nodes_ <= kLargestGuarded) body_ = without(loop.body, false);
  }

  /// How many places hold all of the guards; undefined: there are none.
  [[nodiscard]] const Expr& count() const { return count_; }
  /// What counts the places: the loop's variable or, in a parallel loop, which tests each iteration, a
  /// quotient of it.
  [[nodiscard]] const Expr& place() const { return place_; }
  /// The body where they do.
  [[nodiscard]] const ir::Stmt& body() const { return body_; }
  /// The body in the other iterations; undefined where nothing is left of it.
  [[nodiscard]] ir::Stmt rest() { return is_exact_ ? without(loop_.body, false, false) : loop_.body; }

 private:
  void add(const ir::For& inner) {
    const auto* extent = as_int(inner.extent);
    const auto before = extents_.find(inner.name);
    const bool same =
        before != extents_.end() ? extent && *extent == before->second : bound_.count(inner.name) == 0;
    const bool known = extent && *extent > 0 && is_const(inner.min, 0) && same;
    bound_.insert(inner.name);
    if (known) {
      extents_.emplace(inner.name, *extent);
    } else {
      extents_.erase(inner.name);
    }
  }

  // `s` where the guards inside of unrolled loops hold, or where none does.
  ir::Stmt without(const ir::Stmt& s, bool unrolled, bool hold = true) {
    if (const auto* branch = s.as<ir::If>(); branch && unrolled && !has_loops(branch->then_case)) {
      if (const auto count = leading(branch->condition)) {
        if (!hold) return branch->else_case;
        is_exact_ = is_exact_ && (!count_.defined() || equal(count_, *count));
        count_ = !count_.defined() || equal(count_, *count) ? *count : min(count_, *count);
        return without(branch->then_case, unrolled);
      }
    }
    const auto* inner = s.as<ir::For>();
    const bool within = unrolled || (inner && inner->kind == LoopKind::Unrolled);
    return ir::map_children(
        s, [&](const ir::Stmt& child) { return without(child, within, hold); },
        [](const Expr& e) { return e; });
  }

  // The places at which the condition holds in all iterations of the loops inside.
  [[nodiscard]] std::optional<Expr> leading(const Expr& condition) {
    auto form = at_most_zero(condition);
    if (!form) return std::nullopt;
    bool same_inside = true;
    for (const auto& [name, extent] : extents_) {
      const std::int64_t k = form->take(name);
      same_inside = same_inside && k == 0;
      if (k > 0) form->constant += k * (extent - 1);
    }
    for (const auto& term : form->terms) {
      const auto uses = [&](const std::string& name) { return uses_var(term.first, name); };
      if (std::any_of(bound_.begin(), bound_.end(), uses)) return std::nullopt;
    }
    const Expr place =
        loop_.kind == LoopKind::Parallel ? place_in(*form, loop_.name) : make_var(loop_.name);
    if (place_.defined() && !equal(place, place_)) return std::nullopt;
    const auto count = leading_places(*form, place, loop_.name);
    if (count) {
      place_ = place;
      is_exact_ = is_exact_ && same_inside;
    }
    return count;
  }

  static bool has_loops(const ir::Stmt& s) {
    bool found = false;
    ir::walk(
        s,
        [&](const ir::Stmt& child) {
          const auto* inner = child.as<ir::For>();
          found = found || (inner && !is_few(inner->extent) && !is_tail(*inner));
        },
        nullptr);
    return found;
  }
  // The points that a vector at the end leaves: min(16, e - x*16).
  static bool is_tail(const ir::For& loop) {
    const auto* fewer = loop.extent.as<Binary>();
    return fewer && fewer->op == BinaryOp::Min && (is_few(fewer->a) || is_few(fewer->b));
  }

  const ir::For& loop_;
  std::set<std::string> bound_;                  // names that the body binds
  std::map<std::string, std::int64_t> extents_;  // of loops from 0, one constant for all of a name
  std::size_t nodes_ = 0;
  bool is_exact_ = true;  // all guards hold, or none does
  Expr count_, place_;
  ir::Stmt body_;
};

// The places of `loop` at which what is left of a vector has points: for v in [0, min(16, e - x*16)).
std::optional<Expr> places_with_points(const ir::For& loop, const ir::Stmt& body) {
  const auto* tail = body.as<ir::For>();
  const auto* fewer = tail ? tail->extent.as<Binary>() : nullptr;
  if (!fewer || fewer->op != BinaryOp::Min) return std::nullopt;
  analysis::Linear form = analysis::linearize(as_int(fewer->a) ? fewer->b : fewer->a).scaled(-1);
  form.constant += 1;
  return leading_places(std::move(form), make_var(loop.name), loop.name);
}

// Loops whose body is one branch.
ir::Stmt split_branches(const ir::Stmt& s) {
  ir::Stmt r = ir::map_children(
      s, [](const ir::Stmt& child) { return split_branches(child); }, [](const Expr& e) { return e; });
  const auto* loop = r.as<ir::For>();
  if (!loop || loop->kind != LoopKind::Serial || !is_const(loop->min, 0)) return r;
  const auto* branch = loop->body.as<ir::If>();
  if (!branch) return r;
  const auto form = at_most_zero(branch->condition);
  const auto count = form ? leading_places(*form, make_var(loop->name), loop->name) : std::nullopt;
  if (!count) return r;
  const std::string split = loop->name + ".whole";
  const Expr whole = simplify(max(0, min(*count, loop->extent))), at = make_var(split);
  std::vector<ir::Stmt> halves{part(*loop, Expr(0), at, branch->then_case)};
  if (const ir::Stmt& rest = branch->else_case; rest.defined()) {
    const auto points = places_with_points(*loop, rest);
    const bool ends_before = points && !equal(*points, loop->extent);
    const Expr end = ends_before ? simplify(max(at, min(*points, loop->extent))) : loop->extent;
    halves.push_back(part(*loop, at, end, rest));
  }
  return ir::make_stmt(ir::LetStmt{split, whole, ir::make_block(std::move(halves))});
}

// Serial loops whose body is one branch that is the same in all iterations: the branch around them.
ir::Stmt hoist_branches(const ir::Stmt& s) {
  const ir::Stmt r = ir::map_children(
      s, [](const ir::Stmt& child) { return hoist_branches(child); }, [](const Expr& e) { return e; });
  const auto* loop = r.as<ir::For>();
  const auto* branch = loop && loop->kind == LoopKind::Serial ? loop->body.as<ir::If>() : nullptr;
  if (branch == nullptr || uses_var(branch->condition, loop->name)) return r;
  const auto each = [&](const ir::Stmt& body) {
    return body.defined() ? part(*loop, loop->min, simplify(loop->min + loop->extent), body) : body;
  };
  return ir::make_stmt(ir::If{branch->condition, each(branch->then_case), each(branch->else_case)});
}

ir::Stmt run(const ir::Stmt& s) {
  const auto* loop = s.as<ir::For>();
  const bool splits = loop && (loop->kind == LoopKind::Serial || loop->kind == LoopKind::Parallel) &&
                      is_const(loop->min, 0) && !loop->body.as<ir::If>();
  if (splits) {
    Guards guards(*loop);
    if (guards.count().defined()) {
      const std::string split = loop->name + ".whole";
      const Expr at = make_var(split);
      const bool counts_iterations = guards.place().as<VarRef>() != nullptr;
      const Expr whole =
          counts_iterations ? simplify(max(0, min(guards.count(), loop->extent))) : guards.count();
      const ir::Stmt inside = run(guards.body()), others = guards.rest();
      const ir::Stmt rest = others.defined() ? split_branches(others) : others;
      ir::Stmt parts;
      if (loop->kind == LoopKind::Parallel) {
        const ir::Stmt chosen = ir::make_stmt(ir::If{guards.place() < at, inside, rest});
        parts = part(*loop, Expr(0), loop->extent, chosen);
      } else {
        parts = part(*loop, Expr(0), at, inside);
        if (rest.defined()) parts = ir::make_block({parts, part(*loop, at, loop->extent, rest)});
      }
      return ir::make_stmt(ir::LetStmt{split, whole, parts});
    }
    const ir::Stmt body = run(loop->body);
    if (body.same_as(loop->body)) return s;
    return ir::make_stmt(ir::For{loop->name, loop->min, loop->extent, loop->kind, body, loop->rolled});
  }
  if (loop) return split_branches(s);
  return ir::map_children(
      s, [](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
}

}  // namespace

void partition_loops(Program& program) {
  for (auto& nest : program.nests) {
    if (!nest.on_device) nest.body = run(hoist_branches(nest.body));
  }
}

}  // namespace mica::passes
