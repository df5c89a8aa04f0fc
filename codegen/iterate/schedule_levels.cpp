// How a time tile is computed.
//
// On the host: tiles of y (and of x, in two dimensions), each of which walks the slowest dimension and
// keeps of every level the rows or planes that the next one reads. On a GPU: the levels stand in the
// registers of the step's own march. Where neither fits, the levels are computed whole, one after the
// other.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "codegen/analysis/bounds.h"
#include "codegen/compile.h"
#include "codegen/ir/kernel.h"
#include "codegen/iterate/in_place_step.h"
#include "codegen/iterate/time_levels.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/schedule/compute_place.h"

namespace mica::iterate {
namespace {

constexpr int kVectorBytes = 64;

int lanes_of(const Func& f) {
  int bytes = 1;
  for (const Type type : f.types()) bytes = std::max(bytes, type.bytes());
  return std::max(1, kVectorBytes / bytes);
}

/// Is it at the root, and the same for all levels?
bool is_fixed(const TimeLevels::Producer& producer) {
  return !producer.level && compute_place(*producer.original, false).kind == ComputePlace::Kind::Root;
}

/// Those that come along with the levels; the others stay as the user has them.
std::vector<Func*> place_producers(TimeLevels& tile) {
  std::vector<Func*> along;
  for (TimeLevels::Producer& producer : tile.producers) {
    if (!is_fixed(producer)) {
      along.push_back(&producer.func);
      continue;
    }
    std::vector<Definition>& own = producer.func.function()->definitions;
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i].directives = producer.original->definitions[i].directives;
      own[i].specializations = producer.original->definitions[i].specializations;
    }
  }
  return along;
}

void schedule_on_host(TimeLevels& tile, const CallSite& at) {
  for (const auto& producer : tile.producers) {
    if (producer.near) continue;
    throw UserError("time_tile computes steps tile by tile, but " + producer.original->name +
                        ", which the step reads, needs the fields away from its own points: leave "
                        "time_tile out",
                    at);
  }
  Func& last = tile.last;
  const std::vector<Var> v = last.args();
  const int lanes = lanes_of(last);
  const auto along = [](const char* of, const Var& var) { return var.name() + of; };
  const std::string xo = along(".tile", v[0]), xi = along(".point", v[0]);
  const HostTile size = host_tile(static_cast<int>(v.size()));
  if (v.size() == 1) {
    last.split(v[0], xo, xi, size.slowest).vectorize(xi, lanes).parallel(xo);
    for (Func& level : tile.levels) level.compute_at(last, xo).vectorize(v[0], lanes);
    for (Func* func : place_producers(tile)) func->compute_at(last, xo);
    return;
  }
  const Var& slowest = v.back();
  const std::string so = along(".chunk", slowest), si = along(".step", slowest);
  std::string store;
  last.split(slowest, so, si, size.slowest);
  if (v.size() == 2) {
    last.split(v[0], xo, xi, size.x).reorder({xi, si, xo, so}).vectorize(xi, lanes);
    store = xo;
  } else {
    const std::string yo = along(".tile", v[1]), yi = along(".row", v[1]);
    last.split(v[1], yo, yi, size.y);
    std::vector<std::string> order{v[0].name(), yi};
    for (std::size_t d = 2; d + 1 < v.size(); ++d) order.push_back(v[d].name());
    order.insert(order.end(), {si, yo, so});
    last.function()->definitions.front().directives.push_back({directive::Reorder{order}, {}});
    last.vectorize(v[0], lanes);
    store = yo;
  }
  last.parallel(so);
  last.parallel(store);
  for (Func& level : tile.levels) {
    level.compute_at(last, si).store_at(last, store).vectorize(v[0], lanes);
  }
  for (Func* func : place_producers(tile)) {
    func->compute_at(last, si).store_at(last, store);
    if (func->dimensions() > 0) func->vectorize(func->args().front(), lanes_of(*func));
  }
}

/// The directives that name loops alone, and no source.
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

/// Of the vectors that they ask for.
int lanes_of(const std::vector<Directive>& loops) {
  int lanes = 1;
  for (const Directive& directive : loops) {
    const auto* vectors = std::get_if<directive::Vectorize>(&directive.op);
    if (vectors != nullptr) lanes = std::max(lanes, vectors->width);
  }
  return lanes;
}

