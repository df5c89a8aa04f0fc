#include "codegen/passes/funcs/repeated_work.h"

#include <set>

#include "codegen/analysis/bounds.h"
#include "codegen/analysis/simplify.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/node_visit.h"
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

namespace {

/// How many values of an index data choose from; 0: any number, or no data do.
std::int64_t chosen_by_data(const Expr& index) {
  bool reads = false;
  visit_nodes({index}, [&](const Expr& e) { reads = reads || e.as<Access>() != nullptr; });
  if (!reads) return 0;
  // At one point: what variables add to it moves the table.
  const Expr at_one =
      simplify(substitute(index, [](const std::string&) { return make_const(Int(32), 0); }));
  const std::optional<std::int64_t> count = analysis::constant_extent(analysis::interval_of(at_one, {}));
  return count && *count <= kLargestTable ? *count : 0;
}

}  // namespace

std::optional<std::string> repeated_for(const std::vector<Expr>& args, const Definition& definition,
                                        const std::string& reader, double points) {
  constexpr double kFewPoints = 4;  // every second one, in two dimensions
  std::set<std::string> followed;
  visit_nodes(args, [&](const Expr& e) {
    if (const auto* var = e.as<VarRef>()) followed.insert(var->name);
  });
  for (const std::string& var : definition.pure_vars) {
    if (followed.count(var) == 0 && points <= kFewPoints) return var + " of " + reader;
  }
  if (args.size() != 1 || definition.pure_vars.size() < 2) return std::nullopt;
  const std::int64_t values = chosen_by_data(args.front());
  if (static_cast<double>(values) < points) return std::nullopt;
  return "point of " + reader + ", where data choose from " + std::to_string(values) + " values";
}

}  // namespace mica::passes
