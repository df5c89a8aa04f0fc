// Marches and what belongs to them: windows, prefetching, scattered sums, copies that pass by the
// registers, exchange between threads.
#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "dsl/check/tap_text.h"
#include "dsl/expr/names.h"
#include "dsl/pipeline/block_taps.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/schedule/schedule_view.h"

namespace mica {

namespace {

constexpr int kMaxDepth = 16;
constexpr int kMaxWarps = 8;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kBulkBytes = 16;  // of which a bulk copy moves multiples
constexpr std::int64_t kMaxThreads = 1024;

std::string tap_list(const std::vector<Access>& taps) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> texts;
  for (const auto& tap : taps) {
    if (texts.size() == kShown) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(args_text(tap.args));
  }
  return joined(texts);
}

class MarchChecker {
 public:
  MarchChecker(const ScheduleView& view, const FuncView& f, const std::set<const Directive*>& wrong,
               Diagnostics& findings)
      : view_(view), f_(f), nest_(f.loops.front()), wrong_(wrong), findings_(findings) {
    for (const auto& directive : f_.func->definitions.front().directives) {
      const auto* march = std::get_if<directive::March>(&directive.op);
      if (march && !march_) march_ = march;
    }
    for (const auto& dim : nest_.dims) {
      if (dim.kind == LoopKind::March) loop_ = dim.name;
    }
  }

  void run() {
    const auto& directives = f_.func->definitions.front().directives;
    for (const auto& directive : directives) {
      current_ = &directive;
      if (!wrong_.contains(&directive)) std::visit(*this, directive.op);
    }
  }

  // ---- march -----------------------------------------------------------------------------------------

  void operator()(const directive::March& d) {
    if (f_.is_inline() || loop_.empty() || &d != march_) return;  // a finding of the loops
    if (f_.func->definitions.size() > 1) {
      report(
          fmt::format("{} has {}, and a march computes each plane by one definition: leave {} to "
                      "block loops, or write the sum in the pure definition (sum, minimum, maximum)",
                      f_.name(), counted(f_.func->definitions.size() - 1, "update"), d.var));
      return;
    }
    const LoopLevel level = view_.level_of(f_);
    if (!level.func.empty()) {
      report(
          fmt::format("{} is computed inside {}, and a march belongs to the Func that has the "
                      "blocks: march {} and compute {} at its march loop, or compute_root() {}",
                      f_.name(), level.func, level.func, f_.name(), f_.name()));
      return;
    }
    const auto place = f_.find_loop(loop_).index;
    const std::size_t block = innermost_block(nest_);
    for (std::size_t i = 0; i < nest_.dims.size(); ++i) {
      const LoopDim& dim = nest_.dims[i];
      const bool is_block = dim.kind == LoopKind::GpuBlock;
      if (is_block ? i > place : i <= place || i > block) continue;
      report(
          fmt::format("{} loop {} stands {} loop {}, which all threads of a block walk together; the "
                      "loops are {} (innermost first): reorder it {}",
                      to_string(dim.kind), dim.name, is_block ? "inside" : "outside", loop_,
                      loop_names(nest_), is_block ? "outside" : "inside"));
      return;
    }
    if (std::any_of(nest_.dims.begin(), nest_.dims.end(), [&](const LoopDim& dim) {
          return dim.kind == LoopKind::GpuBlock && dim.name != d.var + ".block";
        })) {
      return;
    }
    std::vector<std::string> others;
    for (const auto& arg : f_.func->args) {
      if (arg != d.var) others.push_back(arg);
    }
    report(fmt::format("{} has no block loops to walk {} in: add gpu_tile{}", f_.name(), d.var,
                       others.empty() ? " over another dimension, which it does not have"
                                      : fmt::format(" over {}", joined(others))));
  }