/// Loops of a march, and how the planes of fields come to it.
struct Marching {
  std::vector<Directive> loops;
  std::string var;  ///< is marched
  /// By how many planes fields are asked for before they are read, where the user says so.
  std::optional<int> ahead = {};
};

/// The march of the step's own directives.
std::optional<Marching> marching_of(const Iteration::State& state) {
  const Func& step = state.outputs.front().func;
  Marching marching{loops_of(step), {}};
  for (const Directive& directive : step.function()->definitions.front().directives) {
    if (const auto* march = std::get_if<directive::March>(&directive.op)) marching.var = march->var;
    const auto* depth = std::get_if<directive::PipelineDepth>(&directive.op);
    for (const Replacement& r : state.replacements) {
      if (depth != nullptr && depth->source == r.field.name()) marching.ahead = depth->depth;
    }
  }
  return marching.var.empty() ? std::nullopt : std::optional(marching);
}

/// How many rows lie between the first and the last one that a point of the step reads of its fields,
/// along the last dimension. Where an index is no coordinate and a constant, as those of boundary
/// conditions, it counts as the coordinate.
std::int64_t rows_between_reads(const Func& step) {
  struct Rows {
    std::int64_t first = 0, last = 0;
  };
  std::map<const FunctionData*, Rows> computed{{step.function().get(), Rows{}}};
  Rows read;
  const FuncGraph graph = collect_graph({step.function()});
  for (auto reader = graph.funcs.rbegin(); reader != graph.funcs.rend(); ++reader) {
    const FunctionData& f = **reader;
    const Rows at = computed[&f];
    for (const Definition& definition : f.definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        if (access.is_self || access.args.size() != f.args.size()) return;
        const std::int64_t offset = offset_from(access.args.back(), f.args.back()).value_or(0);
        Rows& of =
            access.image != nullptr ? read : computed.emplace(access.function.get(), at).first->second;
        of = {std::min(of.first, at.first + offset), std::max(of.last, at.last + offset)};
      });
    }
  }
  return read.last - read.first;
}

