#include "codegen/passes/loops/vector_line.h"

#include <algorithm>
#include <limits>
#include <set>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/equal.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/loops/loop_parts.h"
#include "codegen/passes/loops/unroll_loops.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Inequality;
using analysis::Interior;
using analysis::Linear;
using analysis::Ranges;

constexpr std::int64_t kMostWrittenOut = 200;  // points of a reduction's box, in all rows
constexpr std::int64_t kOwnLanes = 16;  // What each lane does by itself is as much code as so many.
constexpr std::int64_t kMostNodesWrittenOut = 14'000;  // of 16 lanes; each is asked for its taps

/// Does every expression of the statement depend on width*x + lane only?
bool is_on_line(const ir::Stmt& s, const std::string& x, const std::string& lane, std::int64_t width) {
  bool same = true;
  const auto moved = [&](const std::string& name) {
    if (name == x) return make_var(x) + 1;
    return name == lane ? make_var(lane) - make_const(Int(32), width) : Expr();
  };
  ir::map_exprs(s, [&](const Expr& e) {
    same = same && equal(simplify(substitute(e, moved)), simplify(e));
    return e;
  });
  return same;
}

/// Nothing but stores: no atomic ones, none past the caches, and no lines to print.
bool is_plain(const ir::Stmt& body) {
  bool plain = true;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* store = s.as<ir::Store>();
        const auto* loop = s.as<ir::For>();
        const bool few = loop != nullptr && as_int(loop->extent) != nullptr &&
                         (loop->kind == LoopKind::Unrolled || loop->kind == LoopKind::Serial);
        const bool holds = s.as<ir::Block>() || s.as<ir::LetStmt>() || few;
        plain = plain && (store ? !store->streamed && !store->atomic : holds);
      },
      [&](const Expr& e) { plain = plain && e.as<Print>() == nullptr; });
  return plain;
}

/// Its loops, which are all of a constant number of points, as ones that are written out; `copies`
/// becomes how many copies of a store there are then.
ir::Stmt to_write_out(const ir::Stmt& s, std::int64_t& copies) {
  std::int64_t most = 1;
  const auto child = [&](const ir::Stmt& of) {
    std::int64_t own = 1;
    ir::Stmt result = to_write_out(of, own);
    most = std::max(most, own);
    return result;
  };
  ir::Stmt result = ir::map_children(s, child, [](const Expr& e) { return e; });
  const auto* loop = result.as<ir::For>();
  copies = most * (loop != nullptr ? std::min(*as_int(loop->extent), kMostWrittenOut + 1) : 1);
  copies = std::min(copies, kMostWrittenOut + 1);
  if (loop == nullptr) return result;
  return ir::make_stmt(
      ir::For{loop->name, loop->min, loop->extent, LoopKind::Unrolled, loop->body, loop->rolled});
}

/// With its loops written out, for so many lanes; undefined where they are over too many points
/// together.
ir::Stmt written_out(const ir::Stmt& s, std::int64_t lanes) {
  std::int64_t copies = 1;
  const ir::Stmt loops = to_write_out(s, copies);
  const auto nodes = static_cast<std::int64_t>(size_of(s));
  const std::int64_t vectors = std::max<std::int64_t>(lanes / 16, 1);
  const bool few =
      copies == 1 || (copies <= kMostWrittenOut && copies * nodes * vectors <= kMostNodesWrittenOut);
  return few ? unroll_loops(loops) : ir::Stmt();
}

/// May its stores be repeated, as nothing here reads what they store to?
bool is_repeatable(const ir::Stmt& body) {
  std::set<std::string> stored, loaded;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* store = s.as<ir::Store>()) stored.insert(store->buffer);
      },
      [&](const Expr& e) {
        if (const auto* load = e.as<Load>()) loaded.insert(load->buffer);
      });
  return std::none_of(stored.begin(), stored.end(),
                      [&](const std::string& name) { return loaded.count(name) > 0; });
}

/// A point as one of the vector that begins at the line's number `point`.
ir::Stmt from_point(const Line& line, const ir::For& loop, const ir::Stmt& body) {
  const Expr moved = make_var(line.point) + make_var(line.lane);
  NodeRewriter rewrite([&](const Expr& e) {  // one for all, so that what is shared stays so
    const auto* var = e.as<VarRef>();
    if (var && var->name == line.lane) return moved;
    return var && var->name == loop.name ? Expr(0) : Expr();
  });
  return ir::map_exprs(body, [&](const Expr& e) { return rewrite(e); });
}

