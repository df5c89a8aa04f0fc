#include "codegen/iterate/level_marches.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "codegen/analysis/bounds.h"
#include "codegen/ir/kernel.h"
#include "codegen/passes/loops/unroll_marches.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::iterate {
namespace {

/// The rows, or planes, that a point of the step reads of inputs along the last dimension, through its
/// other Funcs, too.
struct RowsRead {
  std::int64_t first = 0, last = 0;
  /// All indices there are a coordinate and a constant. Others, as those of boundary conditions, count
  /// as the coordinate.
  bool exact = true;
};
template <typename Counts>
RowsRead rows_read(const Func& step, const Counts& counts) {
  struct Rows {
    std::int64_t first = 0, last = 0;
  };
  std::map<const FunctionData*, Rows> computed{{step.function().get(), Rows{}}};
  RowsRead read;
  const FuncGraph graph = collect_graph({step.function()});
  for (auto reader = graph.funcs.rbegin(); reader != graph.funcs.rend(); ++reader) {
    const FunctionData& f = **reader;
    const Rows at = computed[&f];
    for (const Definition& definition : f.definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        if (access.image != nullptr && !counts(access.image.get())) return;
        const bool along = !access.is_self && access.args.size() == f.args.size();
        const auto offset = along ? offset_from(access.args.back(), f.args.back()) : std::nullopt;
        read.exact = read.exact && offset.has_value();
        if (!along) return;
        const std::int64_t first = at.first + offset.value_or(0), last = at.last + offset.value_or(0);
        if (access.image != nullptr) {
          read.first = std::min(read.first, first);
          read.last = std::max(read.last, last);
          return;
        }
        Rows& of = computed.emplace(access.function.get(), at).first->second;
        of = {std::min(of.first, first), std::max(of.last, last)};
      });
    }
  }
  return read;
}

/// How many rows lie between the first and the last one that a point of the step reads of its fields.
std::int64_t rows_between_reads(const Func& step) {
  const RowsRead read = rows_read(step, [](const ImageData*) { return true; });
  return read.last - read.first;
}

/// Registers that a point of each field takes which threads ask for ahead. What a step replaces is read
/// by the first level; others by all levels, of which each lags behind the one before.
std::int64_t registers_asked(const Iteration::State& state, const TimeLevels& tile,
                             const std::vector<Func>& fields, std::int64_t rows) {
  std::int64_t registers = 0;
  for (const Func& field : fields) {
    const bool is_replaced =
        std::ranges::any_of(state.replacements, [&](const Replacement& replacement) {
          return replacement.field.data() == field.function()->held.of;
        });
    const std::size_t readers = is_replaced ? 1 : tile.levels.size() + 1;
    registers += (asked_ahead(tile) + rows * static_cast<std::int64_t>(readers)) *
                 ir::registers_of(field.types().front());
  }
  return registers;
}

constexpr std::int64_t kFewRows = 2;  // of a step of radius 1
constexpr int kPlanes = 64;           // that a block of a march of planes walks