/// By how many planes threads ask for fields before they are read. Warps that compute few levels come
/// to the next plane sooner.
int asked_ahead(const TimeLevels& tile) {
  constexpr int kLevelsAhead = 16;
  return std::max(2, kLevelsAhead / static_cast<int>(tile.levels.size() + 1));
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

/// Of rows, where the step says nothing: one warp a block, whose registers hold of each point and level
/// as many values as there are `rows` between those that are read (sums that are not complete, or what
/// was read before) and, of more than two, as many again. Vectors of 16 bytes were the fastest on an
/// H200; wider ones leave less beside a warp's points to be computed again, which counts where there are
/// many levels. Long chunks leave less before them. Nothing where that was slower than levels one after
/// the other: on an H100 two steps of f32 stars took 0.19 ms a step for 0.31 at radius 3, and 0.77 at
/// radius 4, where four take 0.28; of 16 bits at radius 3 0.45, where four take 0.27. Of 16 bits at
/// radius 2 eight lanes took 0.31, four (by sums that are cut) 0.18. Fewer lanes, too, where a thread's
/// registers do not hold beside the levels what it has `asked` for of fields, for each point.
std::optional<Marching> marching_rows(const TimeLevels& tile, std::int64_t asked, std::int64_t rows,
                                      bool scatter) {
  constexpr int kWarp = 32, kVectorBytesOfThread = 16, kMostRegisters = 128, kRowsPerLevel = 16,
                kPointsPerLevel = 8, kMostRows = 6, kMostNarrowRows = 4, kMostWideLanes = 4;
  const std::vector<Type> types = tile.last.types();
  const int bytes = std::accumulate(types.begin(), types.end(), 0,
                                    [](int sum, Type type) { return sum + std::max(4, type.bytes()); });
  const int levels = static_cast<int>(tile.levels.size()) + 1;
  const bool is_wide = rows > kFewRows;
  if (rows > (types.front().bytes() < 4 ? kMostNarrowRows : kMostRows)) return std::nullopt;
  const std::int64_t registers = (is_wide ? 2 * rows : kFewRows) * levels * bytes / 4;  // of a point
  if (registers > kMostRegisters) return std::nullopt;
  int lanes = std::max(1, kVectorBytesOfThread / types.front().bytes());
  if (kWarp * lanes < kPointsPerLevel * levels) lanes *= 2;
  if (is_wide) lanes = std::min(lanes, kMostWideLanes);
  while (lanes > 1 && registers * lanes > kMostRegisters) lanes /= 2;
  // What overlaps of narrow rows would be computed again costs more.
  const int fewest = (kPointsPerLevel * levels + kWarp - 1) / kWarp;
  while (lanes >= 2 * fewest && (registers + asked) * lanes > ir::kMostRegisters) lanes /= 2;
  Func scratch;
  const std::vector<Var> v = tile.last.args();
  scratch(v[0], v[1]) = 0;
  scratch.gpu_tile(v[0], kWarp).vectorize(v[0], lanes).march(v[1], kRowsPerLevel * levels);
  if (scatter) scratch.scatter(v[1]);
  return Marching{loops_of(scratch), v[1].name()};
}

void take_loops(Func& func, const std::vector<Directive>& loops) {
  std::vector<Directive>& own = func.function()->definitions.front().directives;
  own.insert(own.end(), loops.begin(), loops.end());
}

/// Levels by the loops of `step`, and what they read where the user has what `step` reads.
void compute_whole(TimeLevels& tile, const Func& step) {
  const std::vector<Directive> loops = loops_of(step);
  for (Func* func : tile.all()) func->clear_schedule();
  tile.keep_last(false);
  take_loops(tile.last, loops);
  for (Func& level : tile.levels) {
    level.compute_root();
    take_loops(level, loops);
  }
  place_producers(tile);
  for (TimeLevels::Producer& producer : tile.producers) {
    if (is_fixed(producer)) continue;
    const ComputePlace place = compute_place(*producer.original, false);
    const bool at_loop = place.kind == ComputePlace::Kind::At && producer.level;
    if (at_loop && place.level.func != step.name()) continue;  // inline
    if (at_loop) {
      const std::size_t level = *producer.level;
      producer.func.compute_at(level < tile.levels.size() ? tile.levels[level] : tile.last,
                               place.level.var);
    } else {
      producer.func.compute_root();
    }
    take_loops(producer.func, loops_of(Func(std::const_pointer_cast<FunctionData>(producer.original))));
  }
}

/// Do the levels read `held` at constant distances from their own points?
bool is_read_around(TimeLevels& tile, const Func& held) {
  bool around = true;
  for (const Func* reader : tile.all()) {
    const FunctionData& data = *reader->function();
    analysis::for_each_access(data.definitions.front(), [&](const Access& access) {
      if (access.function != held.function()) return;
      around = around && access.args.size() == data.args.size();
      for (std::size_t d = 0; around && d < access.args.size(); ++d) {
        around = offset_from(access.args[d], data.args[d]).has_value();
      }
    });
  }
  return around;
}

/// As long as it lives, or for good: inputs that are read around each point are read as they are. In a
/// frame every load stays within its array anyhow, and by whole vectors, which clamps of an algorithm
/// would not.
class HeldInFrame {
 public:
  HeldInFrame(TimeLevels& tile, bool in_lines) {
    for (Func& held : tile.held) {
      if (is_read_around(tile, held)) held_.push_back(held);
    }
    for (Func& held : held_) {
      Expr& value = held.function()->definitions.front().values.front();
      clamped_.push_back(value);
      Access access = *value.as<Access>();
      held.function()->held = {access.image, in_lines, tile.periods.bits(),
                               tile.periods.any() ? tile.box : nullptr};
      access.args.clear();
      for (const Var& var : held.args()) access.args.emplace_back(var);
      value = make_expr(value.type(), std::move(access));
    }
  }
  HeldInFrame(const HeldInFrame&) = delete;
  HeldInFrame& operator=(const HeldInFrame&) = delete;
  [[nodiscard]] std::vector<Func>& funcs() { return held_; }
  void keep() { clamped_.clear(); }
  void give_up() {
    for (std::size_t i = 0; i < clamped_.size(); ++i) {
      FunctionData& data = *held_[i].function();
      data.definitions.front().values.front() = clamped_[i];
      data.held = {data.held.of, false, 0, nullptr};
    }
    clamped_.clear();
  }
  ~HeldInFrame() { give_up(); }

 private:
  std::vector<Func> held_;
  std::vector<Expr> clamped_;
};

/// How the fields' planes come to the threads of a march.
enum class Planes : std::uint8_t {
  Staged,  ///< copied to shared memory some planes ahead, where the rows of other warps are read, too
  Asked,   ///< to the threads' own registers, some planes ahead: a warp waits for nobody
  Direct,  ///< when they are read
};

/// Those worth trying, the best first. In two dimensions a warp marches alone, and has no rows beside.
std::vector<Planes> ways_for(const Func& step) {
  if (step.dimensions() == 2) return {Planes::Asked, Planes::Direct};
  return {Planes::Staged, Planes::Direct};
}

/// All levels, and the `fields` before them, in the frame of the last one's march.
void march_levels(TimeLevels& tile, std::vector<Func>& fields, const Marching& marching, Planes planes) {
  constexpr int kCopiedAhead = 3;
  const auto is_scatter = [](const Directive& directive) {
    return std::holds_alternative<directive::Scatter>(directive.op);
  };
  std::vector<Directive> loops = marching.loops, scatters;
  std::copy_if(loops.begin(), loops.end(), std::back_inserter(scatters), is_scatter);
  // A sum that is cut has one operation left in the last plane, which is cheaper twice than kept.
  const bool is_kept = scatters.empty() || lanes_of(loops) > 2;
  tile.keep_last(is_kept);
  if (is_kept) std::erase_if(loops, is_scatter);
  take_loops(tile.last, loops);
  const std::string at = march_loop(*tile.last.function(), marching.var);
  const auto keep = [&](Func& level) {
    level.compute_at(tile.last, at).store_in(MemoryType::Register);
    take_loops(level, scatters);
  };
  for (Func& level : tile.levels) keep(level);
  if (is_kept) keep(tile.computed);
  for (Func* func : place_producers(tile)) {
    func->compute_at(tile.last, at).store_in(MemoryType::Register);
  }
  for (Func& held : fields) {
    held.compute_at(tile.last, at).store_in(MemoryType::Register);
    if (planes == Planes::Staged) {
      const ImageParam input(held.function()->definitions.front().values.front().as<Access>()->image);
      held.stage(input, MemoryType::Shared, LoadPolicy::AsyncCopy)
          .pipeline(input, marching.ahead.value_or(kCopiedAhead));
    } else if (planes == Planes::Asked) {
      tile.levels.front().pipeline(held, marching.ahead.value_or(asked_ahead(tile)));
    }
  }
}

}  // namespace

