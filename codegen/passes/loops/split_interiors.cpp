#include "codegen/passes/loops/split_interiors.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/analysis/interiors.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/funcs/bind_still.h"
#include "codegen/passes/loops/loop_parts.h"
#include "codegen/passes/loops/vector_line.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Interior;
using analysis::Ranges;

constexpr std::int64_t kFewIterations = 64;
constexpr std::size_t kMostCopies = 15;
constexpr std::size_t kLargestMoved = 4'000;  // nodes of a body that has a copy for a row's last vector

std::size_t size_of(const ir::Stmt& s) {
  std::size_t nodes = 0;
  ir::walk(s, nullptr, [&](const Expr&) { ++nodes; });
  return nodes;
}

class Splitter {
 public:
  /// `size`: of the nest. `fewest_copies`: only innermost loops are split, into three parts of which two
  /// share their code. `separate`: no output is the memory of an input.
  Splitter(std::size_t size, bool fewest_copies, bool separate)
      : size_(size), fewest_copies_(fewest_copies), separate_(separate) {}

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
  ir::Stmt run_row(const ir::For& loop, const ir::For& tail) {
    const Expr points = points_of_row(loop, tail);
    if (!points.defined() || !may_split(loop)) return {};
    const std::size_t grown = size_ + 2 * size_of(loop.body);
    if (!fewest_copies_ && grown > kLargestSplit) return {};
    const StillDivisions still = fewest_copies_ ? bind_still(loop) : StillDivisions{loop.body, {}};
    const ir::For row{loop.name, loop.min, loop.extent, loop.kind, still.body, loop.rolled};
    analysis::push_loop(ranges_, loop.name, loop.min, loop.extent);
    const auto line =
        separate_ ? line_of(row, points, simplify(tail.min + tail.extent), ranges_) : std::nullopt;
    ranges_.pop();
    if (!line || (line->inequalities.empty() ? size_of(loop.body) > kLargestMoved : !line->edge)) {
      return {};
    }
    size_ = grown;
    return with_values(still, split_line(row, *line, fewest_copies_));
  }

  static ir::Stmt with_values(const StillDivisions& still, ir::Stmt loop) {
    for (auto it = still.values.rbegin(); it != still.values.rend(); ++it) {
      loop = let(it->first, it->second, loop);
    }
    return loop;
  }

  bool may_split(const ir::For& loop) const {
    const auto count = analysis::range_of(loop.extent, ranges_).max;
    return (loop.kind == LoopKind::Serial || loop.kind == LoopKind::Parallel) &&
           !(count && *count <= few_) && !allocates(loop.body);
  }

  ir::Stmt run_loop(const ir::Stmt& s, const ir::For& loop) {
    const bool innermost = is_innermost(loop.body);
    const bool may_split = this->may_split(loop);
    const bool splits = may_split && (innermost || !fewest_copies_);
    if (may_split && fewest_copies_) {
      // The conditions of outer loops are the copies' own.
      const StillDivisions still = bind_still(loop);
      if (!still.values.empty()) {
        return with_values(still, run(ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind,
                                                            still.body, loop.rolled})));
      }
    }
    if (splits) {
      Interior interior(loop.name, loop.body, ranges_);
      const ir::Stmt inside = interior.run(loop.body);
      const auto line =
          separate_ ? line_of(loop, {}, simplify(loop.min + loop.extent), ranges_) : std::nullopt;
      const std::size_t copies = line ? 3 : innermost && !fewest_copies_ ? 4 : 1;
      const std::size_t grown = size_ + copies * size_of(loop.body);
      const bool fits = fewest_copies_ || grown <= kLargestSplit;
      if (fits && line && !line->inequalities.empty()) {
        size_ = grown;
        return split_line(loop, *line, fewest_copies_);
      }
      if (fits && !interior.inequalities().empty()) {
        size_ = grown;
        return split(loop, inside, ends_of(loop, interior.inequalities()));
      }
    }
    const ir::Stmt body = run(loop.body);
    if (body.same_as(loop.body)) return s;
    return ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled});
  }

  ir::Stmt split(const ir::For& loop, const ir::Stmt& inside, const std::pair<Expr, Expr>& ends) {
    const Expr begin = make_var(first_of(loop)), end = make_var(last_of(loop)), at = make_var(loop.name);
    const auto with_ends = [&](const ir::Stmt& body) { return let_ends(loop, ends, body); };
    if (fewest_copies_ || (loop.kind == LoopKind::Serial && is_innermost(loop.body))) {
      const ir::Stmt points = points_of(loop.body);
      return with_ends(in_parts(loop, inside, simplify(loop.min + loop.extent), fewest_copies_,
                                [&](const Expr&) { return points; }));
    }
    const ir::Stmt chosen = ir::make_stmt(ir::If{begin <= at && at < end, run(inside), run(loop.body)});
    return ir::make_stmt(
        ir::For{loop.name, loop.min, loop.extent, loop.kind, with_ends(chosen), loop.rolled});
  }

  // Of a vector at an edge most points are inside: one by one, they need no clamp either.
  ir::Stmt points_of(const ir::Stmt& body) {
    const std::int64_t few = std::exchange(few_, 1);
    ir::Stmt points = run(one_by_one(body));
    few_ = few;
    return points;
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
  bool fewest_copies_, separate_;
  std::int64_t few_ = kFewIterations;  // loops of no more iterations stay whole
};

// A nest with room for the copies that two or three nested loops make; a larger one has edges in its
// innermost loops only, where they cost vectors: in outer loops they cost a few operations a row.
bool has_room(std::size_t size) { return size * kMostCopies <= kLargestSplit; }

}  // namespace

void split_interiors(Program& program) {
  for (auto& nest : program.nests) {
    if (nest.on_device) continue;
    const std::size_t size = size_of(nest.body);
    nest.body = Splitter(size, !has_room(size), program.options.variant.separate).run(nest.body);
  }
}

}  // namespace mica::passes
