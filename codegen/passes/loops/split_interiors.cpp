#include "codegen/passes/loops/split_interiors.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/analysis/interiors.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/funcs/bind_still.h"
#include "codegen/passes/loops/loop_parts.h"
#include "codegen/passes/loops/spread_ends.h"
#include "codegen/passes/loops/unroll_loops.h"
#include "codegen/passes/loops/vector_line.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Interior;
using analysis::Ranges;

constexpr std::int64_t kFewIterations = 64;
constexpr std::size_t kMostCopies = 15;
constexpr std::size_t kMostFusedCopies = 7;   // a half, which is what is left of whole planes, has few
constexpr std::size_t kNodesByLane = 4;       // that one is as much as where lanes have their own code
constexpr std::size_t kLargestMoved = 4'000;  // nodes of a body that has a copy for a row's last vector

/// Does a loop or a name in `body` stand for a part of `e`?
bool binds_any_of(const ir::Stmt& body, const Expr& e) {
  bool found = false;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* loop = s.as<ir::For>();
        const auto* let = s.as<ir::LetStmt>();
        found = found || (loop && uses_var(e, loop->name)) || (let && uses_var(e, let->name));
      },
      nullptr);
  return found;
}

/// A loop that was fused of two.
struct Fused {
  Expr outer, inner;                   ///< how many iterations the two have; outer undefined: unknown
  std::string outer_name, inner_name;  ///< of the two loops' places
  ir::Stmt body;                       ///< in those
};

/// Nothing where `body` asks for more of `name` than its quotient and remainder by one number.
/// `extent`: of a loop from 0; undefined for another one.
std::optional<Fused> fused_of(const std::string& name, const Expr& extent, const ir::Stmt& body) {
  Fused fused{{}, {}, name + ".outer", name + ".inner", {}};
  const auto is_place = [&](const Binary* op) {
    const auto* var = op ? op->a.as<VarRef>() : nullptr;
    return var != nullptr && var->name == name && (op->op == BinaryOp::Div || op->op == BinaryOp::Mod);
  };
  ir::walk(body, nullptr, [&](const Expr& e) {
    const auto* op = e.as<Binary>();
    if (!fused.inner.defined() && is_place(op)) fused.inner = op->b;
  });
  if (!fused.inner.defined() || uses_var(fused.inner, name) || binds_any_of(body, fused.inner))
    return {};
  NodeRewriter places([&](const Expr& e) {
    const auto* op = e.as<Binary>();
    if (!is_place(op) || !equal(op->b, fused.inner)) return Expr();
    return make_var(op->op == BinaryOp::Div ? fused.outer_name : fused.inner_name);
  });
  if (const auto* both = extent.defined() ? extent.as<Binary>() : nullptr;
      both != nullptr && both->op == BinaryOp::Mul) {
    if (equal(both->b, fused.inner)) fused.outer = both->a;
    if (equal(both->a, fused.inner)) fused.outer = both->b;
  }
  fused.body = ir::map_exprs(body, [&](const Expr& e) { return places(e); });
  bool is_left = false;
  ir::walk(fused.body, nullptr, [&](const Expr& e) {
    const auto* var = e.as<VarRef>();
    is_left = is_left || (var != nullptr && var->name == name);
  });
  return is_left ? std::nullopt : std::optional(fused);
}

std::optional<Fused> fused_of(const ir::For& loop) {
  return fused_of(loop.name, is_const(loop.min, 0) ? loop.extent : Expr(), loop.body);
}

class Splitter {
 public:
  /// `size`: of the nest. `fewest_copies`: only innermost loops are split, into three parts of which two
  /// share their code. `separate`: no output is the memory of an input. `by_lane`: as of line_of.
  Splitter(std::size_t size, bool fewest_copies, bool separate, bool by_lane)
      : size_(size), fewest_copies_(fewest_copies), separate_(separate), by_lane_(by_lane) {}

