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
#include "codegen/passes/loops/edge_windows.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Inequality;
using analysis::Interior;
using analysis::Linear;
using analysis::Ranges;

constexpr std::int64_t kFewIterations = 64;
constexpr std::size_t kMostCopies = 15;

Expr wide(const Expr& e) { return cast(Int(64), e); }
Expr wide(std::int64_t value) { return make_const(Int(64), value); }

Expr wide(const Linear& form) { return analysis::to_wide_expr(form); }

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

/// A loop over vectors whose points lie on one line: everything in it depends on width*x + lane only. So
/// a vector may begin at any point of the line, and be computed twice.
struct Line {
  std::string lane;
  std::int64_t width = 0;
  ir::Stmt inside;                       ///< a point, where the inequalities hold
  std::vector<Inequality> inequalities;  ///< in x, with the lane in their rests
  std::optional<EdgeWindows> windows = {};

  /// What asks for the same of a whole vector.
  [[nodiscard]] std::vector<Inequality> of_vectors(std::vector<Inequality> all) const {
    for (auto& one : all) {
      const std::int64_t step = one.rest.take(lane);
      if (step < 0) one.rest.constant += step * (width - 1);
    }
    return all;
  }
};

// Does every expression of the statement depend on width*x + lane only?
bool is_on_line(const ir::Stmt& s, const std::string& x, const std::string& lane, std::int64_t width) {
  bool same = true;
  const auto moved = [&](const std::string& name) {
    if (name == x) return make_var(x) + 1;
    return name == lane ? make_var(lane) - make_const(Int(32), width) : Expr();
  };
  std::function<ir::Stmt(const ir::Stmt&)> visit = [&](const ir::Stmt& child) {
    return ir::map_children(child, visit, [&](const Expr& e) {
      same = same && equal(simplify(substitute(e, moved)), simplify(e));
      return e;
    });
  };
  visit(s);
  return same;
}

