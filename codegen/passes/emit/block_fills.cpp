#include "codegen/passes/emit/block_fills.h"

#include <algorithm>
#include <numeric>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/bulk_fills.h"
#include "codegen/plan/filling.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::passes {

using analysis::Box;
using planning::Crew;

namespace {

constexpr std::int64_t kUnrolledSteps = 16;   // of one loop
constexpr std::int64_t kUnrolledPoints = 64;  // of a thread in all
constexpr std::int64_t kKeptPoints = 12;      // of a thread, whose places may stay in registers

Expr both(const Expr& a, const Expr& b) {
  if (!a.defined()) return b;
  return b.defined() ? a && b : a;
}

struct Loop {
  std::string name;
  std::int64_t extent;
  LoopKind kind;
};

// A loop is unrolled where it is short and what is inside it is not too much.
void unroll_inner(std::vector<Loop>& loops) {
  std::int64_t points = 1;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    if (loop->kind == LoopKind::GpuThread) continue;
    points *= loop->extent;
    const bool few = loop->extent <= kUnrolledSteps && points <= kUnrolledPoints;
    loop->kind = few ? LoopKind::Unrolled : LoopKind::Serial;
  }
}

// A box's points as the threads of a block share them out: loops (outermost first), the offset of each
// dimension from the box's start, and the condition under which there is such a point.
struct Dealt {
  std::vector<Loop> loops;
  std::vector<Expr> offset;
  Expr condition;

  /// Adds a loop inside the others; its variable.
  Expr thread_loop(const std::string& prefix, std::size_t axis, std::int64_t count) {
    loops.push_back({prefix + planning::kThreadAxis[axis], count, LoopKind::GpuThread});
    return make_var(loops.back().name);
  }
  Expr step_loop(const std::string& name, std::int64_t count) {
    loops.push_back({name, count, LoopKind::Serial});
    return make_var(name);
  }
  void require(const Expr& further) { condition = both(condition, further); }
};

// Every row to the threads of one warp, or of a part of it where rows are short: the places of a
// thread's points are a constant apart.
Dealt deal_rows(const std::string& prefix, const std::vector<std::int64_t>& extent, const Crew& crew) {
  std::int64_t width = 32;
  while (width / 2 >= extent[0] && width > 1) width /= 2;
  while (crew.count % width != 0) width /= 2;
  std::int64_t rows = 1;
  for (std::size_t d = 1; d < extent.size(); ++d) rows *= extent[d];
  const std::int64_t groups = crew.count / width;
  Dealt dealt;
  dealt.offset.resize(extent.size(), constant(0));
  dealt.condition = crew.condition(prefix);
  for (std::size_t d = 3; d-- > 0;) dealt.thread_loop(prefix, d, crew.extents[d]);
  const auto points_of = [&](const std::string& loop, std::int64_t count, std::int64_t at_once,
                             const Expr& first) {
    const Expr point =
        dealt.step_loop(loop, (count + at_once - 1) / at_once) * constant(at_once) + first;
    if (count % at_once != 0) dealt.require(point < constant(count));
    return point;
  };
  const Expr number = crew.number(prefix);
  Expr row = points_of(prefix + ".row", rows, groups, number / constant(width));
  dealt.offset[0] = points_of(prefix + ".step", extent[0], width, number % constant(width));
  std::size_t last = extent.size() - 1;
  while (last > 1 && extent[last] == 1) --last;
  for (std::size_t d = 1; d <= last && d < extent.size(); ++d) {
    dealt.offset[d] = d < last ? row % constant(extent[d]) : row;
    row = row / constant(extent[d]);
  }
  unroll_inner(dealt.loops);
  // The places of many points would be kept in registers over all steps of a march.
  Loop& rows_loop = dealt.loops[dealt.loops.size() - 2];
  if (rows_loop.extent * dealt.loops.back().extent > kKeptPoints) rows_loop.kind = LoopKind::Serial;
  return dealt;
}

// A thread a point of the box: the block has as many.
void deal_to_halo_threads(Dealt& dealt, const std::string& prefix, const std::vector<std::string>& args,
                          const std::vector<std::int64_t>& extent) {
  const std::size_t dims = extent.size();
  for (std::size_t d = std::min<std::size_t>(dims, 3); d-- > 0;) {
    dealt.offset[d] = dealt.thread_loop(prefix, d, extent[d]);
  }
  for (std::size_t d = dims; d-- > 3;)
    dealt.offset[d] = dealt.step_loop(loop_name(prefix, args[d]), extent[d]);
}

