#include "codegen/plan/plan_edges.h"

#include <algorithm>

namespace mica::planning {

namespace {

bool is_async(const Stage& stage) { return stage.fill.way == Fill::Way::AsyncCopies; }

// Groups of copies that may still be under way when a step waits: a group a step, and the stage that is
// asked for latest decides for all.
int groups_left(const KernelPlan& plan) {
  std::optional<int> prefetch;
  for (const auto& stage : plan.stages) {
    if (!is_async(stage) || !stage.step || stage.step->dim < 0) continue;
    prefetch = std::min(prefetch.value_or(stage.step->prefetch), stage.step->prefetch);
  }
  return std::max(prefetch.value_or(0) - 1, 0);
}

bool fills_again(const KernelPlan& plan, const Stage& stage) {
  if (stage.step) return stage.step->dim >= 0;
  if (stage.level != Level::Block) return false;
  // A serial loop around what is filled for the block.
  const auto& loops = plan.frame.vars.loops();
  const auto thread = std::find_if(loops.rbegin(), loops.rend(), [](const LoopVars::Loop& loop) {
    return loop.kind == LoopKind::GpuThread;
  });
  return std::any_of(loops.rbegin(), thread, [](const LoopVars::Loop& loop) {
    return loop.kind == LoopKind::Serial && !is_const(loop.extent, 1);
  });
}

}  // namespace

std::optional<PlanesRead> planes_read(const KernelPlan& plan, const Stage& reader, const Stage& source) {
  std::optional<PlanesRead> planes;
  const int ring = source.step ? source.step->dim : -1;
  const auto add = [&](std::int64_t oldest, std::int64_t newest) {
    if (!planes) planes = PlanesRead{oldest, newest};
    planes->oldest = std::min(planes->oldest, oldest);
    planes->newest = std::max(planes->newest, newest);
  };
  for (const auto& tap : plan.taps) {
    if (tap.reader != reader.func || tap.source != source.func) continue;
    if (ring < 0 || static_cast<std::size_t>(ring) >= tap.at.size()) {
      add(0, 0);
      continue;
    }
    const Tap::Index& index = tap.at[static_cast<std::size_t>(ring)];
    if (index.of < 0 || static_cast<std::size_t>(index.of) >= reader.box.size()) continue;
    const Side& side = reader.box[static_cast<std::size_t>(index.of)];
    if (!side.points) continue;
    add(side.first + index.offset, side.first + *side.points - 1 + index.offset);
  }
  return planes;
}

bool is_shared(const KernelPlan& plan, const Stage& reader, const Stage& source) {
  if (!source.is_in(Residence::Registers)) return source.is_in(Residence::Shared);
  return std::any_of(plan.taps.begin(), plan.taps.end(), [&](const Tap& tap) {
    return tap.reader == reader.func && tap.source == source.func && tap.server == Server::Shared;
  });
}

std::vector<Edge> edges_of(const KernelPlan& plan) {
  std::vector<Edge> edges;
  for (const auto& source : plan.stages) {
    for (const auto& reader : plan.stages) {
      if (&source == &reader) continue;
      const auto planes = planes_read(plan, reader, source);
      if (!planes) continue;
      const std::int64_t ahead = source.step ? source.step->ahead : 0;
      const std::int64_t depth = source.step ? source.step->depth : 1;
      const bool shared = is_shared(plan, reader, source);
      Edge filled{Edge::Kind::Filled, source.func, reader.func};
      const bool ring = source.step && source.step->dim >= 0;
      if (ring) filled.steps = ahead - planes->newest;
      filled.wait = Wait::None;
      if (shared) {
        filled.wait = is_async(source)                           ? Wait::Copies
                      : source.fill.way == Fill::Way::BulkCopies ? Wait::Arrival
                                                                 : Wait::Barrier;
      }
      if (filled.wait == Wait::Copies && ring) filled.pending = groups_left(plan);
      edges.push_back(filled);
      if (!fills_again(plan, source)) continue;
      Edge reused{Edge::Kind::Reused, reader.func, source.func};
      reused.steps = ring ? depth - ahead + planes->oldest : 1;
      reused.wait = shared ? Wait::Barrier : Wait::None;
      edges.push_back(reused);
    }
  }
  return edges;
}

}  // namespace mica::planning
