#include "codegen/analysis/interiors.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"

namespace mica::analysis {
namespace {

constexpr std::size_t kMostTries = 1000;  // to find inequalities in one loop

// A constant bound further up than any stencil reaches is where something ends.
constexpr std::int64_t kFarUp = 32;
constexpr std::int64_t kShortPeriod = 16;  // points that no periodic domain worth an interior has

bool is_array_extent(const Expr& e) {
  const auto* var = e.as<VarRef>();
  return var != nullptr && var->field == BufferField::Extent;
}

/// Does one of the numbers that `is_end` knows push it up?
template <typename IsEnd>
bool reaches_up(const Linear& form, const IsEnd& is_end) {
  return std::any_of(form.terms.begin(), form.terms.end(),
                     [&](const auto& term) { return term.second > 0 && is_end(term.first); });
}

// Is one of its nodes what `is` says? Asked of each node once, since expressions of a body share parts.
template <typename Is>
bool has_node(const Expr& e, NodeMap<std::pair<Expr, bool>>& known, const Is& is) {
  if (is(e)) return true;
  if (e.as<VarRef>() || e.as<IntImm>()) return false;
  if (const auto found = known.find(e.ptr().get()); found != known.end()) return found->second.second;
  bool result = false;
  for_each_child(e, [&](const Expr& child) { result = result || has_node(child, known, is); });
  known.emplace(e.ptr().get(), std::pair(e, result));
  return result;
}

bool same_terms(const Linear& a, const Linear& b) {
  if (a.terms.size() != b.terms.size()) return false;
  return std::all_of(a.terms.begin(), a.terms.end(), [&](const auto& term) {
    return std::any_of(b.terms.begin(), b.terms.end(), [&](const auto& other) {
      return term.second == other.second && equal(term.first, other.first);
    });
  });
}

/// The remainder of -n <= a < 2*n by n: numbers that are not negative are less than all others, taken as
/// unsigned ones.
Expr into_period(const Expr& a, const Expr& n) {
  const auto least = [](const Expr& x, const Expr& y) {
    return cast(Int(32), min(cast(UInt(32), x), cast(UInt(32), y)));
  };
  const Expr positive = least(a, a + n);
  return least(positive, positive - n);
}

/// A dividend of the same remainder, with a constant next to 0: of a constant period, x - 1 is written
/// x + period - 1. Not where what is left is less than the period and the dividend itself wraps around.
Expr nearest_period(const Expr& a, const Expr& n) {
  const auto* period = as_int(n);
  if (period == nullptr || *period <= 0) return a;
  Linear form = linearize(a);
  std::int64_t constant = ((form.constant % *period) + *period) % *period;
  if (constant > *period / 2) constant -= *period;
  const std::int64_t less = form.constant - constant;
  if (less == 0 || less < std::numeric_limits<std::int32_t>::min() ||
      less > std::numeric_limits<std::int32_t>::max() - (*period - 1))
    return a;
  form.constant = constant;
  return to_expr(form);
}

/// `s` with a constant for a name in what its loops walk: those of no iterations are gone, and what
/// stands around nothing else. Undefined: nothing is left.
ir::Stmt with_bound(const ir::Stmt& s, const std::string& name, const Expr& value) {
  ir::Stmt at = s;
  if (const auto* loop = s.as<ir::For>();
      loop != nullptr && (uses_var(loop->min, name) || uses_var(loop->extent, name))) {
    const auto bound = [&](const Expr& e) { return passes::simplify(substitute(e, name, value)); };
    const Expr extent = bound(loop->extent);
    if (const auto* count = as_int(extent); count != nullptr && *count <= 0) return {};
    at = ir::make_stmt(
        ir::For{loop->name, bound(loop->min), extent, loop->kind, loop->body, loop->rolled});
  }
  bool is_leaf = true, is_left = false;
  at = ir::map_children(
      at,
      [&](const ir::Stmt& child) {
        if (!child.defined()) return child;
        ir::Stmt rest = with_bound(child, name, value);
        is_leaf = false;
        is_left = is_left || rest.defined();
        return rest;
      },
      nullptr);
  return is_leaf || is_left ? at : ir::Stmt();
}

/// `ranges` and those of the variables of all loops in `body`.
Ranges with_loops_of(const ir::Stmt& body, Ranges ranges) {
  std::map<std::string, const ir::For*> known;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* loop = s.as<ir::For>();
        if (loop == nullptr) return;
        const auto [found, is_new] = known.try_emplace(loop->name, loop);
        if (is_new) {
          push_loop(ranges, loop->name, loop->min, loop->extent);
        } else if (!equal(found->second->min, loop->min) ||
                   !equal(found->second->extent, loop->extent)) {
          ranges.push(loop->name, {});  // loops of one name that walk other values
        }
      },
      nullptr);
  return ranges;
}

}  // namespace

