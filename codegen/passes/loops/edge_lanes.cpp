#include "codegen/passes/loops/edge_lanes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Inequality;
using analysis::Interior;
using analysis::Linear;
using analysis::Ranges;

constexpr std::size_t kMostEnds = 256;  // of which a vector has comparisons

bool same_form(const Linear& a, const Linear& b) {
  Linear difference = a;
  difference.add(b, -1);
  return difference.is_constant() && difference.constant == 0;
}

/// The sign of a form whose names stand for large numbers; 0: unknown.
int sign_of(const Linear& form) {
  if (form.is_constant()) return form.constant < 0 ? -1 : 1;
  const bool up = form.terms.front().second > 0;
  const bool same = std::all_of(form.terms.begin(), form.terms.end(),
                                [&](const auto& term) { return (term.second > 0) == up; });
  return same ? (up ? 1 : -1) : 0;
}

/// An inequality that fails at one end of a row, in the point's number and the lane: `form` >= 0.
struct End {
  Linear form;
  std::int64_t slope = 0;  ///< along the lanes: 1 at the left end, -1 at the right
  std::string cut;         ///< the name of the first lane inside, or of the last one
};

/// Coordinates where the inequality of an end fails.
class Beyond {
 public:
  Beyond(const End& end, std::string point, std::string lane)
      : end_(end), point_(std::move(point)), lane_(std::move(lane)) {}

  /// Undefined where it is not linear there.
  Expr run(const Expr& e) {
    if (!follows(e)) return e;
    if (e.as<VarRef>() != nullptr) return e;
    const auto* op = e.as<Binary>();
    if (op == nullptr || e.type() != Int(32)) return Expr();
    const Expr a = run(op->a), b = run(op->b);
    if (!a.defined() || !b.defined()) return Expr();
    switch (op->op) {
      case BinaryOp::Mod: return remainder(a, b);
      case BinaryOp::Min:
      case BinaryOp::Max: {
        if (!follows(a) && !follows(b)) return make_expr(e.type(), Binary{op->op, a, b});
        const int sign = sign_near(b - a);
        if (sign == 0) return Expr();
        const bool first = (op->op == BinaryOp::Min) == (sign > 0);
        require(sign > 0 ? b - a : a - b);
        return first ? a : b;
      }
      case BinaryOp::Add:
      case BinaryOp::Sub:
      case BinaryOp::Mul: return make_expr(e.type(), Binary{op->op, a, b});
      default: return Expr();
    }
  }

  /// What has to hold, all of it in the outermost lane if it does in all of a vector's lanes outside.
  [[nodiscard]] const std::vector<Linear>& outermost() const { return outermost_; }
  /// What has to hold of numbers that no point changes.
  [[nodiscard]] const std::vector<Linear>& still() const { return still_; }
  [[nodiscard]] bool is_linear() const { return linear_; }
  /// Is the tap of the nearest lane outside not beside the one that would be inside?
  [[nodiscard]] bool is_far(const Expr& outside, const Expr& inside) const {
    const auto between = nearest(analysis::linearize(outside - inside));
    return !between || !between->is_constant();
  }

 private:
  bool follows(const Expr& e) const { return uses_var(e, point_) || uses_var(e, lane_); }

  /// The form in the nearest lane outside, where the end's is -1; nothing where it is not linear.
  std::optional<Linear> nearest(Linear form) const {
    const std::int64_t times = form.coefficient(lane_) * end_.slope;
    form.add(end_.form, -times);
    form.constant -= times;
    for (const auto& term : form.terms) {
      if (follows(term.first)) return {};
    }
    return form;
  }
  /// The sign that it has in the lanes outside; 0: unknown.
  int sign_near(const Expr& e) const {
    const Linear form = analysis::linearize(e);
    const auto near = nearest(form);
    if (!near) return 0;
    const bool is_zero = near->is_constant() && near->constant == 0;
    return is_zero && shrinks(form) ? -1 : sign_of(*near);
  }
  /// From the nearest lane to the outermost.
  bool shrinks(const Linear& form) const { return form.coefficient(lane_) * end_.slope > 0; }
  /// `e` >= 0 in all lanes outside.
  void require(const Expr& e) {
    const Linear form = analysis::linearize(e);
    const auto near = nearest(form);
    if (!near) {
      linear_ = false;
      return;
    }
    if (!near->is_constant() || near->constant < 0) still_.push_back(*near);
    if (shrinks(form)) outermost_.push_back(form);
  }
  Expr remainder(const Expr& a, const Expr& n) {
    if (follows(n)) return Expr();
    const int sign = sign_near(a), over = sign_near(a - n);
    if (sign == 0 || over == 0) return Expr();
    const Expr r = sign < 0 ? a + n : over > 0 ? a - n : a;
    require(r);
    require(n - 1 - r);
    return r;
  }

