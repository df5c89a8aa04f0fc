#include "codegen/plan/plan_edges.h"

#include <algorithm>
#include <limits>

#include "codegen/plan/handover.h"

namespace mica::planning {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 2;

bool is_async(const Stage& stage) { return stage.fill.way == Fill::Way::AsyncCopies; }

// A step waits once for all rings of copies: the plane that is read soonest after it is begun says how
// many groups, one a step, may still be under way.
void leave_groups(const KernelPlan& plan, std::vector<Edge>& edges) {
  std::optional<std::int64_t> soonest;
  const auto waits = [&](const Edge& edge) {
    return edge.wait == Wait::Copies && plan.find(edge.from)->is_ring();
  };
  for (const Edge& edge : edges) {
    if (waits(edge)) soonest = std::min(soonest.value_or(edge.steps), edge.steps);
  }
  const std::int64_t pending = std::max<std::int64_t>(soonest.value_or(0) - 1, 0);
  for (Edge& edge : edges) {
    if (waits(edge)) edge.pending = static_cast<int>(pending);
  }
}

bool fills_again(const Stage& stage) { return stage.step ? stage.step->dim >= 0 : stage.again; }

bool gives_rows(const Edge& edge, const Stage& stage) {
  return edge.kind == Edge::Kind::Filled && edge.of == ir::Kept::Rows && edge.from == stage.func &&
         !edge.at.hands_over;
}

// Where rows are passed on in the step that fills them, each step has a barrier that all come to, behind
// the copies if these are begun first: copies of a step before may be waited for there, for the next
// step. Not where the steps that fill rings compute nothing yet, and so have no such barrier.
void wait_with_rows(const KernelPlan& plan, std::vector<Edge>& edges) {
  const auto is_copied = [](const Edge& edge) {
    return edge.kind == Edge::Kind::Filled && edge.wait == Wait::Copies && edge.steps > 0;
  };
  const bool early = std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
    return !is_copied(edge) || (edge.pending > 0 && !edge.at.hands_over);
  });
  const bool computes = std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
    return edge.kind == Edge::Kind::Filled && edge.of == ir::Kept::Points && edge.to != plan.func;
  });
  if (!early || !computes) return;
  bool rows = false;
  for (const Stage& stage : plan.stages) {
    const bool gives = std::any_of(edges.begin(), edges.end(),
                                   [&](const Edge& edge) { return gives_rows(edge, stage); });
    if (gives && stage.step->newest != stage.step->ahead) return;
    if (rows && is_async(stage) && stage.is_ring()) return;
    rows = rows || gives;
  }
  if (!rows) return;
  for (Edge& edge : edges) edge.with_rows = is_copied(edge);
}

