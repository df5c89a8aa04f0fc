#include "codegen/plan/handover.h"

#include <algorithm>

namespace mica::planning {

namespace {

// Loads and stores end with their step, so what they fill is handed over at once; but so many barriers
// there are for two turns, one barrier of the computing crew aside.
constexpr std::int64_t kMostTurns = (ir::kNamedBarriers - 1) / 2;

// The stage that is filled and the one that reads it.
struct Ends {
  const Stage* source = nullptr;
  const Stage* reader = nullptr;
};
Ends ends_of(const KernelPlan& plan, const Edge& edge) {
  const bool back = edge.kind == Edge::Kind::Reused;
  return {plan.find(back ? edge.to : edge.from), plan.find(back ? edge.from : edge.to)};
}

bool crosses_step_by_step(const KernelPlan& plan, const Edge& edge) {
  if (edge.of != ir::Kept::Points || edge.wait == Wait::None) return false;
  const Ends ends = ends_of(plan, edge);
  return ends.source->is_ring() && are_apart(*ends.source, *ends.reader);
}

void keep_least(std::optional<std::int64_t>& least, std::int64_t steps) {
  least = std::min(least.value_or(steps), steps);
}

// The first step in which a stage reads what is filled.
std::int64_t first_step(const Stage& reader) { return reader.is_ring() ? -reader.step->warm_up() : 0; }

// How far apart the crews' edges let them be; empty where there are none.
struct Distances {
  std::optional<std::int64_t> lead, left, first;
  bool copied = false;     // by threads or by the engine: under way for some steps
  bool by_engine = false;  // all of it
};
Distances distances_of(const KernelPlan& plan, const std::vector<Edge>& edges) {
  Distances all;
  bool others = false;
  for (const Edge& edge : edges) {
    if (!crosses_step_by_step(plan, edge)) continue;
    if (edge.kind != Edge::Kind::Filled) {
      keep_least(all.left, edge.steps);
      continue;
    }
    keep_least(all.lead, edge.steps);
    keep_least(all.first, first_step(*ends_of(plan, edge).reader));
    all.copied = all.copied || edge.wait == Wait::Copies || edge.wait == Wait::Arrival;
    others = others || edge.wait != Wait::Arrival;
  }
  all.by_engine = all.lead && !others;
  return all;
}

}  // namespace

bool are_apart(const Stage& a, const Stage& b) { return (a.crew.first > 0) != (b.crew.first > 0); }

bool engine_says_all(const KernelPlan& plan, const std::vector<Edge>& edges) {
  const auto [lead, left, first, copied, by_engine] = distances_of(plan, edges);
  if (!by_engine || !left) return false;
  for (const Stage& stage : plan.stages) {
    if (stage.crew.first == 0 || !stage.is_ring() || stage.step->newest_lag != *lead) continue;
    if (*lead - stage.step->warm_up() <= *first && stage.step->beyond - *lead <= *left) return true;
  }
  return false;
}

void assign_meetings(const KernelPlan& plan, std::vector<Edge>& edges) {
  if (plan.frame.filling_warps == 0) return;
  const Crew tile(plan.frame.threads, 0), further(plan.frame.threads, plan.frame.filling_warps);
  const auto [lead, left, first, copied, by_engine] = distances_of(plan, edges);
  int free = 1;
  const auto take = [&](std::int64_t turns, std::int64_t threads, bool hands_over) {
    const Meeting meeting{free, static_cast<int>(turns), threads, hands_over};
    free += meeting.turns;
    return meeting;
  };
  Meeting full, empty;
  std::int64_t late = 0;
  if (lead) {
    // Copies of as many steps as can be are under way.
    const std::int64_t ahead = *lead + *left;
    late = copied ? std::max<std::int64_t>(*lead - 1, 0) : std::max<std::int64_t>(ahead - kMostTurns, 0);
    full = take(ahead - late, tile.count + further.count, true);
    empty = take(engine_says_all(plan, edges) ? ahead : ahead - late, tile.count + further.count, true);
  }
  const Meeting own = take(1, tile.count, false);
  if (own.barrier > ir::kNamedBarriers) {
    const std::int64_t most = *lead - (own.barrier - ir::kNamedBarriers);
    throw UserError(
        "the copy engine may be " + std::to_string(*lead) + " steps ahead in the march of " + plan.func +
            ", and each step that warp_split lets it be ahead takes one of the " +
            std::to_string(ir::kNamedBarriers) + " named barriers of a block; legal are at most " +
            std::to_string(most) + ": pipeline(..., " + std::to_string(most) + ")",
        plan.frame.warp_split);
  }
  for (Edge& edge : edges) {
    if (edge.wait == Wait::None) continue;
    const Ends ends = ends_of(plan, edge);
    if (crosses_step_by_step(plan, edge)) {
      const bool filled = edge.kind == Edge::Kind::Filled;
      edge.at = filled ? full : empty;
      if (filled) edge.late = late;
      if (edge.wait == Wait::Copies) edge.pending = static_cast<int>(edge.steps - *lead + late);
    } else if (ends.source->crew.first == 0 && ends.reader->crew.first == 0) {
      edge.at = own;
    }
  }
}

std::optional<Handover> handover_of(const KernelPlan& plan, bool inside) {
  const auto [lead, left, first, copied, by_engine] = distances_of(plan, plan.edges);
  if (!lead || !left) return std::nullopt;
  Handover handover;
  std::optional<std::int64_t> pending;
  for (const Edge& edge : plan.edges) {
    if (!edge.at.hands_over) continue;
    if (edge.kind == Edge::Kind::Reused) {
      handover.empty = edge.at;
      continue;
    }
    handover.full = edge.at;
    handover.late = edge.late;
    handover.by_engine = handover.by_engine || (edge.wait == Wait::Arrival && inside);
    if (edge.wait == Wait::Copies) keep_least(pending, edge.pending);
    if (edge.wait == Wait::Arrival && !inside) keep_least(pending, edge.steps - *lead + edge.late);
  }
  handover.says_full = !inside || !engine_says_all(plan, plan.edges);
  handover.computing = Crew(plan.frame.threads, 0);
  handover.filling = Crew(plan.frame.threads, plan.frame.filling_warps);
  handover.lead = *lead;
  handover.left = *left;
  handover.first = *first;
  if (pending) handover.pending = static_cast<int>(*pending);
  return handover;
}

}  // namespace mica::planning