  const End& end_;
  std::string point_, lane_;
  std::vector<Linear> outermost_, still_;
  bool linear_ = true;
};

class Finder {
 public:
  Finder(const ir::Stmt& body, std::string point, std::string lane, std::int64_t lanes,
         const Ranges& ranges, RowEnds at)
      : body_(body),
        point_(std::move(point)),
        lane_(std::move(lane)),
        lanes_(lanes),
        ranges_(ranges),
        at_(at) {}

  std::optional<EdgeLanes> run() {
    ir::walk(
        body_,
        [this](const ir::Stmt& s) {
          const auto* store = s.as<ir::Store>();
          if (store && !stored_.defined()) stored_ = along(store->index);
        },
        nullptr);
    if (!stored_.defined()) return {};
    // The ends of all taps, before the comparisons that have them, too.
    NodeRewriter taps([this](const Expr& e) { return e.as<Load>() ? of_load(e) : Expr(); });
    const ir::Stmt with_taps = ir::map_exprs(body_, [&](const Expr& e) { return taps(e); });
    if (!legal_ || ends_.empty()) return {};
    NodeRewriter comparisons([this](const Expr& e) { return e.as<Compare>() ? of_compare(e) : Expr(); });
    const ir::Stmt with_cuts = ir::map_exprs(with_taps, [&](const Expr& e) { return comparisons(e); });
    Interior interior(point_, with_cuts, ranges_);
    EdgeLanes result{interior.run(with_cuts), interior.inequalities(), far_};
    for (const Inequality& one : required_) add_inequality(result.inequalities, one);
    if (!legal_) return {};
    for (auto end = ends_.rbegin(); end != ends_.rend(); ++end) {
      result.body = ir::make_stmt(ir::LetStmt{end->cut, cut_of(*end), result.body});
    }
    return result;
  }

 private:
  /// The coordinate that goes along the row.
  [[nodiscard]] Expr along(const std::vector<Expr>& index) const {
    const auto found =
        std::find_if(index.begin(), index.end(), [this](const Expr& e) { return uses_var(e, lane_); });
    return found == index.end() ? Expr() : *found;
  }

  /// What `value` alone asks for, and what it is where that holds.
  std::pair<Expr, std::vector<Inequality>> inside_of(const std::vector<Expr>& index, const Expr& value) {
    const ir::Stmt alone = ir::make_stmt(ir::Store{"", index, value, {}});
    Interior interior(point_, alone, ranges_);
    const ir::Stmt inside = interior.run(alone);
    if (interior.failures() > 0) return {};
    const auto& store = *inside.as<ir::Store>();
    return {index.empty() ? store.value : store.index.front(), interior.inequalities()};
  }

  [[nodiscard]] Linear whole(const Inequality& one) const {
    Linear form = one.rest;
    form.add_term(make_var(point_), one.factor);
    return form;
  }
  void require_of(const Linear& form) {
    Inequality one;
    one.rest = form;
    one.factor = one.rest.take(point_);
    required_.push_back(std::move(one));
  }

  const End* find_end(const Linear& form) const {
    const auto found = std::find_if(ends_.begin(), ends_.end(),
                                    [&](const End& end) { return same_form(end.form, form); });
    return found == ends_.end() ? nullptr : &*found;
  }
  End end_of(const Linear& form) {
    if (const End* known = find_end(form)) return *known;
    ends_.push_back({form, form.coefficient(lane_), point_ + ".cut" + std::to_string(ends_.size())});
    return ends_.back();
  }
  /// Where the lanes inside begin, or the last of them.
  [[nodiscard]] Expr cut_of(const End& end) const {
    Linear form = end.form;
    form.take(lane_);
    return simplify(analysis::to_expr(end.slope > 0 ? form.scaled(-1) : form));
  }
  [[nodiscard]] Expr is_inside(const End& end) const {
    const Expr at = make_var(lane_), cut = make_var(end.cut);
    return end.slope > 0 ? at >= cut : at <= cut;
  }

