#include "codegen/plan/plan_stages.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/linear.h"
#include "codegen/ir/kernel.h"
#include "codegen/passes/loops/index_constants.h"
#include "codegen/plan/filling.h"
#include "codegen/plan/frame/kernel_frame.h"
#include "codegen/plan/placed_funcs.h"
#include "codegen/plan/storage_shape.h"
#include "dsl/expr/traverse.h"

namespace mica::planning {

using analysis::Box;
using analysis::Interval;
using passes::constant;

namespace {

constexpr std::int64_t kBarrierBytes = 8;  // of a transaction barrier, one a place

std::int64_t registers_for(const FunctionData& func, std::int64_t points) {
  std::int64_t each = 0;
  for (const auto& type : func.types) each += ir::registers_of(type);
  return points * each;
}

class Stages {
 public:
  Stages(const Program& program, const FunctionData& func, std::size_t index, const KernelFrame& frame)
      : program_(program), func_(func), frame_(frame), loops_{func, index, frame.vars} {}

  std::vector<Stage> run() {
    std::vector<Stage> block, thread;
    MarchPlan march;
    if (frame_.march) march = plan_planes();
    for (const auto& f : program_.pipeline.funcs) {
      const int at = loop_of(program_, loops_, f->name);
      if (at < 0 || (frame_.march && at == static_cast<int>(frame_.march->position))) continue;
      const auto position = static_cast<std::size_t>(at);
      if (!boxes(position).count(f->name)) continue;  // this definition does not read it
      (in_thread(position) ? thread : block).push_back(kept(*f, position));
    }
    std::vector<Stage> stages = std::move(block);
    for (std::size_t i = 0; i <= march.stages.size(); ++i) {
      if (i == march.consumer_at) {
        for (auto& stage : thread) stages.push_back(std::move(stage));
        stages.push_back(own());
      }
      if (i < march.stages.size()) stages.push_back(marched(march.stages[i]));
    }
    return stages;
  }

 private:
  // ---- the march -----------------------------------------------------------------------------------
  MarchPlan plan_planes() {
    const std::size_t position = frame_.march->position;
    const std::set<std::string> fixed = around(position);
    analysis::Scope own;
    for (const auto& [dim, root] : frame_.vars.roots()) own[dim] = frame_.vars.interval(dim, fixed);
    const Expr plane = make_var(kPlaneSymbol);
    own[frame_.march->dim] = {plane, plane};
    std::vector<const FunctionData*> placed, inner;
    for (const auto& f : program_.pipeline.funcs) {
      const int at = loop_of(program_, loops_, f->name);
      const Placement& p = program_.placement.at(f->name);
      const bool here = p.level == Placement::Level::At && p.compute.func == func_.name &&
                        position_of(frame_.vars, p.compute.var) == static_cast<int>(position);
      if (here) {
        placed.push_back(f.get());
      } else if (at >= 0 && at < static_cast<int>(position)) {
        inner.push_back(f.get());
      }
    }
    MarchPlan plan = plan_march(program_, func_, frame_.march->dim, placed, inner, own, frame_.common,
                                frame_.filling_warps > 0);
    for (auto& stage : plan.stages) {
      stage.bulk = stage.dim > 0 && !stage.per_thread && !frame_.common &&
                   copies_in_bulk(program_, *stage.func, stage.box, frame_.row);
    }
    return plan;
  }

  Stage marched(const MarchStage& step) const {
    const FunctionData& func = *step.func;
    Stage stage;
    stage.func = func.name;
    stage.level = step.dim >= 0 ? Level::Step : Level::Block;
    stage.step = step;
    Box box = step.box;
    for (std::size_t d = 0; d < box.size(); ++d) {
      stage.box.push_back(static_cast<int>(d) == step.dim
                              ? Side{marched_dim(), step.ahead, 1}
                              : side(box[d], d, func, frame_.march->position));
    }
    stage.kept = {step.per_thread ? Residence::Registers : Residence::Shared};
    // What is the same in every plane is filled as the stages of a block are.
    const bool bulk = step.bulk || (step.dim < 0 && !step.per_thread &&
                                    copies_in_bulk(program_, func, box, frame_.row));
    fill(stage, func, box, bulk);
    std::optional<Fold> ring;
    if (step.dim >= 0) ring = Fold{static_cast<std::size_t>(step.dim), step.depth};
    if (step.per_thread) {
      std::int64_t points = step.dim >= 0 ? step.depth : 1;
      for (std::size_t d = 0; d < func.args.size(); ++d) {
        if (static_cast<int>(d) != step.dim) points *= held(step, d);
      }
      stage.registers = registers_for(func, points);
      stage.shared_bytes = edge_rows(step, func);
      if (takes_rows(step)) stage.kept.push_back(Residence::Shared);
    } else {
      stage.shared_bytes = storage_shape(program_, func, box, ring, &frame_.row).bytes;
      if (bulk) stage.shared_bytes += kBarrierBytes * step.depth;
    }
    return stage;
  }

