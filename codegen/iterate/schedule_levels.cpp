// How a time tile is computed.
//
// On the host: tiles of y (and of x, in two dimensions), each of which walks the slowest dimension and
// keeps of every level the rows or planes that the next one reads. On a GPU: the levels stand in the
// registers of the step's own march. Where neither fits, the levels are computed whole, one after the
// other.
#include <algorithm>
#include <map>
#include <optional>

#include "codegen/analysis/bounds.h"
#include "codegen/compile.h"
#include "codegen/iterate/in_place_step.h"
#include "codegen/iterate/level_marches.h"
#include "codegen/iterate/time_levels.h"
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
      around = around && offsets_from(access.args, data.args).has_value();
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

/// All levels, and the `fields` before them, in the frame of the last one's march.
void march_levels(TimeLevels& tile, std::vector<Func>& fields, const Marching& marching, Planes planes) {
  std::vector<Directive> loops = marching.loops, scatters;
  std::copy_if(loops.begin(), loops.end(), std::back_inserter(scatters), is_scatter);
  // The step's first Func may be one that can be cut; all of its Funcs together are not.
  if (tile.computed.types().size() > 1) scatters.clear();
  // A sum that is cut has one operation left in the last plane, which is cheaper twice than kept.
  // One of several values, as of a leapfrog step, cannot be cut beside the others.
  const bool is_kept = scatters.empty() || widest_vector(loops) > 2 || tile.last.types().size() > 1;
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
  const int ahead = copied_ahead(marching, tile, fields);
  for (Func& held : fields) {
    held.compute_at(tile.last, at).store_in(MemoryType::Register);
    if (planes == Planes::Staged) {
      const ImageParam input(held.function()->definitions.front().values.front().as<Access>()->image);
      held.stage(input, MemoryType::Shared, LoadPolicy::AsyncCopy)
          .pipeline(input, marching.ahead.value_or(ahead));
    } else if (planes == Planes::Asked) {
      tile.levels.front().pipeline(held, marching.ahead.value_or(asked_ahead(tile)));
    }
  }
}

}  // namespace

HostTile host_tile(int dimensions) {
  // Chosen so that a few planes of each level stay in a core's L2.
  constexpr int kPoints = 4096, kTileX = 1024, kChunkOfRows = 256, kTileY = 32, kChunkOfPlanes = 64;
  if (dimensions == 1) return {.slowest = kPoints};
  if (dimensions == 2) return {.x = kTileX, .slowest = kChunkOfRows};
  return {.y = kTileY, .slowest = kChunkOfPlanes};
}

std::string schedule_levels(const Iteration::State& state, TimeLevels& tile, const Target& target,
                            bool in_lines, const MakeLevels& make, Otherwise otherwise) {
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
    // A term that chooses between planes at an edge cannot be added plane by plane.
    if (!tile.edges.empty() && std::erase_if(ways.front().loops, is_scatter) > 0) {
      ways.insert(ways.begin(), *own);
    }
  } else if (step.dimensions() == 2) {
    ways = marches_of_rows(state, tile, in_frame.funcs());
  } else if (step.dimensions() == 3) {
    const int levels = static_cast<int>(tile.levels.size()) + 1;
    ways = marches_of_planes(state, levels, !tile.edges.empty());
  }
  std::string why = step.name() +
                    " does not march, and no march is known in whose registers so many steps are faster "
                    "than one: give it gpu_tile and march";
  for (const Marching& marching : ways) {
    for (const Planes planes : ways_of_planes(marching, step.dimensions(), tile.levels.size() + 1)) {
      for (Func* func : tile.all()) func->clear_schedule();
      march_levels(tile, in_frame.funcs(), marching, planes);
      try {
        if (make(tile.last) || !marching.must_fit) {
          in_frame.keep();
          return {};
        }
        why = "registers do not hold the levels of " + step.name() + ": take fewer steps at once";
        break;
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

std::string make_levels(const Iteration::State& state, TileForm form, const Target& target,
                        TimeLevels& tile, const MakeLevels& make, Otherwise otherwise) {
  tile = make_time_levels(state, state.tile_steps, form, state.tile_where);
  std::string why;
  if (!tile.edges.empty()) {
    why = schedule_levels(state, tile, target, form.in_lines, make, Otherwise::Nothing);
    if (why.empty()) return {};
    form.open = false;  // one after the other, levels read as the step does
    tile = make_time_levels(state, state.tile_steps, form, state.tile_where);
  }
  const std::string other = schedule_levels(state, tile, target, form.in_lines, make, otherwise);
  return other.empty() || why.empty() ? other : why;
}

}  // namespace mica::iterate

namespace mica {
namespace {

/// make_levels of the form that most runs have.
std::string usual_levels(const Iteration::State& state, const Target& target, iterate::TimeLevels& tile,
                         const iterate::MakeLevels& make) {
  return iterate::make_levels(state, iterate::usual_form(state, target), target, tile, make);
}

}  // namespace

std::shared_ptr<const Iteration::State::Tile> Iteration::State::tile_for(const Target& target,
                                                                         const iterate::TileForm& form,
                                                                         iterate::Otherwise otherwise) {
  const std::lock_guard lock(code->compiling);
  std::vector<std::shared_ptr<const Tile>>& tiles = code->tiles;
  std::vector<Schedule> schedules;
  for (const Output& output : outputs) schedules.push_back(output.func.schedule());
  std::erase_if(tiles, [&](const auto& tile) {
    return tile->steps != tile_steps || (tile->target == target && tile->schedules != schedules);
  });
  for (const auto& tile : tiles) {
    if (tile->target != target || tile->form != form) continue;
    if (tile->why.empty() || otherwise == iterate::Otherwise::Nothing || tile->otherwise == otherwise) {
      return tile;
    }
  }
  auto tile = std::make_shared<Tile>();
  tile->target = target;
  tile->steps = tile_steps;
  tile->form = form;
  tile->schedules = schedules;
  tile->otherwise = otherwise;
  const auto make = [&](const Func& last) {
    tile->executable = compile(last, target);
    return iterate::fits_registers(tile->executable);
  };
  tile->why = iterate::make_levels(*this, form, target, tile->levels, make, otherwise);
  tiles.push_back(tile);
  return tile;
}

std::string Iteration::compile_to_ptx(int sm) const {
  if (state_->tile_steps < 2) return mica::compile_to_ptx(state_->funcs(), sm);
  const Target target{Backend::Cuda, 0};
  iterate::TimeLevels tile;
  std::string ptx;
  usual_levels(*state_, target, tile, [&](const Func& last) {
    ptx = mica::compile_to_ptx(last, sm);
    return true;
  });
  return ptx;
}

Func Iteration::steps_at_once(const Target& target, CallSite at) const {
  if (state_->tile_steps < 2) {
    throw UserError(
        "steps_at_once() is of several steps, and each is computed by itself: ask for time_tile(2) or "
        "more",
        at);
  }
  iterate::TimeLevels tile;
  // What is refused is refused here.
  usual_levels(*state_, target, tile, [&](const Func& last) {
    (void)mica::print_loop_nest({last}, target);
    return true;
  });
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
  iterate::TimeLevels tile;
  std::string levels;
  const std::string why = usual_levels(*state_, target, tile, [&](const Func& last) {
    levels = mica::print_loop_nest({last}, target);
    return true;
  });
  return step + "\n" + std::to_string(state_->tile_steps) + " steps at once" +
         (why.empty() ? "" : ", one after the other: " + why) + ":\n" + levels;
}

}  // namespace mica
