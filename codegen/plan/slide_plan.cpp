#include "codegen/plan/slide_plan.h"

#include <algorithm>
#include <utility>

#include "codegen/analysis/simplify.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::planning {
namespace {

using analysis::Interval;
using passes::simplify;

/// How a coordinate changes from one iteration of a loop to the next.
enum class Trend { Still, Up, Down, Unknown };

Trend opposite(Trend t) { return t == Trend::Up ? Trend::Down : t == Trend::Down ? Trend::Up : t; }

Trend together(Trend a, Trend b) {
  if (a == Trend::Still || a == b) return b;
  return b == Trend::Still ? a : Trend::Unknown;
}

Trend scaled(Trend t, std::int64_t factor) {
  return factor == 0 ? Trend::Still : factor > 0 ? t : opposite(t);
}

/// Trends along one loop, of each node once. Coordinates do not wrap.
class Trends {
 public:
  explicit Trends(const std::string& loop) : loop_(loop) {}

  Trend of(const Expr& e) {
    const auto known = known_.find(e.ptr().get());
    if (known != known_.end()) return known->second.second;
    const Trend trend = find(e);
    known_.emplace(e.ptr().get(), std::pair(e, trend));
    return trend;
  }

 private:
  Trend find(const Expr& e) {
    if (const auto* var = e.as<VarRef>()) return var->name == loop_ ? Trend::Up : Trend::Still;
    const auto* op = e.as<Binary>();
    if (op == nullptr) return without_rule(e);
    const Trend a = of(op->a), b = of(op->b);
    if (a == Trend::Still && b == Trend::Still) return Trend::Still;
    switch (op->op) {
      case BinaryOp::Add:
      case BinaryOp::Min:
      case BinaryOp::Max: return together(a, b);
      case BinaryOp::Sub: return together(a, opposite(b));
      case BinaryOp::Mul:
        if (const auto* k = as_int(op->b)) return scaled(a, *k);
        if (const auto* k = as_int(op->a)) return scaled(b, *k);
        return Trend::Unknown;
      case BinaryOp::Div:
        if (const auto* k = as_int(op->b); k && *k > 0) return a;
        return Trend::Unknown;
      default: return Trend::Unknown;
    }
  }

  Trend without_rule(const Expr& e) {
    bool moves = false;
    for_each_child(e, [&](const Expr& child) { moves = of(child) != Trend::Still || moves; });
    return moves ? Trend::Unknown : Trend::Still;
  }

  const std::string& loop_;
  // Keyed by address for lookup only; the Expr of a value keeps the node alive.
  NodeMap<std::pair<Expr, Trend>> known_;
};

bool goes_up(const Expr& e, const std::string& loop) {
  const Trend trend = Trends(loop).of(e);
  return trend == Trend::Up || trend == Trend::Still;
}

bool depends(const Interval& i, const std::string& loop) {
  return uses_var(i.min, loop) || uses_var(i.max, loop);
}

using Count = std::optional<std::int64_t>;

Count larger(const Count& a, const Count& b) { return a && b ? Count(std::max(*a, *b)) : Count(); }

/// Constants that the distances of coordinates never exceed. Bounds of levels behind each other share
/// nearly all of their parts, which are looked at once.
class Distances {
 public:
  /// That of high - low.
  Count most_between(const Expr& low, const Expr& high, int depth = 6) {
    if (const auto count = analysis::constant_extent({low, high}, finder_)) return *count - 1;
    if (depth == 0) return {};
    const auto bound = [](const Expr& e) {
      const auto* op = e.as<Binary>();
      return op && (op->op == BinaryOp::Min || op->op == BinaryOp::Max) ? op : nullptr;
    };
    const Binary* a = bound(low);
    const Binary* b = bound(high);
    if (a && b) {
      if (const Count apart = most_within(*a, *b, depth - 1)) return apart;
    }
    Count apart;
    if (a && a->op == BinaryOp::Min) {
      apart = larger(most_between(a->a, high, depth - 1), most_between(a->b, high, depth - 1));
    }
    if (!apart && b && b->op == BinaryOp::Max) {
      apart = larger(most_between(low, b->a, depth - 1), most_between(low, b->b, depth - 1));
    }
    return apart;
  }

 private:
  /// Two coordinates within the same bound are no further apart than without it.
  Count most_within(const Binary& low, const Binary& high, int depth) {
    const auto inside = [&](const Expr& x, const Expr& y, const Expr& bound, const Expr& other) {
      if (!equal(bound, other)) return Count();
      return larger(most_between(x, y, depth), 0);
    };
    if (low.op != high.op) return {};
    if (const Count apart = inside(low.a, high.a, low.b, high.b)) return apart;
    return inside(low.b, high.b, low.a, high.a);
  }