void add_inequality(std::vector<Inequality>& all, Inequality one) {
  for (Inequality& known : all) {
    if (known.factor != one.factor || !same_terms(known.rest, one.rest)) continue;
    known.rest.constant = std::min(known.rest.constant, one.rest.constant);
    return;
  }
  all.push_back(std::move(one));
}

Interior::Interior(std::set<std::string> variables, const ir::Stmt& body, const Ranges& ranges, Of of)
    : variables_(std::move(variables)),
      blocks_(of != Of::Loop),
      near_(of == Of::BlocksWithinAPeriod),
      known_(with_inner(body, ranges)),
      ranges_(known_),
      intervals_(inner_) {
  ir::walk(body, nullptr, [&](const Expr& e) {
    const auto* op = e.as<Binary>();
    const bool is_quotient = op && op->op == BinaryOp::Div && is_variable(op->a);
    if (is_quotient && as_int(op->b) == nullptr) divisors_.push_back(op->b);
  });
}

Ranges Interior::with_inner(const ir::Stmt& body, const Ranges& ranges) {
  Ranges around = ranges;
  find_inner(body, around);
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* loop = s.as<ir::For>();
        if (loop != nullptr && inner_.count(loop->name) == 0) unknown_.insert(loop->name);
      },
      nullptr);
  for (const std::string& name : unknown_) inner_.erase(name);
  inside_.clear();
  if (blocks_) return with_loops_of(body, ranges);
  Ranges known = ranges;
  for (const auto& [name, walked] : inner_) {
    const auto *min = as_int(walked.min), *max = as_int(walked.max);
    if (min != nullptr && max != nullptr) known.push(name, {*min, *max});
  }
  return known;
}

std::int64_t Interior::stride() const {
  std::int64_t most = 1;
  for (const Inequality& one : inequalities_) most = std::max(most, std::abs(one.factor));
  return most;
}

bool Interior::is_variable(const Expr& e) const {
  const auto* var = e.as<VarRef>();
  return var != nullptr && variables_.count(var->name) > 0;
}

ir::Stmt Interior::run(const ir::Stmt& s) {
  if (const auto* store = s.as<ir::Store>()) {
    ir::Store copy = *store;
    copy.value = run(store->value, false);
    bool same = copy.value.same_as(store->value);
    for (Expr& index : copy.index) {
      const Expr inside = run(index, true);
      same = same && inside.same_as(index);
      index = inside;
    }
    return same ? s : ir::make_stmt(std::move(copy));
  }
  if (const auto* let = s.as<ir::LetStmt>()) return run_let(s, *let);
  const auto below = [this](const ir::Stmt& child) { return run(child); };
  if (blocks_ && s.as<ir::If>()) {
    return ir::map_children(s, below, [this](const Expr& e) { return run(e, false); });
  }
  if (blocks_ && s.as<ir::AsyncCopy>()) {
    return ir::map_children(s, below, [this](const Expr& e) { return run(e, true); });
  }
  return ir::map_children(s, below, nullptr);
}

