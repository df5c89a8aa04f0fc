#include "codegen/passes/funcs/repeated_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "codegen/analysis/bounds.h"
#include "codegen/analysis/equal_nodes.h"
#include "codegen/analysis/simplify.h"
#include "codegen/analysis/value_ranges.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {

double effort_of(const Expr& node) {
  constexpr double kQuotient = 8, kFunction = 20;
  if (const auto* op = node.as<Unary>()) {
    switch (op->op) {
      case UnaryOp::Sqrt: return kQuotient;
      case UnaryOp::Exp:
      case UnaryOp::Log:
      case UnaryOp::Sin:
      case UnaryOp::Cos:
      case UnaryOp::Tanh: return kFunction;
      default: return 1;
    }
  }
  if (const auto* op = node.as<Binary>()) {
    if (is_math_function(op->op)) return kFunction;
    const bool divides = op->op == BinaryOp::Div || op->op == BinaryOp::Mod;
    return divides && (node.type().is_float() || !as_int(op->b)) ? kQuotient : 1;
  }
  return node.as<Fma>() || node.as<Select>() ? 1 : 0;
}

bool only_moves(const FunctionData& func) {
  int taps = 0;
  bool computes = false;
  visit_nodes(func.definitions.front().values, [&](const Expr& e) {
    if (e.as<Access>()) ++taps;
    const auto* op = e.as<Binary>();
    const bool chooses = op && (op->op == BinaryOp::Min || op->op == BinaryOp::Max);
    if (e.type().is_float() && ((op && !chooses) || e.as<Unary>() || e.as<Fma>())) computes = true;
  });
  return taps <= 1 && !computes;
}

double effort_of_point(const Definition& definition) {
  analysis::EqualNodes equal_nodes;
  double effort = 0;
  visit_nodes(equal_nodes.whole(definition.values), [&](const Expr& e) {
    if (!e.type().is_index() && !e.type().is_bool()) effort += e.as<Cast>() ? 1 : effort_of(e);
  });
  return effort;
}

namespace {

/// A Func, and the arguments of a read of it.
using Point = std::pair<const FunctionData*, std::vector<const ExprNode*>>;

/// The points of other Funcs that one of this reads, each once whichever of its values are read.
std::set<Point> points_read_by(const FunctionData& func, analysis::EqualNodes& equal_nodes) {
  std::set<Point> points;
  for (const Definition& definition : func.definitions) {
    visit_nodes(equal_nodes.whole(definition.values), [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access == nullptr || access->is_self || access->function == nullptr) return;
      Point point{access->function.get(), {}};
      for (const Expr& index : access->args) point.second.push_back(index.ptr().get());
      points.insert(std::move(point));
    });
  }
  return points;
}

}  // namespace

double inlined_effort(const FuncGraph& graph) {
  std::map<const FunctionData*, double> inlined;
  double all = 0;
  for (const auto& func : graph.funcs) {  // producers first
    double effort = 0;
    for (const Definition& definition : func->definitions) effort += effort_of_point(definition);
    analysis::EqualNodes equal_nodes;
    for (const auto& [read, at] : points_read_by(*func, equal_nodes)) {
      const auto producer = inlined.find(read);
      if (producer != inlined.end()) effort += producer->second;
    }
    if (graph.is_output(func.get())) {
      all += effort;
    } else {
      inlined.emplace(func.get(), effort);
    }
  }
  return all;
}

namespace {

bool reads_data(const Expr& index) {
  return analysis::RangeFinder(analysis::Ranges()).reads_data(index);
}

/// The entries of a table that data choose from at one point of the reader; none where they are not
/// known.
std::optional<std::pair<std::int64_t, std::int64_t>> entries_of(const Expr& index) {
  // What variables add to it moves the table.
  const Expr at_one =
      simplify(substitute(index, [](const std::string&) { return make_const(Int(32), 0); }));
  const analysis::Interval range = analysis::interval_of(at_one, {});
  if (!range.bounded()) return std::nullopt;
  const Expr low = simplify(range.min), high = simplify(range.max);
  const auto* first = as_int(low);
  const auto* last = as_int(high);
  if (first == nullptr || last == nullptr) return std::nullopt;
  return std::pair(*first, *last);
}

/// How many points the reads' indices along one dimension are apart, those that data choose counted
/// whole; 0: no one knows.
std::int64_t spread_of(const Arguments& reads, std::size_t dim) {
  Expr first;
  std::int64_t low = 0, high = 0;
  bool any = false;
  for (const std::vector<Expr>* read : reads) {
    const Expr& index = read->at(dim);
    std::pair<std::int64_t, std::int64_t> at;
    if (reads_data(index)) {
      const auto entries = entries_of(index);
      if (!entries) return 0;
      at = *entries;
    } else {
      if (!first.defined()) first = index;
      const Expr apart = simplify(index - first);
      const auto* offset = as_int(apart);
      if (offset == nullptr) return 0;
      at = {*offset, *offset};
    }
    low = any ? std::min(low, at.first) : at.first;
    high = any ? std::max(high, at.second) : at.second;
    any = true;
  }
  return high - low + 1;
}

}  // namespace

bool is_close(const Arguments& reads) {
  std::int64_t points = 1;
  for (std::size_t d = 0; d < reads.front()->size(); ++d) {
    const std::int64_t spread = spread_of(reads, d);
    if (spread == 0 || spread * points > kLargestTable) return false;
    points *= spread;
  }
  return true;
}

std::optional<std::string> repeated_for(const Arguments& reads, const Definition& definition,
                                        const std::string& reader, double points) {
  constexpr double kFewPoints = 4;  // every second one, in two dimensions
  std::set<std::string> followed;
  bool by_data = false;
  for (const std::vector<Expr>* read : reads) {
    visit_nodes(*read, [&](const Expr& e) {
      if (const auto* var = e.as<VarRef>()) followed.insert(var->name);
    });
    by_data = by_data || std::ranges::any_of(*read, reads_data);
  }
  if (by_data) {
    const bool is_table = reads.front()->size() == 1 && definition.pure_vars.size() > 1;
    const std::int64_t values = is_table ? spread_of(reads, 0) : 0;
    if (static_cast<double>(values) < points) return std::nullopt;
    return "point of " + reader + ", where data choose from " + std::to_string(values) + " values";
  }
  for (const std::string& var : definition.pure_vars) {
    if (followed.count(var) == 0 && points <= kFewPoints) return var + " of " + reader;
  }
  return std::nullopt;
}

}  // namespace mica::passes
