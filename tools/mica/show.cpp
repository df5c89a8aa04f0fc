// mica show, plan and traffic: a named schedule, its loops, the plans of its kernels and its exact
// figures.
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>

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
  bool json = false;
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
      schedules::apply(algorithm.output, recipe.name, parameters);
      return c.algorithm;
    } catch (const UserError&) {
      continue;
    }
  }
  return "stencil7";
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
  schedules::apply(subject.algorithm.output, subject.recipe->name, subject.parameters);
  const bool plane = subject.algorithm.output.dimensions() <= 2;
  subject.size = choice.size > 0 ? choice.size : found ? found->size : plane ? 8192 : 512;
  return subject;
}

Traffic traffic_of(const Subject& subject) {
  const auto dimensions = static_cast<std::size_t>(subject.algorithm.output.dimensions());
  TrafficOptions options;
  options.extents.assign(dimensions, subject.size);
  return mica::traffic_of(subject.algorithm.output, options);
}

Target target_of(const Subject& subject) {
  return subject.recipe->on_gpu ? Target{Backend::Cuda, 0} : Target::host();
}

void print_text(const Subject& subject) {
  const schedules::Recipe& recipe = *subject.recipe;
  std::cout << recipe.name << ": " << recipe.description << "\nfrom: " << recipe.document << "\n";
  for (const auto& p : recipe.parameters) {
    const auto given = subject.parameters.find(p.name);
    const std::int64_t value = given == subject.parameters.end() ? p.value : given->second;
    std::cout << "  " << std::left << std::setw(10) << p.name << std::setw(6) << value << p.meaning
              << " [" << p.min << ".." << p.max << "]" << (value == p.value ? "" : ", by default ")
              << (value == p.value ? "" : std::to_string(p.value)) << "\n";
  }
  std::cout << "\n"
            << to_string(subject.algorithm.output.schedule()) << "\n"
            << subject.algorithm.output.print_loop_nest(target_of(subject));
  if (!recipe.on_gpu) return;
  std::cout << "\n"
            << subject.algorithm.name << ": " << subject.algorithm.description << "; " << subject.size
            << " points along each side\n";
  print(traffic_of(subject), std::cout);
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
  command.add_option("--param,-p", choice.parameters, "parameters, name=value");
}

}  // namespace

void add_show(CLI::App& app) {
  auto* command = app.add_subcommand("show", "one schedule as code, with its loop nest and its figures");
  auto choice = std::make_shared<Choice>();
  add_options(*command, *choice);
  command->add_flag("--json", choice->json, "print JSON");
  command->callback([choice] {
    const Subject subject = subject_of(*choice);
    if (choice->json) {
      print_json(subject);
    } else {
      print_text(subject);
    }
  });
}

void add_plan(CLI::App& app) {
  auto* command = app.add_subcommand(
      "plan", "what the kernels of one schedule keep where, which memory serves which tap, who waits");
  auto choice = std::make_shared<Choice>();
  add_options(*command, *choice);
  command->callback([choice] {
    const Subject subject = subject_of(*choice);
    std::cout << subject.algorithm.output.print_plan(target_of(subject));
  });
}

void add_traffic(CLI::App& app) {
  auto* command = app.add_subcommand("traffic", "bytes that the kernels of a case will move, as JSON");
  auto choice = std::make_shared<Choice>();
  add_options(*command, *choice);
  command->callback(
      [choice] { std::cout << to_predictions(traffic_of(subject_of(*choice))).dump(2) << "\n"; });
}

}  // namespace mica::tools
