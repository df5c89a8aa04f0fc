// mica show, plan and traffic: a named schedule, its loops, the plans of its kernels and its exact
// figures.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bench/report.h"
#include "tools/mica/commands.h"
#include "tools/mica/html.h"
#include "tools/mica/schedule_sections.h"
#include "tools/mica/show_subject.h"
#include "tools/mica/traffic_report.h"

namespace mica::tools {
namespace {

struct Choice : ShowChoice {
  std::string html;
  bool json = false, wide = false;
};

// "[1..1024], by default 16".
std::string range_of(const ShowSubject& subject, const schedules::Parameter& p) {
  return fmt::format("[{}..{}]", p.min, p.max) +
         (subject.value_of(p) == p.value ? "" : ", by default " + std::to_string(p.value));
}

void print_text(const ShowSubject& subject, std::ostream& out) {
  // What may be refused comes before the first line.
  const std::string loops = subject.algorithm.output.print_loop_nest(subject.target());
  std::optional<Traffic> traffic;
  if (subject.on_gpu) traffic = subject.traffic();
  out << bench::Inked{bench::Ink::Strong, subject.name} << ": " << subject.description << "\n"
      << bench::Inked{bench::Ink::Faint, "from: " + subject.document} << "\n";
  std::size_t name_columns = 0, value_columns = 0;
  for (const auto& p : subject.parameters) {
    name_columns = std::max(name_columns, p.name.size());
    value_columns = std::max(value_columns, std::to_string(subject.value_of(p)).size());
  }
  for (const auto& p : subject.parameters) {
    out << fmt::format("  {:<{}}  {:<{}}  {} {}", p.name, name_columns, subject.value_of(p),
                       value_columns, p.meaning, range_of(subject, p))
        << "\n";
  }
  out << "\n" << to_string(subject.algorithm.output.schedule()) << "\n" << loops;
  if (!traffic) return;
  out << "\n"
      << subject.algorithm.name << ": " << subject.algorithm.description << "; " << subject.size
      << " points along each side\n";
  print(*traffic, out);
}

void print_json(const ShowSubject& subject) {
  nlohmann::ordered_json j;
  j["name"] = subject.name;
  j["description"] = subject.description;
  j["document"] = subject.document;
  j["parameters"] = nlohmann::ordered_json::array();
  for (const auto& p : subject.parameters) {
    j["parameters"].push_back({{"name", p.name},
                               {"meaning", p.meaning},
                               {"value", subject.value_of(p)},
                               {"default", p.value},
                               {"min", p.min},
                               {"max", p.max}});
  }
  j["algorithm"] = subject.algorithm.name;
  j["size"] = subject.size;
  j["schedule"] = to_string(subject.algorithm.output.schedule());
  j["loops"] = subject.algorithm.output.print_loop_nest(subject.target());
  if (subject.on_gpu) j["figures"] = to_json(subject.traffic());
  std::cout << j.dump(2) << "\n";
}

std::string page_of(const ShowSubject& subject) {
  std::string body =
      html_paragraph(subject.description + ".") + html_paragraph("From: " + subject.document);
  body += html_paragraph(fmt::format("On {}: {}; {} points along each side.", subject.algorithm.name,
                                     subject.algorithm.description, subject.size));
  HtmlTable parameters({"parameter", "value", "what it is", "range"}, true);
  for (const auto& p : subject.parameters) {
    parameters.row({p.name, std::to_string(subject.value_of(p)), p.meaning, range_of(subject, p)});
  }
  if (!subject.parameters.empty()) body += html_heading("Parameters") + parameters.html();
  body += html_heading("What it does") +
          schedule_sections(subject.algorithm.output, subject.target(), subject.extents());
  return html_document(subject.name, body);
}

void add_options(CLI::App& command, Choice& choice) {
  command
      .add_option(
          "name", choice.name,
          "schedule or case: see `mica list`; or a stencil of `mica bench time`, steps=T at once")
      ->required();
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
  auto* json = command->add_flag("--json", choice->json, "print JSON");
  command->add_option("--html", choice->html, "write all that, drawings, plan and PTX to this page")
      ->excludes(json);
  add_wide(*command, choice->wide);
  set_example(*command, "mica show pmpp/register-march --size 256 -p chunk=32 tile_y=4");
  command->callback([choice] {
    with_parameters(choice->parameters, [&] {
      const ShowSubject subject = show_subject(*choice);
      if (choice->json) return print_json(subject);
      bench::Page page = page_on_stdout(choice->wide);
      if (!choice->html.empty()) {
        bench::write_text(choice->html, page_of(subject));
        page << "page " << choice->html << "\n";
        return;
      }
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
          const ShowSubject subject = show_subject(*choice);
          const std::string plan = subject.algorithm.output.print_plan(subject.target());
          page_on_stdout(choice->wide)
              << (plan.empty() ? subject.name + " makes no kernel that keeps anything: no plan\n"
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
      std::cout << to_predictions(show_subject(*choice).traffic()).dump(2) << "\n";
    });
  });
}

}  // namespace mica::tools