  // ---- common frames -------------------------------------------------------------------------------
  // Points of a thread in dimension `d`, with those beside its own; a row begins with whole vectors.
  [[nodiscard]] std::int64_t held(const MarchStage& step, std::size_t d) const {
    const std::int64_t own = frame_.own.at(d);
    if (d >= step.kept.beside.size()) return own;
    const auto [before, after] = step.kept.beside[d];
    const std::int64_t lanes = d == 0 ? frame_.row.lanes : 1;
    return (before + lanes - 1) / lanes * lanes + own + after;
  }
  // The dimension beside whose rows other warps hold those that a thread reads; without threads any, for
  // which shared_rows asks for some.
  [[nodiscard]] std::optional<std::size_t> column(const MarchStage& step) const {
    for (std::size_t d = 0; d < step.kept.beside.size(); ++d) {
      if (step.kept.beside[d] != Around() && !frame_.vars.walks_lanes(frame_.dims[d])) return d;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool takes_rows(const MarchStage& step) const { return column(step).has_value(); }
  // Shared memory of the rows at the edges of all threads' points, two planes of them.
  [[nodiscard]] std::int64_t edge_rows(const MarchStage& step, const FunctionData& func) const {
    const auto across = column(step);
    const bool copies = step.newest == step.ahead && copied_plane(program_, func) != nullptr;
    if (!across || copies || !program_.options.target.is_gpu()) return 0;
    const auto [before, after] = step.kept.beside[*across];
    std::int64_t bytes = 2 * (before + after) * *frame_.block.at(*across) / frame_.own.at(*across);
    for (std::size_t d = 0; d < frame_.dims.size(); ++d) {
      if (d != *across && static_cast<int>(d) != step.dim) bytes *= *frame_.block.at(d);
    }
    std::int64_t each = 0;
    for (const auto& type : func.types) each += type.bytes();
    return bytes * each;
  }

  // ---- other stages --------------------------------------------------------------------------------
  Stage kept(const FunctionData& func, std::size_t position) {
    const Placement& placement = program_.placement.at(func.name);
    const bool threads = in_thread(position);
    Stage stage;
    stage.func = func.name;
    stage.level = threads ? Level::Thread : Level::Block;
    // Loops inside another stage's need a part of this box, which is not worked out here.
    const bool nested = placement.compute.func != func_.name;
    stage.again = !threads && (nested || is_repeated(position));
    const Box& box = boxes(position).at(func.name);
    for (std::size_t d = 0; d < box.size() && !nested; ++d) {
      stage.box.push_back(side(box[d], d, func, position));
    }
    if (!nested) stage.serves = points_inside(position);
    const bool bulk = !threads && copies_in_bulk(program_, func, box, frame_.row);
    fill(stage, func, box, bulk);
    std::size_t stored = position;
    if (placement.store && placement.store->func == func_.name) {
      stored = static_cast<std::size_t>(std::max(0, position_of(frame_.vars, placement.store->var)));
    }
    const StorageShape shape = storage_shape(program_, func, boxes(stored).at(func.name), std::nullopt,
                                             in_thread(stored) ? nullptr : &frame_.row);
    const MemoryType memory = memory_in_block(placement.memory, in_thread(stored));
    const bool array = placement.store_root || (threads && !shape.fixed());
    if (array) {
      stage.kept = {Residence::Global};
    } else if (memory == MemoryType::Shared) {
      stage.kept = {Residence::Shared};
      stage.shared_bytes = nested ? 0 : shape.bytes + (bulk ? kBarrierBytes : 0);
    } else {
      stage.kept = {Residence::Registers};
      std::int64_t points = nested ? 0 : 1;
      for (const auto& extent : shape.extents) points *= extent.value_or(1);
      stage.registers = registers_for(func, points);
    }
    return stage;
  }

  [[nodiscard]] Stage own() const {
    Stage stage;
    stage.func = func_.name;
    stage.level = frame_.march ? Level::Step : Level::Thread;
    for (std::size_t d = 0; d < frame_.block.size(); ++d) {
      stage.box.push_back({static_cast<int>(d), 0, frame_.block[d]});
    }
    stage.crew = Crew(frame_.threads, 0);
    return stage;
  }

  // ---- parts ---------------------------------------------------------------------------------------
  void fill(Stage& stage, const FunctionData& func, const Box& box, bool bulk) const {
    const Placement& placement = program_.placement.at(func.name);
    const Access* copied = copied_tap(program_, func);
    const auto staged = program_.pipeline.staged.find(func.name);
    const auto held = program_.pipeline.windows.find(func.name);
    stage.copies = staged != program_.pipeline.staged.end()  ? staged->second.source
                   : held != program_.pipeline.windows.end() ? held->second.source
                   : copied != nullptr                       ? copied->name
                                                             : "";
    const bool by_crew = stage.level != Level::Thread && !is_in_registers(stage);
    const bool apart = by_crew && stage.step && is_filled_apart(program_, func);
    stage.crew = Crew(frame_.threads, apart ? frame_.filling_warps : 0);
    Fill& fill = stage.fill;
    const bool own_threads = by_crew && take_own_threads(stage.crew, func, box);
    if (by_crew && !own_threads) fill.dealt = placement.load.value_or(LoadPolicy::TwoStep);
    const bool may_keep = by_crew && copied != nullptr && !is_copied(placement) && stage.crew.first == 0;
    const FunctionData* window = may_keep ? window_beside(program_, func) : nullptr;
    const std::vector<std::string> column = window ? column_of(*window) : std::vector<std::string>();
    const bool around = window != nullptr && holds_tile(stage, column);
    if (around) fill.dealt = LoadPolicy::TwoStep;  // of what stands beside the tile
    if (by_crew && fill.dealt == LoadPolicy::HaloThreads) one_thread_a_point(stage);
    check_stays_in_tile(stage, func);
    if (copied == nullptr) return;
    const int bytes = func.types.front().bytes();
    fill.way = Fill::Way::Loads;
    fill.bytes = bytes * (by_crew ? fill_lanes(program_, func, frame_.row) : frame_.row.lanes);
    if (!by_crew) return;
    if (bulk) {
      fill.way = Fill::Way::BulkCopies;
      fill.bytes = static_cast<int>(kBulkBytes);
    } else if (is_copied(placement)) {
      if (fill.bytes >= ir::kNarrowestCopy) fill.way = Fill::Way::AsyncCopies;
    } else if (around) {
      fill.way = Fill::Way::Window;
      fill.window = window->name;
      fill.column = column;
    }
  }

  // Does a plane hold the points of all threads, each once? `column` has the kernel's dimension in each
  // of the Func's. Threads beside each other in a dimension that the Func lacks hold the same point.
  [[nodiscard]] bool holds_tile(const Stage& stage, const std::vector<std::string>& column) const {
    for (std::size_t e = 0; e < frame_.dims.size(); ++e) {
      const bool marched = static_cast<int>(e) == marched_dim();
      const auto d = static_cast<std::size_t>(std::find(column.begin(), column.end(), frame_.dims[e]) -
                                              column.begin());
      if (d >= stage.box.size()) {
        if (!marched && frame_.block[e] != 1) return false;
        continue;
      }
      const Side& side = stage.box[d];
      if (marched && static_cast<int>(d) == stage.step->dim) continue;
      if (side.dim != static_cast<int>(e) || !side.points || !frame_.block[e]) return false;
      if (side.first > 0 || *side.end() < *frame_.block[e]) return false;
    }
    return true;
  }

  // Does a Func that is computed for the block have thread loops of its own? They are its crew.
  bool take_own_threads(Crew& crew, const FunctionData& func, const Box& box) const {
    std::int64_t threads[3] = {1, 1, 1};
    bool found = false;
    for (std::size_t i = 0; i < func.definitions.size(); ++i) {
      const LoopNestSpec spec = definition_spec(program_, func, i, true);
      const bool has_threads = std::any_of(spec.dims.begin(), spec.dims.end(), [](const LoopDim& dim) {
        return dim.kind == LoopKind::GpuThread;
      });
      if (!has_threads) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          threads[axis] = std::max(threads[axis], frame_.threads[axis]);
        }
        continue;
      }
      found = true;
      std::map<std::string, LoopVars::Root> roots;
      for (const auto& var : func.definitions[i].pure_vars) {
        const auto d = static_cast<std::size_t>(std::find(func.args.begin(), func.args.end(), var) -
                                                func.args.begin());
        const auto points = analysis::constant_extent(box.at(d));
        if (!points) return true;  // refused when its loops are written
        roots[var] = {box[d].min, constant(*points)};
      }
      add_other_roots(func.definitions[i], spec, roots);
      count_threads(LoopVars(spec, roots, loop_prefix(func, i), true), func, i, threads);
    }
    if (found) crew = Crew(threads, 0);
    return found;
  }