/// Of rows, where the step says nothing: one warp a block, whose registers hold of each point and level
/// as many values as there are `rows` between those that are read (sums that are not complete, or what
/// was read before) and, of more than two, as many again. Vectors of 16 bytes were the fastest on an
/// H200; wider ones leave less beside a warp's points to be computed again, which counts where there are
/// many levels. Long chunks leave less before them. Nothing where that was slower than levels one after
/// the other: on an H100 two steps of f32 stars took 0.19 ms a step for 0.31 at radius 3, and 0.77 at
/// radius 4, where four take 0.28; of 16 bits at radius 3 0.45, where four take 0.27. Of 16 bits at
/// radius 2 eight lanes took 0.31, four (by sums that are cut) 0.18. Fewer lanes, too, where a thread's
/// registers do not hold beside the levels what it has `asked` for of fields, for each point; and where
/// steps of so many `operations` a point would be written out to more than the assembler does in some
/// seconds.
std::optional<Marching> marching_rows(const TimeLevels& tile, std::int64_t asked, std::int64_t rows,
                                      std::int64_t operations, bool scatter) {
  constexpr int kWarp = 32, kVectorBytesOfThread = 16, kMostOfLevels = 128, kRowsPerLevel = 16,
                kPointsPerLevel = 8, kMostRows = 6, kMostNarrowRows = 4, kMostWideLanes = 4;
  const std::vector<Type> types = tile.last.types();
  const int of_value = std::accumulate(types.begin(), types.end(), 0,
                                       [](int sum, Type type) { return sum + ir::registers_of(type); });
  const int levels = static_cast<int>(tile.levels.size()) + 1;
  const bool is_wide = rows > kFewRows;
  if (rows > (types.front().bytes() < 4 ? kMostNarrowRows : kMostRows)) return std::nullopt;
  const std::int64_t registers = (is_wide ? 2 * rows : kFewRows) * levels * of_value;  // of a point
  if (registers > kMostOfLevels) return std::nullopt;
  int lanes = std::max(1, kVectorBytesOfThread / types.front().bytes());
  if (kWarp * lanes < kPointsPerLevel * levels) lanes *= 2;
  if (is_wide) lanes = std::min(lanes, kMostWideLanes);
  while (lanes > 1 && registers * lanes > kMostOfLevels) lanes /= 2;
  // What overlaps of narrow rows would be computed again costs more.
  const int fewest = (kPointsPerLevel * levels + kWarp - 1) / kWarp;
  while (lanes >= 2 * fewest && (registers + asked) * lanes > ir::kMostRegisters) lanes /= 2;
  // The ring in which fields arrive is the deepest.
  const std::int64_t written_out =
      operations * levels * passes::steps_in_code(asked_ahead(tile) + rows + 1);
  while (lanes > 1 && written_out * lanes > passes::kMostOperationsInCode) lanes /= 2;
  if (written_out * lanes > passes::kMostOperationsInCode) return std::nullopt;
  Func scratch;
  const std::vector<Var> v = tile.last.args();
  scratch(v[0], v[1]) = 0;
  scratch.gpu_tile(v[0], kWarp).vectorize(v[0], lanes).march(v[1], kRowsPerLevel * levels);
  if (scatter) scratch.scatter(v[1]);
  return Marching{loops_of(scratch), v[1].name()};
}

/// A block of a march of planes: warps beside each other in y, rows of each of their threads, and lanes
/// of a vector.
struct PlaneBlock {
  int warps = 0, rows = 0, lanes = 0;
  static constexpr int kWarp = 32;
  [[nodiscard]] int x() const { return kWarp * lanes; }
  [[nodiscard]] int y() const { return warps * rows; }
  friend bool operator==(const PlaneBlock&, const PlaneBlock&) = default;
};

/// The one that computes least of what the blocks beside it do, too, and whose threads hold the levels:
/// `registers` of each point. Of 12 warps they have 168 registers, of which ptxas 13.0 left 72 for
/// levels in vectors of 16 bytes and 96 in narrower ones (7 points of f32 and f64, two to five steps);
/// of 8 warps they have 255, and room for 1.67 times as many. `share`: of that room. `overlap` points
/// along each dimension are computed for others.
std::optional<PlaneBlock> best_block(double share, int registers, int bytes, std::int64_t overlap) {
  constexpr int kVectorBytes = 16, kNarrowBytes = 8, kMostLanes = 4, kMostRows = 6;
  constexpr int kManyWarps = 12, kFewWarps = 8;
  constexpr double kOfVectors = 72, kOfNarrow = 96, kOfFewWarps = 1.67, kLeastOwn = 0.4;
  std::optional<PlaneBlock> best;
  double most = kLeastOwn;
  for (int lanes = std::min(kVectorBytes / bytes, kMostLanes); lanes > 0; lanes /= 2) {
    if (best && lanes * bytes < kNarrowBytes) break;  // each row costs registers of its own
    for (const int warps : {kManyWarps, kFewWarps}) {
      const double room = share * (lanes * bytes < kVectorBytes ? kOfNarrow : kOfVectors) *
                          (warps == kFewWarps ? kOfFewWarps : 1);
      const int rows = std::min(kMostRows, static_cast<int>(room / (registers * lanes)));
      const PlaneBlock block{warps, rows, lanes};
      if (rows < 2 || block.x() <= overlap || block.y() <= overlap) continue;
      const double own = (1 - static_cast<double>(overlap) / block.x()) *
                         (1 - static_cast<double>(overlap) / block.y());
      if (own <= most) continue;
      most = own;
      best = block;
    }
  }
  return best;
}

}  // namespace

