#include "tools/mica/march_drawing.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/mica/block_drawing.h"
#include "tools/mica/svg.h"

namespace mica::tools {
namespace {

using planning::KernelPlan;
using planning::Stage;
using planning::Tap;

/// The planes of one array, counted from that of the step.
struct Row {
  std::string name, kind, words;
  bool filled = false, stored = false;
  std::int64_t newest = 0, planes = 0;  ///< filled in the step; of the ring; 0 planes: no ring
  int early = 0;                        ///< steps between asking for a plane and reading it
  std::set<std::int64_t> reads = {};

  [[nodiscard]] std::int64_t oldest() const { return newest - planes + 1; }
};

/// The dimension of a stage that the march walks; -1: none.
int marched_of(const KernelPlan& plan, const Stage& stage) {
  if (stage.step) return stage.step->dim;
  const auto& dims = plan.frame.dims;
  if (stage.func != plan.func) return -1;
  return static_cast<int>(std::find(dims.begin(), dims.end(), plan.frame.march->dim) - dims.begin());
}

/// The planes of `source` that a step reads.
std::set<std::int64_t> planes_read(const KernelPlan& plan, const std::string& source) {
  std::set<std::int64_t> planes;
  for (const Tap& tap : plan.taps) {
    const Stage* reader = plan.find(tap.reader);
    if (tap.source != source || reader == nullptr) continue;
    const int marched = marched_of(plan, *reader);
    for (const Tap::Index& index : tap.at) {
      if (marched >= 0 && index.of == marched) planes.insert(index.offset - reader->lag());
    }
  }
  return planes;
}

std::vector<Row> rows_of(const KernelPlan& plan) {
  std::vector<Row> rows;
  std::set<std::string> known;
  for (const Tap& tap : plan.taps) {
    if (plan.find(tap.source) != nullptr || !known.insert(tap.source).second) continue;
    Row row{tap.source, "global", "global memory"};
    row.reads = planes_read(plan, tap.source);
    if (row.reads.empty()) row.words += ", the same in every step";
    rows.push_back(std::move(row));
  }
  for (const Stage& stage : plan.stages) {
    Row row{stage.func, place_class(stage), kept_text(stage)};
    row.stored = stage.func == plan.func;
    row.filled = stage.step.has_value() && stage.step->dim >= 0;
    if (row.filled) {
      row.newest = stage.step->ahead;
      row.planes = stage.step->depth;
      row.early = stage.step->prefetch;
      row.words =
          (row.planes == 1 ? "1 plane; " : fmt::format("ring of {} planes; ", row.planes)) + row.words;
    } else if (!row.stored) {
      row.words += "; the same in every step";
    }
    row.reads = planes_read(plan, stage.func);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string plane_words(std::int64_t plane) {
  return plane > 0 ? fmt::format("+{}", plane) : std::to_string(plane);
}

class MarchFigure {
 public:
  explicit MarchFigure(const KernelPlan& plan) : plan_(plan), rows_(rows_of(plan)) {
    for (const Row& row : rows_) {
      if (row.stored) widen(0);
      if (row.filled) widen(row.newest), widen(row.oldest());
      for (const std::int64_t plane : row.reads) widen(plane);
      names_ = std::max(names_, Svg::width_of(row.name));
      words_ = std::max(words_, Svg::width_of(row.words));
      reads_ = reads_ || !row.reads.empty();
      early_ = early_ || row.early > 0;
      under_way_ = under_way_ || row.early > 1;
      taken_ = taken_ ||
               std::any_of(row.reads.begin(), row.reads.end(), [&](auto p) { return is_taken(row, p); });
    }
    cell_ = std::clamp(520.0 / static_cast<double>(last_ - first_ + 1), 12.0, 36.0);
  }

  [[nodiscard]] std::string html() const {
    const auto legend = legend_lines();
    const double right = left() + cell_ * static_cast<double>(last_ - first_ + 1);
    double width = right + 16 + words_ + 10;
    for (const auto& line : legend) width = std::max(width, 50 + Svg::width_of(line.words));
    const double bottom = kTop + kRow * static_cast<double>(rows_.size());
    Svg svg(std::max(width, Svg::width_of(heading()) + 20),
            bottom + 18 + 20 * static_cast<double>(legend.size()) + 6);
    svg.text({10, 16}, heading(), Svg::Anchor::Start, "strong");
    for (std::int64_t plane = first_; plane <= last_; ++plane) {
      // Numbers where there is room, that of the step among them.
      const std::int64_t each = cell_ < 28 ? 4 : 1;
      if (plane % each == 0)
        svg.text({middle(plane), kTop - 6}, plane_words(plane), Svg::Anchor::Middle);
    }
    svg.line({middle(0), kTop}, {middle(0), bottom}, "axis dashed");
    for (std::size_t i = 0; i < rows_.size(); ++i)
      draw(svg, rows_[i], kTop + kRow * static_cast<double>(i), right);
    double at = bottom + 26;
    for (const auto& line : legend) {
      if (line.dot) {
        svg.circle({25, at - 4}, 4, line.kind);
      } else {
        svg.rect({14, at - 10, 22, 12}, line.kind);
      }
      svg.text({44, at}, line.words, Svg::Anchor::Start);
      at += 20;
    }
    return svg.figure(fmt::format(
        "One step of the march along {}, planes counted from that of {}; rows in the order of the step.",
        plan_.frame.march->dim, plan_.func));
  }

 private:
  static constexpr double kTop = 46, kRow = 26;

  struct Legend {
    std::string kind, words;
    bool dot = false;
  };

  void widen(std::int64_t plane) {
    first_ = std::min(first_, plane);
    last_ = std::max(last_, plane);
  }
  [[nodiscard]] double left() const { return names_ + 20; }
  [[nodiscard]] double middle(std::int64_t plane) const {
    return left() + cell_ * (static_cast<double>(plane - first_) + 0.5);
  }
  [[nodiscard]] std::string heading() const {
    return "Planes of " + plan_.frame.march->dim +
           "; in the next step all stands one plane further to the right";
  }
  // It is read, and its place is then filled with the newest.
  static bool is_taken(const Row& row, std::int64_t plane) { return row.filled && plane < row.oldest(); }

  void draw(Svg& svg, const Row& row, double top, double right) const {
    const double base = top + kRow / 2 + 4;
    svg.text({names_ + 12, base}, row.name, Svg::Anchor::End, "strong");
    svg.text({right + 12, base}, row.words, Svg::Anchor::Start);
    const auto cell = [&](std::int64_t plane, const std::string& kind, const std::string& hint) {
      svg.rect({middle(plane) - cell_ / 2 + 1, top + 3, cell_ - 2, kRow - 6}, kind, hint);
    };
    const auto hint = [&](std::int64_t plane, const char* what) {
      return fmt::format("{}, plane {}: {}", row.name, plane_words(plane), what);
    };
    for (std::int64_t plane = row.oldest(); row.filled && plane < row.newest; ++plane) {
      const bool under_way = plane > row.newest - row.early;
      cell(plane, row.kind + (under_way ? " open" : " light"),
           hint(plane, under_way ? "asked for before" : "kept"));
    }
    if (row.filled)
      cell(row.newest, row.kind + " full", hint(row.newest, row.early > 0 ? "asked for" : "filled"));
    if (row.stored) cell(0, "stored full", hint(0, "stored"));
    for (const std::int64_t plane : row.reads) {
      if (row.kind == "global") cell(plane, "global light", hint(plane, "in memory"));
      if (is_taken(row, plane)) cell(plane, row.kind + " open", hint(plane, "its place is filled next"));
      svg.circle({middle(plane), top + kRow / 2}, 4, "read", hint(plane, "read"));
    }
  }

  [[nodiscard]] std::vector<Legend> legend_lines() const {
    const auto any = [&](const char* kind) {
      return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.kind == kind; });
    };
    std::vector<Legend> lines;
    if (any("shared")) lines.push_back({"shared light", "kept in shared memory"});
    if (any("registers")) lines.push_back({"registers light", "kept in the threads' registers"});
    if (any("global")) lines.push_back({"global light", "in global memory"});
    const char* kept = any("shared") ? "shared" : "registers";
    if (any(kept))
      lines.push_back({std::string(kept) + " full",
                       early_ ? "filled, or asked for, in this step" : "filled in this step"});
    if (early_)
      lines.push_back({std::string(kept) + " open", "asked for in an earlier step, not read yet"});
    if (taken_)
      lines.push_back({"registers open", "read for the last time: the newest plane takes its place"});
    lines.push_back({"stored full", "stored in this step"});
    if (reads_) lines.push_back({"read", "read in this step", true});
    return lines;
  }

  const KernelPlan& plan_;
  std::vector<Row> rows_;
  std::int64_t first_ = 0, last_ = 0;
  double names_ = 0, words_ = 0, cell_ = 36;
  bool reads_ = false, early_ = false, under_way_ = false, taken_ = false;
};

}  // namespace

std::string march_drawing(const KernelPlan& plan) {
  return plan.frame.march ? MarchFigure(plan).html() : "";
}

}  // namespace mica::tools