  static bool is_copied(const Placement& placement) {
    return placement.load == LoadPolicy::AsyncCopy || placement.load == LoadPolicy::Bulk;
  }

  static bool is_in_registers(const Stage& stage) { return stage.step && stage.step->per_thread; }

  // Threads beside those of the tile are further warps, if there are some.
  void check_stays_in_tile(const Stage& stage, const FunctionData& func) const {
    if (frame_.filling_warps == 0 || stage.crew.first > 0) return;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (stage.crew.extents[axis] <= frame_.threads[axis]) continue;
      throw UserError("warp_split puts further warps behind the threads of the tile, of which " +
                          func_.name + " has " + std::to_string(frame_.threads[axis]) + " in " +
                          "xyz"[axis] + ", and " + func.name + " is computed by " +
                          std::to_string(stage.crew.extents[axis]) +
                          ": give it at most as many threads, or leave out warp_split",
                      program_.placement.at(func.name).where);
    }
  }

  // HaloThreads: the block grows to the box.
  static void one_thread_a_point(Stage& stage) {
    stage.crew.count = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      stage.crew.extents[d] = d < stage.box.size() ? stage.box[d].points.value_or(1) : 1;
      stage.crew.count *= stage.crew.extents[d];
    }
  }

  [[nodiscard]] int marched_dim() const {
    const auto found = std::find(frame_.dims.begin(), frame_.dims.end(), frame_.march->dim);
    return static_cast<int>(found - frame_.dims.begin());
  }