ir::Stmt Interior::run_let(const ir::Stmt& s, const ir::LetStmt& let) {
  Expr value = run(let.value, false);
  ir::Stmt body = let.body;
  if (!blocks_ && !value.same_as(let.value)) {
    // Of a tile that is whole all vectors are, and nothing is left behind them.
    value = passes::simplify_value(value, known_);
    if (as_int(value) != nullptr) body = with_bound(body, let.name, value);
    if (!body.defined()) return body;
  }
  body = run(body);
  if (value.same_as(let.value) && body.same_as(let.body)) return s;
  if (!body.defined()) return body;
  return ir::make_stmt(ir::LetStmt{let.name, value, body});
}

void Interior::find_inner(const ir::Stmt& s, Ranges& ranges) {
  const auto below = [&](const ir::Stmt& child) {
    find_inner(child, ranges);
    return child;
  };
  const auto* inner = s.as<ir::For>();
  const auto* let = s.as<ir::LetStmt>();
  if (inner != nullptr) {
    add_inner(*inner, ranges);
    push_loop(ranges, inner->name, inner->min, inner->extent);
  }
  if (let != nullptr) {
    unknown_.insert(let->name);
    push_let(ranges, let->name, let->value);
  }
  ir::map_children(s, below, nullptr);
  if (inner != nullptr || let != nullptr) ranges.pop();
}

void Interior::add_inner(const ir::For& inner, const Ranges& ranges) {
  const auto* extent = as_int(inner.extent);
  if (const auto* least = inner.extent.as<Binary>();
      blocks_ && least != nullptr && least->op == BinaryOp::Min) {
    extent = as_int(least->a) != nullptr ? as_int(least->a) : as_int(least->b);
  }
  inside_.clear();  // since the last loop more names are known to be bound inside
  const bool planes = blocks_ && inner.kind == LoopKind::March && is_known(inner.extent);
  Interval walked;
  if (planes || (extent != nullptr && *extent > 0)) {
    const Expr last = planes ? inner.extent - 1 : make_const(Int(32), *extent - 1);
    walked = {inner.min, is_const(inner.min, 0) ? last : passes::simplify(inner.min + last)};
  } else if (!blocks_) {
    // Whole vectors of a tile and what is behind them: each at most all of it.
    const auto first = range_of(inner.min, ranges).min;
    const auto end = range_of(passes::simplify(inner.min + inner.extent), ranges).max;
    if (first && end && *end > *first) {
      walked = {make_const(Int(32), *first), make_const(Int(32), *end - 1)};
    } else if (first && end) {
      return;  // of no iterations: others of its name say what it is, or nothing does
    }
  }
  if (!walked.bounded()) {
    unknown_.insert(inner.name);
    return;
  }
  if (inner.kind == LoopKind::Serial || inner.kind == LoopKind::Parallel) serial_.insert(inner.name);
  const auto [known, is_new] = inner_.try_emplace(inner.name, walked);
  if (is_new || (equal(known->second.min, walked.min) && equal(known->second.max, walked.max))) return;
  const auto *min = as_int(known->second.min), *max = as_int(known->second.max);
  const auto *other_min = as_int(walked.min), *other_max = as_int(walked.max);
  if (!blocks_ && min && max && other_min && other_max) {
    known->second = {make_const(Int(32), std::min(*min, *other_min)),
                     make_const(Int(32), std::max(*max, *other_max))};
    return;
  }
  // Loops of one name that walk other values.
  unknown_.insert(inner.name);
}

Expr Interior::run(const Expr& e, bool coordinate) {
  return memo_[coordinate ? 1 : 0](e, [&] { return run_new(e, coordinate); });
}

Expr Interior::run_new(const Expr& e, bool coordinate) {
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
  if (const auto* op = r.as<Binary>(); op && r.type() == Int(32)) return run_binary(r, *op, coordinate);
  if (const auto* op = r.as<Compare>(); op && op->a.type() == Int(32)) return run_compare(r, *op);
  return r;
}

