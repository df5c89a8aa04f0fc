#include "codegen/plan/verify/verify_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/plan/plan_edges.h"
#include "codegen/plan/plan_taps.h"
#include "codegen/plan/verify/verify_crews.h"

namespace mica::planning {

namespace {

class Verifier {
 public:
  Verifier(const KernelPlan& plan, const Pipeline& pipeline) : plan_(plan), pipeline_(pipeline) {}

  std::vector<std::string> run() {
    check_stages();
    if (!faults_.empty()) return std::move(faults_);
    for (const auto& tap : plan_.taps) check_tap(tap);
    for (const auto& stage : plan_.stages) {
      check_served(stage);
      check_crew(stage);
      check_within(stage);
      for (const auto& reader : plan_.stages) {
        if (&stage != &reader) check_pair(stage, reader);
      }
    }
    check_stray_edges();
    for (const std::string& fault : crew_faults(plan_)) faults_.push_back(fault);
    return std::move(faults_);
  }

 private:
  void fault(const std::string& what, const std::string& why) { faults_.push_back(what + ": " + why); }
  static std::string arrow(const std::string& from, const std::string& to) { return from + " -> " + to; }

  void check_stages() {
    std::set<std::string> names;
    for (const auto& stage : plan_.stages) {
      if (!names.insert(stage.func).second) fault(stage.func, "two stages have this name");
      if (pipeline_.find(stage.func) == nullptr) fault(stage.func, "no Func of the pipeline");
    }
    if (names.count(plan_.func) == 0) fault(plan_.func, "the kernel's own Func is no stage");
  }

  // ---- taps ----------------------------------------------------------------------------------------
  void check_tap(const Tap& tap) {
    const std::string what = tap.reader + " <- " + tap.source;
    const Stage* reader = plan_.find(tap.reader);
    const Stage* source = plan_.find(tap.source);
    if (reader == nullptr) return fault(what, "the reader is no stage");
    if (tap.source == plan_.func) {
      if (tap.server != Server::Itself) fault(what, "a Func's own values are served by itself");
      return;
    }
    const bool array = source == nullptr || source->is_in(Residence::Global);
    bool held = false;
    switch (tap.server) {
      case Server::OwnRegister: held = source != nullptr && source->is_in(Residence::Registers); break;
      case Server::Lane: {
        const auto along = static_cast<std::size_t>(tap.along);
        held = tap.lanes != 0 && along < tap.at.size() && tap.at[along].of >= 0 &&
               tap.at[along].offset * tap.lanes > 0;
        break;
      }
      case Server::Shared: held = source != nullptr && source->is_in(Residence::Shared); break;
      case Server::Global:
      case Server::Texture: held = array; break;
      case Server::Itself: break;
    }
    if (!held) fault(what, to_string(tap.server) + " serves a tap and does not hold its source");
    // Updates read their own Func inside the box; a window serves those points of a plane that it has.
    const bool around = reader->fill.way == Fill::Way::Window && reader->fill.window == tap.source;
    if (source == nullptr || source == reader) return;
    const bool ring = tap.server == Server::OwnRegister && source->step && source->step->per_thread;
    for (std::size_t d = 0; d < tap.at.size() && d < source->box.size(); ++d) {
      const bool plane = source->step && source->step->dim == static_cast<int>(d);
      if (plane) continue;
      if (ring &&
          !(tap.at[d].offset == 0 && (around ? is_same_side(*reader, tap.at[d].of, source->box[d])
                                             : tap.at[d].of == static_cast<int>(d)))) {
        fault(what, "a register serves a tap beside the thread's own point");
      }
      if (!around) check_inside(what, tap.at[d], *reader, *source, source->box[d]);
    }
  }

  // Does the reader go through the points of `side` in its dimension `of`? -1: it lacks that dimension,
  // and is the same for all of them.
  static bool is_same_side(const Stage& reader, int of, const Side& side) {
    return of < 0 ? side.points == 1 : reader.box.at(static_cast<std::size_t>(of)).dim == side.dim;
  }