  const analysis::Ranges nothing_;
  analysis::RangeFinder finder_{nothing_};
};

std::optional<std::int64_t> indices_of(const Interval& i) {
  const auto apart = Distances().most_between(i.min, i.max);
  return apart ? std::optional(std::max(*apart + 1, std::int64_t{1})) : apart;
}

class Planner {
 public:
  Planner(const FunctionData& func, const analysis::Box& box, const std::vector<LoopVars::Loop>& loops,
          const std::vector<Guard>& guards)
      : func_(func), box_(box), loops_(loops), guards_(guards) {}

  SlidePlan run() {
    SlidePlan plan;
    if (func_.definitions.size() > 1) {
      plan.obstacle =
          func_.name + " has updates, which would change again what earlier iterations have computed";
      return plan;
    }
    for (const auto& loop : loops_) {
      if (loop.kind == LoopKind::Serial || loop.kind == LoopKind::Unrolled) continue;
      plan.obstacle = "iterations of the " + to_string(loop.kind) + " loop " + loop.dim +
                      " run at once, so none comes before another";
      return plan;
    }
    for (std::size_t l = 0; l < loops_.size(); ++l) {
      if (is_still(l)) {
        plan.still.push_back(l);
      } else if (auto slid = slide_along(l)) {
        plan.dims.push_back(std::move(*slid));
      }
    }
    if (!plan.slides()) plan.obstacle = obstacle_;
    return plan;
  }

 private:
  [[nodiscard]] bool is_still(std::size_t l) const {
    return std::none_of(box_.begin(), box_.end(),
                        [&](const Interval& i) { return depends(i, loops_[l].name); }) &&
           leaves_out_none(l);
  }
  /// Is an iteration carried out if a later one of loop `l` is?
  [[nodiscard]] bool leaves_out_none(std::size_t l) const {
    return std::all_of(guards_.begin(), guards_.end(),
                       [&](const Guard& guard) { return goes_up(guard.offset, loops_[l].name); });
  }

  std::optional<SlidDim> slide_along(std::size_t l) {
    const LoopVars::Loop& loop = loops_[l];
    std::optional<std::size_t> dim;
    for (std::size_t d = 0; d < box_.size(); ++d) {
      if (!depends(box_[d], loop.name)) continue;
      if (dim) {
        return refuse("loop " + loop.dim + " moves both " + func_.args[*dim] + " and " + func_.args[d]);
      }
      dim = d;
    }
    if (!dim) return refuse("iterations of " + loop.dim + " are left out before the last");
    const Interval& range = box_[*dim];
    for (std::size_t inner = 0; inner < l; ++inner) {
      if (depends(range, loops_[inner].name)) return std::nullopt;  // the inner loop's to slide along
    }
    if (!goes_up(range.min, loop.name)) {
      return refuse("the first " + func_.args[*dim] + " that an iteration of " + loop.dim +
                    " reads is not known to go up");
    }
    if (!goes_up(range.max, loop.name)) {
      return refuse("the last " + func_.args[*dim] + " that an iteration of " + loop.dim +
                    " reads is not known to go up");
    }
    if (!leaves_out_none(l)) {
      return refuse("iterations of " + loop.dim + " are left out before the last");
    }
    return made(*dim, l, range);
  }

  std::optional<SlidDim> made(std::size_t dim, std::size_t l, const Interval& range) {
    const LoopVars::Loop& loop = loops_[l];
    const Expr before = make_var(loop.name) - 1;
    const Expr next = simplify(substitute(range.max, loop.name, before) + 1);
    const auto gap = analysis::constant_difference(range.min, next);
    if (gap && *gap >= 0) {
      return refuse("each iteration of " + loop.dim + " reads other " + func_.args[dim] + " of it");
    }
    return SlidDim{dim, l, gap ? next : simplify(max(next, range.min)), indices_of(range)};
  }

  std::optional<SlidDim> refuse(std::string obstacle) {
    if (obstacle_.empty()) obstacle_ = std::move(obstacle);
    return std::nullopt;
  }

  const FunctionData& func_;
  const analysis::Box& box_;
  const std::vector<LoopVars::Loop>& loops_;
  const std::vector<Guard>& guards_;
  std::string obstacle_;
};

}  // namespace

const SlidDim* SlidePlan::folded() const {
  if (dims.empty() || (!still.empty() && still.back() > dims.back().loop)) return nullptr;
  return &dims.back();
}

SlidePlan plan_slides(const FunctionData& func, const analysis::Box& box,
                      const std::vector<LoopVars::Loop>& loops, const std::vector<Guard>& guards) {
  return Planner(func, box, loops, guards).run();
}

}  // namespace mica::planning