  Expr of_load(const Expr& e) {
    if (!legal_ || ends_.size() > kMostEnds) return give_up();
    const Load& load = *e.as<Load>();
    const auto at = std::find_if(load.index.begin(), load.index.end(),
                                 [this](const Expr& i) { return uses_var(i, lane_); });
    if (at == load.index.end() ||
        std::any_of(at + 1, load.index.end(), [this](const Expr& i) { return uses_var(i, lane_); })) {
      return Expr();
    }
    const auto [inside, inequalities] = inside_of({*at}, Expr(0));
    if (!inside.defined() || inequalities.empty()) return Expr();
    Linear offset = analysis::linearize(inside);
    offset.add(analysis::linearize(stored_), -1);
    if (!offset.is_constant() || offset.constant == 0) return Expr();
    const std::int64_t slope = offset.constant < 0 ? 1 : -1;
    if (at_ != RowEnds::Both && (at_ == RowEnds::Left) != (slope > 0)) return Expr();
    std::vector<Linear> failing;
    for (const Inequality& one : inequalities) {
      const Linear form = whole(one);
      const std::int64_t steps = form.coefficient(lane_) * slope;
      if (steps > 0) failing.push_back(form);
      if (steps == 0) return give_up();
      if (steps < 0) require_of(form);
    }
    if (failing.empty()) return Expr();
    const std::optional<Linear> fails = first_to_fail(failing, slope);
    if (!fails) return give_up();
    const End end = end_of(*fails);
    Beyond beyond(end, point_, lane_);
    const Expr outside = beyond.run(*at);
    if (!outside.defined() || !beyond.is_linear()) return give_up();
    for (const Linear& form : beyond.outermost()) require_of(form);
    for (const Linear& form : beyond.still()) require_of(form);
    const std::int64_t steps = analysis::linearize(outside).coefficient(lane_);
    if (steps < -1 || steps > 1) return give_up();
    far_ = far_ || beyond.is_far(outside, inside);
    const auto tap = [&](const Expr& index) {
      Load copy = load;
      copy.index[static_cast<std::size_t>(at - load.index.begin())] = index;
      return make_expr(e.type(), std::move(copy));
    };
    return select(is_inside(end), tap(inside),
                  tap(steps != 0 ? simplify(outside) : one_element(end, inside, outside)));
  }

  /// The one that fails next to the interior, where the others still hold.
  std::optional<Linear> first_to_fail(const std::vector<Linear>& forms, std::int64_t slope) {
    const Linear* first = nullptr;
    for (const Linear& form : forms) {
      if (form.coefficient(lane_) != slope) continue;
      Linear less = form;
      if (first != nullptr) less.add(*first, -1);
      if (first == nullptr || sign_of(less) < 0) first = &form;
    }
    if (first == nullptr) return {};
    for (const Linear& form : forms) {
      Linear more = form;
      more.add(*first, -form.coefficient(lane_) * slope);
      if (uses(more)) return {};
      if (!more.is_constant() || more.constant < 0) require_of(more);
    }
    return *first;
  }
  bool uses(const Linear& form) const {
    return std::any_of(form.terms.begin(), form.terms.end(), [this](const auto& term) {
      return uses_var(term.first, point_) || uses_var(term.first, lane_);
    });
  }

  /// The element outside, the same for all lanes; where none is outside, one of those inside.
  Expr one_element(const End& end, const Expr& inside, const Expr& outside) const {
    const Expr outermost = make_const(Int(32), end.slope > 0 ? 0 : lanes_ - 1);
    const Expr cut = make_var(end.cut);
    const Expr any = end.slope > 0 ? outermost < cut : outermost > cut;
    const auto there = [&](const Expr& e) { return simplify(substitute(e, lane_, outermost)); };
    return select(any, there(outside), there(inside));
  }

  /// A comparison that fails where a tap sticks out.
  Expr of_compare(const Expr& e) {
    const auto [inside, inequalities] = inside_of({}, e);
    if (!inside.defined() || inequalities.size() != 1) return Expr();
    const End* end = find_end(whole(inequalities.front()));
    const auto* holds = as_int(inside);
    if (end == nullptr || holds == nullptr) return Expr();
    return *holds != 0 ? is_inside(*end) : !is_inside(*end);
  }

  Expr give_up() {
    legal_ = false;
    return Expr();
  }

  const ir::Stmt& body_;
  std::string point_, lane_;
  std::int64_t lanes_;
  const Ranges& ranges_;
  RowEnds at_;
  Expr stored_;
  std::vector<End> ends_;
  std::vector<Inequality> required_;
  bool legal_ = true, far_ = false;
};

}  // namespace

std::optional<EdgeLanes> find_edge_lanes(const ir::Stmt& body, const std::string& point,
                                         const std::string& lane, std::int64_t lanes,
                                         const Ranges& ranges, RowEnds ends) {
  return Finder(body, point, lane, lanes, ranges, ends).run();
}

}  // namespace mica::passes
