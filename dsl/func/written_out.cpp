#include "dsl/func/written_out.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/check/self_reads.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

// Schedules of a GPU see the taps of what is written out, stage them and share them. On a CPU (two
// threads) a Func is as fast from some 50 terms on: boxes of 15 x 15 points of 512 x 512 take 0.49 ms as
// a Func and 1.29 written out, of 31 x 31 2.0 and 7.1, and 9 and 1,230 ms to compile; the columns of
// 1,024 x 1,000 points 0.03 and 0.22 ms; means of 16 rows 0.17 and 0.17 ms of 1,024 x 1,024 points, of
// 64 0.66 and 3.1.
constexpr std::int64_t kMaxTerms = 256, kMaxRows = 32;
constexpr std::int64_t kMaxOperations = std::int64_t{1} << 18;  // in all terms

/// A value, and a domain's condition, at one point of the domain after the other. What does not depend
/// on the point is shared by all of them.
class Terms {
 public:
  Terms(const RDomData& domain, Expr value)
      : domain_(domain), value_(std::move(value)), at_(domain.dims.size(), 0) {
    std::vector<Expr> roots{value_};
    if (domain.condition.defined()) roots.push_back(domain.condition);
    depth_ = depth_of(roots);
    with_stack_for(depth_, [&] {
      (void)depends(value_);
      operations_ =
          std::count_if(depends_.begin(), depends_.end(), [](const auto& e) { return e.second; });
    });
  }

  /// Of the value that depend on the point.
  [[nodiscard]] std::int64_t operations() const { return operations_; }

  /// value(p0) op value(p1) op ... over `points` points, first dimension fastest. Points at which the
  /// condition is known not to hold are left out; undefined when none is left.
  Expr together(std::int64_t points, const Reduction& reduction) {
    return made_with_stack_for(depth_, [&] {
      Expr total;
      for (std::int64_t point = 0; point < points; ++point) {
        here_ = {};
        const Expr condition = domain_.condition.defined() ? here(domain_.condition) : Expr();
        const bool always = !condition.defined() || is_const(condition, 1);
        if (always || !is_const(condition, 0)) {
          const Expr next = here(value_);
          const Expr before = total.defined() || always ? total : reduction.start(value_.type());
          const Expr sum = before.defined() ? reduction.combine(before, next) : next;
          total = always ? sum : select(condition, sum, before);
        }
        for (std::size_t d = 0; d < at_.size() && ++at_[d] == domain_.dims[d].constant_extent(); ++d) {
          at_[d] = 0;
        }
      }
      return total;
    });
  }

 private:
  bool depends(const Expr& e) {
    if (!e.defined()) return false;
    if (const auto* rvar = e.as<RVarRef>(); rvar && rvar->domain.get() != &domain_) return false;
    const auto known = depends_.find(e.ptr().get());
    if (known != depends_.end()) return known->second;
    bool found = e.as<RVarRef>() != nullptr;
    for_each_child(e, [&](const Expr& child) { found = depends(child) || found; });
    depends_.emplace(e.ptr().get(), found);
    return found;
  }
  Expr here(const Expr& e) {
    if (!depends(e)) return e;
    return here_(e, [&] {
      if (const auto* rvar = e.as<RVarRef>()) {
        const auto d = static_cast<std::size_t>(rvar->index);
        return make_const(Int(32), *as_int(domain_.dims[d].min) + at_[d]);
      }
      const Expr at_point = map_children(e, [&](const Expr& child) { return here(child); });
      const Expr known = domain_.condition.defined() ? carried_out(at_point) : Expr();
      return known.defined() ? known : at_point;
    });
  }

  const RDomData& domain_;
  Expr value_;
  std::vector<std::int64_t> at_;
  std::unordered_map<const ExprNode*, bool>
      depends_;  // on the point; of nodes of the value, the condition
  std::int64_t operations_ = 0, depth_ = 0;
  RewriteMemo here_;
};

}  // namespace

std::optional<std::int64_t> few_points(const RDomData& domain, const Expr& value) {
  std::vector<Expr> places;
  visit_nodes({value}, [&](const Expr& e) {
    const auto* access = e.as<Access>();
    if (access != nullptr && !access->args.empty()) places.push_back(access->args.front());
  });
  std::vector<bool> along(domain.dims.size(), places.empty());
  visit_nodes(places, [&](const Expr& e) {
    const auto* rvar = e.as<RVarRef>();
    if (rvar && rvar->domain.get() == &domain) along[static_cast<std::size_t>(rvar->index)] = true;
  });
  std::int64_t points = 1, rows = 1;
  for (std::size_t d = 0; d < domain.dims.size(); ++d) {
    const auto& dim = domain.dims[d];
    const std::int64_t extent = dim.constant_extent();
    if (extent == 0 || extent > kMaxTerms || !as_int(dim.min)) return {};
    points *= extent;
    if (!along[d]) rows *= extent;
    if (points > kMaxTerms || rows > kMaxRows) return {};
  }
  return points;
}

Expr written_out(const RDomData& domain, const Expr& value, const Reduction& reduction) {
  const auto points = few_points(domain, value);
  if (!points) return {};
  Terms terms(domain, value);
  if (terms.operations() * *points > kMaxOperations) return {};
  const Expr total = terms.together(*points, reduction);
  return total.defined() ? total : reduction.start(value.type());
}

}  // namespace mica