  void operator()(const directive::RegisterWindow& d) {
    if (!is_marched(d.var) || !is_read(d.source)) return;
    if (const Directive* first = earlier([&](const Directive& other) {
          const auto* window = std::get_if<directive::RegisterWindow>(&other.op);
          return window && window->source == d.source;
        })) {
      report(fmt::format("{} has a window already{}: remove one of the two", d.source,
                         line_of(first->where)));
      return;
    }
    if (view_.window_of(f_, d.source)) return;
    report(fmt::format(
        "no tap of {} stands at the point's own column: {} is read at {}; a window holds "
        "taps ({}). Remove this, or stage({}, MemoryType::Shared), which holds all",
        d.source, d.source, tap_list(taps_of(view_, f_, d.source)), column(d.var), d.source));
  }

  void operator()(const directive::PipelineDepth& d) {
    if (d.depth < 0 || d.depth > kMaxDepth) {
      report(fmt::format("the depth is {}; legal are 0 (no step ahead) to {}", d.depth, kMaxDepth));
      return;
    }
    if (!is_in_march("") || !is_read(d.source)) return;
    std::vector<std::string> kept;
    for (const auto& other : f_.func->definitions.front().directives) {
      if (const auto* stage = std::get_if<directive::StagedSource>(&other.op)) {
        kept.push_back(user_name(view_, stage->source));
      } else if (const auto* window = std::get_if<directive::RegisterWindow>(&other.op)) {
        kept.push_back(window->source);
      }
    }
    const FuncView* source = view_.find(d.source);
    const bool at_march = source != nullptr && view_.march_around(*source).host != nullptr;
    if (!at_march && std::find(kept.begin(), kept.end(), d.source) == kept.end()) {
      report(
          fmt::format("{} neither stages {} nor has a window of it, so no plane can be asked for "
                      "ahead (staged or windowed: {}): add stage({}, MemoryType::Shared) or "
                      "register_window({}, {}), or compute it at the march",
                      f_.name(), d.source, joined(kept), d.source, d.source,
                      march_ ? march_->var : view_.march_around(f_).var));
      return;
    }
    if (const Directive* first = earlier([&](const Directive& other) {
          const auto* prefetch = std::get_if<directive::PipelineDepth>(&other.op);
          return prefetch && prefetch->source == d.source;
        })) {
      report(fmt::format("{} is asked for {} ahead already{}, and here {}: remove one of the two",
                         d.source, steps(std::get<directive::PipelineDepth>(first->op).depth),
                         line_of(first->where), d.depth));
    }
  }

  void operator()(const directive::Scatter& d) {
    if (!is_in_march(d.var)) return;
    if (const Directive* first = earlier([](const Directive& other) {
          return std::holds_alternative<directive::Scatter>(other.op);
        })) {
      report(fmt::format("the sum of {} is scattered already{}: remove one of the two", f_.name(),
                         line_of(first->where)));
      return;
    }
    const auto it = view_.pipeline().refused_scatters.find(f_.name());
    if (it == view_.pipeline().refused_scatters.end()) return;
    report(
        fmt::format("the value of {} cannot be added up plane by plane: {}. Without scatter it is "
                    "gathered, best from a register_window",
                    f_.name(), it->second));
  }

  // ---- copies that pass by the registers
  // ---------------------------------------------------------------

  void operator()(const directive::StagedSource& d) {
    if (d.load != LoadPolicy::AsyncCopy && d.load != LoadPolicy::Bulk) return;
    const FuncView* held = view_.find(d.source);
    if (!held || held->stage != current_) return;  // has a finding
    const std::string source = user_name(view_, d.source);
    const std::string policy = "LoadPolicy::" + to_string(d.load);
    if (const std::string computed = computation_of(*held); !computed.empty()) {
      report(
          fmt::format("{} copies memory as it is, and {} is {}: stage what it reads, or "
                      "compute_root() it, or use LoadPolicy::TwoStep",
                      policy, source, computed));
      return;
    }
    for (const Type& type : held->func->types) {
      if (d.load == LoadPolicy::Bulk) {
        rows_fit_bulk_copies(source, policy, type);
      } else if (type.bytes() < 4) {
        vectors_fill_words(source, policy, type);
      }
    }
  }