// Do the definitions or loops of a stage in shared memory touch points that others of its own have
// filled?
bool follows_itself(const Stage& stage, const Pipeline& pipeline) {
  if (stage.step || !stage.is_in(Residence::Shared)) return false;
  return !stage.fill.dealt || pipeline.find(stage.func)->definitions.size() > 1;
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

bool takes_rows(const KernelPlan& plan, const Stage& reader, const Stage& source) {
  return std::any_of(plan.taps.begin(), plan.taps.end(), [&](const Tap& tap) {
    return tap.reader == reader.func && tap.source == source.func && tap.server == Server::Shared;
  });
}

bool passes_rows(const Stage& stage) {
  return stage.is_in(Residence::Registers) && stage.is_in(Residence::Shared) && stage.shared_bytes > 0;
}

std::vector<Edge> edges_within(const Stage& stage, const Pipeline& pipeline) {
  std::vector<Edge> edges;
  const Edge itself{Edge::Kind::Itself, stage.func, stage.func};
  if (follows_itself(stage, pipeline)) edges.push_back(itself);
  if (stage.fill.way == Fill::Way::BulkCopies) {
    edges.push_back(itself);
    edges.back().of = ir::Kept::Arrivals;
  }
  return edges;
}

std::vector<Edge> edges_of(const KernelPlan& plan, const Pipeline& pipeline) {
  std::vector<Edge> edges;
  for (const auto& source : plan.stages) {
    if (source.func == plan.func) continue;
    for (Edge& edge : edges_within(source, pipeline)) edges.push_back(std::move(edge));
    for (const auto& reader : plan.stages) {
      if (&source == &reader) continue;
      const auto planes = planes_read(plan, reader, source);
      if (!planes) continue;
      const std::int64_t ahead = source.step ? source.step->ahead : 0;
      const std::int64_t depth = source.step ? source.step->depth : 1;
      if (passes_rows(source) && takes_rows(plan, reader, source)) {
        edges.push_back({Edge::Kind::Filled, source.func, reader.func, ir::Kept::Rows});
        edges.push_back({Edge::Kind::Reused, reader.func, source.func, ir::Kept::Rows, kRowPlaces});
      }
      const bool shared = !source.is_in(Residence::Registers) && source.is_in(Residence::Shared);
      Edge filled{Edge::Kind::Filled, source.func, reader.func};
      const bool ring = source.is_ring();
      if (ring) filled.steps = ahead - planes->newest;
      filled.wait = Wait::None;
      if (shared) {
        filled.wait = is_async(source)                           ? Wait::Copies
                      : source.fill.way == Fill::Way::BulkCopies ? Wait::Arrival
                                                                 : Wait::Barrier;
      }
      edges.push_back(filled);
      if (!fills_again(source)) continue;
      Edge reused{Edge::Kind::Reused, reader.func, source.func};
      reused.steps = ring ? depth - ahead + planes->oldest : 1;
      reused.wait = shared ? Wait::Barrier : Wait::None;
      edges.push_back(reused);
    }
  }
  leave_groups(plan, edges);
  assign_meetings(plan, edges);
  wait_with_rows(plan, edges);
  return edges;
}

std::optional<CopyWaits> copy_waits(const KernelPlan& plan, bool inside) {
  std::optional<CopyWaits> waits;
  for (const Edge& edge : plan.edges) {
    const Stage* stage = plan.find(edge.from);
    const bool by_engine = edge.wait == Wait::Arrival;
    if (edge.kind != Edge::Kind::Filled || !stage->is_ring() || edge.at.hands_over) continue;
    if (edge.wait != Wait::Copies && (!by_engine || inside)) continue;
    const int left =
        by_engine ? static_cast<int>(std::max<std::int64_t>(edge.steps - 1, 0)) : edge.pending;
    if (!waits) waits = CopyWaits{false, left, true};
    waits->in_step = waits->in_step || edge.steps == 0;
    waits->with_rows = waits->with_rows && edge.with_rows;
    waits->pending = std::min(waits->pending, left);
  }
  return waits;
}

MemoryOrder order_of(const KernelPlan& plan, const std::string& stage, ir::Kept of) {
  MemoryOrder order;
  const Stage* source = plan.find(stage);
  if (source == nullptr) return order;
  order.each = false;
  order.filled = order.reused = kNever;
  const bool ring = of == ir::Kept::Points && source->is_ring();
  if (ring) order.refilled = source->step->depth;
  if (of == ir::Kept::Rows) order.refilled = kRowPlaces;
  for (const Edge& edge : plan.edges) {
    const bool back = edge.kind == Edge::Kind::Reused;
    if (edge.of != of || (back ? edge.to : edge.from) != stage || edge.wait == Wait::None) continue;
    order.at = edge.at;
    if (edge.at.hands_over) continue;
    order.each = order.each || edge.kind == Edge::Kind::Itself;
    // A reader that stands before the stage in the step meets planes with one less begun behind them.
    const Stage* reader = plan.find(back ? edge.from : edge.to);
    const std::int64_t before = ring && reader < source ? 1 : 0;
    std::int64_t& planes = back ? order.reused : order.filled;
    planes = std::min(planes, edge.steps + (back ? before : -before));
    order.copied = order.copied || edge.wait == Wait::Copies || edge.wait == Wait::Arrival;
    order.arrives_early = order.arrives_early || edge.with_rows;
  }
  return order;
}

}  // namespace mica::planning