// Points a block apart along each axis.
void deal_strided(Dealt& dealt, const std::string& prefix, const std::vector<std::string>& args,
                  const std::vector<std::int64_t>& extent, const std::int64_t (&block)[3]) {
  const std::size_t dims = extent.size();
  std::vector<Expr> thread(3);
  for (std::size_t d = 3; d-- > 0;) thread[d] = dealt.thread_loop(prefix, d, block[d]);
  for (std::size_t d = dims; d-- > 0;) {
    const std::int64_t width = d < 3 ? block[d] : 1;
    const std::string loop = loop_name(prefix, args[d]);
    dealt.offset[d] = dealt.step_loop(loop, (extent[d] + width - 1) / width) * constant(width);
    if (d < 3) dealt.offset[d] = dealt.offset[d] + thread[d];
    if (extent[d] % width != 0) dealt.require(dealt.offset[d] < constant(extent[d]));
  }
  // Axes that the box lacks: one of their threads does the work.
  for (std::size_t d = dims; d < 3; ++d) dealt.require(thread[d] == constant(0));
}

// Points by their number in the box, the crew's first threads first.
void deal_by_number(Dealt& dealt, const std::string& prefix, const std::vector<std::int64_t>& extent,
                    const Crew& crew) {
  const std::size_t dims = extent.size();
  std::int64_t points = 1;
  for (auto count : extent) points *= count;
  for (std::size_t d = 3; d-- > 0;) dealt.thread_loop(prefix, d, crew.extents[d]);
  Expr number =
      dealt.step_loop(prefix + ".step", (points + crew.count - 1) / crew.count) * constant(crew.count) +
      crew.number(prefix);
  dealt.condition = crew.condition(prefix);
  if (points % crew.count != 0) dealt.require(number < constant(points));
  std::size_t last = dims - 1;
  while (last > 0 && extent[last] == 1) --last;
  for (std::size_t d = 0; d < dims; ++d) {
    if (d > last) {
      dealt.offset[d] = constant(0);
      continue;
    }
    dealt.offset[d] = d < last ? number % constant(extent[d]) : number;
    number = number / constant(extent[d]);
  }
}

Dealt deal(LoadPolicy policy, const std::string& prefix, const std::vector<std::string>& args,
           const std::vector<std::int64_t>& extent, const std::int64_t (&block)[3], const Crew& crew) {
  Dealt dealt;
  dealt.offset.resize(extent.size());
  switch (policy) {
    case LoadPolicy::HaloThreads: deal_to_halo_threads(dealt, prefix, args, extent); break;
    case LoadPolicy::Strided: deal_strided(dealt, prefix, args, extent, block); break;
    case LoadPolicy::TwoStep:
    case LoadPolicy::AsyncCopy:
    case LoadPolicy::Bulk: deal_by_number(dealt, prefix, extent, crew); break;
  }
  unroll_inner(dealt.loops);
  return dealt;
}

// A store of one element of an array in global memory, as a copy that the thread does not wait for.
ir::Stmt as_copy(const ir::Stmt& stmt, int lanes) {
  const auto* store = stmt.as<ir::Store>();
  const auto* load = store->value.as<Load>();
  ir::AsyncCopy copy;
  copy.to = store->buffer;
  copy.to_index = store->index;
  copy.from = load->buffer;
  copy.from_index = load->index;
  copy.count = lanes;
  return ir::make_stmt(std::move(copy));
}

// Refuses an asynchronous copy of anything but an element of an array in global memory.
void require_move(const Program& program, const FunctionData& func, const ir::Stmt& stmt) {
  const auto* store = stmt.as<ir::Store>();
  const auto* load = store ? store->value.as<Load>() : nullptr;
  const bool global =
      load && (program.pipeline.find_input(load->buffer) || [&] {
        auto it = program.placement.find(load->buffer);
        return it != program.placement.end() && it->second.level == Placement::Level::Root;
      }());
  if (global) return;
  throw UserError("stage with LoadPolicy::AsyncCopy of " + func.name +
                      ": its values are computed, and an asynchronous copy only moves them; stage an "
                      "input or a Func with compute_root, or use TwoStep",
                  program.placement.at(func.name).where);
}

bool is_pure(const Definition& definition, const std::string& arg) {
  const auto& pure = definition.pure_vars;
  return std::find(pure.begin(), pure.end(), arg) != pure.end();
}