  void operator()(const directive::WarpSplit& d) {
    if (d.warps < 1 || d.warps > kMaxWarps) {
      report(fmt::format("{} warps; legal are 1 to {}", d.warps, kMaxWarps));
      return;
    }
    if (!is_marched("")) return;
    const auto& directives = f_.func->definitions.front().directives;
    if (std::none_of(directives.begin(), directives.end(), [](const Directive& other) {
          return std::holds_alternative<directive::StagedSource>(other.op);
        })) {
      report(
          fmt::format("{} stages nothing along its march over {}, so further warps have nothing to "
                      "fill: add stage(..., MemoryType::Shared)",
                      f_.name(), march_->var));
      return;
    }
    if (const Directive* first = earlier([](const Directive& other) {
          return std::holds_alternative<directive::WarpSplit>(other.op);
        })) {
      report(fmt::format("the warps are split already{}: remove one of the two", line_of(first->where)));
      return;
    }
    for (const Directive& other : directives) {
      const auto* stage = std::get_if<directive::StagedSource>(&other.op);
      if (!stage) continue;
      if (stage->load != LoadPolicy::HaloThreads && stage->load != LoadPolicy::Strided) continue;
      report(
          fmt::format("LoadPolicy::{}{} gives the points of a plane to the threads that compute; legal "
                      "beside warp_split are TwoStep, AsyncCopy and Bulk",
                      to_string(stage->load), line_of(other.where)));
      return;
    }
    std::vector<std::int64_t> block;
    for (const auto& dim : nest_.dims) {
      if (dim.kind == LoopKind::GpuThread) block.push_back(std::max<std::int64_t>(dim.extent, 1));
    }
    whole_warps_fill(d, block);
  }

  // The warps that fill stand behind those that compute, in whole rows of the block's last dimension.
  void whole_warps_fill(const directive::WarpSplit& d, const std::vector<std::int64_t>& block) {
    std::int64_t threads = 1, row = 1;
    for (std::size_t i = 0; i < block.size(); ++i) {
      threads *= block[i];
      if (std::any_of(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, block.end(),
                      [](auto extent) { return extent > 1; })) {
        row *= block[i];
      }
    }
    if (threads > kMaxThreads) return;
    if (threads + kWarp * d.warps > kMaxThreads) {
      report(
          fmt::format("{} threads compute and {} x {} fill, together {}; legal are at most {} in a "
                      "block: use a smaller tile",
                      threads, d.warps, kWarp, threads + kWarp * d.warps, kMaxThreads));
    } else if (threads % kWarp != 0) {
      report(fmt::format("{} threads compute, which are no whole warps: legal are multiples of {}",
                         threads, kWarp));
    } else if (kWarp * d.warps % row != 0) {
      const std::int64_t whole = std::lcm(row, kWarp) / kWarp;
      report(
          fmt::format("{} x {} threads are no whole rows of the block, which have {}: legal are "
                      "multiples of {} warps",
                      d.warps, kWarp, row, whole));
    }
  }

  // ---- exchange between threads
  // ------------------------------------------------------------------------

