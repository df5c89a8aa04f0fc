#include "tools/mica/block_drawing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codegen/analysis/bounds.h"
#include "tools/mica/svg.h"

namespace mica::tools {
namespace {

using planning::KernelFrame;
using planning::KernelPlan;
using planning::Residence;
using planning::Stage;

/// First and one past the last.
struct Range {
  std::int64_t first = 0, end = 1;
  [[nodiscard]] std::int64_t points() const { return end - first; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// What is drawn of a block: rectangles over each other, in the dimensions of a Func.
struct Layer {
  std::string name, kind, words;
  std::vector<Range> ranges;  ///< by dimension
};
struct View {
  std::vector<std::string> dims;
  std::vector<bool> whole;        ///< all of the dimension: how many points is not known
  std::vector<Range> block;       ///< what threads are dealt to
  std::vector<std::int64_t> own;  ///< points of a thread, or of a vector; empty: not drawn
  std::string one;                ///< what `own` is: "one thread"
  std::vector<Layer> layers;      ///< from the largest to the tile
};

// Points drawn for a side whose number is not known.
constexpr std::int64_t kNominal = 64;

/// "136 x 16 points", or "all of x, 4 of y".
std::string size_words(const std::vector<Range>& ranges, const View& view) {
  const bool whole = std::find(view.whole.begin(), view.whole.end(), true) != view.whole.end();
  std::string text;
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const std::string points = view.whole[d] ? "all" : std::to_string(ranges[d].points());
    text += std::string(d == 0  ? ""
                        : whole ? ", "
                                : " x ") +
            points + (whole ? " of " + view.dims[d] : "");
  }
  return whole ? text : text + (text == "1" ? " point" : " points");
}

/// "4 + 128 + 4 = 136", "124 of 128" or "128": a side beside that of the block.
std::string side_words(const Range& side, const Range& block) {
  if (side == block) return std::to_string(side.points());
  if (side.first >= block.first && side.end <= block.end) {
    return fmt::format("{} of {}", side.points(), block.points());
  }
  std::string text;
  if (side.first < block.first) text += std::to_string(block.first - side.first) + " + ";
  text += std::to_string(block.points());
  if (side.end > block.end) text += " + " + std::to_string(side.end - block.end);
  return text + " = " + std::to_string(side.points());
}

/// Where a view of two dimensions stands on its page.
struct Scale {
  double left, top, per_x, per_y;
  Range x, y;
  [[nodiscard]] double px(std::int64_t at) const {
    return left + per_x * static_cast<double>(at - x.first);
  }
  [[nodiscard]] double py(std::int64_t at) const {
    return top + per_y * static_cast<double>(at - y.first);
  }
  [[nodiscard]] Svg::Box box(const Range& across, const Range& down) const {
    return {px(across.first), py(down.first), px(across.end) - px(across.first),
            py(down.end) - py(down.first)};
  }
};

constexpr Range kOneRow{0, 1};

/// Layers in dimensions `across` and `down`; down -1: there is one dimension.
class BlockFigure {
 public:
  BlockFigure(const View& view, std::size_t across, int down)
      : view_(view), across_(across), down_(down) {
    for (const Layer& layer : view.layers) {
      add(sides_x_, layer.ranges[across]);
      add(sides_y_, in_y(layer.ranges));
    }
  }