std::vector<Directive> loops_of(const Func& step) {
  std::vector<Directive> loops;
  for (const Directive& directive : step.function()->definitions.front().directives) {
    const auto& op = directive.op;
    const bool keeps =
        std::holds_alternative<directive::GpuTile>(op) || std::holds_alternative<directive::Split>(op) ||
        std::holds_alternative<directive::Reorder>(op) ||
        std::holds_alternative<directive::MarkLoop>(op) ||
        std::holds_alternative<directive::Vectorize>(op) ||
        std::holds_alternative<directive::Unroll>(op) ||
        std::holds_alternative<directive::LaunchBounds>(op) ||
        std::holds_alternative<directive::MaxRegisters>(op) ||
        std::holds_alternative<directive::March>(op) || std::holds_alternative<directive::Scatter>(op);
    if (keeps) loops.push_back(directive);
  }
  return loops;
}

int widest_vector(const std::vector<Directive>& loops) {
  int lanes = 1;
  for (const Directive& directive : loops) {
    const auto* vectors = std::get_if<directive::Vectorize>(&directive.op);
    if (vectors != nullptr) lanes = std::max(lanes, vectors->width);
  }
  return lanes;
}

RowTiles row_tiles(const Func& step) {
  const std::string row = step.args().front().name();
  RowTiles tiles;
  for (const Directive& directive : step.function()->definitions.front().directives) {
    if (const auto* tile = std::get_if<directive::GpuTile>(&directive.op)) {
      for (std::size_t i = 0; i < tile->vars.size(); ++i) {
        if (tile->vars[i] == row) tiles.points = tile->sizes[i];
      }
    }
    const auto* vectors = std::get_if<directive::Vectorize>(&directive.op);
    if (vectors != nullptr && vectors->var == row) tiles.lanes = vectors->width;
  }
  tiles.points *= tiles.lanes;
  return tiles;
}

std::optional<std::int64_t> reach_along_march(const Iteration::State& state, const Func& last) {
  const RowsRead read = rows_read(last, [&](const ImageData* image) {
    return std::ranges::any_of(state.replacements,
                               [&](const Replacement& r) { return r.field.data().get() == image; });
  });
  return read.exact ? std::optional(std::max(-read.first, read.last)) : std::nullopt;
}

std::int64_t chunk_of(const Iteration::State& state) {
  for (const Directive& directive :
       state.outputs.front().func.function()->definitions.front().directives) {
    const auto* march = std::get_if<directive::March>(&directive.op);
    if (march != nullptr && march->chunk > 0) return march->chunk;
  }
  return 1;
}

std::optional<Marching> marching_of(const Iteration::State& state) {
  const Func& step = state.outputs.front().func;
  Marching marching{loops_of(step), {}};
  for (const Directive& directive : step.function()->definitions.front().directives) {
    if (const auto* march = std::get_if<directive::March>(&directive.op)) marching.var = march->var;
    const auto* depth = std::get_if<directive::PipelineDepth>(&directive.op);
    const auto* staged = std::get_if<directive::StagedSource>(&directive.op);
    const auto* window = std::get_if<directive::RegisterWindow>(&directive.op);
    for (const Replacement& r : state.replacements) {
      if (staged != nullptr && staged->source == r.field.name()) marching.planes = Planes::Staged;
      if (window != nullptr && window->source == r.field.name()) marching.planes = Planes::Asked;
      if (depth != nullptr && depth->source == r.field.name()) marching.ahead = depth->depth;
    }
  }
  return marching.var.empty() ? std::nullopt : std::optional(marching);
}

bool is_scatter(const Directive& directive) {
  return std::holds_alternative<directive::Scatter>(directive.op);
}

std::vector<Planes> ways_of_planes(const Marching& marching, int dimensions, std::size_t levels) {
  constexpr std::size_t kManyLevels = 6;
  if (dimensions > 2) return {Planes::Staged, Planes::Direct};
  const bool arrives =
      levels >= kManyLevels || std::any_of(marching.loops.begin(), marching.loops.end(), is_scatter);
  if (marching.planes.value_or(arrives ? Planes::Staged : Planes::Asked) == Planes::Asked) {
    return {Planes::Asked, Planes::Direct};
  }
  return {Planes::Staged, Planes::Asked, Planes::Direct};
}

int asked_ahead(const TimeLevels& tile) {
  constexpr int kLevelsAhead = 16;
  return std::max(2, kLevelsAhead / static_cast<int>(tile.levels.size() + 1));
}