  // Does a side of the source hold what the reader's side reads of it?
  void check_inside(const std::string& what, const Tap::Index& index, const Stage& reader,
                    const Stage& source, const Side& held) {
    if (index.of < 0 || static_cast<std::size_t>(index.of) >= reader.box.size()) return;
    Side read = reader.box[static_cast<std::size_t>(index.of)];
    // Of a common frame: computed at the frame's points, and held with those beside them.
    if (reader.step && static_cast<std::size_t>(index.of) < reader.step->kept.beside.size() &&
        read.points) {
      const Around around = reader.step->kept.beside[static_cast<std::size_t>(index.of)];
      read.first += around.before;
      *read.points -= around.before + around.after;
    }
    if (read.dim < 0 || read.dim != held.dim || !read.points || !held.points) return;
    const auto e = static_cast<std::size_t>(read.dim);
    if (!source.serves.empty()) {
      // While the source keeps its values, the reader's first point moves on.
      const auto& all = source.serves.at(e);
      if (!all) return;
      if (reader.func == plan_.func) {
        read.points = *all;
      } else if (!reader.serves.empty()) {
        const auto& once = reader.serves.at(e);
        if (!once) return;
        read.points = *read.points + *all - *once;
      }
    }
    const std::int64_t first = read.first + index.offset, end = first + *read.points;
    if (first >= held.first && end <= *held.end()) return;
    fault(what, "reads [" + std::to_string(first) + "," + std::to_string(end) + ") of " +
                    plan_.frame.dims.at(e) + ", and the box is [" + std::to_string(held.first) + "," +
                    std::to_string(*held.end()) + ")");
  }

  void check_served(const Stage& stage) {
    const FunctionData& reader = *pipeline_.find(stage.func);
    std::vector<Tap> asked;
    for (std::size_t i = 0; i < reader.definitions.size(); ++i) {
      if (stage.func == plan_.func && i != plan_.definition) continue;
      analysis::for_each_access(reader.definitions[i], [&](const Access& access) {
        Tap tap = tap_of(reader, access);
        const auto known = std::find_if(asked.begin(), asked.end(), [&](const Tap& other) {
          return other.source == tap.source && other.at == tap.at;
        });
        if (known != asked.end()) {
          ++known->count;
        } else {
          asked.push_back(std::move(tap));
        }
      });
    }
    for (const auto& tap : asked) {
      int served = 0;
      for (const auto& other : plan_.taps) {
        if (other.reader == stage.func && other.source == tap.source && other.at == tap.at) {
          served += other.count;
        }
      }
      if (served != tap.count) {
        fault(stage.func + " <- " + tap.source, "a tap that the definition has " +
                                                    std::to_string(tap.count) + " times is served " +
                                                    std::to_string(served) + " times");
      }
    }
  }

  // ---- crews ---------------------------------------------------------------------------------------
  void check_crew(const Stage& stage) {
    const Crew& crew = stage.crew;
    std::int64_t reached = 1;
    for (const auto extent : crew.extents) reached *= extent;
    if (crew.count < 1) fault(stage.func, "no thread fills it");
    if (crew.first < 0 || crew.first + crew.count > reached) {
      fault(stage.func, "threads " + std::to_string(crew.first) + " to " +
                            std::to_string(crew.first + crew.count - 1) + " fill it, and there are " +
                            std::to_string(reached));
    }
    const std::int64_t own = plan_.frame.threads[0] * plan_.frame.threads[1] * plan_.frame.threads[2];
    constexpr std::int64_t kWarp = 32;
    // One thread a point, or thread loops of a stage's own: the block has as many as the largest crew.
    const bool grows = stage.fill.dealt == LoadPolicy::HaloThreads ||
                       (!stage.fill.dealt && stage.level != Level::Thread && stage.func != plan_.func &&
                        (stage.is_in(Residence::Shared) || stage.level == Level::Block));
    if (!grows && reached > own + kWarp * plan_.frame.filling_warps) {
      fault(stage.func, "its crew has " + std::to_string(reached) + " threads, and the block " +
                            std::to_string(own + kWarp * plan_.frame.filling_warps));
    }
  }

  // ---- rings and edges -----------------------------------------------------------------------------
  [[nodiscard]] std::size_t place(const Stage& stage) const {
    return static_cast<std::size_t>(&stage - plan_.stages.data());
  }

