#include "tools/mica/schedule_sections.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "codegen/analysis/traffic/traffic.h"
#include "codegen/compile.h"
#include "codegen/plan/frame/kernel_frame.h"
#include "codegen/planned.h"
#include "tools/mica/block_drawing.h"
#include "tools/mica/html.h"
#include "tools/mica/march_drawing.h"
#include "tools/mica/traffic_report.h"

namespace mica::tools {
namespace {

using planning::KernelPlan;
using planning::Stage;

std::string planes_words(const KernelPlan& plan, const Stage& stage) {
  if (stage.func == plan.func) return "this one";
  if (!stage.step) return "-";
  if (stage.step->dim < 0) return "the same in every plane";
  const auto at = [](std::int64_t plane) {
    return plane > 0 ? fmt::format("+{}", plane) : std::to_string(plane);
  };
  const std::int64_t newest = stage.step->ahead, oldest = newest - stage.step->depth + 1;
  return newest == oldest
             ? at(newest)
             : fmt::format("{} to {}: ring of {}", at(oldest), at(newest), stage.step->depth);
}

std::string reads_words(const KernelPlan& plan, const Stage& stage) {
  std::vector<std::string> sources;
  std::string words;
  for (const planning::Tap& tap : plan.taps) {
    if (tap.reader != stage.func ||
        std::find(sources.begin(), sources.end(), tap.source) != sources.end())
      continue;
    sources.push_back(tap.source);
    words += (words.empty() ? "" : "; ") + tap.source + ": " + served_text(plan, stage.func, tap.source);
  }
  return words;
}

// A line a stage, as the plan has it.
std::string stages_table(const KernelPlan& plan) {
  const std::string planes = plan.frame.march ? "planes of " + plan.frame.march->dim : "";
  std::vector<std::string> headings{"stage", "points"};
  if (plan.frame.march) headings.push_back(planes);
  for (const char* heading : {"kept in", "filled", "reads"}) headings.emplace_back(heading);
  HtmlTable table(headings, true);
  for (const Stage& stage : plan.stages) {
    std::vector<std::string> cells{stage.func + (stage.copies.empty() ? "" : ", of " + stage.copies),
                                   box_text(plan, stage)};
    if (plan.frame.march) cells.push_back(planes_words(plan, stage));
    for (const std::string& cell : {kept_text(stage), fill_text(plan, stage), reads_words(plan, stage)})
      cells.push_back(cell);
    table.row(cells);
  }
  return table.html();
}

std::string name_of(const std::string& func, std::size_t definition) {
  return func + (definition > 0 ? fmt::format(", update {}", definition - 1) : "");
}

std::string kernel_section(const KernelPlan& plan) {
  return "<h3>" +
         escaped((plan.frame.on_gpu ? "Kernel " : "Loops of ") + name_of(plan.func, plan.definition)) +
         "</h3>\n" + html_paragraph((plan.frame.on_gpu ? "A " : "The ") + frame_text(plan) + ".") +
         block_drawing(plan) + march_drawing(plan) + stages_table(plan);
}

// Kernels and, of Funcs at the root that have no plan, tiles.
std::string drawings(const Func& output, const Target& target) {
  std::string html;
  for (const auto& [where, program] : planned({output}, target)) {
    if (!where.empty()) html += "<h3>" + escaped("Where " + where) + "</h3>\n";
    for (const auto& func : program.pipeline.funcs) {
      if (!program.required.count(func->name) || !program.is_root(func->name)) continue;
      for (std::size_t i = 0; i < func->definitions.size(); ++i) {
        if (const KernelPlan* plan = planning::find_kernel(program.kernels, func->name, i)) {
          html += kernel_section(*plan);
          continue;
        }
        html += "<h3>" + escaped("Loops of " + name_of(func->name, i)) + "</h3>\n" +
                html_paragraph(
                    "Loops of the host that keep nothing along a march: there is no kernel and no plan "
                    "of one.") +
                tile_drawing(func->name, planning::root_frame(program, *func, i));
      }
    }
  }
  return html;
}

}  // namespace

std::string schedule_sections(const Func& output, const Target& target,
                              const std::vector<std::int64_t>& extents) {
  std::string html = html_folded("Schedule", to_string(output.schedule()), true);
  html += drawings(output, target);
  html += html_folded("Loops", output.print_loop_nest(target), true);
  html += html_folded("Plan", output.print_plan(target));
  if (!target.is_gpu()) return html;
  std::ostringstream figures;
  TrafficOptions options;
  options.extents = extents;
  print(traffic_of(output, options), figures);
  return html + html_folded("Figures", figures.str(), true) + html_folded("PTX", compile_to_ptx(output));
}

}  // namespace mica::tools