  [[nodiscard]] std::string html(const std::string& caption) const {
    constexpr double kLine = 20, kMost = 600, kTallest = 330, kLeast = 64, kLargest = 22;
    Range x = sides_x_.front(), y = sides_y_.front();
    for (const Range& side : sides_x_) x = {std::min(x.first, side.first), std::max(x.end, side.end)};
    for (const Range& side : sides_y_) y = {std::min(y.first, side.first), std::max(y.end, side.end)};
    const double per_x = std::min(kLargest, kMost / static_cast<double>(x.points()));
    const auto rows = static_cast<double>(y.points());
    const double per_y = std::min(std::max(per_x, std::min(kLargest, kLeast / rows)), kTallest / rows);
    const Scale scale{14, 14 + kLine * static_cast<double>(sides_x_.size()), per_x, per_y, x, y};

    const double right = scale.px(x.end), bottom = scale.py(y.end);
    double beside = 0;
    if (down_ >= 0) {
      for (const Range& side : sides_y_) beside += beside_of(side);
    }
    double width = right + beside + 14;
    for (const Range& side : sides_x_) width = std::max(width, Svg::width_of(words_x(side)) + 28);
    std::vector<std::pair<std::string, std::string>> lines = legend();
    for (const auto& [kind, words] : lines) width = std::max(width, 50 + Svg::width_of(words));
    Svg svg(width, bottom + 16 + kLine * static_cast<double>(lines.size()) + 6);

    std::vector<std::pair<std::string, Svg::Box>> drawn;
    for (const Layer& layer : view_.layers) {
      const Svg::Box box = scale.box(layer.ranges[across_], in_y(layer.ranges));
      const std::pair shape{layer.kind, box};
      if (std::find(drawn.begin(), drawn.end(), shape) != drawn.end()) continue;
      drawn.push_back(shape);
      svg.rect(box, layer.kind + " box", layer.name + ": " + layer.words);
    }
    draw_threads(svg, scale);
    // The smallest side next to the drawing.
    for (std::size_t i = 0; i < sides_x_.size(); ++i) {
      measure_x(svg, scale, sides_x_[sides_x_.size() - 1 - i], i);
    }
    double along = right + 12;
    for (auto side = sides_y_.rbegin(); down_ >= 0 && side != sides_y_.rend(); ++side) {
      measure_y(svg, scale, *side, along);
      along += beside_of(*side);
    }
    double at = bottom + 24;
    for (const auto& [kind, words] : lines) {
      svg.rect({14, at - 10, 22, 12}, kind);
      svg.text({44, at}, words, Svg::Anchor::Start);
      at += kLine;
    }
    const bool even = std::abs(per_x - per_y) < 1e-9 || down_ < 0;
    return svg.figure(caption +
                      (even ? "" : " " + name_x() + " and " + name_y() + " have scales of their own."));
  }

 private:
  static void add(std::vector<Range>& sides, const Range& side) {
    if (std::find(sides.begin(), sides.end(), side) == sides.end()) sides.push_back(side);
  }
  [[nodiscard]] Range in_y(const std::vector<Range>& ranges) const {
    return down_ < 0 ? kOneRow : ranges[static_cast<std::size_t>(down_)];
  }
  [[nodiscard]] const std::string& name_x() const { return view_.dims[across_]; }
  [[nodiscard]] const std::string& name_y() const { return view_.dims[static_cast<std::size_t>(down_)]; }
  [[nodiscard]] std::string words_of(const Range& side, std::size_t dim) const {
    return view_.dims[dim] + ": " +
           (view_.whole[dim] ? std::string("all") : side_words(side, view_.block[dim]));
  }
  [[nodiscard]] std::string words_x(const Range& side) const { return words_of(side, across_); }
  [[nodiscard]] std::string words_y(const Range& side) const {
    return down_ < 0 ? "" : words_of(side, static_cast<std::size_t>(down_));
  }
  [[nodiscard]] double beside_of(const Range& side) const { return Svg::width_of(words_y(side)) + 30; }
  // A line with ends, its words in the middle.
  void measure_x(Svg& svg, const Scale& scale, const Range& side, std::size_t number) const {
    const double y = scale.top - 6 - 20 * static_cast<double>(number);
    const double from = scale.px(side.first), to = scale.px(side.end);
    svg.line({from, y}, {to, y}, "axis");
    for (const double end : {from, to}) svg.line({end, y - 3}, {end, y + 3}, "axis");
    const double half = Svg::width_of(words_x(side)) / 2;
    svg.text({std::max((from + to) / 2, half + 4), y - 4}, words_x(side), Svg::Anchor::Middle, "strong");
  }
  void measure_y(Svg& svg, const Scale& scale, const Range& side, double x) const {
    const double from = scale.py(side.first), to = scale.py(side.end);
    svg.line({x, from}, {x, to}, "axis");
    for (const double end : {from, to}) svg.line({x - 3, end}, {x + 3, end}, "axis");
    svg.text({x + 7, (from + to) / 2 + 4}, words_y(side), Svg::Anchor::Start, "strong");
  }
  // Lines between the threads' points where there is room, and one thread's points.
  void draw_threads(Svg& svg, const Scale& scale) const {
    if (view_.own.empty()) return;
    const Range x = view_.block[across_], y = in_y(view_.block);
    const std::int64_t own_x = view_.own[across_];
    const std::int64_t own_y = down_ < 0 ? 1 : view_.own[static_cast<std::size_t>(down_)];
    constexpr double kRoom = 3;
    if (scale.per_x * static_cast<double>(own_x) >= kRoom) {
      for (std::int64_t at = x.first + own_x; at < x.end; at += own_x) {
        svg.line({scale.px(at), scale.py(y.first)}, {scale.px(at), scale.py(y.end)}, "grid");
      }
    }
    if (scale.per_y * static_cast<double>(own_y) >= kRoom) {
      for (std::int64_t at = y.first + own_y; at < y.end; at += own_y) {
        svg.line({scale.px(x.first), scale.py(at)}, {scale.px(x.end), scale.py(at)}, "grid");
      }
    }
    svg.rect(scale.box({x.first, std::min(x.first + own_x, x.end)},
                       {y.first, std::min(y.first + own_y, y.end)}),
             "one", view_.one);
  }
  // Layers of one place, kind and size are a line.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> legend() const {
    std::vector<std::pair<std::string, std::string>> lines;
    std::vector<bool> done(view_.layers.size(), false);
    for (std::size_t i = 0; i < view_.layers.size(); ++i) {
      if (done[i]) continue;
      const Layer& layer = view_.layers[i];
      std::vector<std::string> names;
      for (std::size_t k = i; k < view_.layers.size(); ++k) {
        const Layer& other = view_.layers[k];
        if (other.kind != layer.kind || other.ranges != layer.ranges || other.words != layer.words)
          continue;
        done[k] = true;
        names.push_back(other.name);
      }
      constexpr std::size_t kNamed = 3;
      std::string text;
      for (std::size_t k = 0; k < names.size() && k < kNamed; ++k)
        text += (k > 0 ? ", " : "") + names[k];
      if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
      lines.emplace_back(layer.kind + " box",
                         text + ": " + size_words(layer.ranges, view_) + ", " + layer.words);
    }
    if (!view_.own.empty()) lines.emplace_back("one", view_.one);
    return lines;
  }

