// Named schedules: the kernels of the documents as recipes for any stencil of the right shape.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/iterate/iteration.h"
#include "dsl/func/func.h"

namespace mica::schedules {

/// Values of a recipe's parameters by name; those left out take their defaults.
using Parameters = std::map<std::string, std::int64_t>;

/// The parameter of schedules for an Iteration's steps that says how many of them are taken at once.
inline constexpr const char* kStepsAtOnce = "steps";

/// A number that the user of a named schedule may choose.
struct Parameter {
  std::string name;
  std::int64_t value = 0;  ///< default, good on an H200
  std::int64_t min = 0, max = 0;
  std::string meaning;
};

/// One named schedule.
struct Recipe {
  std::string name;         ///< "family/kernel"
  std::string document;     ///< where the kernel is described
  std::string description;  ///< one line
  int min_dimensions = 1, max_dimensions = 4;
  bool on_gpu = true;
  std::vector<Parameter> parameters;
  void (*schedule)(Func&, const Parameters&);  ///< every parameter has a value
};

/// All recipes, by family and name.
const std::vector<Recipe>& registry();
/// UserError that lists the names if there is no such recipe.
const Recipe& find(const std::string& name);

/// Replaces the schedule of `func` and of all Funcs behind it by the named one.
/// UserErrors: no such schedule, an unknown parameter (the legal ones are listed), a value outside its
/// range, a Func with too few or too many dimensions; what is wrong with the directives for this Func,
/// when it is compiled. All stand at the line of the call.
void apply(Func& func, const std::string& name, const Parameters& parameters = {},
           CallSite at = CallSite::current());

/// The same for the step of an Iteration, of one Func; a schedule with the parameter kStepsAtOnce also
/// says how many are taken at once (Iteration::time_tile), others say one. UserErrors also: a step of
/// several Funcs.
void apply(Iteration& iteration, const std::string& name, const Parameters& parameters = {},
           CallSite at = CallSite::current());

}  // namespace mica::schedules
