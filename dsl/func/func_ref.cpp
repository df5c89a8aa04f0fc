// FuncRef: definitions and updates with their checks, and reading a Func.
#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "dsl/check/self_reads.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/recurrence.h"

namespace mica {

namespace {

constexpr const char* kOnlyPoint = "_";  // the Var of a Func without arguments

/// "argument 2 of f", counted from 1.
std::string argument_name(const FunctionData& f, std::size_t i) {
  return fmt::format("argument {} of {}", i + 1, f.name);
}

/// Does `from` read `f`, directly or through the Funcs it calls?
bool reads(const std::vector<Expr>& from, const FunctionData* f,
           std::unordered_set<const FunctionData*>& seen) {
  bool found = false;
  visit_nodes(from, [&](const Expr& e) {
    const auto* access = e.as<Access>();
    if (found || !access || !access->function) return;
    const FunctionData* callee = access->function.get();
    if (callee == f) found = true;
    if (found || !seen.insert(callee).second) return;
    for (const auto& definition : callee->definitions) {
      found = found || reads(definition.args, f, seen) || reads(definition.values, f, seen);
    }
  });
  return found;
}

std::vector<std::string> free_vars(const std::vector<Expr>& exprs) {
  std::vector<std::string> names;
  visit_nodes(exprs, [&](const Expr& e) {
    const auto* var = e.as<VarRef>();
    if (var && std::find(names.begin(), names.end(), var->name) == names.end()) {
      names.push_back(var->name);
    }
  });
  return names;
}

std::vector<std::shared_ptr<const RDomData>> domains_of(const std::vector<Expr>& exprs) {
  std::vector<std::shared_ptr<const RDomData>> domains;
  visit_nodes(exprs, [&](const Expr& e) {
    const auto* rvar = e.as<RVarRef>();
    if (rvar && std::find(domains.begin(), domains.end(), rvar->domain) == domains.end()) {
      domains.push_back(rvar->domain);
    }
  });
  return domains;
}

/// "the value", or "value 1" of a Tuple.
std::string value_name(const std::vector<Expr>& values, std::size_t i) {
  return values.size() == 1 ? "the value" : fmt::format("value {}", i);
}

void require_values(const FunctionData& f, const std::vector<Expr>& values,
                    const SourceLocation& where) {
  if (values.empty()) {
    throw UserError(fmt::format("{} is given a Tuple of 0 values: it needs at least one", f.name),
                    where);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].defined()) continue;
    throw UserError(fmt::format("{} of {} is an undefined Expr", value_name(values, i), f.name), where);
  }
}

/// `values` are defined, and of types that are decided.
void check_values(const FunctionData& f, const std::vector<Expr>& values, const SourceLocation& where) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_user_type(values[i].type())) {
      throw UserError(
          fmt::format("{} of {} has type {}; a Func may hold {}: cast it", value_name(values, i), f.name,
                      to_string(values[i].type()), user_types()),
          where);
    }
  }
}

void define_pure(FunctionData& f, const std::vector<Expr>& args, std::vector<Expr> values,
                 const SourceLocation& where) {
  Definition definition;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto* var = args[i].as<VarRef>();
    if (!var) {
      throw UserError(fmt::format("{} is {}, but the first definition of a Func has a plain Var for "
                                  "each dimension: write {}(x, ...) = ... first, then the update",
                                  argument_name(f, i), brief(args[i]), f.name),
                      where);
    }
    const auto& vars = definition.pure_vars;
    if (std::find(vars.begin(), vars.end(), var->name) != vars.end()) {
      throw UserError(fmt::format("{} is defined with Var {} twice on its left-hand side: each "
                                  "dimension needs a Var of its own",
                                  f.name, var->name),
                      where);
    }
    definition.pure_vars.push_back(var->name);
  }
  if (auto domains = domains_of(values); !domains.empty()) {
    throw UserError(fmt::format("the first definition of {} uses reduction domain {}: use "
                                "sum({}, ...), or an update {}(...) += ...",
                                f.name, domains[0]->name, domains[0]->name, f.name),
                    where);
  }
  for (const auto& name : free_vars(values)) {
    if (std::find(definition.pure_vars.begin(), definition.pure_vars.end(), name) !=
        definition.pure_vars.end()) {
      continue;
    }
    throw UserError(fmt::format("Var {} is used in the definition of {} but is not on its left-hand "
                                "side, which has {}{}",
                                name, f.name, joined(definition.pure_vars),
                                did_you_mean(name, definition.pure_vars)),
                    where);
  }
  values = with_decided_types(f, definition.pure_vars, values, where);
  check_values(f, values, where);
  definition.recurrence = find_recurrence(f, definition.pure_vars, values);
  f.args = definition.pure_vars;
  for (const auto& value : values) f.types.push_back(value.type());
  definition.args = args;
  definition.values = std::move(values);
  definition.where = where;
  f.definitions.push_back(std::move(definition));
}