HostTile host_tile(int dimensions) {
  // Chosen so that a few planes of each level stay in a core's L2.
  constexpr int kPoints = 4096, kTileX = 1024, kChunkOfRows = 256, kTileY = 16, kChunkOfPlanes = 64;
  if (dimensions == 1) return {.slowest = kPoints};
  if (dimensions == 2) return {.x = kTileX, .slowest = kChunkOfRows};
  return {.y = kTileY, .slowest = kChunkOfPlanes};
}

std::string schedule_levels(const Iteration::State& state, TimeLevels& tile, const Target& target,
                            bool in_lines, const std::function<void(const Func& last)>& make,
                            Otherwise otherwise) {
  if (!target.is_gpu()) {
    schedule_on_host(tile, state.tile_where);
    make(tile.last);
    return {};
  }
  const Func& step = state.outputs.front().func;
  HeldInFrame in_frame(tile, in_lines);
  std::vector<Marching> ways;
  if (const auto own = marching_of(state)) {
    ways = {*own};
  } else if (step.dimensions() == 2) {
    const std::int64_t rows = rows_between_reads(step);
    const std::int64_t asked = registers_asked(state, tile, in_frame.funcs(), rows);
    // Sums that are cut are of few rows: of five (radius 2, f32, four steps) they took 0.24 ms a step,
    // what was read before in registers 0.12.
    const bool scatters_first = rows <= kFewRows;
    for (const bool scatter : {scatters_first, !scatters_first}) {
      if (const auto marching = marching_rows(tile, asked, rows, scatter)) ways.push_back(*marching);
    }
  }
  std::string why = step.name() + " does not march: give it gpu_tile and march";
  for (const Marching& marching : ways) {
    for (const Planes planes : ways_for(step)) {
      for (Func* func : tile.all()) func->clear_schedule();
      march_levels(tile, in_frame.funcs(), marching, planes);
      try {
        make(tile.last);
        in_frame.keep();
        return {};
      } catch (const UserError& error) {
        why = error.message();
      }
    }
  }
  if (otherwise == Otherwise::Nothing) return why;
  in_frame.give_up();
  compute_whole(tile, step);
  make(tile.last);
  return why;
}