  ir::Stmt run(const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) {
      if (const auto* let = s.as<ir::LetStmt>()) {
        analysis::push_let(ranges_, let->name, let->value);
        ir::Stmt body = run(let->body);
        ranges_.pop();
        return body.same_as(let->body) ? s : ir::make_stmt(ir::LetStmt{let->name, let->value, body});
      }
      if (const auto* block = s.as<ir::Block>()) return run_block(s, *block);
      return ir::map_children(
          s, [this](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
    }
    analysis::push_loop(ranges_, loop->name, loop->min, loop->extent);
    ir::Stmt result = run_loop(s, *loop);
    ranges_.pop();
    return result;
  }

 private:
  ir::Stmt run_block(const ir::Stmt& s, const ir::Block& block) {
    std::vector<ir::Stmt> stmts;
    bool same = true;
    for (std::size_t i = 0; i < block.stmts.size(); ++i) {
      const auto* loop = block.stmts[i].as<ir::For>();
      const auto* tail = loop && i + 1 < block.stmts.size() ? block.stmts[i + 1].as<ir::For>() : nullptr;
      ir::Stmt row = tail ? run_row(*loop, *tail) : ir::Stmt();
      const bool whole = row.defined();
      stmts.push_back(whole ? row : run(block.stmts[i]));
      same = same && stmts.back().same_as(block.stmts[i]);
      i += whole ? 1 : 0;
    }
    return same ? s : ir::make_block(std::move(stmts));
  }

  // A loop over vectors and the points that are left behind it, as one line; undefined where they are
  // none.
  ir::Stmt run_row(const ir::For& around, const ir::For& behind) {
    const ir::For loop = with_lanes_around(around), tail = with_lanes_around(behind);
    const Expr points = points_of_row(loop, tail);
    if (!points.defined() || !may_split(loop)) return {};
    if (is_short(loop, *as_int(loop.body.as<ir::For>()->extent))) return {};
    // Divisions of planes that are written out are theirs.
    const auto still_of = [](const ir::For& of) {
      return bind_still({of.name, of.min, of.extent, of.kind, unroll_loops(of.body), of.rolled});
    };
    const StillDivisions still = fewest_copies_ ? still_of(loop) : StillDivisions{loop.body, {}};
    const ir::For row{loop.name, loop.min, loop.extent, loop.kind, still.body, loop.rolled};
    const bool shared_edges = beside_ || !has_room_for(4, loop.body);
    analysis::push_loop(ranges_, loop.name, loop.min, loop.extent);
    auto line = separate_ ? line_of(row, points, simplify(tail.min + tail.extent), shared_edges,
                                    by_lane_, ranges_)
                          : std::nullopt;
    ranges_.pop();
    if (!line || (line->inequalities.empty() && size_of(loop.body) > kLargestMoved)) {
      return {};
    }
    size_ += (copies_of(*line) - 1) * size_of(loop.body);
    return with_values(still, split_line(row, *line));
  }

  static ir::Stmt with_values(const StillDivisions& still, ir::Stmt loop) {
    for (auto it = still.values.rbegin(); it != still.values.rend(); ++it) {
      loop = let(it->first, it->second, loop);
    }
    return loop;
  }

  /// Of a row's body: inside, where lanes choose, point by point, and moved beside those points; of
  /// edges apart three more.
  static std::size_t copies_of(const Line& line) { return line.left ? 7 : 4; }
  [[nodiscard]] bool has_room_for(std::size_t copies, const ir::Stmt& body) const {
    return !fewest_copies_ && size_ + copies * size_of(body) <= kLargestSplit;
  }
  static bool may_split(const ir::For& loop) {
    return loop.kind == LoopKind::Serial || loop.kind == LoopKind::Parallel;
  }
  // A loop over so few points that it stays whole, if it is not the innermost one of a tile at an edge.
  bool is_short(const ir::For& loop, std::int64_t points_each) const {
    if (rows_.count(loop.name) > 0) return false;
    const auto count = analysis::range_of(loop.extent, ranges_).max;
    if (!count || *count * points_each > few_) return false;
    return tiles_.count(loop.name) == 0 || has_tiles(loop.body);
  }
  bool has_tiles(const ir::Stmt& body) const {
    bool found = false;
    ir::walk(
        body,
        [&](const ir::Stmt& s) {
          const auto* loop = s.as<ir::For>();
          found = found || (loop && tiles_.count(loop->name) > 0);
        },
        nullptr);
    return found;
  }

  ir::Stmt run_loop(const ir::Stmt& s, const ir::For& loop) {
    const bool may_split = this->may_split(loop);
    if (const auto fused = may_split && !fewest_copies_ ? fused_of(loop) : std::nullopt) {
      const ir::Stmt body =
          run_fused(loop.name, *fused, [this](const ir::Stmt& each) { return run(each); });
      return ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled});
    }
    if (may_split && fewest_copies_ && !is_short(loop, 1)) {
      // The conditions of outer loops are the copies' own.
      const StillDivisions still = bind_still(loop);
      if (!still.values.empty()) {
        return with_values(still, run(ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind,
                                                            still.body, loop.rolled})));
      }
    }
    if (may_split && (!fewest_copies_ || is_innermost(loop.body))) {
      Interior interior(loop.name, loop.body, ranges_);
      const ir::Stmt inside = interior.run(loop.body);
      if (!is_short(loop, interior.stride())) {
        tiles_.insert(interior.tiles().begin(), interior.tiles().end());
        const ir::Stmt parts = run_long(loop, inside, interior);
        if (parts.defined()) return parts;
      }
    }
    const ir::Stmt body = run(loop.body);
    if (body.same_as(loop.body)) return s;
    return ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled});
  }

  // Of a loop that was fused of two, or of more, each asks on its own whether it is inside:
  //
  //   let task.outer = task / n, task.inner = task % n
  //   if outer is inside: if inner is inside: ... else: ...
  //   else: ...
  using Next = std::function<ir::Stmt(const ir::Stmt&)>;
  ir::Stmt run_fused(const std::string& name, const Fused& fused, const Next& next) {
    const Expr at = make_var(name), outer = at / fused.inner, inner = at % fused.inner;
    if (fused.outer.defined()) {
      analysis::push_loop(ranges_, fused.outer_name, Expr(0), fused.outer);
    } else {
      analysis::push_let(ranges_, fused.outer_name, outer);
    }
    analysis::push_loop(ranges_, fused.inner_name, Expr(0), fused.inner);
    const ir::Stmt body = run_place(
        fused.outer_name, fused.outer, fused.body,
        [&](const ir::Stmt& each) { return run_place(fused.inner_name, fused.inner, each, next); });
    ranges_.pop();
    ranges_.pop();
    return let(fused.outer_name, outer, let(fused.inner_name, inner, body));
  }

  ir::Stmt run_place(const std::string& name, const Expr& extent, const ir::Stmt& body,
                     const Next& next) {
    if (const auto fused = fused_of(name, extent, body)) return run_fused(name, *fused, next);
    // Whole vectors and planes, and what is left behind them.
    if (const auto* whole = body.as<ir::If>(); whole && uses_var(whole->condition, name)) {
      const ir::Stmt rest = whole->else_case.defined() ? run(whole->else_case) : ir::Stmt();
      return ir::make_stmt(
          ir::If{whole->condition, run_place(name, extent, whole->then_case, next), rest});
    }
    Interior interior(name, body, ranges_);
    const ir::Stmt inside = interior.run(body);
    if (are_rows_of(name, body, interior)) {
      rows_.insert(body.as<ir::For>()->name);
      return next(body);
    }
    const std::size_t grown = size_ + size_of(body);
    if (interior.inequalities().empty() || grown > kLargestSplit) return next(body);
    size_ = grown;
    tiles_.insert(interior.tiles().begin(), interior.tiles().end());
    Expr holds;
    for (const auto& [factor, rest] : interior.inequalities()) {
      const Expr one = wide(make_var(name)) * wide(factor) + wide(rest) >= wide(0);
      holds = holds.defined() ? holds && one : one;
    }
    const ir::Stmt within = next(inside);
    return ir::make_stmt(ir::If{holds, within, run_beside(body)});
  }

  // Of what is beside the interior of an outer loop there is little: it may take longer, not much code.
  ir::Stmt run_beside(const ir::Stmt& body) {
    const bool before = std::exchange(beside_, true);
    const ir::Stmt result = run(body);
    beside_ = before;
    return result;
  }

  // Rows of a block at that place, of which each asks on its own whether it is inside: else all rows of
  // the first and the last block would have the condition.
  bool are_rows_of(const std::string& name, const ir::Stmt& body, const Interior& whole) {
    const auto* rows = body.as<ir::For>();
    if (rows == nullptr || !may_split(*rows) || is_innermost(rows->body)) return false;
    if (whole.tiles().size() > whole.tiles().count(rows->name)) return false;
    analysis::push_loop(ranges_, rows->name, rows->min, rows->extent);
    Interior interior(rows->name, rows->body, ranges_);
    interior.run(rows->body);
    ranges_.pop();
    const auto follows = [&](const analysis::Inequality& one) {
      return std::any_of(one.rest.terms.begin(), one.rest.terms.end(),
                         [&](const auto& term) { return uses_var(term.first, name); });
    };
    return std::any_of(interior.inequalities().begin(), interior.inequalities().end(), follows);
  }

  // The parts of a loop; undefined where it has none.
  ir::Stmt run_long(const ir::For& loop, const ir::Stmt& inside, const Interior& interior) {
    // An innermost loop is split even where there is no room: as the whole condition costs vectors.
    const bool innermost = is_innermost(loop.body) && interior.tiles().empty();
    const bool tight = !has_room_for(innermost ? 4 : 1, loop.body);
    if (tight && !innermost) return {};
    const ir::For lanes = with_lanes_around(loop);
    const bool shared_edges = beside_ || tight || tiles_.count(loop.name) > 0;
    auto line =
        separate_ ? line_of(lanes, {}, simplify(loop.min + loop.extent), shared_edges, by_lane_, ranges_)
                  : std::nullopt;
    const std::size_t copies = line                        ? copies_of(*line)
                               : innermost && shared_edges ? 3
                               : innermost                 ? 4
                                                           : 1;
    const bool is_line = line && !line->inequalities.empty();
    if (!is_line && interior.inequalities().empty()) return {};
    size_ += copies * size_of(loop.body);
    if (is_line) return split_line(lanes, *line);
    return split(loop, inside, interior, innermost, shared_edges);
  }

  ir::Stmt split(const ir::For& loop, const ir::Stmt& inside, const Interior& interior, bool innermost,
                 bool shared_edges) {
    const std::pair<Expr, Expr> ends = ends_of(loop, interior.inequalities());
    const Expr begin = make_var(first_of(loop)), end = make_var(last_of(loop)), at = make_var(loop.name);
    const auto with_ends = [&](const ir::Stmt& body) { return let_ends(loop, ends, body); };
    if (fewest_copies_ || (loop.kind == LoopKind::Serial && innermost)) {
      const ir::Stmt points = points_of(loop.body);
      return with_ends(in_parts(loop, inside, simplify(loop.min + loop.extent),
                                shared_edges ? Edges::Shared : Edges::Apart,
                                [&](const Expr&) { return points; }));
    }
    const ir::Stmt within = run(inside);
    if (loop.kind == LoopKind::Serial && interior.stride() == 1 && !is_few(loop)) {
      const ir::Stmt beside = run_beside(loop.body);
      return with_ends(in_parts(loop, within, simplify(loop.min + loop.extent), Edges::Shared,
                                [&](const Expr&) { return beside; }));
    }
    const ir::Stmt chosen =
        ir::make_stmt(ir::If{begin <= at && at < end, within, run_beside(loop.body)});
    return ir::make_stmt(
        ir::For{loop.name, loop.min, loop.extent, loop.kind, with_ends(chosen), loop.rolled});
  }

  // Is the loop known to have few iterations? Of a long one, over rows, tests cost more than its three
  // parts: what LLVM makes ready for the edges it makes ready in each row.
  bool is_few(const ir::For& loop) const {
    const auto count = analysis::range_of(loop.extent, ranges_).max;
    return count && *count <= kFewIterations;
  }

  // Of a vector at an edge most points are inside: one by one, they need no clamp either.
  ir::Stmt points_of(const ir::Stmt& body) {
    const std::int64_t few = std::exchange(few_, 1);
    ir::Stmt points = run(one_by_one(body));
    few_ = few;
    return points;
  }

  // No loop inside is over more than a few points.
  static bool is_innermost(const ir::Stmt& body) {
    bool innermost = true;
    ir::walk(
        body,
        [&](const ir::Stmt& s) {
          const auto* loop = s.as<ir::For>();
          const auto* extent = loop ? as_int(loop->extent) : nullptr;
          const auto* vector = loop ? loop->body.as<ir::For>() : nullptr;
          const bool lanes = vector && vector->kind == LoopKind::Vectorized;
          const std::int64_t points = lanes ? *as_int(vector->extent) : 1;
          if (loop && !(extent && *extent * points <= kFewIterations)) innermost = false;
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

  Ranges ranges_;
  std::size_t size_;
  bool fewest_copies_, separate_, by_lane_;
  std::int64_t few_ = kFewIterations;  // loops over no more points stay whole
  bool beside_ = false;                // the interior of an outer loop
  std::set<std::string> tiles_;        // the loops inside of tiles that have an interior
  std::set<std::string> rows_;         // the loops over the rows of a block
};

// A nest with room for the copies that two or three nested loops make; a larger one has edges in its
// innermost loops only, where they cost vectors: in outer loops they cost a few operations a row.
bool has_room(const ir::Stmt& body, std::size_t size) {
  if (size * kMostCopies <= kLargestSplit) return true;
  if (size * kMostFusedCopies > kLargestSplit) return false;
  bool fused = false;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* loop = s.as<ir::For>();
        fused = fused || (loop && fused_of(*loop));
      },
      nullptr);
  return fused;
}

}  // namespace

void split_interiors(Program& program) {
  for (auto& nest : program.nests) {
    if (nest.on_device) continue;
    if (const ir::Stmt spread = spread_ends(nest.body); !spread.same_as(nest.body)) {
      nest.body = simplify(spread);
      if (!nest.body.defined()) continue;  // over no points
    }
    const LowerOptions& options = program.options;
    const bool by_lane = options.target.backend == Backend::HostChecked || !options.variant.unit_stride;
    const std::size_t size = size_of(nest.body) * (by_lane ? kNodesByLane : 1);
    nest.body =
        Splitter(size, !has_room(nest.body, size), options.variant.separate, by_lane).run(nest.body);
  }
}

}  // namespace mica::passes