// Nothing but stores that may be repeated: of arrays that nothing here reads, and without lines.
bool is_repeatable(const ir::Stmt& body) {
  std::set<std::string> stored, loaded;
  bool plain = true;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* store = s.as<ir::Store>();
        if (store) stored.insert(store->buffer);
        plain = plain && (store ? !store->streamed : s.as<ir::Block>() || s.as<ir::LetStmt>());
      },
      [&](const Expr& e) {
        if (const auto* load = e.as<Load>()) loaded.insert(load->buffer);
        plain = plain && e.as<Print>() == nullptr;
      });
  return plain && std::none_of(stored.begin(), stored.end(),
                               [&](const std::string& name) { return loaded.count(name) > 0; });
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
    const bool innermost = is_innermost(loop.body);
    const bool may_split = (loop.kind == LoopKind::Serial || loop.kind == LoopKind::Parallel) &&
                           !(count && *count <= few_) && !allocates(loop.body);
    const bool splits = may_split && (innermost || !fewest_copies_);
    if (may_split && fewest_copies_) {
      // The conditions of outer loops are the copies' own.
      const StillDivisions still = bind_still(loop);
      if (!still.values.empty()) {
        ir::Stmt result = run(ir::make_stmt(
            ir::For{loop.name, loop.min, loop.extent, loop.kind, still.body, loop.rolled}));
        for (auto it = still.values.rbegin(); it != still.values.rend(); ++it) {
          result = let(it->first, it->second, result);
        }
        return result;
      }
    }
    if (splits) {
      Interior interior(loop.name, loop.body, ranges_);
      const ir::Stmt inside = interior.run(loop.body);
      const auto line = line_of(loop, interior.failures());
      const std::size_t copies = line ? 3 : innermost && !fewest_copies_ ? 4 : 1;
      const std::size_t grown = size_ + copies * size_of(loop.body);
      const bool fits = fewest_copies_ || grown <= kLargestSplit;
      if (fits && line) {
        size_ = grown;
        return split_line(loop, *line);
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
      return with_ends(in_parts(loop, inside, [&](const Expr&) { return points; }));
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

  static std::string first_of(const ir::For& loop) { return loop.name + ".inside"; }
  static std::string last_of(const ir::For& loop) { return loop.name + ".outside"; }
  static ir::Stmt let_ends(const ir::For& loop, const std::pair<Expr, Expr>& ends,
                           const ir::Stmt& body) {
    return let(first_of(loop), ends.first, let(last_of(loop), ends.second, body));
  }
  static ir::Stmt let(const std::string& name, const Expr& value, const ir::Stmt& body) {
    return ir::make_stmt(ir::LetStmt{name, value, body});
  }

  static ir::Stmt part(const ir::For& loop, const Expr& from, const Expr& to, const ir::Stmt& body) {
    return ir::make_stmt(ir::For{loop.name, from, simplify(to - from), loop.kind, body, loop.rolled});
  }

  // The parts one after the other. `edge(left)` is the body at the left edge where that Expr holds, else
  // at the right one: with the fewest copies, both by the same code.
  template <typename Edge>
  ir::Stmt in_parts(const ir::For& loop, const ir::Stmt& inside, Edge edge) const {
    const Expr begin = make_var(first_of(loop)), end = make_var(last_of(loop));
    const Expr stop = simplify(loop.min + loop.extent);
    const ir::Stmt interior = part(loop, begin, end, inside);
    if (!fewest_copies_) {
      return ir::make_block({part(loop, loop.min, begin, edge(make_const(Bool(), 1))), interior,
                             part(loop, end, stop, edge(make_const(Bool(), 0)))});
    }
    const std::string name = loop.name + ".part";
    const Expr left = make_var(name) == 0, is_interior = make_var(name) == 1;
    const ir::Stmt edges =
        part(loop, select(left, loop.min, end), select(left, begin, stop), edge(left));
    return ir::make_stmt(ir::For{name, Expr(0), Expr(3), LoopKind::Serial,
                                 ir::make_stmt(ir::If{is_interior, interior, edges})});
  }

  std::optional<Line> line_of(const ir::For& loop, std::size_t failures) {
    const auto* vector = loop.body.as<ir::For>();
    if (!separate_ || loop.kind != LoopKind::Serial || !vector || vector->kind != LoopKind::Vectorized ||
        !is_const(vector->min, 0) || !is_repeatable(vector->body)) {
      return {};
    }
    Line line;
    line.lane = vector->name;
    line.width = *as_int(vector->extent);
    analysis::push_loop(ranges_, vector->name, vector->min, vector->extent);
    Interior points(loop.name, vector->body, ranges_);
    line.inside = points.run(vector->body);
    if (fewest_copies_) line.windows = find_windows(loop, ranges_);
    ranges_.pop();
    line.inequalities = points.inequalities();
    const auto along = [&](const Inequality& one) {
      Linear rest = one.rest;
      return rest.take(line.lane) * line.width == one.factor &&
             std::none_of(rest.terms.begin(), rest.terms.end(),
                          [&](const auto& term) { return uses_var(term.first, line.lane); });
    };
    const bool legal = !line.inequalities.empty() && points.failures() <= failures &&
                       std::all_of(line.inequalities.begin(), line.inequalities.end(), along) &&
                       is_on_line(line.inside, loop.name, line.lane, line.width);
    return legal ? std::optional(line) : std::nullopt;
  }

  // Vectors inside; beside them, a vector that is moved until it is inside; what is left, point by
  // point.
  ir::Stmt split_line(const ir::For& loop, const Line& line) const {
    const auto with_ends = [&](const ir::Stmt& body) {
      return let_ends(loop, ends_of(loop, line.of_vectors(line.inequalities)), body);
    };
    if (line.windows) return with_ends(split_windowed(loop, line));
    return with_ends(in_parts(loop, vector(line, line.inside),
                              [&](const Expr& left) { return edge_of_line(loop, line, left); }));
  }

  // In the vector at hand, the first lane that is inside at the left edge, or the one after the last at
  // the right.
  static Expr cut_of(const ir::For& loop, const Line& line, const Expr& left) {
    const Expr at = make_var(loop.name), width = wide(line.width);
    Expr low = wide(0), high = width;
    for (auto one : line.inequalities) {
      const std::int64_t step = one.rest.take(line.lane);
      const Expr value = wide(at) * wide(one.factor) + wide(one.rest);
      if (step > 0) {
        low = max(low, (wide(step - 1) - value) / wide(step));
      } else {
        high = min(high, value / wide(-step) + wide(1));
      }
    }
    return cast(Int(32), max(min(select(left, low, high), width), wide(0)));
  }
  static ir::Stmt points_of_line(const Line& line, const Expr& from, const Expr& to,
                                 const ir::Stmt& point) {
    return ir::make_stmt(ir::For{line.lane, from, simplify(to - from), LoopKind::Serial, point});
  }
  // The vector that is moved beside the first `cut` lanes, or before it.
  static ir::Stmt vector_beside(const Line& line, const Expr& left, const Expr& cut,
                                const ir::Stmt& point) {
    const Expr moved = make_var(line.lane) + select(left, cut, cut - make_const(Int(32), line.width));
    return vector(line, ir::substitute(point, line.lane, moved));
  }

  static ir::Stmt edge_of_line(const ir::For& loop, const Line& line, const Expr& left) {
    const Expr begin = make_var(first_of(loop)), end = make_var(last_of(loop));
    const std::string near_name = loop.name + ".near", cut_name = loop.name + ".cut";
    const Expr near = make_var(near_name) == 1, cut = make_var(cut_name), at = make_var(loop.name);
    const Expr lanes = make_const(Int(32), line.width);
    const Expr is_near = begin < end && at == select(left, begin - 1, end);
    const Expr from = select(left, Expr(0), cut), to = select(left, cut, lanes);
    const ir::Stmt points = points_of_line(line, from, to, loop.body.as<ir::For>()->body);
    const ir::Stmt beside = vector_beside(line, left, cut, line.inside);
    return let(near_name, select(is_near, Expr(1), Expr(0)),
               let(cut_name, select(near, cut_of(loop, line, left), select(left, lanes, Expr(0))),
                   ir::make_block({points, ir::make_stmt(ir::If{near, beside, {}})})));
  }

  // First the windows of the vectors beside the interior, so that the processor has stored them when
  // they are read; then the interior; then those vectors, and what is left point by point.
  static ir::Stmt split_windowed(const ir::For& loop, const Line& line) {
    const EdgeWindows& windows = *line.windows;
    const Expr begin = make_var(first_of(loop)), end = make_var(last_of(loop));
    const Expr stop = simplify(loop.min + loop.extent), lanes = make_const(Int(32), line.width);
    const std::string side = EdgeWindows::side_of(loop), cut_name = loop.name + ".cut";
    const std::string kept_name = loop.name + ".kept";
    const Expr left = make_var(side) == 0, is_kept = make_var(kept_name) == 1;
    const Expr at = select(left, begin - 1, end), cut = make_var(cut_name);
    const auto clear = ends_of(loop, line.of_vectors(windows.inequalities));
    const std::string from_name = loop.name + ".clear", to_name = loop.name + ".blocked";
    const Expr keeps = begin < end && at >= loop.min && at < stop && at >= make_var(from_name) &&
                       at < make_var(to_name);
    const auto each_side = [&](const ir::Stmt& body) {
      return ir::make_stmt(ir::For{side, Expr(0), Expr(2), LoopKind::Serial,
                                   let(kept_name, select(keeps, Expr(1), Expr(0)), body)});
    };
    const Expr from = select(left, Expr(0), cut), to = select(left, cut, lanes);
    const ir::Stmt fill =
        let(loop.name, at,
            let(cut_name, cut_of(loop, line, left),
                ir::make_block({points_of_line(line, from, to, windows.fill),
                                vector_beside(line, left, cut, windows.fill_inside)})));
    const ir::Stmt edge =
        ir::make_stmt(ir::If{is_kept && make_var(loop.name) == at, vector(line, windows.body),
                             points_of_line(line, Expr(0), lanes, loop.body.as<ir::For>()->body)});
    const ir::Stmt all = ir::make_block(
        {each_side(ir::make_stmt(ir::If{is_kept, fill, {}})),
         part(loop, begin, end, vector(line, line.inside)),
         each_side(part(loop, select(left, loop.min, end), select(left, begin, stop), edge))});
    return let(from_name, clear.first, let(to_name, clear.second, windows.around(all, line.width)));
  }

  static ir::Stmt vector(const Line& line, const ir::Stmt& point) {
    return ir::make_stmt(
        ir::For{line.lane, Expr(0), make_const(Int(32), line.width), LoopKind::Vectorized, point});
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