/// The values in the Func's types; a UserError when one has another type.
std::vector<Expr> in_types(const FunctionData& f, const std::vector<Expr>& values,
                           const SourceLocation& where) {
  if (values.size() != f.types.size()) {
    throw UserError(
        fmt::format("an update of {} gives {}, but {} has {}", f.name, counted(values.size(), "value"),
                    f.name, counted(f.types.size(), "value")),
        where);
  }
  std::vector<Expr> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Expr value = match_type(values[i], f.types[i]);
    if (!value.defined()) {
      throw UserError(
          fmt::format("an update of {} has type {}, but {} holds {}: write cast({}, ...)", f.name,
                      to_string(values[i].type()), f.name, to_string(f.types[i]), to_string(f.types[i])),
          where);
    }
    result.push_back(value);
  }
  return result;
}

/// The pure Vars of an update's left-hand side, which stand where the Func's own stand.
std::vector<std::string> pure_vars_of(const FunctionData& f, const std::vector<Expr>& args,
                                      const SourceLocation& where) {
  std::vector<std::string> vars;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto* var = args[i].as<VarRef>();
    if (!var) continue;
    if (var->name != f.args[i]) {
      throw UserError(fmt::format("{} is Var {} in an update, but this dimension is named {}: use {} "
                                  "there, or a dimension of an RDom",
                                  argument_name(f, i), var->name, f.args[i], f.args[i]),
                      where);
    }
    vars.push_back(var->name);
  }
  return vars;
}

/// Accesses of `f` in its own update refer to it without owning it.
Expr with_self_references(const FunctionData& f, const Expr& value) {
  NodeRewriter rewrite([&](const Expr& e) -> Expr {
    const auto* access = e.as<Access>();
    if (!access || access->function.get() != &f) return {};
    Access self = *access;
    self.function = nullptr;
    self.is_self = true;
    if (f.is_scalar) self.args = {make_var(f.args.front())};
    return make_expr(e.type(), std::move(self));
  });
  return rewrite(value);
}

/// What an update over a domain with a condition stores: where it does not hold, what was there.
std::vector<Expr> where_domain_says(const FunctionData& f, const std::vector<Expr>& args,
                                    std::vector<Expr> values, const SourceLocation& where) {
  std::vector<Expr> all = args;
  all.insert(all.end(), values.begin(), values.end());
  const auto domains = domains_of(all);
  if (domains.size() != 1 || !domains[0]->condition.defined()) return values;
  const Expr condition = condition_of(domains[0]);
  for (std::size_t i = 0; i < values.size() && i < f.types.size(); ++i) {
    const Expr value = match_type(values[i], f.types[i]);
    if (!value.defined()) continue;  // reported by in_types
    Access before;
    before.name = f.name;
    before.is_self = true;
    before.value_index = static_cast<int>(i);
    before.args = args;
    before.where = where;
    values[i] = select(condition, value, make_expr(f.types[i], std::move(before)));
  }
  return values;
}

void define_update(FunctionData& f, const std::vector<Expr>& args, const std::vector<Expr>& values,
                   const SourceLocation& where) {
  Definition definition;
  definition.where = where;
  definition.pure_vars = pure_vars_of(f, args, where);
  for (const auto& arg : args) {
    definition.args.push_back(with_self_references(f, arg));
  }
  for (const auto& value : in_types(f, where_domain_says(f, args, values, where), where)) {
    definition.values.push_back(with_self_references(f, value));
  }
  std::vector<Expr> all = definition.args;
  all.insert(all.end(), definition.values.begin(), definition.values.end());
  for (const auto& name : free_vars(all)) {
    if (std::find(definition.pure_vars.begin(), definition.pure_vars.end(), name) !=
        definition.pure_vars.end()) {
      continue;
    }
    throw UserError(fmt::format("Var {} is used in an update of {} but does not stand alone on its "
                                "left-hand side, which has {}: use a dimension of an RDom",
                                name, f.name, joined(definition.pure_vars)),
                    where);
  }
  const auto domains = domains_of(all);
  if (domains.size() > 1) {
    throw UserError(fmt::format("an update of {} uses {} reduction domains, {} and {}: one RDom of "
                                "several dimensions can hold both",
                                f.name, domains.size(), domains[0]->name, domains[1]->name),
                    where);
  }
  if (!domains.empty()) definition.domain = domains[0];
  for (std::size_t d = 0; definition.domain && d < definition.domain->dims.size(); ++d) {
    const auto& name = definition.domain->dims[d].name;
    const auto& vars = definition.pure_vars;
    if (std::find(vars.begin(), vars.end(), name) == vars.end()) continue;
    throw UserError(fmt::format("{} names both a Var and a dimension of an RDom in an update of {}: "
                                "give the RDom another name",
                                name, f.name),
                    where);
  }
  std::unordered_set<const FunctionData*> seen;
  if (reads(all, &f, seen)) {
    throw UserError(fmt::format("an update of {} reads {} through another Func: an update may read "
                                "its own Func directly only",
                                f.name, f.name),
                    where);
  }
  f.definitions.push_back(std::move(definition));
}