  void operator()(const directive::Shuffle& d) {
    const auto& dims = nest_.dims;
    const auto thread = std::find_if(dims.begin(), dims.end(),
                                     [](const LoopDim& dim) { return dim.kind == LoopKind::GpuThread; });
    if (thread == dims.end()) {
      report(fmt::format("{} has no thread loops: add gpu_tile with {} as its first Var", f_.name(),
                         d.var));
      return;
    }
    const std::string along = dimension_of(nest_, thread->name);
    if (along != d.var) {
      report(
          fmt::format("the threads of a warp are neighbours along {} (thread loop {}), not along {}: "
                      "shuffle along {}, or make {} the first Var of gpu_tile",
                      along.empty() ? "no dimension" : along, thread->name, d.var, thread->name, d.var));
      return;
    }
    if (thread->extent % kWarp != 0) {
      const std::int64_t up = (thread->extent / kWarp + 1) * kWarp;
      report(fmt::format(
          "a row of the block has {} ({}), and a warp has {}: a warp would hold "
          "parts of two rows; legal are multiples of {}, the next {}",
          counted(static_cast<std::size_t>(thread->extent), "thread"), thread->name, kWarp, kWarp, up));
      return;
    }
    if (!is_read(d.source)) return;
    if (earlier([&](const Directive& other) {
          const auto* exchange = std::get_if<directive::Shuffle>(&other.op);
          return exchange && exchange->source == d.source;
        })) {
      report(fmt::format("{} is exchanged already: remove one of the two", d.source));
      return;
    }
    const std::vector<Access> taps = taps_of(view_, f_, d.source);
    const Access* farthest = nullptr;
    std::int64_t distance = 0;
    for (const auto& tap : taps) {
      for (const auto& arg : tap.args) {
        const std::int64_t beside = std::abs(offset_from(arg, d.var).value_or(0));
        if (beside <= distance) continue;
        distance = beside;
        farthest = &tap;
      }
    }
    if (!farthest) {
      report(
          fmt::format("no tap of {} stands beside the thread's points along {}: it is read at {}, "
                      "which no other thread holds",
                      d.source, d.var, tap_list(taps)));
      return;
    }
    std::int64_t width = 1;
    for (const auto& dim : dims) {
      const bool own = dim.kind == LoopKind::Vectorized && dimension_of(nest_, dim.name) == d.var;
      if (own) width = dim.extent;
    }
    if (distance <= width) return;
    std::int64_t enough = 1;
    while (enough < distance) enough *= 2;
    report(
        fmt::format("the tap {} of {} lies {} points beside, and the neighbouring thread holds {}: "
                    "vectorize({}, {}), or stage({}, MemoryType::Shared) instead",
                    args_text(farthest->args), d.source, distance, width, d.var, enough, d.source));
  }

  template <typename D>
  void operator()(const D&) {}  // judged elsewhere

 private:
  void report(const std::string& what) {
    Directive shown = *current_;
    if (auto* stage = std::get_if<directive::StagedSource>(&shown.op)) {
      stage->source = user_name(view_, stage->source);
    }
    findings_.push_back({described(f_, 0, shown) + ": " + what, current_->where});
  }

  /// The first directive before the current one for which `same` holds, or null.
  template <typename Same>
  const Directive* earlier(const Same& same) const {
    for (const auto& other : f_.func->definitions.front().directives) {
      if (&other == current_) return nullptr;
      if (same(other)) return &other;
    }
    return nullptr;
  }

  /// Does the Func march along `var` (any dimension: empty)? A march that is a finding itself is not
  /// reported a second time.
  bool is_marched(const std::string& var) {
    if (march_ && (var.empty() || march_->var == var)) return !loop_.empty();
    if (march_) {
      report(
          fmt::format("{} is not marched; {} marches along {}: name that", var, f_.name(), march_->var));
    } else if (f_.is_inline()) {
      report(
          fmt::format("{} is computed inline and marches along nothing: put this on the Func that "
                      "it is inlined into, or add compute_root(), gpu_tile and march({})",
                      f_.name(), var.empty() ? "v, chunk" : var + ", chunk"));
    } else {
      report(
          fmt::format("{} marches along nothing: add gpu_tile over the other dimensions and "
                      "march({}, chunk)",
                      f_.name(), var.empty() ? f_.func->args.back() : var));
    }
    return false;
  }

  /// The same, where a step may also be one of the Func at whose march loop this one is computed.
  bool is_in_march(const std::string& var) {
    const ScheduleView::MarchAround around =
        march_ ? ScheduleView::MarchAround() : view_.march_around(f_);
    if (around.host == nullptr) return is_marched(var);
    if (var.empty() || var == around.var) return true;
    report(fmt::format("{} is computed at the march of {}, which walks {} of it, not {}: name {}",
                       f_.name(), around.host->name(), around.var, var, around.var));
    return false;
  }

  bool is_read(const std::string& source) {
    if (!taps_of(view_, f_, source).empty()) return true;
    report(fmt::format("{} does not read {}{}; it reads {}", f_.name(), source,
                       did_you_mean(source, read_names(view_, f_)), read_list(view_, f_)));
    return false;
  }

  /// "x, y, z + c": where a window's taps stand.
  [[nodiscard]] std::string column(const std::string& march) const {
    std::vector<std::string> indices;
    for (const auto& arg : f_.func->args) indices.push_back(arg == march ? arg + " + c" : arg);
    return joined(indices);
  }
  static std::string steps(int depth) { return counted(static_cast<std::size_t>(depth), "step"); }

