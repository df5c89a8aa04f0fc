// A kernel's plan as text.
#include <algorithm>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace mica::planning {

namespace {

using Row = std::vector<std::string>;

std::string count_of(std::int64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

template <typename Numbers>
std::string product(const Numbers& numbers, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += (i ? " x " : "") + std::to_string(numbers[i]);
  return text;
}

// How many of the numbers stand up to the last that is not 1, at least one.
template <typename Numbers>
std::size_t used(const Numbers& numbers, std::size_t size) {
  while (size > 1 && numbers[size - 1] == 1) --size;
  return size;
}

}  // namespace

std::string frame_text(const KernelPlan& plan) {
  const KernelFrame& frame = plan.frame;
  std::string text;
  if (frame.on_gpu) {
    text = "block of " + product(frame.threads, used(frame.threads, 3)) + " threads";
    const std::size_t dims = used(frame.own, frame.own.size());
    if (!frame.own.empty() && (dims > 1 || frame.own[0] > 1)) {
      text += " of " + product(frame.own, dims) + " points";
    }
    text += " =";
  } else {
    text = "loops of the host over";
  }
  std::string points;
  for (std::size_t d = 0; d < frame.dims.size(); ++d) {
    if (frame.march && frame.march->dim == frame.dims[d]) continue;
    points += std::string(points.empty() ? " " : " x ") +
              (frame.block[d] ? std::to_string(*frame.block[d]) : "all of " + frame.dims[d]);
  }
  text += points.empty() ? " one point" : points;
  if (frame.march) {
    text += "; march " + frame.march->dim + ", " +
            (frame.march->chunk ? "chunks of " + std::to_string(*frame.march->chunk) : "all planes");
    if (frame.march->shortest > 0) text += ", the last of " + std::to_string(frame.march->shortest);
  }
  if (frame.filling_warps > 0) {
    text += "; " + count_of(frame.filling_warps, "further warp") + " to fill";
  }
  return text;
}

std::string box_text(const KernelPlan& plan, const Stage& stage) {
  if (stage.box.empty()) return "-";
  std::string text;
  for (std::size_t d = 0; d < stage.box.size(); ++d) {
    const Side& side = stage.box[d];
    const bool plane = plan.frame.march && side.dim >= 0 && side.points == 1 &&
                       plan.frame.dims[static_cast<std::size_t>(side.dim)] == plan.frame.march->dim;
    if (plane) continue;
    text += text.empty() ? "" : " x ";
    if (!side.points) {
      text += side.dim >= 0 ? "all of " + plan.frame.dims[static_cast<std::size_t>(side.dim)] : "?";
    } else if (side.dim < 0) {
      text += std::to_string(*side.points);
    } else {
      text += "[" + std::to_string(side.first) + "," + std::to_string(*side.end()) + ")";
    }
  }
  return text.empty() ? "point" : text;
}

std::string fill_text(const KernelPlan& plan, const Stage& stage) {
  const Fill& fill = stage.fill;
  std::string text;
  switch (fill.way) {
    case Fill::Way::Computed: text = "computed"; break;
    case Fill::Way::Loads: text = "loads of " + std::to_string(fill.bytes) + " bytes"; break;
    case Fill::Way::AsyncCopies: text = "cp.async of " + std::to_string(fill.bytes) + " bytes"; break;
    case Fill::Way::BulkCopies: text = "bulk copies of rows"; break;
    case Fill::Way::Window:
      text = "from " + fill.window + ", beside it loads of " + std::to_string(fill.bytes) + " bytes";
      break;
  }
  const bool in_words =
      fill.way == Fill::Way::Computed || fill.way == Fill::Way::Loads || fill.way == Fill::Way::Window;
  if (fill.dealt && in_words) text += ", " + mica::to_string(*fill.dealt);
  if (stage.crew.first > 0) text += ", by " + count_of(plan.frame.filling_warps, "warp");
  if (stage.step && stage.step->prefetch > 0) {
    text += ", " + count_of(stage.step->prefetch, "step") + " early";
  }
  return text;
}

std::string kept_text(const Stage& stage) {
  if (stage.kept.empty()) return "stored";
  std::string text;
  for (const Residence residence : stage.kept) {
    text += text.empty() ? "" : "; ";
    switch (residence) {
      case Residence::Registers: text += count_of(stage.registers, "register"); break;
      case Residence::Shared:
        text += "shared";
        // Of a stage inside another's loops the size is not worked out here.
        if (stage.shared_bytes > 0) text += ", " + std::to_string(stage.shared_bytes) + " bytes";
        break;
      case Residence::Global: text += "array in global memory"; break;
    }
  }
  return text;
}

std::string served_text(const KernelPlan& plan, const std::string& reader, const std::string& source) {
  std::vector<std::pair<Server, int>> served;
  for (const auto& tap : plan.taps) {
    if (tap.reader != reader || tap.source != source) continue;
    const auto known = std::find_if(served.begin(), served.end(),
                                    [&](const auto& entry) { return entry.first == tap.server; });
    if (known != served.end()) {
      known->second += tap.count;
    } else {
      served.emplace_back(tap.server, tap.count);
    }
  }
  std::string text;
  for (const auto& [server, count] : served) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + to_string(server);
  }
  return text;
}