ir::Stmt vector(const Line& line, const ir::Stmt& point) {
  return ir::make_stmt(
      ir::For{line.lane, Expr(0), make_const(Int(32), line.width), LoopKind::Vectorized, point});
}

ir::Stmt points_of_line(const Line& line, const Expr& from, const Expr& to, const ir::Stmt& point) {
  return ir::make_stmt(ir::For{line.lane, from, simplify(to - from), LoopKind::Serial, point});
}

/// The first point of vector `x`, which begins no later than a whole vector before the line's end.
Expr start_of(const Line& line, const Expr& x) {
  const Expr lanes = make_const(Int(32), line.width), at = x * lanes;
  return line.points.defined() ? min(at, line.points - lanes) : at;
}

/// Vector x of the loop, of such points.
ir::Stmt vector_at_point(const ir::For& loop, const Line& line, const ir::Stmt& point) {
  return let(line.point, start_of(line, make_var(loop.name)), vector(line, point));
}

/// How many points of the line the vector has where it is not moved.
Expr count_of(const ir::For& loop, const Line& line) {
  const Expr lanes = make_const(Int(32), line.width);
  return line.points.defined() ? min(lanes, line.points - make_var(loop.name) * lanes) : lanes;
}

/// Its points one by one.
ir::Stmt points_of_vector(const ir::For& loop, const Line& line) {
  return points_of_line(line, Expr(0), count_of(loop, line), loop.body.as<ir::For>()->body);
}

/// The first and last point at which a vector may begin that chooses its taps.
std::pair<Expr, Expr> points_of_edges(const Line& line, const EdgeLanes& edge) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max();
  const auto [first, last] =
      range_where(line.of_vectors(edge.inequalities), wide(0), wide(kLast), wide(-1));
  return {cast(Int(32), min(first, wide(kLast))), cast(Int(32), max(last, wide(-1)))};
}

