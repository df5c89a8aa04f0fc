#include "dsl/expr/node_visit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/promote.h"
#include "dsl/expr/traverse.h"

namespace mica {

namespace {

bool integer_fits(const Expr& literal, Type type) {
  const std::int64_t value = literal.as<IntImm>()->value;
  if (!type.is_float()) return has_value(type, literal.type(), value);
  const Expr rounded = converted(type, literal);
  const auto* imm = rounded.as<FloatImm>();
  // A number near the end of the integer's type may have been rounded beyond it.
  const Type of = literal.type();
  const double above = std::ldexp(1.0, of.is_uint() ? of.bits : of.bits - 1);
  return imm != nullptr && std::isfinite(imm->value) && imm->value < above &&
         to_integer(of, imm->value) == value;
}

}  // namespace

void visit_nodes(const std::vector<Expr>& roots, const std::function<void(const Expr&)>& visit) {
  NodeSet seen;
  std::vector<const Expr*> left, children;
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) left.push_back(&*root);
  while (!left.empty()) {
    const Expr& at = *left.back();
    left.pop_back();
    if (!at.defined() || !seen.insert(at.ptr().get())) continue;
    visit(at);
    children.clear();
    for_each_child(at, [&](const Expr& child) { children.push_back(&child); });
    left.insert(left.end(), children.rbegin(), children.rend());
  }
}

std::int64_t arithmetic_in(const std::vector<Expr>& roots) {
  std::int64_t operations = 0;
  visit_nodes(roots, [&](const Expr& e) {
    if (e.type().is_index()) return;
    const auto* cast = e.as<Cast>();
    const bool is_conversion =
        cast != nullptr && cast->value.as<IntImm>() == nullptr && cast->value.as<FloatImm>() == nullptr;
    operations += is_conversion || e.as<Binary>() || e.as<Unary>() || e.as<Fma>() || e.as<Select>() ||
                          e.as<Compare>()
                      ? 1
                      : 0;
  });
  return operations;
}

Expr NodeRewriter::operator()(const Expr& root) {
  if (!root.defined()) return root;
  const auto is_done = [this](const Expr& e) { return !e.defined() || done_.count(e.ptr().get()) > 0; };
  const auto done = [this](const Expr& e) { return e.defined() ? done_.at(e.ptr().get()).second : e; };
  // A node is rebuilt when it is met the second time, after its children.
  std::vector<std::pair<Expr, bool>> left{{root, false}};
  while (!left.empty()) {
    const auto [e, is_open] = left.back();
    if (is_done(e)) {
      left.pop_back();
      continue;
    }
    if (!is_open) {
      left.back().second = true;
      const auto first = static_cast<std::ptrdiff_t>(left.size());
      for_each_child(e, [&](const Expr& child) {
        if (!is_done(child)) left.emplace_back(child, false);
      });
      std::reverse(left.begin() + first, left.end());
      continue;
    }
    left.pop_back();
    Expr rebuilt = map_children(e, done);
    if (Expr replaced = replace_(rebuilt); replaced.defined()) rebuilt = replaced;
    done_.emplace(e.ptr().get(), std::pair{e, rebuilt});
  }
  return done(root);
}

Expr match_type(const Expr& value, Type type) {
  if (value.type() == type) return value;
  if (!value.type().is_scalar()) return {};
  if (value.as<IntImm>()) {
    if (value.type().is_bool() || type.is_bool()) return {};
    return integer_fits(value, type) ? converted(type, value) : Expr();
  }
  if (const auto* imm = value.as<FloatImm>()) {
    if (!type.is_float()) return {};
    const Expr rounded = make_const(type, imm->value);
    const auto* held = rounded.as<FloatImm>();
    const bool overflows = std::isfinite(imm->value) && held && !std::isfinite(held->value);
    return overflows ? Expr() : rounded;
  }
  return {};
}

namespace {

/// UserError if `e` is not known when a run begins.
void require_launch_value(const Expr& e, const std::string& what, const std::string& advice,
                          const SourceLocation& where) {
  visit_nodes({e}, [&](const Expr& node) {
    const auto* access = node.as<Access>();
    if (!access && !node.as<VarRef>() && !node.as<RVarRef>()) return;
    throw UserError(
        what + ", " + brief(e) + ", depends on " + (access ? access->name : brief(node)) + "; " + advice,
        where);
  });
}

}  // namespace

Expr launch_condition(const Expr& e, const std::string& what, const std::string& advice,
                      const SourceLocation& where) {
  if (!e.defined()) throw UserError(what + " is an undefined Expr", where);
  require_launch_value(e, what, advice, where);
  if (e.type().is_bool() && e.type().is_scalar()) return e;
  throw UserError(
      what + " is " + to_string(e.type()) + "; it must be a bool: compare it, e.g. with != 0", where);
}

Expr launch_bound(const Expr& e, const std::string& what, const std::string& advice,
                  const SourceLocation& where) {
  if (!e.defined()) throw UserError(what + " is an undefined Expr", where);
  const Expr bound = match_type(e, Int(32));
  if (!bound.defined()) {
    throw UserError(
        what + " is " + to_string(e.type()) + "; it must be an i32: write cast<int32_t>(...)", where);
  }
  require_launch_value(bound, what, advice, where);
  return bound;
}

Expr coordinate(const std::string& callee, std::size_t i, const Expr& arg, const SourceLocation& where) {
  const std::string which = fmt::format("argument {} of {}", i + 1, callee);
  if (!arg.defined()) throw UserError(which + " is an undefined Expr", where);
  const Type type = arg.type();
  if (type == Int(32)) return arg;
  if (type.is_integer() && !type.is_undecided()) {
    if (Expr literal = match_type(arg, Int(32)); literal.defined()) return literal;
    if (type.bits < 32) return cast(Int(32), arg);
  }
  const std::string what =
      type.is_undecided() ? brief(arg) + ", of a Func that is not defined yet" : to_string(type);
  throw UserError(
      fmt::format("{} is {}, but coordinates are i32: write cast<std::int32_t>(...)", which, what),
      where);
}

const std::vector<std::string>& default_dimension_names() {
  static const std::vector<std::string> names{"x", "y", "z", "w", "d4", "d5"};
  static_assert(kMaxDimensions == 6);
  return names;
}

}  // namespace mica