  /// What a staged Func computes; empty when it copies an input or a Func at the root as it is.
  [[nodiscard]] std::string computation_of(const FuncView& held) const {
    const FunctionData& f = *held.func;
    if (f.definitions.size() > 1) {
      return fmt::format("computed with {}", counted(f.definitions.size() - 1, "update"));
    }
    for (const auto& value : f.definitions.front().values) {
      const auto* access = value.as<Access>();
      const std::vector<std::int64_t> own_point(f.args.size());
      if (!access || offsets_from(access->args, f.args) != own_point)
        return fmt::format("computed inside the block{}", line_of(f.where));
      const FuncView* source = view_.find(access->name);
      const bool in_memory = !source || (!source->staged_by && !source->is_inline() &&
                                         source->place.kind == ComputePlace::Kind::Root);
      if (!in_memory) return fmt::format("computed inside the block{}", line_of(source->func->where));
    }
    return "";
  }

  /// The reach of the current stage's rows, with the block's points along them; nothing when unknown.
  struct Row {
    Reach reach;
    std::int64_t points = 1;
  };
  [[nodiscard]] std::optional<Row> row() const {
    const auto& stage = std::get<directive::StagedSource>(current_->op);
    const auto reach = reach_of(view_, f_, stage.source);
    if (reach.empty() || !reach.front()) return std::nullopt;
    const auto points = block_points(nest_, reach.front()->var);
    if (!points || (march_ && march_->var == reach.front()->var)) return std::nullopt;
    return Row{*reach.front(), *points};
  }

  /// Rows are copied in the widest vectors, up to 16 bytes, that divide the block's points.
  void vectors_fill_words(const std::string& source, const std::string& policy, Type type) {
    const auto of = row();
    const std::int64_t size = type.bytes(), least = 4 / size;
    if (!of || std::gcd(of->points, least) == least) return;
    const std::int64_t up = (of->points + least - 1) / least * least;
    report(
        fmt::format("a block has {} of {}, whose elements of {} ({}) do not come in whole "
                    "pieces of 4 bytes, and {} copies 4, 8 or 16 bytes: the next legal are {} points",
                    counted(static_cast<std::size_t>(of->points), "point"), of->reach.var, source,
                    counted(static_cast<std::size_t>(size), "byte"), policy, up));
  }

  void rows_fit_bulk_copies(const std::string& source, const std::string& policy, Type type) {
    const auto of = row();
    if (!of) return;
    const std::int64_t size = type.bytes(), elements = kBulkBytes / size;
    const std::int64_t before = -of->reach.low, after = of->reach.high;
    const std::int64_t width = of->points + before + after;
    if (width * size % kBulkBytes == 0 && before * size % kBulkBytes == 0 &&
        of->points * size % kBulkBytes == 0)
      return;
    const auto up = [&](std::int64_t n) {
      return std::max<std::int64_t>(0, (n + elements - 1) / elements * elements);
    };
    report(fmt::format(
        "a row of a block's box of {} has {} elements of {} = {} bytes ({} points of {}, a halo of {} "
        "before and {} after) and starts {} bytes before the tile, and {} copies multiples of {} bytes: "
        "the nearest legal are {} points with halos of {} and {}; LoadPolicy::TwoStep has no such limit",
        source, width, counted(static_cast<std::size_t>(size), "byte"), width * size, of->points,
        of->reach.var, before, after, before * size, policy, kBulkBytes, up(of->points), up(before),
        up(after)));
  }

  const ScheduleView& view_;
  const FuncView& f_;
  const LoopNestSpec& nest_;
  const std::set<const Directive*>& wrong_;
  Diagnostics& findings_;
  const directive::March* march_ = nullptr;  // the Func's first
  std::string loop_;                         // that the march made; empty: none
  const Directive* current_ = nullptr;
};

}  // namespace

void check_marches(const ScheduleView& view, const std::set<const Directive*>& wrong,
                   Diagnostics& findings) {
  for (const auto& f : view.funcs()) MarchChecker(view, f, wrong, findings).run();
}

}  // namespace mica