// The points of `box`, `lanes` at once, or both of the places that are `again` apart along a row.
Dealt deal_box(const Program& program, const FunctionData& func, const Definition& definition,
               const std::string& prefix, const Box& box, LoadPolicy policy, const FillPlace& place,
               int lanes, std::int64_t again) {
  std::vector<std::int64_t> extent = fixed_extents(program, func, box);
  extent[0] /= lanes;
  // An update's other dimensions are no points to deal: one thread goes through its reduction domain.
  for (std::size_t d = 0; d < extent.size(); ++d) {
    if (!is_pure(definition, func.args[d])) extent[d] = 1;
  }
  if (again > 0) extent.insert(extent.begin() + 1, 2);
  const Crew crew = crew_of(func, place);
  const bool by_threads = policy == LoadPolicy::HaloThreads || policy == LoadPolicy::Strided;
  Dealt dealt = program.options.variant.aligned || by_threads
                    ? deal(policy, prefix, func.args, extent, place.threads, crew)
                    : deal_rows(prefix, extent, crew);
  // Written out for the host, the code grows and saves nothing: LLVM unrolls the loops that gain by it.
  if (!program.options.target.is_gpu()) {
    for (Loop& loop : dealt.loops) {
      if (loop.kind == LoopKind::Unrolled) loop.kind = LoopKind::Serial;
    }
  }
  if (lanes > 1) dealt.offset[0] = dealt.offset[0] * constant(lanes);
  if (again > 0) {
    dealt.offset[0] = dealt.offset[0] + dealt.offset[1] * constant(again);
    dealt.offset.erase(dealt.offset.begin() + 1);
  }
  return dealt;
}

// The Vars of `definition` at a dealt point.
std::map<std::string, Expr> values_at(const FunctionData& func, const Definition& definition,
                                      const std::string& prefix, const Box& box, const Dealt& dealt) {
  std::map<std::string, Expr> value;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (!is_pure(definition, func.args[d])) continue;
    value[func.args[d]] = simplify(box[d].min + dealt.offset[d]);
  }
  if (definition.domain) {
    for (const auto& dim : definition.domain->dims) {
      value[dim.name] = make_var(loop_name(prefix, dim.name)) + dim.min;
    }
  }
  return value;
}

ir::Stmt fill_points(const Program& program, const FunctionData& func, std::size_t index, const Box& box,
                     LoadPolicy policy, const FillPlace& place, int lanes, std::int64_t again = 0) {
  const Definition& definition = func.definitions[index];
  const std::string prefix = func.name + (index ? ".u" + std::to_string(index) : "");
  const Dealt dealt = deal_box(program, func, definition, prefix, box, policy, place, lanes, again);
  const std::map<std::string, Expr> value = values_at(func, definition, prefix, box, dealt);
  const Expr lane = make_var(prefix + ".lane");
  // The narrowest copy has 4 bytes; narrower ones are loaded and stored.
  const bool copies =
      policy == LoadPolicy::AsyncCopy && func.types.front().bytes() * lanes >= ir::kNarrowestCopy;
  auto value_of = [&](const std::string& name) {
    auto it = value.find(name);
    if (it == value.end()) return Expr();
    return lanes > 1 && !copies && name == func.args[0] ? it->second + lane : it->second;
  };
  Expr condition = both(dealt.condition, place.needed(func, box, value_of));
  ir::Stmt stmt = point_stores(program, func, index, value_of);
  if (policy == LoadPolicy::AsyncCopy) require_move(program, func, stmt);
  if (copies) {
    stmt = as_copy(stmt, lanes);
  } else if (lanes > 1) {
    stmt = ir::make_stmt(
        ir::For{prefix + ".lane", constant(0), constant(lanes), LoopKind::Vectorized, stmt});
  }
  if (definition.domain) {
    for (const auto& dim : definition.domain->dims) {
      stmt = ir::make_stmt(
          ir::For{loop_name(prefix, dim.name), constant(0), dim.count(), LoopKind::Serial, stmt});
    }
  }
  if (condition.defined()) stmt = ir::make_stmt(ir::If{simplify(condition), stmt, {}});
  for (auto it = dealt.loops.rbegin(); it != dealt.loops.rend(); ++it) {
    stmt = ir::make_stmt(ir::For{it->name, constant(0), constant(it->extent), it->kind, stmt});
  }
  return stmt;
}

}  // namespace