namespace {

// Columns on a screen: characters of a name may have several bytes.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a character's further bytes
  }));
}

std::string stages_text(const KernelPlan& plan) {
  std::vector<Row> rows = {{"stage", "box", "lag", "ring", "level", "filled", "kept"}};
  for (const auto& stage : plan.stages) {
    const bool ring = stage.step && stage.step->dim >= 0;
    rows.push_back({stage.func, box_text(plan, stage), std::to_string(stage.lag()),
                    ring ? std::to_string(stage.step->depth) : "-", to_string(stage.level),
                    fill_text(plan, stage), kept_text(stage)});
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - columns_of(row[i]), ' ');
      const bool number = i == 2 || i == 3;
      line += (number ? space + row[i] : i + 1 < row.size() ? row[i] + space : row[i]) + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// Lines under one word.
void add_lines(std::string& text, const std::string& word, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string start = i == 0 ? word : "";
    text += start + std::string(8 - start.size(), ' ') + lines[i] + "\n";
  }
}

// A line a reader.
std::vector<std::string> taps_lines(const KernelPlan& plan) {
  std::vector<std::string> lines;
  for (const auto& stage : plan.stages) {
    std::vector<std::string> sources;
    for (const auto& tap : plan.taps) {
      const bool known = std::find(sources.begin(), sources.end(), tap.source) != sources.end();
      if (tap.reader == stage.func && !known) sources.push_back(tap.source);
    }
    if (sources.empty()) continue;
    std::string line;
    for (const auto& source : sources) {
      line += (line.empty() ? stage.func + " <- " : "; ") + source + ": " +
              served_text(plan, stage.func, source);
    }
    lines.push_back(line);
  }
  return lines;
}

// "barrier", of the block; else the numbers of those that steps take in turn, and who comes to each.
std::string meeting_text(const Meeting& at) {
  if (at.barrier == 0) return "barrier";
  const std::string first = std::to_string(at.barrier);
  const std::string last = std::to_string(at.barrier + at.turns - 1);
  return (at.turns > 1 ? "barriers " + first + " to " + last : "barrier " + first) + " of " +
         std::to_string(at.threads) + " threads";
}

std::string wait_text(const Edge& edge) {
  const std::string late =
      edge.late > 0 ? ", said " + count_of(edge.late, "step") + " later" : std::string();
  switch (edge.wait) {
    case Wait::None: return "same thread";
    case Wait::Barrier: return meeting_text(edge.at) + late;
    case Wait::Copies:
      return "group wait " + std::to_string(edge.pending) + ", " +
             (edge.with_rows ? "the rows' barrier of the step before" : meeting_text(edge.at)) + late;
    case Wait::Arrival: return "transaction barrier";
  }
  return {};
}

std::string when_text(const Edge& edge) {
  if (edge.kind == Edge::Kind::Itself) {
    return edge.of == ir::Kept::Arrivals ? "transaction barriers are set up before they are used"
                                         : "one part after the other";
  }
  const bool filled = edge.kind == Edge::Kind::Filled;
  const std::string what = edge.of == ir::Kept::Rows
                               ? (filled ? "rows given, taken " : "rows taken, given ")
                               : (filled ? "filled, read " : "read, refilled ");
  return what + (edge.steps == 0   ? "in the same step"
                 : edge.steps == 1 ? "in the next step"
                                   : std::to_string(edge.steps) + " steps later");
}

