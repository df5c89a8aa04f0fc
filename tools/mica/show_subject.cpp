#include "tools/mica/show_subject.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/time.h"
#include "dsl/expr/names.h"
#include "tools/mica/commands.h"

namespace mica::tools {
namespace {

std::optional<bench::Case> case_of(const std::string& name) {
  for (const auto& c : bench::cases()) {
    if (c.name == name) return c;
  }
  for (const auto& c : bench::cases()) {
    if (c.schedule == name) return c;
  }
  return std::nullopt;
}

// The first algorithm that the schedule can be applied to.
std::string algorithm_for(const schedules::Recipe& recipe, const schedules::Parameters& parameters) {
  for (const auto& c : bench::cases()) {
    const auto family = recipe.name.substr(0, recipe.name.find('/') + 1);
    if (!c.name.starts_with(family)) continue;
    try {
      bench::Algorithm algorithm = bench::make_algorithm(c.algorithm);
      bench::apply_named(algorithm, recipe.name, parameters);
      return c.algorithm;
    } catch (const UserError&) {
      continue;
    }
  }
  return "stencil7";
}

// Points along a side for the figures of updates with colors, which take time with every point.
constexpr std::int64_t kColored = 256;

bool has_colors(const bench::Algorithm& algorithm) {
  const auto& definitions = algorithm.output.function()->definitions;
  return std::ranges::any_of(definitions, [](const auto& d) { return d.coloring.has_value(); });
}

// Several steps at once of a stencil that is iterated.
ShowSubject time_tile(const bench::TimeCase& c, const ShowChoice& choice) {
  schedules::Parameters given = parse_parameters(choice.parameters);
  const auto steps = given.extract("steps");
  const auto known =
      std::find_if(c.variants.begin(), c.variants.end(), [&](const bench::TimeVariant& v) {
        return v.steps >= (steps ? std::max<std::int64_t>(steps.mapped(), 2) : 2);
      });
  bench::TimeVariant variant = known != c.variants.end() ? *known : c.variants.back();
  if (steps) {
    if (steps.mapped() < 2 || steps.mapped() > 64) {
      throw UserError(fmt::format("steps={}: a time tile has 2 to 64 steps", steps.mapped()));
    }
    variant.steps = static_cast<int>(steps.mapped());
  }
  const std::vector<std::string> names{"threads_x", "threads_y", "rows",      "chunk", "shortest",
                                       "vec",       "scatter",   "registers", "ahead"};
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw UserError(name + ": a time tile has no such parameter" + did_you_mean(name, names) +
                      "; it has steps, " + joined(names));
    }
    variant.parameters[name] = value;
  }

  ShowSubject subject;
  subject.name = c.name;
  subject.description = fmt::format("{}, {} steps at once", c.description, variant.steps);
  for (const auto& [name, value] : variant.parameters)
    subject.description += fmt::format(", {}={}", name, value);
  subject.document = "mica bench time " + c.name;
  subject.on_gpu = true;
  subject.algorithm.name = c.name;
  subject.algorithm.description = fmt::format("{} steps of: {}", variant.steps, c.description);
  subject.algorithm.output =
      bench::make_time_case(c.name, variant, subject.target()).steps_at_once(subject.target());
  subject.algorithm.halo.assign(static_cast<std::size_t>(c.dimensions), 1);
  subject.size = choice.size > 0 ? choice.size : c.size;
  return subject;
}

}  // namespace

std::int64_t ShowSubject::value_of(const schedules::Parameter& parameter) const {
  const auto given = values.find(parameter.name);
  return given == values.end() ? parameter.value : given->second;
}

Target ShowSubject::target() const { return on_gpu ? Target{Backend::Cuda, 0} : Target::host(); }

std::vector<std::int64_t> ShowSubject::extents() const { return algorithm.extents(size); }

Traffic ShowSubject::traffic() const {
  TrafficOptions options;
  options.extents = extents();
  return traffic_of(algorithm.output, options);
}

ShowSubject show_subject(const ShowChoice& choice) {
  const auto found = case_of(choice.name);
  for (const bench::TimeCase& c : bench::time_cases()) {
    if (!found && c.name == choice.name && choice.algorithm.empty()) return time_tile(c, choice);
  }
  const schedules::Recipe& recipe = schedules::find(found ? found->schedule : choice.name);
  ShowSubject subject{recipe.name, recipe.description, recipe.document, recipe.parameters};
  if (found) subject.values = found->parameters;
  for (const auto& [name, value] : parse_parameters(choice.parameters)) subject.values[name] = value;
  subject.on_gpu = recipe.on_gpu;
  subject.algorithm = bench::make_algorithm(!choice.algorithm.empty() ? choice.algorithm
                                            : found                   ? found->algorithm
                                                    : algorithm_for(recipe, subject.values));
  bench::apply_named(subject.algorithm, recipe.name, subject.values);
  const bool plane = subject.algorithm.output.dimensions() <= 2;
  subject.size = choice.size > 0 ? choice.size : found ? found->size : plane ? 8192 : 512;
  if (choice.size == 0 && has_colors(subject.algorithm)) subject.size = std::min(subject.size, kColored);
  return subject;
}

}  // namespace mica::tools