  // Names of the loops from `position` outwards.
  [[nodiscard]] std::set<std::string> around(std::size_t position) const {
    std::set<std::string> names;
    const auto& loops = frame_.vars.loops();
    for (std::size_t i = position; i < loops.size(); ++i) names.insert(loops[i].name);
    return names;
  }

  // Points of the kernel's Func in what stands inside loop `position`; empty: of no constant number, or
  // an update has no loop there.
  [[nodiscard]] std::vector<std::optional<std::int64_t>> points_inside(std::size_t position) const {
    std::vector<std::optional<std::int64_t>> points(frame_.dims.size());
    const std::set<std::string> fixed = around(position);
    for (std::size_t e = 0; e < points.size(); ++e) {
      if (frame_.vars.roots().count(frame_.dims[e]) == 0) continue;
      points[e] = analysis::constant_extent(frame_.vars.interval(frame_.dims[e], fixed));
    }
    return points;
  }

  [[nodiscard]] bool in_thread(std::size_t position) const {
    const auto& loops = frame_.vars.loops();
    return std::any_of(loops.begin() + static_cast<std::ptrdiff_t>(position), loops.end(),
                       [](const auto& loop) { return loop.kind == LoopKind::GpuThread; });
  }

  // Does a block come to the inside of loop `position` more than once?
  [[nodiscard]] bool is_repeated(std::size_t position) const {
    const auto& loops = frame_.vars.loops();
    return std::any_of(loops.begin() + static_cast<std::ptrdiff_t>(position), loops.end(),
                       [](const LoopVars::Loop& loop) {
                         return loop.kind != LoopKind::GpuBlock && !is_const(loop.extent, 1);
                       });
  }

  const std::map<std::string, Box>& boxes(std::size_t position) {
    const auto [found, is_new] = boxes_.try_emplace(position);
    if (is_new) found->second = boxes_at(program_, loops_, around(position), position);
    return found->second;
  }

  // Dimension `d` of a box, from the first point of what stands inside loop `position`: in the
  // dimension of the Func's name, of its place, or any other.
  [[nodiscard]] Side side(const Interval& interval, std::size_t d, const FunctionData& func,
                          std::size_t position) const {
    Side side;
    side.points = analysis::constant_extent(interval);
    const std::set<std::string> fixed = around(position);
    std::vector<std::size_t> order;
    const auto named = std::find(frame_.dims.begin(), frame_.dims.end(), func.args[d]);
    if (named != frame_.dims.end())
      order.push_back(static_cast<std::size_t>(named - frame_.dims.begin()));
    if (d < frame_.dims.size()) order.push_back(d);
    for (std::size_t e = 0; e < frame_.dims.size(); ++e) order.push_back(e);
    for (const std::size_t e : order) {
      if (frame_.vars.roots().count(frame_.dims[e]) == 0) continue;
      const Interval own = frame_.vars.interval(frame_.dims[e], fixed);
      const auto first = analysis::constant_difference(interval.min, own.min);
      if (!first) continue;
      side.dim = static_cast<int>(e);
      side.first = *first;
      return side;
    }
    return side;
  }

  const Program& program_;
  const FunctionData& func_;
  const KernelFrame& frame_;
  Loops loops_;
  std::map<std::size_t, std::map<std::string, Box>> boxes_;
};

}  // namespace

std::vector<Stage> stages_of(const Program& program, const FunctionData& func, std::size_t index,
                             const KernelFrame& frame) {
  return Stages(program, func, index, frame).run();
}

}  // namespace mica::planning