  const Edge* only_edge(Edge::Kind kind, const std::string& from, const std::string& to,
                        ir::Kept of = ir::Kept::Points) {
    const Edge* found = nullptr;
    for (const auto& edge : plan_.edges) {
      if (edge.kind != kind || edge.from != from || edge.to != to || edge.of != of) continue;
      if (found != nullptr) fault(arrow(from, to), "two edges of one kind");
      found = &edge;
    }
    return found;
  }

  void check_pair(const Stage& source, const Stage& reader) {
    const std::string what = arrow(source.func, reader.func);
    const auto planes = planes_read(plan_, reader, source);
    if (!planes) return;
    const Edge* filled = only_edge(Edge::Kind::Filled, source.func, reader.func);
    if (filled == nullptr) return fault(what, "read, and no edge says that it is filled before");
    const bool ring = source.step && source.step->dim >= 0;
    std::int64_t ahead = 0, depth = 1;
    if (ring) {
      ahead = source.step->ahead;
      depth = source.step->depth;
      check_first(what, source, reader, *planes);
    }
    const std::int64_t steps = ring ? ahead - planes->newest : 0;
    if (steps < 0) fault(what, "a plane is read " + std::to_string(-steps) + " steps before it is made");
    if (filled->steps != steps) {
      fault(what, "filled " + std::to_string(steps) + " steps before, and the edge has " +
                      std::to_string(filled->steps));
    }
    // What is filled once a block is there before all steps.
    const bool in_step = source.level != Level::Block;
    if (in_step && steps == 0 && place(source) > place(reader))
      fault(what, "stands behind its reader in the step");
    check_rows(what, source, reader);
    const bool shared = !source.is_in(Residence::Registers) && source.is_in(Residence::Shared);
    check_wait(what, source, shared, *filled, ring ? steps : 0);
    const Edge* reused = only_edge(Edge::Kind::Reused, reader.func, source.func);
    if (!ring && !source.again) return;
    if (reused == nullptr) return fault(what, "no edge keeps the place until it is read");
    if (shared && reused->wait == Wait::None) {
      fault(what, "the block's memory is used again without a barrier");
    }
    if (!ring) {
      if (reused->steps != 1) fault(what, "what is filled as a whole is filled again in the next step");
      return;
    }
    const std::int64_t left = depth - ahead + planes->oldest;
    if (left < 0 || (left == 0 && place(source) < place(reader))) {
      fault(what, "the ring of " + std::to_string(depth) + " places has lost the plane " +
                      std::to_string(planes->oldest) + " when it is read");
    }
    if (reused->steps != left) {
      fault(what, "a place is free after " + std::to_string(left) + " steps, and the edge has " +
                      std::to_string(reused->steps));
    }
  }

  // Rows at the edges of threads' points: given in the step that takes them, in one of the places in
  // turn.
  void check_rows(const std::string& what, const Stage& source, const Stage& reader) {
    if (!passes_rows(source) || !takes_rows(plan_, reader, source)) return;
    const Edge* given = only_edge(Edge::Kind::Filled, source.func, reader.func, ir::Kept::Rows);
    const Edge* taken = only_edge(Edge::Kind::Reused, reader.func, source.func, ir::Kept::Rows);
    if (given == nullptr || given->wait != Wait::Barrier || given->steps != 0) {
      fault(what, "rows of other threads are taken, and no barrier follows where they are given");
    }
    if (taken == nullptr || taken->wait != Wait::Barrier || taken->steps != kRowPlaces) {
      fault(what,
            "rows have " + std::to_string(kRowPlaces) + " places, and nothing keeps them until read");
    }
  }

  void check_within(const Stage& stage) {
    if (stage.func == plan_.func) return;
    for (Edge edge : edges_within(stage, pipeline_)) {
      const Edge* found = only_edge(edge.kind, edge.from, edge.to, edge.of);
      if (found != nullptr) edge.at = found->at;  // crew_faults
      if (found != nullptr && *found == edge) continue;
      fault(stage.func, "its parts touch the same memory, and no edge puts one after the other");
    }
  }

