#include "codegen/passes/funcs/check_coordinates.h"

#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "codegen/analysis/equal_nodes.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Interval;

constexpr std::int64_t kLowest32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest32 = std::numeric_limits<std::int32_t>::max();
// Around the points of a box there is this much room in 32 bits, for tiles that stick out.
constexpr std::int64_t kHighestPoint = kLargestMin + kLargestExtent;

class CoordinateChecks {
 public:
  explicit CoordinateChecks(Program& program) : program_(program) {}

  void run() {
    for (const auto& func : program_.pipeline.funcs) {
      for (const auto& definition : func->definitions) {
        domains_of_runs_ = domains_of_runs_ || no_points(definition).defined();
      }
    }
    for (const auto& func : program_.pipeline.funcs) {
      const auto box = program_.required.find(func->name);
      if (box == program_.required.end()) continue;
      nothing_ = {};
      if (!program_.is_root(func->name)) check_box(*func, box->second);
      for (const auto& definition : func->definitions) {
        const auto scope = analysis::definition_scope(*func, definition, box->second);
        analysis::SharedIntervals intervals(scope);
        nothing_ = either(no_points(definition), domains_of_runs_ ? no_points(box->second) : Expr());
        analysis::for_each_access(definition, [&](const Access& access) {
          for (const Expr& index : access.args)
            check_index(*func, access.name, index, intervals, access.where);
        });
        for (const Expr& index : definition.args) {
          check_index(*func, func->name, index, intervals, definition.where);
        }
      }
    }
  }

 private:
  static Expr either(const Expr& a, const Expr& b) {
    return !a.defined() ? b : !b.defined() ? a : a || b;
  }
  /// Is a domain empty whose extents the run knows? Undefined: never.
  static Expr no_points(const Definition& definition) {
    Expr empty;
    for (const auto& dim : definition.domain ? definition.domain->dims : std::vector<RDomData::Dim>()) {
      if (dim.constant_extent() == 0) empty = either(empty, dim.extent < 1);
    }
    return empty;
  }
  static Expr no_points(const analysis::Box& box) {
    Expr empty;
    for (const Interval& range : box) empty = either(empty, range.min > range.max);
    return empty;
  }

  void add(const Interval& interval, std::int64_t low, std::int64_t high, std::string message,
           const SourceLocation& where) {
    const auto one = [this](const Expr& end) { return nodes_.whole(end).ptr().get(); };
    if (!seen_.insert({one(interval.min), one(interval.max)}).second) return;
    PlanCheck check;
    const Type type = interval.min.type();
    check.holds = interval.min >= make_const(type, low) && interval.max <= make_const(type, high);
    if (nothing_.defined()) check.holds = nothing_ || check.holds;
    check.values = {interval.min, interval.max};
    check.message = std::move(message);
    check.where = where;
    program_.plan.checks.push_back(std::move(check));
  }

  void check_index(const FunctionData& func, const std::string& array, const Expr& index,
                   analysis::SharedIntervals& intervals, const SourceLocation& where) {
    for (const Interval& operand : intervals.operands(index)) {
      add(operand, kLowest32, kHighest32,
          fmt::format("the index {} of {} in {} computes values from {{0}} to {{1}}, but indices are "
                      "computed in 32 bits ({} to {}): clamp the values before, or cast them to Int(64)",
                      brief(index), array, func.name, kLowest32, kHighest32),
          where);
    }
  }

  void check_box(const FunctionData& func, const analysis::Box& box) {
    for (std::size_t d = 0; d < box.size(); ++d) {
      const analysis::Ranges none;
      const auto low = analysis::limits_of(box[d].min, none).min,
                 high = analysis::limits_of(box[d].max, none).max;
      const bool near = low && high && *low >= -2 * kLargestMin && *high <= kHighestPoint + kLargestMin;
      if (near && analysis::stays_in_32_bits(box[d])) continue;
      add(box[d], -kLargestMin, kHighestPoint,
          fmt::format(
              "{} would be computed from index {{0}} to {{1}} in dimension {}, but coordinates lie "
              "in {} to {}: clamp the indices at which it is read",
              func.name, d, -kLargestMin, kHighestPoint),
          func.where);
    }
  }

  Program& program_;
  bool domains_of_runs_ = false;
  Expr nothing_;  // holds where what is looked at is not carried out
  analysis::EqualNodes nodes_;
  std::set<std::pair<const ExprNode*, const ExprNode*>> seen_;  // what the same launch has checked
};

}  // namespace

void check_coordinates(Program& program) { CoordinateChecks(program).run(); }

}  // namespace mica::passes