void define(FunctionData& f, const std::vector<Expr>& args, const std::vector<Expr>& values,
            const SourceLocation& where) {
  require_values(f, values, where);
  if (f.defined()) {
    require_defined_reads(values);
    require_defined_reads(args);
    check_values(f, values, where);
    define_update(f, args, values, where);
  } else {
    define_pure(f, args, values, where);
  }
}

/// Gives an undefined Func that is updated first the pure definition f(x, ...) = start.
void define_start(FunctionData& f, const std::vector<Expr>& args, const Expr& value, std::int64_t start,
                  const SourceLocation& where) {
  require_values(f, {value}, where);
  require_defined_reads({value});
  check_values(f, {value}, where);
  std::set<std::string> taken;
  for (const auto& arg : args) {
    if (const auto* var = arg.as<VarRef>()) taken.insert(var->name);
  }
  std::vector<Expr> vars;
  UniqueNames names;
  for (const auto& name : taken) names.reserve(name);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool plain = args[i].as<VarRef>() != nullptr;
    vars.push_back(plain ? args[i] : make_var(names.claim(default_dimension_names()[i])));
  }
  const Expr constant = make_const(value.type(), start);
  define_pure(f, vars, {constant}, where);
}

}  // namespace

FuncRef::FuncRef(std::shared_ptr<FunctionData> function, std::vector<Expr> args, SourceLocation where)
    : function_(std::move(function)), where_(std::move(where)) {
  FunctionData& f = *function_;
  if (args.empty()) {
    if (f.defined() && !f.is_scalar) {
      throw UserError(fmt::format("{} is used without arguments, but it has {}: {}", f.name,
                                  counted(f.args.size(), "dimension"), joined(f.args)),
                      where_);
    }
    f.is_scalar = true;
    args_.push_back(make_var(kOnlyPoint));
    return;
  }
  if (args.size() > std::size_t{kMaxDimensions}) {
    throw UserError(fmt::format("{} is used with {}; a Func has 1 to {} dimensions", f.name,
                                counted(args.size(), "argument"), kMaxDimensions),
                    where_);
  }
  if (f.defined() && f.is_scalar) {
    throw UserError(fmt::format("{} is used with {}, but it is a single value: write {}()", f.name,
                                counted(args.size(), "argument"), f.name),
                    where_);
  }
  if (f.defined() && args.size() != f.args.size()) {
    throw UserError(
        fmt::format("{} is used with {}, but it has {}: {}", f.name, counted(args.size(), "argument"),
                    counted(f.args.size(), "dimension"), joined(f.args)),
        where_);
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    args_.push_back(coordinate(f.name, i, args[i], where_));
  }
}

Func FuncRef::operator=(Expr value) {
  define(*function_, args_, {value}, where_);
  return Func(function_);
}

Func FuncRef::operator=(const Tuple& values) {
  define(*function_, args_, values.values(), where_);
  return Func(function_);
}

Func FuncRef::operator=(const FuncRef& value) {
  if (value.size() <= 1) return *this = Expr(value);
  std::vector<Expr> values;
  for (int i = 0; i < value.size(); ++i) values.push_back(value[i]);
  return *this = Tuple(values);
}

Func FuncRef::operator+=(Expr value) {
  if (!function_->defined()) define_start(*function_, args_, value, 0, where_);
  return *this = placed_at(where_, [&] { return Expr(*this) + value; });
}

Func FuncRef::operator-=(Expr value) {
  if (!function_->defined()) define_start(*function_, args_, value, 0, where_);
  return *this = placed_at(where_, [&] { return Expr(*this) - value; });
}

Func FuncRef::operator*=(Expr value) {
  if (!function_->defined()) define_start(*function_, args_, value, 1, where_);
  return *this = placed_at(where_, [&] { return Expr(*this) * value; });
}

Func FuncRef::operator/=(Expr value) {
  if (!function_->defined()) define_start(*function_, args_, value, 1, where_);
  return *this = placed_at(where_, [&] { return Expr(*this) / value; });
}

FuncRef::operator Expr() const {
  if (function_->types.size() > 1) {
    throw UserError(fmt::format("{} has {}: name one of them, {}(...)[0]", function_->name,
                                counted(function_->types.size(), "value"), function_->name),
                    where_);
  }
  return function_->defined() ? (*this)[0] : read(-1, undecided_type());
}

const Expr FuncRef::operator[](ElementIndex index) const {  // NOLINT(readability-const-return-type)
  const FunctionData& f = *function_;
  const std::int64_t i = index.value();
  if (!f.defined() && i >= 0) return read(static_cast<int>(i), undecided_type());
  if (i < 0 || i >= size()) {
    throw UserError(
        fmt::format("element {} of {}, which has {}", i, f.name, counted(f.types.size(), "value")),
        where_);
  }
  return read(static_cast<int>(i), f.types[static_cast<std::size_t>(i)]);
}

Expr FuncRef::read(int element, Type type) const {
  Access access;
  access.name = function_->name;
  access.function = function_;
  access.value_index = element;
  access.args = function_->is_scalar ? std::vector{Expr(0)} : args_;
  access.where = where_;
  return make_expr(type, std::move(access));
}

int FuncRef::size() const { return static_cast<int>(function_->types.size()); }

}  // namespace mica
