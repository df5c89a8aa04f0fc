#include "codegen/iterate/level_marches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "codegen/analysis/bounds.h"
#include "codegen/ir/kernel.h"
#include "codegen/iterate/open_edges.h"
#include "codegen/passes/funcs/repeated_work.h"
#include "codegen/passes/loops/unroll_marches.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::iterate {
namespace {

/// From where to where a point reads, beside its own coordinate along a dimension.
struct Reach {
  std::int64_t first = 0, last = 0;
  [[nodiscard]] std::int64_t between() const { return last - first; }
  void add(std::int64_t offset_first, std::int64_t offset_last) {
    first = std::min(first, offset_first);
    last = std::max(last, offset_last);
  }
};
struct InputReach {
  std::vector<Reach> along;       ///< by dimension
  bool exact_along_march = true;  ///< as of Inputs
  /// The points on the axes through a point, itself included: 7 of a star of radius 1 in three
  /// dimensions, 2 of a velocity that is read before and behind.
  [[nodiscard]] std::int64_t on_axes() const {
    return std::accumulate(along.begin(), along.end(), std::int64_t{1},
                           [](std::int64_t sum, const Reach& of) { return sum + of.between(); });
  }
};
/// What a point of a step reads of inputs of its number of dimensions, through its other Funcs, too.
struct Inputs {
  std::map<const ImageData*, InputReach> of;
  /// Along the last dimension Funcs are read at coordinates and constants. Other indices, as those of
  /// boundary conditions, count as the coordinate.
  bool exact_along_march = true;
  /// How many rows lie between the first and the last one that a point reads.
  [[nodiscard]] std::int64_t rows_between() const {
    Reach rows;
    for (const auto& [image, input] : of) rows.add(input.along.back().first, input.along.back().last);
    return rows.between();
  }
};
Inputs inputs_of(const Func& step) {
  const std::size_t dimensions = step.args().size();
  const std::vector<Reach> nowhere(dimensions);
  std::map<const FunctionData*, std::vector<Reach>> computed{{step.function().get(), nowhere}};
  Inputs inputs;
  const FuncGraph graph = collect_graph({step.function()});
  for (auto reader = graph.funcs.rbegin(); reader != graph.funcs.rend(); ++reader) {
    const FunctionData& f = **reader;
    const std::vector<Reach> at = computed.emplace(&f, nowhere).first->second;
    for (const Definition& definition : f.definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        const bool along =
            !access.is_self && access.args.size() == dimensions && f.args.size() == dimensions;
        std::vector<Reach>* reach = nullptr;
        bool* exact = &inputs.exact_along_march;
        if (access.image != nullptr) {
          if (access.args.size() != dimensions) return;
          InputReach& of = inputs.of.emplace(access.image.get(), InputReach{nowhere}).first->second;
          reach = &of.along;
          exact = &of.exact_along_march;
        } else if (along) {
          reach = &computed.emplace(access.function.get(), at).first->second;
        }
        if (!along) {
          *exact = false;
          return;
        }
        for (std::size_t d = 0; d < dimensions; ++d) {
          const auto offset = offset_from(access.args[d], f.args[d]);
          if (d + 1 == dimensions) *exact = *exact && offset.has_value();
          (*reach)[d].add(at[d].first + offset.value_or(0), at[d].last + offset.value_or(0));
        }
      });
    }
  }
  return inputs;
}

bool replaces(const Iteration::State& state, const ImageData* image) {
  return std::ranges::any_of(state.replacements,
                             [&](const Replacement& r) { return r.field.data().get() == image; });
}

/// Registers that a point of each field takes which threads ask for ahead. What a step replaces is read
/// by the first level; others by all levels, of which each lags behind the one before.
std::int64_t registers_asked(const Iteration::State& state, const TimeLevels& tile,
                             const std::vector<Func>& fields, std::int64_t rows) {
  std::int64_t registers = 0;
  for (const Func& field : fields) {
    const bool is_replaced = replaces(state, field.function()->held.of.get());
    const std::size_t readers = is_replaced ? 1 : tile.levels.size() + 1;
    registers += (asked_ahead(tile) + rows * static_cast<std::int64_t>(readers)) *
                 ir::registers_of(field.types().front());
  }
  return registers;
}

constexpr std::int64_t kFewRows = 2;  // of a step of radius 1
constexpr std::size_t kManyLevels = 6;
constexpr int kPlanes = 64;  // that a block of a march of planes walks

/// Is a thread's code of so many points a level, which a ring of so many rows or planes repeats, one
/// that the assembler makes in some seconds?
bool is_short_code(double effort, int levels, std::int64_t ring, int points) {
  return effort * levels * static_cast<double>(passes::steps_in_code(ring)) * points <=
         static_cast<double>(passes::kMostOperationsInCode);
}