  // A reader's first plane asks for the planes around it.
  void check_first(const std::string& what, const Stage& source, const Stage& reader,
                   const PlanesRead& planes) {
    const bool steps = reader.step && reader.step->dim >= 0;
    const std::int64_t first = steps ? reader.step->first - reader.step->ahead : 0;
    if (source.step->first <= first + planes.oldest) return;
    fault(what, "begins with plane " + std::to_string(source.step->first) + ", and plane " +
                    std::to_string(first + planes.oldest) + " is read");
  }

  void check_wait(const std::string& what, const Stage& source, bool shared, const Edge& edge,
                  std::int64_t steps) {
    if (!shared) {
      if (edge.wait != Wait::None) fault(what, "threads wait for what each has itself");
      return;
    }
    const Wait asked = source.fill.way == Fill::Way::AsyncCopies  ? Wait::Copies
                       : source.fill.way == Fill::Way::BulkCopies ? Wait::Arrival
                                                                  : Wait::Barrier;
    if (edge.wait != asked) fault(what, "waited for in another way than it is filled");
    if (edge.at.hands_over) return;  // crew_faults
    if (edge.with_rows) check_with_rows(what, source, edge, steps);
    if (edge.wait == Wait::Copies && edge.pending > std::max<std::int64_t>(steps - 1, 0)) {
      fault(what, std::to_string(edge.pending) +
                      " groups of copies may be left, and the plane is in one " + "of the last " +
                      std::to_string(std::max<std::int64_t>(steps - 1, 0)));
    }
  }

  void check_with_rows(const std::string& what, const Stage& source, const Edge& edge,
                       std::int64_t steps) {
    bool rows = false, behind = false;
    for (const Edge& other : plan_.edges) {
      const bool given = other.kind == Edge::Kind::Filled && other.of == ir::Kept::Rows &&
                         other.wait == Wait::Barrier && !other.at.hands_over;
      const Stage* giver = given ? plan_.find(other.from) : nullptr;
      rows = rows || giver != nullptr;
      behind = behind || (giver != nullptr && place(*giver) < place(source));
    }
    if (behind) fault(what, "begun behind rows at whose barrier it is waited for");
    if (!rows) fault(what, "waited for at the barrier for rows, and no rows are passed on");
    if (edge.wait != Wait::Copies || steps < 1) {
      fault(what, "waited for in the step before, in which it is not begun");
    }
  }

  void check_stray_edges() {
    for (const auto& edge : plan_.edges) {
      if (edge.kind == Edge::Kind::Itself) {
        const Stage* stage = plan_.find(edge.from);
        if (edge.from != edge.to || stage == nullptr || edges_within(*stage, pipeline_).empty()) {
          fault(arrow(edge.from, edge.to), "an edge of a stage that does not follow itself");
        }
        continue;
      }
      const bool filled = edge.kind == Edge::Kind::Filled;
      const Stage* source = plan_.find(filled ? edge.from : edge.to);
      const Stage* reader = plan_.find(filled ? edge.to : edge.from);
      if (source == nullptr || reader == nullptr || !planes_read(plan_, *reader, *source)) {
        fault(arrow(edge.from, edge.to), "an edge between stages of which none reads the other");
      }
    }
  }

  const KernelPlan& plan_;
  const Pipeline& pipeline_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> verify_plan(const KernelPlan& plan, const Pipeline& pipeline) {
  return Verifier(plan, pipeline).run();
}

std::vector<std::string> verify_limits(const KernelPlan& plan, const DeviceLimits& limits) {
  std::vector<std::string> faults;
  const auto check = [&](std::int64_t count, std::int64_t most, const std::string& thing) {
    if (count <= most) return;
    faults.push_back(plan.func + ": a block has " + std::to_string(count) + " " + thing +
                     ", and the device " + std::to_string(most));
  };
  check(plan.threads(), limits.threads_per_block, "threads");
  check(plan.shared_bytes(), limits.shared_bytes, "bytes of shared memory");
  check(plan.registers() * plan.threads(), limits.registers, "registers held");
  return faults;
}

}  // namespace mica::planning