Crew crew_of(const FunctionData& func, const FillPlace& place) {
  const planning::Stage* stage = place.kernel != nullptr ? place.kernel->find(func.name) : nullptr;
  // An update without thread loops, of a Func whose other definitions have some, is dealt to the
  // block's.
  return stage != nullptr && stage->fill.dealt ? stage->crew : Crew(place.threads, 0);
}

std::vector<std::int64_t> fixed_extents(const Program& program, const FunctionData& func,
                                        const Box& box) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < box.size(); ++d) {
    auto count = analysis::constant_extent(box[d]);
    if (!count) {
      const auto staged = program.pipeline.staged.find(func.name);
      const bool is_copy = staged != program.pipeline.staged.end();
      const Recurrence* recurrence = recurrence_of(func);
      const bool goes_on = recurrence != nullptr && recurrence->dim == d;
      throw UserError(
          "inside a block, " + func.name + " needs indices " + brief(box[d].min) + " to " +
              brief(box[d].max) + " of dimension " + std::to_string(d) + " (" + func.args[d] +
              "), whose number is not constant; " +
              (is_copy ? "stage the Func that clamps or repeats the indices of " +
                             staged->second.source + ", not " + staged->second.source + " itself"
               : goes_on ? "it goes on from its start, so no split of its consumer makes it so: "
                           "compute_root " +
                               func.name +
                               ", or compute it at the innermost thread loop, without store_in, "
                               "where each thread reads only points that no other one reads"
                         : "split " + func.args[d] +
                               " by a constant in its consumer, or, where that "
                               "clamps or repeats what it reads, compute_root " +
                               func.name),
          program.placement.at(func.name).where);
    }
    extents.push_back(*count);
  }
  return extents;
}

ir::Stmt fill_box(const Program& program, const FunctionData& func, std::size_t index, const Box& box,
                  LoadPolicy policy, const FillPlace& place) {
  if (policy == LoadPolicy::Bulk) {
    if (!place.in_step && place.inside && !place.clamped &&
        planning::copies_in_bulk(program, func, box, place.row)) {
      const Expr first = constant(0);
      return with_barriers(func, 1,
                           ir::make_block({bulk_fill(program, func, box, crew_of(func, place), first, 1),
                                           bulk_wait(func, first, 1)}));
    }
    policy = LoadPolicy::AsyncCopy;
  }
  if (policy == LoadPolicy::AsyncCopy && !place.in_step) {
    FillPlace waiting = place;
    waiting.in_step = true;
    return ir::make_block({fill_box(program, func, index, box, policy, waiting),
                           ir::make_stmt(ir::CopyCommit{}), ir::make_stmt(ir::CopyWait{0})});
  }
  const int lanes = place.inside ? planning::fill_lanes(program, func, place.row) : 1;
  if (lanes == 1) return fill_points(program, func, index, box, policy, place, 1);
  const auto halo = analysis::constant_difference(place.row.origin, box[0].min);
  const std::int64_t length = fixed_extents(program, func, box)[0];
  const bool exact = analysis::constant_difference(box[0].max, box[0].min).has_value();
  if (!halo || !exact) return fill_points(program, func, index, box, policy, place, 1);
  // Whole vectors from `first` to `last`, counted from the block's first point; single points beside.
  const auto floor = [&](std::int64_t n) {
    return (n >= 0 ? n / lanes : -((-n + lanes - 1) / lanes)) * lanes;
  };
  const std::int64_t first = -floor(*halo), last = floor(length - *halo);
  if (last <= first) return fill_points(program, func, index, box, policy, place, 1);
  std::vector<ir::Stmt> stmts;
  auto part = [&](std::int64_t from, std::int64_t to, int width, std::int64_t again = 0) {
    if (to <= from) return;
    Box columns = box;
    columns[0] = {simplify(place.row.origin + constant(from)),
                  simplify(place.row.origin + constant(to - 1))};
    stmts.push_back(fill_points(program, func, index, columns, policy, place, width, again));
  };
  if (planning::copies_sectors(program, func, place.row) && first < 0 &&
      last - place.row.points == -first) {
    // The block's own columns, in which threads of a warp stand beside one another in pairs that share
    // a sector, then those on both sides of it.
    part(0, place.row.points, lanes);
    part(first, 0, lanes, place.row.points - first);
  } else {
    part(first, last, lanes);
  }
  part(-*halo, first, 1);
  part(last, length - *halo, 1);
  return ir::make_block(std::move(stmts));
}

}  // namespace mica::passes