  const View& view_;
  std::size_t across_;
  int down_;
  std::vector<Range> sides_x_, sides_y_;
};

/// One figure in the first two dimensions, and one in the first and each further that has an extent.
std::string figures(const View& view, const std::string& what) {
  const auto seen = [&](std::size_t a, std::size_t b) {
    return fmt::format("{}, along {} and {}.", what, view.dims[a], view.dims[b]);
  };
  if (view.dims.empty()) return "";
  if (view.dims.size() == 1) {
    return BlockFigure(view, 0, -1).html(fmt::format("{}, along {}.", what, view.dims[0]));
  }
  std::string html = BlockFigure(view, 0, 1).html(seen(0, 1));
  for (std::size_t d = 2; d < view.dims.size(); ++d) {
    const bool flat = std::all_of(view.layers.begin(), view.layers.end(), [&](const Layer& layer) {
      return layer.ranges[d].points() == 1 && !view.whole[d];
    });
    if (!flat) html += BlockFigure(view, 0, static_cast<int>(d)).html(seen(0, d));
  }
  return html;
}

std::string by(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

std::string points_words(const std::vector<std::int64_t>& own) {
  const bool one = std::all_of(own.begin(), own.end(), [](std::int64_t n) { return n == 1; });
  return one ? "1 point" : by(own) + " points";
}

std::string threads_words(const KernelFrame& frame) {
  std::vector<std::int64_t> threads(std::begin(frame.threads), std::end(frame.threads));
  while (threads.size() > 1 && threads.back() == 1) threads.pop_back();
  return by(threads) +
         (frame.threads[0] * frame.threads[1] * frame.threads[2] == 1 ? " thread" : " threads");
}

/// The dimensions of the frame that no march walks.
std::vector<std::size_t> flat_dims(const KernelFrame& frame) {
  std::vector<std::size_t> kept;
  for (std::size_t d = 0; d < frame.dims.size(); ++d) {
    if (!frame.march || frame.march->dim != frame.dims[d]) kept.push_back(d);
  }
  return kept;
}

/// The sides of a stage's box in `dims`; empty where one of them is not known.
std::optional<std::vector<Range>> ranges_of(const Stage& stage, const std::vector<std::size_t>& dims,
                                            const View& view) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto side = std::find_if(stage.box.begin(), stage.box.end(), [&](const planning::Side& s) {
      return s.dim == static_cast<int>(dims[i]);
    });
    if (side == stage.box.end()) return std::nullopt;
    if (!side->points && !view.whole[i]) return std::nullopt;
    ranges.push_back(side->points ? Range{side->first, *side->end()} : view.block[i]);
  }
  return ranges;
}

std::int64_t size_of(const Layer& layer) {
  std::int64_t size = 1;
  for (const Range& range : layer.ranges) size *= range.points();
  return size;
}

std::string place_words(const Stage& stage) {
  const bool registers = stage.is_in(Residence::Registers);
  if (stage.kept.empty()) return "stored";
  if (registers && stage.is_in(Residence::Shared))
    return "registers of the threads, rows beside them in shared memory";
  if (registers) return "registers of the threads";
  return stage.is_in(Residence::Shared) ? "shared memory" : "an array in global memory";
}

}  // namespace