/// In the vector at hand, the first lane that is inside at the left edge, or the one after the last at
/// the right.
Expr cut_of(const ir::For& loop, const Line& line, const Expr& left) {
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

/// The vector that is moved beside the first `cut` lanes, or before it.
ir::Stmt vector_beside(const Line& line, const Expr& left, const Expr& cut, const ir::Stmt& point) {
  const Expr moved = make_var(line.lane) + select(left, cut, cut - make_const(Int(32), line.width));
  return vector(line, ir::substitute(point, line.lane, moved));
}

ir::Stmt edge_of_line(const ir::For& loop, const Line& line, const Expr& left) {
  const Expr begin = make_var(first_of(loop)), end = make_var(last_of(loop));
  const std::string near_name = loop.name + ".near", cut_name = loop.name + ".cut";
  const Expr near = make_var(near_name) == 1, cut = make_var(cut_name), at = make_var(loop.name);
  const Expr count = count_of(loop, line);
  const Expr is_near = begin < end && at == select(left, begin - 1, end);
  const Expr from = select(left, Expr(0), cut), to = select(left, cut, count);
  const ir::Stmt points = points_of_line(line, from, to, loop.body.as<ir::For>()->body);
  const ir::Stmt beside = vector_beside(line, left, cut, line.inside);
  return let(
      near_name, select(is_near, Expr(1), Expr(0)),
      let(cut_name, select(near, min(cut_of(loop, line, left), count), select(left, count, Expr(0))),
          ir::make_block({points, ir::make_stmt(ir::If{near, beside, {}})})));
}

/// A row whose vectors beside the interior choose their taps.
class ChoosingRow {
 public:
  ChoosingRow(const ir::For& loop, const Line& line) : loop_(loop), line_(line) {}

  /// Both edges by the same code, which chooses at either end, or is point by point.
  [[nodiscard]] ir::Stmt shared() const {
    const auto [from, to] = points_of_edges(line_, *line_.edge);
    const Expr first = make_var(loop_.name + ".first"), last = make_var(loop_.name + ".last");
    const Expr nearest = select(begin_ > loop_.min, at(loop_.min), at(end_));
    const Expr furthest = select(end_ < line_.stop, at(line_.stop - 1), at(begin_ - 1));
    const Expr fits =
        (begin_ <= loop_.min && end_ >= line_.stop) || (first <= nearest && furthest <= last);
    const ir::Stmt edge = vector_at_point(loop_, line_, line_.edge->body);
    const std::string name = loop_.name + ".chooses";  // the vectors inside are the same either way
    const ir::Stmt parts =
        in_parts(loop_, vector(line_, line_.inside), line_.stop, Edges::Shared, [&](const Expr& left) {
          return ir::make_stmt(ir::If{make_var(name) == 1, edge, beside(left)});
        });
    return let(loop_.name + ".first", from,
               let(loop_.name + ".last", to, let(name, select(fits, Expr(1), Expr(0)), parts)));
  }

  /// Each edge chooses at its own end, unless the row is so short that a vector sticks out at both.
  [[nodiscard]] ir::Stmt apart() const {
    const auto [from, last] = points_of_edges(line_, *line_.left);
    const auto [first, to] = points_of_edges(line_, *line_.right);
    const Expr left = begin_ <= loop_.min || (from <= at(loop_.min) && at(begin_ - 1) <= last);
    const Expr right = end_ >= line_.stop || (first <= at(end_) && at(line_.stop - 1) <= to);
    // The left end of a periodic row reads the right one, which is in the cache once it was computed.
    const bool left_last = line_.repeatable && line_.left->far;
    const ir::Stmt parts = in_parts(
        loop_, vector(line_, line_.inside), line_.stop, left_last ? Edges::LeftLast : Edges::Apart,
        [&](const Expr& is_left) {
          return vector_at_point(loop_, line_, (is_const(is_left, 1) ? line_.left : line_.right)->body);
        });
    return ir::make_stmt(ir::If{left && right, parts, short_row()});
  }

 private:
  [[nodiscard]] Expr at(const Expr& x) const { return start_of(line_, x); }
  /// A row whose own points are outside, as of a Func that others read beside theirs: what no vector can
  /// choose is computed point by point, next to a vector that is moved if nothing reads what is stored.
  [[nodiscard]] ir::Stmt points() const {
    return in_parts(loop_, vector(line_, line_.inside), line_.stop, Edges::Shared,
                    [this](const Expr& left) { return beside(left); });
  }
  [[nodiscard]] ir::Stmt beside(const Expr& left) const {
    return line_.repeatable ? edge_of_line(loop_, line_, left) : points_of_vector(loop_, line_);
  }
  /// Every vector chooses at both ends.
  [[nodiscard]] ir::Stmt short_row() const {
    const auto [from, to] = points_of_edges(line_, *line_.edge);
    const Expr fits = from <= at(loop_.min) && at(line_.stop - 1) <= to;
    const ir::Stmt vectors =
        part(loop_, loop_.min, line_.stop, vector_at_point(loop_, line_, line_.edge->body));
    return ir::make_stmt(ir::If{fits, vectors, points()});
  }

  const ir::For& loop_;
  const Line& line_;
  Expr begin_ = make_var(first_of(loop_)), end_ = make_var(last_of(loop_));
};

}  // namespace

std::vector<Inequality> Line::of_vectors(std::vector<Inequality> all) const {
  for (auto& one : all) {
    const std::int64_t step = one.rest.take(lane);
    if (step < 0) one.rest.constant += step * (width - 1);
  }
  return all;
}

ir::For with_lanes_around(const ir::For& loop) {
  std::vector<const ir::For*> written_out;
  const auto* inner = loop.body.as<ir::For>();
  for (; inner && inner->kind == LoopKind::Unrolled; inner = inner->body.as<ir::For>()) {
    written_out.push_back(inner);
  }
  const bool lanes = inner && (inner->kind == LoopKind::Vectorized || inner->kind == LoopKind::Serial);
  if (written_out.empty() || !lanes) return loop;
  const auto follows = [&](const Expr& e) {
    return std::any_of(written_out.begin(), written_out.end(),
                       [&](const ir::For* of) { return uses_var(e, of->name); });
  };
  if (follows(inner->min) || follows(inner->extent)) return loop;
  ir::Stmt body = inner->body;
  for (auto it = written_out.rbegin(); it != written_out.rend(); ++it) {
    const ir::For& of = **it;
    body = ir::make_stmt(ir::For{of.name, of.min, of.extent, of.kind, body, of.rolled});
  }
  body =
      ir::make_stmt(ir::For{inner->name, inner->min, inner->extent, inner->kind, body, inner->rolled});
  return {loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled};
}

