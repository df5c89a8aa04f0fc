// mica list: what has a name.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/algorithms.h"
#include "bench/cases.h"
#include "tools/mica/commands.h"

namespace mica::tools {
namespace {

using nlohmann::ordered_json;

constexpr int kNames = 28;  // columns before what is said of a name

std::string words_of(const schedules::Parameters& parameters) {
  std::string words;
  for (const auto& [name, value] : parameters) {
    words += (words.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  return words;
}

void print_text(std::ostream& out) {
  const auto line = [&](const std::string& name, const std::string& text) {
    out << "  " << bench::Inked{bench::Ink::Strong, fmt::format("{:<{}}", name, kNames - 2)} << text
        << "\n";
  };
  out << "schedules (mica show NAME)\n";
  for (const auto& recipe : schedules::registry()) {
    line(recipe.name, recipe.description);
    std::string parameters = "parameters:";
    for (const auto& p : recipe.parameters) {
      parameters += fmt::format(" {}={}[{}..{}]", p.name, p.value, p.min, p.max);
    }
    line("", parameters);
    line("", "from: " + recipe.document);
  }
  out << "algorithms (mica dump NAME, mica show ... --algorithm NAME)\n";
  for (const auto& name : bench::algorithm_names()) line(name, bench::make_algorithm(name).description);
  out << "cases (mica bench NAME)\n";
  for (const auto& c : bench::cases()) {
    const std::string parameters = words_of(c.parameters);
    line(c.name, c.algorithm + (bench::has_schedule(c) ? " under " + c.schedule : "") +
                     (parameters.empty() ? "" : ", " + parameters) + ", " + std::to_string(c.size) +
                     " points a side");
  }
}

void print_json(std::ostream& out) {
  ordered_json j;
  j["schedules"] = ordered_json::array();
  for (const auto& recipe : schedules::registry()) {
    ordered_json parameters = ordered_json::array();
    for (const auto& p : recipe.parameters) {
      parameters.push_back({{"name", p.name},
                            {"meaning", p.meaning},
                            {"default", p.value},
                            {"min", p.min},
                            {"max", p.max}});
    }
    j["schedules"].push_back({{"name", recipe.name},
                              {"description", recipe.description},
                              {"document", recipe.document},
                              {"on_gpu", recipe.on_gpu},
                              {"min_dimensions", recipe.min_dimensions},
                              {"max_dimensions", recipe.max_dimensions},
                              {"parameters", parameters}});
  }
  j["algorithms"] = ordered_json::array();
  for (const auto& name : bench::algorithm_names()) {
    const bench::Algorithm algorithm = bench::make_algorithm(name);
    j["algorithms"].push_back(
        {{"name", name}, {"description", algorithm.description}, {"schedule", algorithm.schedule}});
  }
  j["cases"] = ordered_json::array();
  for (const auto& c : bench::cases()) {
    j["cases"].push_back({{"name", c.name},
                          {"algorithm", c.algorithm},
                          {"schedule", c.schedule},
                          {"parameters", c.parameters},
                          {"size", c.size}});
  }
  out << j.dump(2) << "\n";
}

}  // namespace

void add_list(CLI::App& app) {
  struct Choice {
    bool json = false, wide = false;
  };
  auto* command =
      app.add_subcommand("list", "the named schedules, algorithms to try them on, and cases");
  auto choice = std::make_shared<Choice>();
  command->add_flag("--json", choice->json, "print JSON");
  add_wide(*command, choice->wide);
  set_example(*command, "mica list --json");
  command->callback([choice] {
    if (choice->json) {
      print_json(std::cout);
    } else {
      bench::Page page = page_on_stdout(choice->wide);
      print_text(page);
    }
  });
}

}  // namespace mica::tools