std::vector<Marching> marches_of_rows(const Iteration::State& state, const TimeLevels& tile,
                                      const std::vector<Func>& fields) {
  const Func step = joint_step(state, ReadFuncs::Inline).func;
  const std::int64_t rows = rows_between_reads(step);
  const std::int64_t asked = registers_asked(state, tile, fields, rows);
  const std::int64_t operations = arithmetic_in(collect_graph({step.function()}));
  // Sums that are cut are of few rows: of five (radius 2, f32, four steps) they took 0.24 ms a step,
  // what was read before in registers 0.12.
  const bool scatters_first = rows <= kFewRows;
  std::vector<Marching> marches;
  for (const bool scatter : {scatters_first, !scatters_first}) {
    if (const auto marching = marching_rows(tile, asked, rows, operations, scatter))
      marches.push_back(*marching);
  }
  return marches;
}

std::vector<Marching> marches_of_planes(const Iteration::State& state, const TimeLevels& tile) {
  constexpr std::int64_t kFarthest = 4;  // from the first plane that is read to the last
  constexpr std::int64_t kManyOperations = 40;
  constexpr int kFewestPlanes = 8;
  // What else a point needs, and what comes of the second try where the assembler needs more than that.
  constexpr double kOfEdges = 0.67, kOfManyOperations = 0.67, kOfFarLevels = 0.75, kOfPlanesHeld = 0.45,
                   kAgain = 0.7;
  const Func step = joint_step(state, ReadFuncs::Inline).func;
  const std::int64_t reach = rows_between_reads(step);
  if (reach > kFarthest) return {};
  const std::vector<Type> types = tile.last.types();
  int bytes = 1, of_value = 0;
  for (const Type type : types) {
    bytes = std::max(bytes, type.bytes());
    of_value += ir::registers_of(type);
  }
  const int levels = static_cast<int>(tile.levels.size()) + 1;
  const int planes = static_cast<int>(std::max<std::int64_t>(reach, 1));
  double share = tile.edges.empty() ? 1 : kOfEdges;
  if (arithmetic_in(collect_graph({step.function()})) > kManyOperations) share *= kOfManyOperations;
  if (planes > kFewRows && levels > 2) share *= kOfFarLevels;

  std::vector<Marching> marches;
  PlaneBlock before;  // none
  const auto add = [&](const PlaneBlock& block, bool scatter) {
    if (before == block) return;
    before = block;
    Func scratch;
    const std::vector<Var> v = tile.last.args();
    scratch(v[0], v[1], v[2]) = 0;
    scratch.gpu_tile(v[0], v[1], PlaneBlock::kWarp, block.warps).vectorize(v[0], block.lanes);
    scratch.unroll(v[1], block.rows).march(v[2], kPlanes, kFewestPlanes);
    if (scatter) scratch.scatter(v[2]);
    marches.push_back({.loops = loops_of(scratch), .var = v[2].name(), .must_fit = true});
  };
  // Sums that are cut need a register for each plane but one of those that they read; else the planes
  // themselves are held.
  for (const bool scatter : {true, false}) {
    if (scatter && types.size() > 1) continue;
    before = {};
    const int registers = levels * of_value * (scatter ? planes : planes + 1);
    for (const double room : {1.0, kAgain}) {
      const auto block = best_block(share * room * (scatter ? 1 : kOfPlanesHeld), registers, bytes,
                                    reach * (levels - 1));
      if (block) add(*block, scatter);
    }
  }
  return marches;
}

std::string why_too_few(const Iteration::State& state, const Ranges& box, int multiprocessors) {
  constexpr std::int64_t kUsual[] = {64, 48, kPlanes};  // points of a block
  if (box.size() != std::size(kUsual) || marching_of(state)) return {};
  std::int64_t blocks = 1;
  for (std::size_t d = 0; d < box.size(); ++d) blocks *= (box[d].second + kUsual[d] - 1) / kUsual[d];
  if (blocks >= multiprocessors) return {};
  return "some " + std::to_string(blocks) + " blocks of several steps would leave the others of " +
         std::to_string(multiprocessors) +
         " multiprocessors idle, and single steps are faster then; gpu_tile and march say other blocks";
}

bool fits_registers(const Executable& executable) {
  constexpr int kFewBytes = 48;
  const std::vector<KernelInfo> kernels = executable.kernels();
  return std::all_of(kernels.begin(), kernels.end(),
                     [](const KernelInfo& kernel) { return kernel.local_bytes <= kFewBytes; });
}

}  // namespace mica::iterate