Expr points_of_row(const ir::For& loop, const ir::For& tail) {
  const auto* vector = loop.body.as<ir::For>();
  const auto* rest = tail.body.as<ir::For>();
  if (!vector || !rest || vector->kind != LoopKind::Vectorized || rest->kind != LoopKind::Serial ||
      tail.kind != loop.kind || tail.name != loop.name || rest->name != vector->name ||
      !is_const(rest->min, 0) || !equal(simplify(tail.min - loop.extent), loop.min) ||
      !ir::equal(vector->body, rest->body)) {
    return {};
  }
  const auto* fewer = rest->extent.as<Binary>();
  if (!fewer || fewer->op != BinaryOp::Min) return {};
  const bool first = equal(fewer->a, vector->extent);
  if (!first && !equal(fewer->b, vector->extent)) return {};
  Expr points = simplify((first ? fewer->b : fewer->a) + make_var(loop.name) * vector->extent);
  return uses_var(points, loop.name) ? Expr() : points;
}

std::optional<Line> line_of(const ir::For& loop, const Expr& points, const Expr& stop, bool shared_edges,
                            bool by_lane, Ranges& ranges) {
  const auto* vector = loop.body.as<ir::For>();
  if (loop.kind != LoopKind::Serial || !vector || vector->kind != LoopKind::Vectorized ||
      !is_const(loop.min, 0) || !is_const(vector->min, 0) || !is_plain(vector->body)) {
    return {};
  }
  const bool repeatable = is_repeatable(vector->body);
  if (!repeatable && points.defined()) return {};
  Interior vectors(loop.name, loop.body, ranges);
  vectors.run(loop.body);
  Line line;
  line.lane = vector->name;
  line.width = *as_int(vector->extent);
  line.points = points;
  line.stop = stop;
  line.point = loop.name + ".point";
  line.shared_edges = shared_edges;
  line.repeatable = repeatable;
  analysis::push_loop(ranges, vector->name, vector->min, vector->extent);
  Interior inside(loop.name, vector->body, ranges);
  line.inside = inside.run(vector->body);
  line.inequalities = inside.inequalities();
  const auto along = [&](const Inequality& one) {
    Linear rest = one.rest;
    return rest.take(line.lane) * line.width == one.factor &&
           std::none_of(rest.terms.begin(), rest.terms.end(),
                        [&](const auto& term) { return uses_var(term.first, line.lane); });
  };
  const bool legal = (points.defined() || !line.inequalities.empty()) &&
                     inside.failures() <= vectors.failures() &&
                     std::all_of(line.inequalities.begin(), line.inequalities.end(), along) &&
                     is_on_line(line.inside, loop.name, line.lane, line.width);
  if (legal && !line.inequalities.empty()) {
    const Expr all = points.defined() ? points : simplify(stop * vector->extent);
    analysis::push_loop(ranges, line.point, Expr(0), all);
    const ir::Stmt point =
        written_out(from_point(line, loop, vector->body), line.width * (by_lane ? kOwnLanes : 1));
    const auto edge_at = [&](RowEnds ends) {
      return point.defined() ? find_edge_lanes(point, line.point, line.lane, line.width, ranges, ends)
                             : std::nullopt;
    };
    line.edge = edge_at(RowEnds::Both);
    if (line.edge && !shared_edges) {
      line.left = edge_at(RowEnds::Left);
      line.right = edge_at(RowEnds::Right);
    }
    ranges.pop();
  }
  ranges.pop();
  return legal && (repeatable || line.edge) ? std::optional(line) : std::nullopt;
}

ir::Stmt split_line(const ir::For& loop, const Line& line) {
  const auto with_ends = [&](const ir::Stmt& body) {
    return let_ends(loop, ends_of(loop, line.of_vectors(line.inequalities)), body);
  };
  // Rows of fewer points than a vector, and such as are beyond what an edge may be, are all points:
  // where single vectors were, LLVM would work out the addresses of their points in each row.
  if (line.inequalities.empty()) {
    const ir::Stmt last = from_point(line, loop, loop.body.as<ir::For>()->body);
    const Expr end = simplify(loop.min + loop.extent);
    const auto behind = [&](const ir::Stmt& body) { return part(loop, end, line.stop, body); };
    const Expr fits = line.points >= make_const(Int(32), line.width);
    return ir::make_block(
        {ir::make_stmt(loop), ir::make_stmt(ir::If{fits, behind(vector_at_point(loop, line, last)),
                                                   behind(points_of_vector(loop, line))})});
  }
  if (line.edge) {
    const ChoosingRow row(loop, line);
    return with_ends(line.left && line.right ? row.apart() : row.shared());
  }
  return with_ends(in_parts(loop, vector(line, line.inside), line.stop,
                            line.shared_edges ? Edges::Shared : Edges::Apart,
                            [&](const Expr& left) { return edge_of_line(loop, line, left); }));
}

}  // namespace mica::passes