std::string place_class(const Stage& stage) {
  if (stage.kept.empty()) return "stored";
  if (stage.is_in(Residence::Registers)) return "registers";
  return stage.is_in(Residence::Shared) ? "shared" : "global";
}

std::string block_drawing(const KernelPlan& plan) {
  const KernelFrame& frame = plan.frame;
  const std::vector<std::size_t> dims = flat_dims(frame);
  View view;
  for (const std::size_t d : dims) {
    view.dims.push_back(frame.dims[d]);
    view.whole.push_back(!frame.block[d]);
    view.block.push_back({0, frame.block[d].value_or(kNominal)});
    view.own.push_back(frame.own[d]);
  }
  view.one =
      (frame.on_gpu ? "one of " + threads_words(frame) : std::string("what is computed at once")) +
      ": " + points_words(view.own);
  const bool tiled = std::find(view.whole.begin(), view.whole.end(), false) != view.whole.end();
  if (!tiled) view.own.clear();
  for (const Stage& stage : plan.stages) {
    auto ranges = ranges_of(stage, dims, view);
    if (!ranges) continue;
    // Blocks that overlap store less than they compute.
    for (std::size_t i = 0; stage.func == plan.func && i < dims.size(); ++i) {
      const auto overlap = frame.vars.overlaps().find(frame.dims[dims[i]]);
      if (overlap == frame.vars.overlaps().end()) continue;
      (*ranges)[i].first += overlap->second.before;
      (*ranges)[i].end -= overlap->second.after;
    }
    view.layers.push_back({stage.func, place_class(stage), place_words(stage), std::move(*ranges)});
  }
  // The largest first; what is stored on top of others of its size.
  std::stable_sort(view.layers.begin(), view.layers.end(), [](const Layer& a, const Layer& b) {
    return std::pair(size_of(a), a.kind != "stored") > std::pair(size_of(b), b.kind != "stored");
  });
  if (view.layers.empty()) return "";
  return figures(view, frame.march    ? "A block in one step"
                       : frame.on_gpu ? "A block"
                                      : "The loops' tile");
}

std::string tile_drawing(const std::string& func, const KernelFrame& frame) {
  const auto& loops = frame.vars.loops();  // the innermost first
  const auto is_constant = [](const auto& loop) {
    const auto* extent = as_int(loop.extent);
    return extent != nullptr && *extent > 1 && loop.kind == LoopKind::Serial;
  };
  const auto is_parallel = [](const auto& loop) { return loop.kind == LoopKind::Parallel; };
  std::size_t inside = 0;  // loops of the tile
  for (std::size_t i = 0; i < loops.size(); ++i) inside = is_constant(loops[i]) ? i + 1 : inside;
  if (inside == 0) {
    inside =
        static_cast<std::size_t>(std::find_if(loops.begin(), loops.end(), is_parallel) - loops.begin());
  }
  std::set<std::string> fixed;
  for (std::size_t i = inside; i < loops.size(); ++i) fixed.insert(loops[i].name);
  View view;
  view.dims = frame.dims;
  Layer tile{func, "stored", "a tile", {}};
  for (std::size_t d = 0; d < frame.dims.size(); ++d) {
    const bool ranges = frame.vars.roots().count(frame.dims[d]) > 0;
    const auto points = ranges ? analysis::constant_extent(frame.vars.interval(frame.dims[d], fixed))
                               : std::optional<std::int64_t>(1);
    view.whole.push_back(!points);
    view.block.push_back({0, points.value_or(kNominal)});
    view.own.push_back(frame.own[d]);
    tile.ranges.push_back(view.block.back());
  }
  view.one = "computed at once: " + points_words(view.own);
  view.layers.push_back(std::move(tile));
  return figures(view, "What the loops inside of the tile cover");
}

}  // namespace mica::tools