CompiledLevels compile_levels(const Iteration::State& state, TimeLevels& tile, const Target& target,
                              bool in_lines) {
  CompiledLevels levels;
  levels.why = schedule_levels(state, tile, target, in_lines,
                               [&](const Func& last) { levels.executable = compile(last, target); });
  return levels;
}

}  // namespace mica::iterate

namespace mica {

std::shared_ptr<const Iteration::State::Tile> Iteration::State::tile_for(const Target& target,
                                                                         bool whole, bool in_lines) {
  const std::lock_guard lock(code->compiling);
  std::vector<std::shared_ptr<const Tile>>& tiles = code->tiles;
  const std::vector<Schedule> schedules{outputs.front().func.schedule()};
  std::erase_if(tiles, [&](const auto& tile) {
    return tile->steps != tile_steps || (tile->target == target && tile->schedules != schedules);
  });
  for (const auto& tile : tiles) {
    if (tile->target == target && tile->whole == whole && tile->in_lines == in_lines) return tile;
  }
  auto tile = std::make_shared<Tile>();
  tile->target = target;
  tile->steps = tile_steps;
  tile->whole = whole;
  tile->in_lines = in_lines;
  tile->schedules = schedules;
  tile->levels = iterate::make_time_levels(*this, tile_steps, whole, tile_where);
  tile->compiled = iterate::compile_levels(*this, tile->levels, target, in_lines);
  tiles.push_back(tile);
  return tile;
}

std::string Iteration::compile_to_ptx(int sm) const {
  if (state_->tile_steps < 2) return mica::compile_to_ptx(state_->funcs(), sm);
  iterate::TimeLevels tile =
      iterate::make_time_levels(*state_, state_->tile_steps, state_->periods.any(), state_->tile_where);
  std::string ptx;
  iterate::schedule_levels(*state_, tile, Target{Backend::Cuda, 0}, true,
                           [&](const Func& last) { ptx = mica::compile_to_ptx(last, sm); });
  return ptx;
}

Func Iteration::steps_at_once(const Target& target, CallSite at) const {
  if (state_->tile_steps < 2) {
    throw UserError(
        "steps_at_once() is of several steps, and each is computed by itself: ask for time_tile(2) or "
        "more",
        at);
  }
  iterate::TimeLevels tile =
      iterate::make_time_levels(*state_, state_->tile_steps, state_->periods.any(), state_->tile_where);
  // What is refused is refused here.
  iterate::schedule_levels(*state_, tile, target, true,
                           [&](const Func& last) { (void)mica::print_loop_nest({last}, target); });
  return tile.last;
}

std::string Iteration::print_loop_nest(const Target& target) const {
  if (state_->in_place) {
    const iterate::InPlaceStep step = iterate::make_in_place_step(*state_, *state_->in_place);
    return mica::print_loop_nest({step.away}, target) + "\nevery other step:\n" +
           mica::print_loop_nest({step.back}, target);
  }
  const std::string step = mica::print_loop_nest(state_->funcs(), target);
  if (state_->tile_steps < 2) return step;
  iterate::TimeLevels tile =
      iterate::make_time_levels(*state_, state_->tile_steps, state_->periods.any(), state_->tile_where);
  std::string levels;
  const std::string why = iterate::schedule_levels(*state_, tile, target, true, [&](const Func& last) {
    levels = mica::print_loop_nest({last}, target);
  });
  return step + "\n" + std::to_string(state_->tile_steps) + " steps at once" +
         (why.empty() ? "" : ", one after the other: " + why) + ":\n" + levels;
}

}  // namespace mica
