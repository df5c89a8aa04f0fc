#include "codegen/plan/verify/verify_crews.h"

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/plan/handover.h"

namespace mica::planning {

namespace {

constexpr std::int64_t kWarp = 32;

class CrewVerifier {
 public:
  explicit CrewVerifier(const KernelPlan& plan) : plan_(plan) {
    for (const std::int64_t threads : plan.frame.threads) tile_ *= threads;
    further_ = kWarp * plan.frame.filling_warps;
  }

  std::vector<std::string> run() {
    for (const Stage& stage : plan_.stages) check_crew(stage);
    for (const Edge& edge : plan_.edges) {
      if (edge.wait != Wait::None) {
        check_edge(edge);
      } else if (!(edge.at == Meeting{})) {
        fault(name(edge), "kept by one thread, and at a barrier");
      }
    }
    for (const Tap& tap : plan_.taps) {
      const Stage* reader = plan_.find(tap.reader);
      if (reader == nullptr || reader->crew.first == 0 || plan_.find(tap.source) == nullptr) continue;
      fault(tap.reader + " <- " + tap.source, "further warps read what a block keeps");
    }
    check_numbers();
    check_turns();
    return std::move(faults_);
  }

 private:
  void fault(const std::string& what, const std::string& why) { faults_.push_back(what + ": " + why); }
  static std::string name(const Edge& edge) { return edge.from + " -> " + edge.to; }

  // All further warps, or else threads of the tile.
  void check_crew(const Stage& stage) {
    if (plan_.frame.filling_warps == 0) return;
    if (stage.crew.first > 0) {
      if (!(stage.crew == Crew(plan_.frame.threads, plan_.frame.filling_warps))) {
        fault(stage.func, "filled by some of the further warps");
      }
      return;
    }
    std::int64_t threads = 1;
    bool in_tile = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      threads *= stage.crew.extents[axis];
      in_tile = in_tile && stage.crew.extents[axis] <= plan_.frame.threads[axis];
    }
    if (!in_tile || stage.crew.count > threads) {
      fault(stage.func, "its crew has threads of the tile and further ones");
    }
  }

  void check_edge(const Edge& edge) {
    const Stage* from = plan_.find(edge.from);
    const Stage* to = plan_.find(edge.to);
    if (from == nullptr || to == nullptr) return;  // reported as a stray edge
    const bool split = plan_.frame.filling_warps > 0;
    const bool back = edge.kind == Edge::Kind::Reused;
    const bool ring = edge.of == ir::Kept::Points && (back ? to : from)->is_ring();
    const bool handed = split && ring && are_apart(*from, *to);
    const bool within = split && from->crew.first == 0 && to->crew.first == 0;
    if (edge.at.hands_over != handed) {
      fault(name(edge), handed ? "crews are apart, and neither hands over to the other"
                               : "handed over within a crew, or once a march");
      return;
    }
    const std::int64_t threads = handed ? tile_ + further_ : within ? tile_ : 0;
    if (edge.at.threads != threads || (edge.at.barrier > 0) != (threads > 0)) {
      fault(name(edge), "kept at a barrier of " + std::to_string(edge.at.threads) +
                            " threads, and those of " + std::to_string(threads) +
                            " do it (0: all of the block)");
    }
    if (edge.at.threads % kWarp != 0) fault(name(edge), "a barrier of no whole warps");
    if (edge.late != 0 && (!handed || back)) fault(name(edge), "late, and nobody says anything");
  }

  // No two purposes share a barrier: the two ways between crews, and the tile's own.
  void check_numbers() {
    enum class Purpose : std::uint8_t { Full, Empty, Own };
    std::map<Purpose, Meeting> meetings;
    std::map<int, Purpose> owners;
    for (const Edge& edge : plan_.edges) {
      if (edge.wait == Wait::None || edge.at.barrier == 0) continue;
      const Purpose purpose = !edge.at.hands_over               ? Purpose::Own
                              : edge.kind == Edge::Kind::Reused ? Purpose::Empty
                                                                : Purpose::Full;
      if (!(meetings.try_emplace(purpose, edge.at).first->second == edge.at)) {
        fault(name(edge), "kept at another barrier than its like");
      }
      for (int number = edge.at.barrier; number < edge.at.barrier + edge.at.turns; ++number) {
        if (number < 1 || number > ir::kNamedBarriers) {
          fault(name(edge),
                "barrier " + std::to_string(number) + " of " + std::to_string(ir::kNamedBarriers));
        } else if (owners.try_emplace(number, purpose).first->second != purpose) {
          fault(name(edge), "barrier " + std::to_string(number) + " serves another edge");
        }
      }
      if (purpose == Purpose::Own && edge.at.turns != 1) fault(name(edge), "one barrier is enough");
    }
  }

  // Step t computes with what was filled up to step t - lead, and says so; step s fills places read up
  // to step s - left. What is said k steps late leaves lead + left - k meetings that may be incomplete.
  void check_turns() {
    std::optional<std::int64_t> lead, left;
    for (const Edge& edge : plan_.edges) {
      if (!edge.at.hands_over) continue;
      auto& least = edge.kind == Edge::Kind::Reused ? left : lead;
      least = std::min(least.value_or(edge.steps), edge.steps);
    }
    if (!lead && !left) return;
    if (!lead || !left) return fault(plan_.func, "one crew hands over, and nothing comes back");
    if (*left < 1) fault(plan_.func, "planes are filled in the step that reads their places");
    std::optional<std::int64_t> late;
    for (const Edge& edge : plan_.edges) {
      if (!edge.at.hands_over || edge.kind == Edge::Kind::Reused) continue;
      if (edge.late != late.value_or(edge.late)) fault(name(edge), "said at another time than its like");
      late = edge.late;
      if (edge.late < 0 || edge.late > *lead) {
        fault(name(edge), "said " + std::to_string(edge.late) + " steps late, and asked for " +
                              std::to_string(*lead) + " steps after it was filled");
      }
      const std::int64_t after = edge.steps - *lead + edge.late;
      if (edge.wait == Wait::Copies && (edge.pending > after || edge.pending < 0)) {
        fault(name(edge), std::to_string(edge.pending) + " groups of copies may be left, and " +
                              std::to_string(after) + " were begun behind the plane");
      }
    }
    const bool by_engine = engine_says_all(plan_, plan_.edges);
    for (const Edge& edge : plan_.edges) {
      if (!edge.at.hands_over) continue;
      const bool back = edge.kind == Edge::Kind::Reused;
      // Where the copy engine says all, computing threads do not wait for what is said late.
      const std::int64_t turns = *lead + *left - (back && by_engine ? 0 : *late);
      if (edge.at.turns < turns) {
        fault(name(edge), std::to_string(edge.at.turns) + " barriers in turn, and a crew may be " +
                              std::to_string(turns) + " meetings ahead");
      }
    }
  }

  const KernelPlan& plan_;
  std::int64_t tile_ = 1, further_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> crew_faults(const KernelPlan& plan) { return CrewVerifier(plan).run(); }

}  // namespace mica::planning