Expr Interior::run_binary(const Expr& e, const Binary& op, bool coordinate) {
  if (op.op == BinaryOp::Mod && coordinate && !follows(op.b) && follows(op.a)) {
    if (is_variable(op.a) && std::any_of(divisors_.begin(), divisors_.end(),
                                         [&](const Expr& divisor) { return equal(divisor, op.b); })) {
      return e;
    }
    if (repeats(op)) return e;
    if (near_) {
      const bool near = assume(op.b - 1 + op.b, op.a) && assume(op.a, -op.b);
      return near ? into_period(op.a, op.b) : e;
    }
    const Expr a = blocks_ ? op.a : nearest_period(op.a, op.b);
    const bool small = assume(op.b - 1, a) && assume(a, Expr(0));
    return small ? a : e;
  }
  if (near_ || (op.op != BinaryOp::Min && op.op != BinaryOp::Max)) return e;
  if (!coordinate && !(ranges_.never_wraps(op.a) && ranges_.never_wraps(op.b))) {
    return e;
  }
  if (!follows(op.a) && !follows(op.b)) return e;
  // Of two that follow, the one that an extent pushes up is the bound.
  const bool both = follows(op.a) && follows(op.b);
  if (both && (op.op == BinaryOp::Max || is_late(op.a, op.b) == is_late(op.b, op.a))) return e;
  bool first = both ? is_late(op.b, op.a) : follows(op.a);
  if (!both && falls_late(op.op, first ? op.a : op.b, first ? op.b : op.a)) first = !first;
  const Expr& moving = first ? op.a : op.b;
  const Expr& still = first ? op.b : op.a;
  const bool holds = op.op == BinaryOp::Min ? assume(still, moving) : assume(moving, still);
  return holds ? moving : e;
}

// Of short periods, as that of a colour, a loop goes through many: none is its interior.
bool Interior::repeats(const Binary& mod) {
  const auto* period = as_int(mod.b);
  if (blocks_ || period == nullptr) return false;
  const std::string& variable = *variables_.begin();
  const std::int64_t slope = std::abs(linearize(mod.a).coefficient(variable));
  const auto last = known_.find(variable).max;
  return *period <= std::max(kShortPeriod, 4 * slope) && (!last || *last * slope >= *period);
}

// A bound that an extent pushes up is passed late in the loop, another one early: the longer part is
// the interior.
Expr Interior::run_compare(const Expr& e, const Compare& op) {
  if (near_ || follows(op.a) == follows(op.b)) return e;
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
  const Expr& still = follows(low) ? high : low;
  // Elsewhere than at the ends of arrays both sides may be as long, and blocks pay for a test only.
  if (blocks_ && !is_of_array(still) &&
      !reaches_up(linearize(follows(low) ? low : high), is_array_extent))
    return e;
  const bool late = is_late(still, follows(low) ? low : high);
  // `low` follows: true before the bound. `high` follows: true after it.
  const bool holds = follows(low) ? late : !late;
  const bool assumed =
      holds ? assume(or_equal ? high : high - 1, low) : assume(or_equal ? low - 1 : low, high);
  return assumed ? make_const(Bool(), std::int64_t{holds}) : e;
}

bool Interior::follows(const Expr& e) {
  return has_node(e, follows_, [this](const Expr& node) { return is_variable(node); });
}

bool Interior::is_of_array(const Expr& e) {
  return has_node(e, of_arrays_, [](const Expr& node) {
    const auto* var = node.as<VarRef>();
    return var != nullptr && (var->field == BufferField::Extent || var->field == BufferField::Min);
  });
}

bool Interior::is_extent(const Expr& e) {
  if (is_array_extent(e)) return true;
  const auto* op = e.as<Binary>();
  if (op == nullptr) return false;
  if (const auto found = extents_.find(e.ptr().get()); found != extents_.end()) {
    return found->second.second;
  }
  const bool result = is_extent(*op);
  extents_.emplace(e.ptr().get(), std::pair(e, result));
  return result;
}

