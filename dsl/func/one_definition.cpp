// What directives are added to.
#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/func/loop_directives.h"

namespace mica {

OneDefinition::OneDefinition(std::shared_ptr<FunctionData> function, int definition, CallSite at)
    : function_(std::move(function)), definition_(definition) {
  if (function_ == nullptr) throw UserError("a handle on a Func is made from a null pointer", at);
  const std::size_t count = function_->definitions.size();
  // Definition 0 may be yet to come.
  if (definition_ == 0 || (definition_ > 0 && static_cast<std::size_t>(definition_) < count)) return;
  throw UserError(fmt::format("definition {} of {} is asked for, which has {} (numbered from 0)",
                              definition_, function_->name, counted(count, "definition")),
                  at);
}

void OneDefinition::record(directive::AnyOp op, const SourceLocation& where) {
  Directive directive{std::move(op), where};
  if (!function_->defined()) {
    throw UserError(fmt::format("{}{}: {} is not defined yet; write {}(...) = ... before its schedule",
                                function_->name, to_string(directive), function_->name, function_->name),
                    directive.where);
  }
  Definition& definition = function_->definitions.at(static_cast<std::size_t>(definition_));
  if (specialization_ < 0) {
    definition.directives.push_back(std::move(directive));
    return;
  }
  const auto special = static_cast<std::size_t>(specialization_);
  if (special >= definition.specializations.size()) {
    throw UserError(
        fmt::format("{}{}: this specialization of {} is gone, with the schedule that it was a "
                    "part of: specialize again",
                    function_->name, to_string(directive), function_->name),
        directive.where);
  }
  definition.specializations[special].directives.push_back(std::move(directive));
}

SourceLocation OneDefinition::where_of(std::initializer_list<VarOrName> vars) {
  return vars.size() == 0 ? SourceLocation() : vars.begin()->where;
}

std::vector<std::string> OneDefinition::names_of(std::initializer_list<VarOrName> vars) {
  std::vector<std::string> names;
  for (const VarOrName& v : vars) names.push_back(v.name);
  return names;
}

void OneDefinition::check_not_zero(int value, const char* directive, const char* what,
                                   const VarOrName& v) {
  if (value != 0) return;
  throw UserError(fmt::format("{}({}, 0): a {} is at least 1; {}({}) takes the whole loop", directive,
                              v.name, what, directive, v.name),
                  v.where);
}

Stage OneDefinition::specialized(const Expr& condition, CallSite at) {
  constexpr const char* kLegal =
      "conditions are made of constants, Params and inputs' mins and extents, which a run knows when it "
      "begins";
  const std::string what = fmt::format("specialize of {}: the condition", function_->name);
  if (!function_->defined()) {
    throw UserError(fmt::format("specialize of {}, which is not defined; write {}(...) = ... before its "
                                "schedule",
                                function_->name, function_->name),
                    at);
  }
  if (specialization_ >= 0) {
    throw UserError(
        fmt::format("specialize of what is a specialization of {} itself: write one condition, "
                    "c1 && c2, on {}",
                    function_->name, function_->name),
        at);
  }
  Definition& definition = function_->definitions.at(static_cast<std::size_t>(definition_));
  Definition::Specialization special;
  special.condition = launch_condition(condition, what, kLegal, at);
  special.directives = definition.directives;
  special.taken_over = definition.directives.size();
  special.where = at;
  definition.specializations.push_back(std::move(special));
  Stage stage(function_, definition_, at);
  stage.specialization_ = static_cast<int>(definition.specializations.size()) - 1;
  return stage;
}

}  // namespace mica
