// mica show, plan and traffic: a named schedule, its loops, the plans of its kernels and its exact
// figures.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bench/algorithms.h"
#include "bench/cases.h"
#include "tools/mica/commands.h"
#include "tools/mica/traffic_report.h"

namespace mica::tools {
namespace {

struct Choice {
  std::string name, algorithm;
  std::vector<std::string> parameters;
  std::int64_t size = 0;
  bool json = false, wide = false;
};

// What `name` stands for: a case of the benchmarks, or a schedule on an algorithm that it suits.
struct Subject {
  const schedules::Recipe* recipe = nullptr;
  bench::Algorithm algorithm;
  schedules::Parameters parameters;
  std::int64_t size = 0;
};

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

Subject subject_of(const Choice& choice) {
  Subject subject;
  const auto found = case_of(choice.name);
  subject.recipe = &schedules::find(found ? found->schedule : choice.name);
  if (found) subject.parameters = found->parameters;
  for (const auto& [name, value] : parse_parameters(choice.parameters)) {
    subject.parameters[name] = value;
  }
  subject.algorithm =
      bench::make_algorithm(!choice.algorithm.empty() ? choice.algorithm
                            : found                   ? found->algorithm
                                    : algorithm_for(*subject.recipe, subject.parameters));
  bench::apply_named(subject.algorithm, subject.recipe->name, subject.parameters);
  const bool plane = subject.algorithm.output.dimensions() <= 2;
  subject.size = choice.size > 0 ? choice.size : found ? found->size : plane ? 8192 : 512;
  if (choice.size == 0 && has_colors(subject.algorithm)) subject.size = std::min(subject.size, kColored);
  return subject;
}

Traffic traffic_of(const Subject& subject) {
  TrafficOptions options;
  options.extents = subject.algorithm.extents(subject.size);
  return mica::traffic_of(subject.algorithm.output, options);
}

Target target_of(const Subject& subject) {
  return subject.recipe->on_gpu ? Target{Backend::Cuda, 0} : Target::host();
}

void print_text(const Subject& subject, std::ostream& out) {
  const schedules::Recipe& recipe = *subject.recipe;
  // What may be refused comes before the first line.
  const std::string loops = subject.algorithm.output.print_loop_nest(target_of(subject));
  std::optional<Traffic> traffic;
  if (recipe.on_gpu) traffic = traffic_of(subject);
  out << bench::Inked{bench::Ink::Strong, recipe.name} << ": " << recipe.description << "\n"
      << bench::Inked{bench::Ink::Faint, "from: " + recipe.document} << "\n";
  std::size_t name_columns = 0, value_columns = 0;
  const auto value_of = [&](const schedules::Parameter& p) {
    const auto given = subject.parameters.find(p.name);
    return given == subject.parameters.end() ? p.value : given->second;
  };
  for (const auto& p : recipe.parameters) {
    name_columns = std::max(name_columns, p.name.size());
    value_columns = std::max(value_columns, std::to_string(value_of(p)).size());
  }
  for (const auto& p : recipe.parameters) {
    const std::int64_t value = value_of(p);
    out << fmt::format("  {:<{}}  {:<{}}  {} [{}..{}]", p.name, name_columns, value, value_columns,
                       p.meaning, p.min, p.max)
        << (value == p.value ? "" : ", by default " + std::to_string(p.value)) << "\n";
  }
  out << "\n" << to_string(subject.algorithm.output.schedule()) << "\n" << loops;
  if (!traffic) return;
  out << "\n"
      << subject.algorithm.name << ": " << subject.algorithm.description << "; " << subject.size
      << " points along each side\n";
  print(*traffic, out);
}

void print_json(const Subject& subject) {
  const schedules::Recipe& recipe = *subject.recipe;
  nlohmann::ordered_json j;
  j["name"] = recipe.name;
  j["description"] = recipe.description;
  j["document"] = recipe.document;
  j["parameters"] = nlohmann::ordered_json::array();
  for (const auto& p : recipe.parameters) {
    const auto given = subject.parameters.find(p.name);
    j["parameters"].push_back({{"name", p.name},
                               {"meaning", p.meaning},
                               {"value", given == subject.parameters.end() ? p.value : given->second},
                               {"default", p.value},
                               {"min", p.min},
                               {"max", p.max}});
  }
  j["algorithm"] = subject.algorithm.name;
  j["size"] = subject.size;
  j["schedule"] = to_string(subject.algorithm.output.schedule());
  j["loops"] = subject.algorithm.output.print_loop_nest(target_of(subject));
  if (recipe.on_gpu) j["figures"] = to_json(traffic_of(subject));
  std::cout << j.dump(2) << "\n";
}

void add_options(CLI::App& command, Choice& choice) {
  command.add_option("name", choice.name, "schedule or case: see `mica list`")->required();
  command.add_option("--size", choice.size, "points along each side (0: the case's own)")
      ->check(natural_number());
  command.add_option("--algorithm,-a", choice.algorithm, "algorithm to schedule");
  command.add_option("--param,-p", choice.parameters, "parameters of the schedule, name=value");
}

}  // namespace

void add_show(CLI::App& app) {
  auto* command = app.add_subcommand("show", "one schedule as code, with its loop nest and its figures");
  auto choice = std::make_shared<Choice>();
  add_options(*command, *choice);
  command->add_flag("--json", choice->json, "print JSON");
  add_wide(*command, choice->wide);
  set_example(*command, "mica show pmpp/register-march --size 256 -p chunk=32 tile_y=4");
  command->callback([choice] {
    with_parameters(choice->parameters, [&] {
      const Subject subject = subject_of(*choice);
      if (choice->json) return print_json(subject);
      bench::Page page = page_on_stdout(choice->wide);
      print_text(subject, page);
    });
  });
}

void add_plan(CLI::App& app) {
  auto* command = app.add_subcommand(
      "plan", "what the kernels of one schedule keep where, which memory serves which tap, who waits");
  auto choice = std::make_shared<Choice>();
  add_options(*command, *choice);
  add_wide(*command, choice->wide);
  set_example(*command, "mica plan pmpp/three-plane-march -p ahead=1");
  command->callback([choice] {
    with_parameters(
        choice->parameters, [&] {
          const Subject subject = subject_of(*choice);
          const std::string plan = subject.algorithm.output.print_plan(target_of(subject));
          page_on_stdout(choice->wide)
              << (plan.empty() ? subject.recipe->name + " makes no kernel that keeps anything: no plan\n"
                               : plan);
        });
  });
}

void add_traffic(CLI::App& app) {
  auto* command = app.add_subcommand("traffic", "bytes that the kernels of a case will move, as JSON");
  auto choice = std::make_shared<Choice>();
  add_options(*command, *choice);
  set_example(*command, "mica traffic seismic/z-window --size 256");
  command->callback([choice] {
    with_parameters(choice->parameters, [&] {
      std::cout << to_predictions(traffic_of(subject_of(*choice))).dump(2) << "\n";
    });
  });
}

}  // namespace mica::tools