bool Interior::is_extent(const Binary& op) {
  const auto grows = [this](const Expr& part) {
    return reaches_up(linearize(part), [this](const Expr& atom) { return is_extent(atom); });
  };
  switch (op.op) {
    case BinaryOp::Div: return as_int(op.b) != nullptr && *as_int(op.b) > 0 && grows(op.a);
    case BinaryOp::Max: {
      const auto *a = as_int(op.a), *b = as_int(op.b);
      return (a != nullptr && *a > 0) || (b != nullptr && *b > 0) || grows(op.a) || grows(op.b);
    }
    case BinaryOp::Min: return grows(op.a) || grows(op.b);
    default: return false;
  }
}

bool Interior::is_late(const Linear& bound, const Expr& beside) {
  if (blocks_) return reaches_up(bound, is_array_extent);
  if (reaches_up(bound, [this](const Expr& atom) { return is_extent(atom); })) return true;
  const std::string& variable = *variables_.begin();
  Linear form = bound, passing = linearize(beside);
  const std::int64_t slope = std::abs(passing.take(variable));
  form.take(variable);
  const auto last = known_.find(variable).max;
  const std::int64_t far = last && slope > 0 ? *last * slope / 2 : kFarUp;
  return form.constant - passing.constant > far;
}

/// Is a bound that falls along the loop, as what is left of a row does, beyond the other one until late,
/// or one that rises below it?
bool Interior::falls_late(BinaryOp op, const Expr& moving, const Expr& still) {
  if (blocks_) return false;
  Linear difference = linearize(moving);
  difference.add(linearize(still), -1);
  const std::int64_t slope = difference.coefficient(*variables_.begin());
  if (op == BinaryOp::Min) return slope < 0 && is_late(difference, still);
  return slope > 0 && is_late(difference.scaled(-1), still);
}

// An iteration of this loop goes as far as all of a loop inside together.
void Interior::find_tiles(const Expr& high, const Expr& low) {
  Linear form = linearize(high);
  form.add(linearize(low), -1);
  const std::int64_t step = std::abs(form.coefficient(*variables_.begin()));
  for (const std::string& name : serial_) {
    const auto found = inner_.find(name);
    const auto* last = found == inner_.end() ? nullptr : as_int(found->second.max);
    const std::int64_t inner = std::abs(form.coefficient(name));
    if (last != nullptr && inner != 0 && inner * (*last + 1) == step) tiles_.insert(name);
  }
}

// Takes low <= high for granted, for all iterations of the inner loops, if that can be said by an
// inequality in the loops' variables.
bool Interior::assume(const Expr& high, const Expr& low) {
  const bool holds = try_assume(high, low);
  if (!holds) ++failures_;
  return holds;
}

bool Interior::try_assume(const Expr& high, const Expr& low) {
  if (++tries_ > kMostTries) return false;
  const Interval above = intervals_(high);
  const Interval below = intervals_(low);
  if (!above.min.defined() || !below.max.defined()) return false;
  Inequality found;
  found.rest = linearize(above.min);
  found.rest.add(linearize(below.max), -1);
  bool among = false;
  for (const auto& term : found.rest.terms) {
    const auto* var = term.first.as<VarRef>();
    const bool own = var != nullptr && variables_.count(var->name) > 0;
    among = among || own;
    if (!own && (follows(term.first) || !is_known(term.first))) return false;
  }
  if (!among) return false;
  if (!blocks_) {
    found.factor = found.rest.take(*variables_.begin());
    find_tiles(high, low);
  }
  add_inequality(inequalities_, std::move(found));
  return true;
}

// Has the expression a value before the loop begins?
bool Interior::is_known(const Expr& e) {
  return !has_node(e, inside_, [this](const Expr& node) {
    const auto* var = node.as<VarRef>();
    return node.as<Load>() || (var && (unknown_.count(var->name) || inner_.count(var->name)));
  });
}

}  // namespace mica::analysis