// Edges of one stage that differ in the reader only are a line; so are all that one thread keeps.
std::vector<std::string> edges_lines(const KernelPlan& plan) {
  std::vector<std::string> lines;
  std::vector<bool> done(plan.edges.size(), false);
  int own = 0;
  for (std::size_t i = 0; i < plan.edges.size(); ++i) {
    const Edge& edge = plan.edges[i];
    own += edge.wait == Wait::None ? 1 : 0;
    if (done[i] || edge.wait == Wait::None) continue;
    const bool filled = edge.kind != Edge::Kind::Reused;
    const std::string& stage = filled ? edge.from : edge.to;
    std::string readers;
    for (std::size_t k = i; k < plan.edges.size(); ++k) {
      Edge other = plan.edges[k];
      const std::string reader = filled ? other.to : other.from;
      (filled ? other.to : other.from) = filled ? edge.to : edge.from;
      if (!(other == edge)) continue;
      done[k] = true;
      readers += (readers.empty() ? "" : ", ") + reader;
    }
    lines.push_back((filled ? stage + " -> " + readers : readers + " -> " + stage) + ": " +
                    when_text(edge) + "; " + wait_text(edge));
  }
  if (own > 0) lines.push_back(std::to_string(own) + " that each thread keeps by itself");
  return lines;
}

// What each crew has to do along the march; none where one crew does all.
std::vector<std::string> crews_lines(const KernelPlan& plan) {
  if (plan.frame.filling_warps == 0) return {};
  std::vector<std::string> lines;
  for (const bool further : {false, true}) {
    std::string stages;
    std::int64_t first = 0, last = 0;
    for (const auto& stage : plan.stages) {
      if ((stage.crew.first > 0) != further) continue;
      stages += (stages.empty() ? "" : ", ") + stage.func;
      first = stage.crew.first;
      last = std::max(last, stage.crew.first + stage.crew.count - 1);
    }
    if (stages.empty()) continue;
    lines.push_back("threads " + std::to_string(first) + " to " + std::to_string(last) +
                    (further ? " fill " : " compute ") + stages);
  }
  return lines;
}

std::string inside_text(const Inside& inside, bool overlap) {
  std::string text;
  switch (inside.edge) {
    case Inside::Edge::Nowhere:
      text = "points are tested one by one where loops may pass the end";
      break;
    case Inside::Edge::DirectTaps:
      text =
          "no tests in blocks inside; blocks at the edge keep nothing: taps from memory, points tested";
      break;
    case Inside::Edge::ClampedLoads:
      text = overlap || inside.block.defined()
                 ? "no tests in blocks inside; others hold loads inside their arrays and test stores"
                 : "one code for all blocks: loads held inside their arrays, stores tested";
      break;
    case Inside::Edge::TestedFills:
      text = inside.block.defined() ? "no tests in blocks inside; others test each point they fill"
                                    : "each point is tested when it is filled or computed";
      break;
  }
  return text + (inside.last_steps ? "; the last chunk ends early" : "");
}

}  // namespace

std::string to_string(Level level) {
  switch (level) {
    case Level::Block: return "block";
    case Level::Step: return "step";
    case Level::Thread: return "thread";
  }
  return {};
}

std::string to_string(Residence residence) {
  switch (residence) {
    case Residence::Registers: return "registers";
    case Residence::Shared: return "shared";
    case Residence::Global: return "global";
  }
  return {};
}

std::string to_string(Server server) {
  switch (server) {
    case Server::OwnRegister: return "own register";
    case Server::Lane: return "lane +-1";
    case Server::Shared: return "shared";
    case Server::Global: return "global";
    case Server::Texture: return "texture";
    case Server::Itself: return "itself";
  }
  return {};
}

std::string to_string(const KernelPlan& plan) {
  std::string text =
      plan.func + (plan.definition ? ".update(" + std::to_string(plan.definition - 1) + ")" : "") + "\n";
  add_lines(text, "frame", {frame_text(plan)});
  text += stages_text(plan);
  add_lines(text, "taps", taps_lines(plan));
  add_lines(text, "crews", crews_lines(plan));
  add_lines(text, "edges", edges_lines(plan));
  add_lines(text, "inside", {inside_text(plan.inside, plan.frame.common.has_value())});
  return text;
}

}  // namespace mica::planning