/// Of rows, where the step says nothing: one warp a block, whose registers hold of each point and level
/// as many values as there are `rows` between those that are read (sums that are not complete, or what
/// was read before) and, of more than two, as many again. Vectors of 16 bytes were the fastest on an
/// H200; wider ones leave less beside a warp's points to be computed again, which counts where there are
/// many levels: of f64 in vectors of 32 bytes, eight steps of 5 points took 0.0450 ms a step for 0.0491,
/// of a box of nine 0.0796 for 0.0902. Long chunks leave less before them. Nothing where that was slower
/// than levels one after the other: on an H100 two steps of f32 stars took 0.19 ms a step for 0.31 at
/// radius 3, and 0.77 at radius 4, where four take 0.28; of 16 bits at radius 3 0.45, where four take
/// 0.27. Of 16 bits at radius 2 eight lanes took 0.31, four (by sums that are cut) 0.18. Of bytes 16
/// lanes spill (two steps of 5 points and a product: 712 bytes, of 8 lanes 56). Fewer lanes, too, where
/// a thread's registers do not hold beside the levels what it has `asked` for of fields, for each point;
/// and where steps of such an `effort` a point would be written out to more than the assembler does in
/// some seconds.
std::optional<Marching> marching_rows(const TimeLevels& tile, std::int64_t asked, std::int64_t rows,
                                      double effort, bool scatter) {
  constexpr int kWarp = 32, kVectorBytesOfThread = 16, kMostOfLevels = 128, kRowsPerLevel = 16,
                kPointsPerLevel = 10, kFewestPerLevel = 8, kMostRows = 6, kMostNarrowRows = 4,
                kMostWideLanes = 4, kMostLanes = 8;
  const std::vector<Type> types = tile.last.types();
  const int of_value = std::accumulate(types.begin(), types.end(), 0,
                                       [](int sum, Type type) { return sum + ir::registers_of(type); });
  const int levels = static_cast<int>(tile.levels.size()) + 1;
  const bool is_wide = rows > kFewRows;
  if (rows > (types.front().bytes() < 4 ? kMostNarrowRows : kMostRows)) return std::nullopt;
  const std::int64_t registers = (is_wide ? 2 * rows : kFewRows) * levels * of_value;  // of a point
  if (registers > kMostOfLevels) return std::nullopt;
  int lanes = std::clamp(kVectorBytesOfThread / types.front().bytes(), 1, kMostLanes);
  if (kWarp * lanes < kPointsPerLevel * levels) lanes *= 2;
  if (is_wide) lanes = std::min(lanes, kMostWideLanes);
  while (lanes > 1 && registers * lanes > kMostOfLevels) lanes /= 2;
  // What overlaps of narrow rows would be computed again costs more.
  const int fewest = (kFewestPerLevel * levels + kWarp - 1) / kWarp;
  while (lanes >= 2 * fewest && (registers + asked) * lanes > ir::kMostRegisters) lanes /= 2;
  // The ring in which fields arrive is the deepest.
  const auto is_short = [&](int points) {
    return is_short_code(effort, levels, asked_ahead(tile) + rows + 1, points);
  };
  while (lanes > 1 && !is_short(lanes)) lanes /= 2;
  if (!is_short(lanes)) return std::nullopt;
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

/// The one that computes least of what the blocks beside it do, too, and whose threads have registers
/// for `of_point` a point: of 12 warps a thread has 168, of 8 warps 255. Of these there is room for
/// `wide` in vectors of 16 bytes and `narrow` in others, of 8 warps 1.67 times as much (as ptxas 13.0
/// says). `overlap` points along each dimension are computed for others.
struct Room {
  double wide = 0, narrow = 0;
};
std::optional<PlaneBlock> best_block(const Room& room, std::int64_t of_point, int bytes,
                                     std::int64_t overlap) {
  constexpr int kVectorBytes = 16, kNarrowBytes = 8, kMostLanes = 4, kMostRows = 6;
  constexpr int kManyWarps = 12, kFewWarps = 8;
  constexpr double kOfFewWarps = 1.67, kLeastOwn = 0.4;
  std::optional<PlaneBlock> best;
  double most = kLeastOwn;
  for (int lanes = std::min(kVectorBytes / bytes, kMostLanes); lanes > 0; lanes /= 2) {
    if (best && lanes * bytes < kNarrowBytes) break;  // each row costs registers of its own
    for (const int warps : {kManyWarps, kFewWarps}) {
      const double points = (lanes * bytes < kVectorBytes ? room.narrow : room.wide) *
                            (warps == kFewWarps ? kOfFewWarps : 1) / static_cast<double>(of_point);
      const PlaneBlock block{warps, std::min(kMostRows, static_cast<int>(points / lanes)), lanes};
      if (block.rows < 2 || block.x() <= overlap || block.y() <= overlap) continue;
      const double own = (1 - static_cast<double>(overlap) / block.x()) *
                         (1 - static_cast<double>(overlap) / block.y());
      if (own <= most) continue;
      most = own;
      best = block;
    }
  }
  return best;
}

/// Directives of Mica's own are said where the steps at once are.
Marching said_at(Marching marching, const SourceLocation& where) {
  for (Directive& directive : marching.loops) directive.where = where;
  return marching;
}

RowTiles tiles_of(const std::vector<Directive>& loops, const Func& step) {
  const std::string row = step.args().front().name();
  RowTiles tiles;
  for (const Directive& directive : loops) {
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

RowTiles row_tiles(const Iteration::State& state, int steps) {
  const Func& step = state.outputs.front().func;
  if (marching_of(state) || step.dimensions() != 3) return tiles_of(loops_of(step), step);
  const std::lock_guard lock(state.code->compiling);
  const auto [known, is_new] = state.code->rows.try_emplace(steps);
  if (is_new) {
    const JointStep joint = joint_step(state, ReadFuncs::Inline);
    if (!joint.why.empty()) return {};
    const auto opened = open_edges(joint.func);
    const auto marches = marches_of_planes(state, steps, opened && !opened->edges.empty());
    if (!marches.empty()) known->second = tiles_of(marches.front().loops, step);
  }
  return known->second;
}

std::optional<std::int64_t> reach_along_march(const Iteration::State& state, const Func& last) {
  const Inputs inputs = inputs_of(last);
  bool exact = inputs.exact_along_march;
  std::int64_t reach = 0;
  for (const auto& [image, input] : inputs.of) {
    if (!replaces(state, image)) continue;
    exact = exact && input.exact_along_march;
    reach = std::max({reach, -input.along.back().first, input.along.back().last});
  }
  return exact ? std::optional(reach) : std::nullopt;
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

int copied_ahead(const Marching& marching, const TimeLevels& tile, const std::vector<Func>& fields) {
  constexpr std::int64_t kFewest = 3, kMost = 7;
  constexpr std::int64_t kRings = 24 * 1024;  // bytes of shared memory of one of eight blocks, or nine
  if (tile.last.dimensions() > 2 || tile.levels.size() + 1 < kManyLevels) return kFewest;
  std::int64_t row = 0;
  for (const Func& field : fields) row += field.types().front().bytes();
  row *= std::max<std::int64_t>(tiles_of(marching.loops, tile.last).points, 1);
  const std::int64_t planes = kRings / std::max<std::int64_t>(row, 1);
  return static_cast<int>(std::clamp(planes - kFewest, kFewest, kMost));
}

std::vector<Marching> marches_of_rows(const Iteration::State& state, const TimeLevels& tile,
                                      const std::vector<Func>& fields) {
  const Func step = joint_step(state, ReadFuncs::Inline).func;
  const std::int64_t rows = inputs_of(step).rows_between();
  const std::int64_t asked = registers_asked(state, tile, fields, rows);
  const double effort = passes::inlined_effort(collect_graph({step.function()}));
  // Sums that are cut are of few rows: of five (radius 2, f32, four steps) they took 0.24 ms a step,
  // what was read before in registers 0.12.
  const bool scatters_first = rows <= kFewRows;
  std::vector<Marching> marches;
  for (const bool scatter : {scatters_first, !scatters_first}) {
    if (const auto marching = marching_rows(tile, asked, rows, effort, scatter))
      marches.push_back(said_at(*marching, state.tile_where));
  }
  return marches;
}

std::vector<Marching> marches_of_planes(const Iteration::State& state, int levels, bool edges) {
  constexpr std::int64_t kFarthest = 4;  // from the first plane that is read to the last
  constexpr std::int64_t kManyOperations = 40;
  constexpr int kFewestPlanes = 8;
  // Registers beside which ptxas needs no more than a thread has: of sums that are cut (7 points of f32
  // and f64, 13, 27, a coefficient; two to five steps), and of planes that are held (two fields, four of
  // one Func or of four, six of Maxwell's equations, a leapfrog step; two to four steps).
  constexpr Room kOfSums{72, 96}, kOfPlanes{112, 112};
  // What is left of that, and what comes of the second try where the assembler needs more.
  constexpr double kOfEdges = 0.67, kOfManyOperations = 0.67, kOfFarLevels = 0.75, kAgain = 0.7;
  const Func step = joint_step(state, ReadFuncs::Inline).func;
  const Inputs inputs = inputs_of(step);
  const std::int64_t reach = inputs.rows_between();
  if (reach > kFarthest) return {};
  int bytes = 1, of_value = 0;
  for (const Replacement& r : state.replacements) {
    bytes = std::max(bytes, r.field.type().bytes());
    of_value += ir::registers_of(r.field.type());
  }
  // What a point of a level holds: of planes, and what is read beside it in each. All levels read others
  // than the fields, each a plane behind the one before.
  std::int64_t of_planes = 0, of_others = 0;
  for (const auto& [image, input] : inputs.of) {
    const std::int64_t registers = ir::registers_of(image->type);
    if (replaces(state, image)) {
      of_planes += registers * input.on_axes();
    } else {
      of_others += registers * (1 + input.on_axes());
    }
  }
  const std::int64_t planes = std::max<std::int64_t>(reach, 1);
  const FuncGraph graph = collect_graph({step.function()});
  const double effort = passes::inlined_effort(graph);

  std::vector<Marching> marches;
  const auto add = [&](const Room& room, double share, std::int64_t of_point, bool scatter) {
    PlaneBlock before;  // none
    for (const double tried : {1.0, kAgain}) {
      const double left = share * tried;
      const auto block = best_block({left * room.wide, left * room.narrow}, levels * of_point, bytes,
                                    reach * (levels - 1));
      if (!block || *block == before) continue;
      if (!is_short_code(effort, levels, planes + 1, block->rows * block->lanes)) continue;
      before = *block;
      Func scratch;
      const std::vector<Var> v = step.args();
      scratch(v[0], v[1], v[2]) = 0;
      scratch.gpu_tile(v[0], v[1], PlaneBlock::kWarp, block->warps).vectorize(v[0], block->lanes);
      scratch.unroll(v[1], block->rows).march(v[2], kPlanes, kFewestPlanes);
      if (scatter) scratch.scatter(v[2]);
      marches.push_back(
          said_at({.loops = loops_of(scratch), .var = v[2].name(), .must_fit = true}, state.tile_where));
    }
  };
  const double share = edges ? kOfEdges : 1;
  // Sums that are cut need a register for each plane but one of those that they read.
  if (state.replacements.size() == 1) {
    double of_sums = share;
    if (arithmetic_in(graph) > kManyOperations) of_sums *= kOfManyOperations;
    if (planes > kFewRows && levels > 2) of_sums *= kOfFarLevels;
    add(kOfSums, of_sums, of_value * planes + of_others, true);
  }
  add(kOfPlanes, share, std::max<std::int64_t>(of_planes + of_others, 1), false);
  return marches;
}

namespace {
std::int64_t rows_between(const Iteration::State& state) {
  const std::lock_guard lock(state.code->compiling);
  std::optional<std::int64_t>& rows = state.code->rows_between;
  if (!rows) rows = inputs_of(joint_step(state, ReadFuncs::Inline).func).rows_between();
  return *rows;
}
}  // namespace

std::string why_too_few(const Iteration::State& state, const Ranges& box, int multiprocessors) {
  constexpr double kUsual = 64 * 48 * kPlanes;  // points of a block
  // How much faster tiles are on an H200 where they have blocks for all multiprocessors than single
  // steps of grids of some 224^3: f64 of two and of three steps, f32 gains more
  // (bench/results/2026-11-29-h200-time-planes.txt).
  constexpr double kOfTwoSteps = 1.55, kOfMoreSteps = 2.6;
  constexpr std::int64_t kNear = 2;
  if (box.size() != 3 || marching_of(state)) return {};
  double points = 1;
  for (const auto& [first, extent] : box) points *= static_cast<double>(extent);
  const double blocks = points / kUsual;
  if (blocks * kOfTwoSteps >= multiprocessors) return {};
  if (state.tile_steps > 2 && blocks * kOfMoreSteps >= multiprocessors && rows_between(state) <= kNear) {
    return {};
  }
  return "some " + std::to_string(static_cast<std::int64_t>(std::ceil(blocks))) +
         " blocks of several steps would leave the others of " + std::to_string(multiprocessors) +
         " multiprocessors idle, and single steps are faster then; gpu_tile and march say other blocks";
}

bool fits_registers(const Executable& executable) {
  constexpr int kFewBytes = 48;
  const std::vector<KernelInfo> kernels = executable.kernels();
  return std::all_of(kernels.begin(), kernels.end(),
                     [](const KernelInfo& kernel) { return kernel.local_bytes <= kFewBytes; });
}

}  // namespace mica::iterate
