#include "codegen/plan/march_plan.h"

#include <algorithm>
#include <optional>

#include "codegen/analysis/simplify.h"
#include "codegen/plan/filling.h"
#include "codegen/program.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::planning {
namespace {

using analysis::Box;
using analysis::Interval;
using analysis::Scope;
using passes::simplify;

// Something that reads along the march: the marched Func, a stage, or a Func inside the step.
struct Reader {
  const FunctionData* func;
  const Definition* definition;
  Scope scope;
  std::int64_t ahead, first;
  int prefetch;         ///< the part of `ahead` that no step asks for
  std::int64_t beyond;  ///< MarchStage::beyond
  int stage;            ///< index among the stages found so far; -1: the step itself
};

// How one Func is read: offsets from the step's plane.
struct Reads {
  const Reader* reader;
  std::int64_t oldest, newest;
};

class Planner {
 public:
  Planner(const Program& program, const FunctionData& func, std::string var, const Scope& own,
          const std::optional<CommonFrame>& frame, bool split)
      : program_(program), func_(func), var_(std::move(var)), own_(own), frame_(frame), split_(split) {}

  MarchPlan run(const std::vector<const FunctionData*>& placed,
                const std::vector<const FunctionData*>& inner) {
    readers_.push_back({&func_, &func_.definitions.front(), own_, 0, 0, 0, 0, -1});
    for (auto it = inner.rbegin(); it != inner.rend(); ++it) add_inner(**it);
    for (auto it = placed.rbegin(); it != placed.rend(); ++it) add_stage(**it);
    agree_on_period();
    return ordered();
  }

 private:
  // A Func inside the step is a reader over the box that the step needs of it.
  void add_inner(const FunctionData& f) {
    Box box;
    for (const auto& reader : readers_) unite(box, box_of(reader, f.name));
    if (box.empty()) return;
    for (const auto& definition : f.definitions) {
      readers_.push_back(
          {&f, &definition, analysis::definition_scope(f, definition, box), 0, 0, 0, 0, -1});
    }
  }

  // Filled by copies, which take their points from memory and do not wait.
  static bool is_copied(const Placement& placement) {
    return placement.load == LoadPolicy::AsyncCopy || placement.load == LoadPolicy::Bulk;
  }

  static Box box_of(const Reader& reader, const std::string& name) {
    return analysis::accessed_box(*reader.definition, name, reader.scope);
  }

  void add_stage(const FunctionData& f) {
    check_definition(f);
    MarchStage stage;
    stage.func = &f;
    const std::vector<Reads> reads = reads_of(f, stage);
    if (reads.empty()) return;
    const Placement& placement = program_.placement.at(f.name);
    stage.per_thread = placement.memory == MemoryType::Register;
    if (stage.per_thread) check_own_points(f, reads);
    const bool in_frame = stage.per_thread && frame_ && frame_->kept.count(f.name) > 0;
    // Threads of a frame fill their own points, whether all of them are read or not.
    if (in_frame) {
      stage.kept = frame_->kept.at(f.name);
      Box own;
      for (const std::string& arg : func_.args) own.push_back(own_.at(arg));
      unite(stage.box, without_plane(own, stage.dim));
    }
    const bool filled_late = set_planes(stage, reads, placement);
    const int index = static_cast<int>(stages_.size());
    for (const auto& r : reads) {
      if (filled_late) {
        before_.emplace_back(r.reader->stage, index);
      } else {
        before_.emplace_back(index, r.reader->stage);
      }
    }
    Scope scope = analysis::definition_scope(f, f.definitions.front(), with_plane(stage));
    for (std::size_t d = 0; in_frame && d < f.args.size(); ++d) {
      if (static_cast<int>(d) != stage.dim) scope[f.args[d]] = own_.at(func_.args[d]);
    }
    stages_.push_back(stage);
    readers_.push_back({&f, &f.definitions.front(), scope, stage.ahead, stage.first, stage.prefetch,
                        stage.beyond, index});
  }

  void check_definition(const FunctionData& f) const {
    const std::string kept = ", and a Func kept along the march of " + func_.name + " over " + var_ +
                             " is computed plane by plane";
    const SourceLocation& where = program_.placement.at(f.name).where;
    if (recurrence_of(f)) {
      throw UserError(f.name + " reads itself point by point" + kept + ": compute it at the root",
                      where);
    }
    if (f.definitions.size() > 1) {
      throw UserError(f.name + " has updates" + kept +
                          " by one definition: compute it at the root, or inside the step",
                      where);
    }
  }

  // What reads planes of `f`; the stage's dimension and box are those of it all.
  std::vector<Reads> reads_of(const FunctionData& f, MarchStage& stage) const {
    std::vector<Reads> reads;
    for (const auto& reader : readers_) {
      Box box = box_of(reader, f.name);
      if (box.empty()) continue;
      reads.push_back(offsets(f, reader, box, stage.dim));
      unite(stage.box, without_plane(box, stage.dim));
    }
    for (const auto& reader : readers_) check_read_by_planes(f, box_of(reader, f.name), stage.dim);
    // A plane of shared memory takes its own points from the registers that hold them.
    for (const auto& reader : readers_) {
      if (reader.stage < 0) continue;
      const MarchStage& filled = stages_[static_cast<std::size_t>(reader.stage)];
      const Placement& target = program_.placement.at(filled.func->name);
      const bool apart = split_ && is_filled_apart(program_, *filled.func);
      if (is_copied(target) || apart || reads.empty()) continue;
      const FunctionData* window = window_beside(program_, *filled.func);
      if (window == nullptr || window->name != f.name) continue;
      reads.push_back({&reader, filled.ahead, filled.ahead});
    }
    return reads;
  }

  // Which planes a stage holds, and when it gets them: in a step after what reads it there, if true.
  bool set_planes(MarchStage& stage, const std::vector<Reads>& reads, const Placement& placement) const {
    std::int64_t newest = reads.front().newest, oldest = reads.front().oldest;
    stage.first = reads.front().reader->first + reads.front().oldest - reads.front().reader->ahead;
    for (const auto& r : reads) {
      newest = std::max(newest, r.newest);
      oldest = std::min(oldest, r.oldest);
      stage.first = std::min(stage.first, r.reader->first + r.oldest - r.reader->ahead);
    }
    const std::int64_t counted_from = placement.part_of.empty() ? 0 : ahead_of(placement.part_of);
    stage.ahead = (placement.ahead ? counted_from + *placement.ahead : newest) + placement.prefetch;
    internal_check(stage.ahead >= newest, "a stage runs as far ahead as it is read");
    stage.newest = newest;
    std::int64_t asked = reads.front().newest - reads.front().reader->prefetch;
    for (const auto& r : reads) asked = std::max(asked, r.newest - r.reader->prefetch);
    if (!placement.ahead) stage.prefetch = static_cast<int>(stage.ahead - asked);
    std::int64_t needed = reads.front().newest - reads.front().reader->beyond;
    for (const auto& r : reads) needed = std::max(needed, r.newest - r.reader->beyond);
    stage.beyond = stage.ahead - needed;
    const bool lagged = stage.ahead > newest, filled_late = lagged && !is_copied(placement);
    // Registers filled after all reads of the step may take the place of the oldest plane.
    stage.depth = stage.ahead - oldest + (stage.per_thread && lagged ? 0 : 1);
    const std::int64_t begun = stage.ahead - (filled_late ? 1 : 0);
    stage.newest_lag = begun - newest;
    stage.oldest_lag = begun - oldest;
    if (stage.dim < 0) {
      stage.ahead = stage.first = stage.beyond = stage.newest = 0;
      stage.prefetch = 0;
      stage.depth = 1;
    }
    return filled_late;
  }

  // How far ahead of the step's plane a Func of the march is computed.
  [[nodiscard]] std::int64_t ahead_of(const std::string& func) const {
    for (const MarchStage& stage : stages_) {
      if (stage.func->name == func) return stage.ahead;
    }
    return 0;
  }

  // The offsets at which `reader` reads `f` in one step; finds f's marched dimension.
  Reads offsets(const FunctionData& f, const Reader& reader, const Box& box, int& dim) const {
    Reads reads{&reader, 0, 0};
    bool found = false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const bool low = uses_var(box[d].min, kPlaneSymbol), high = uses_var(box[d].max, kPlaneSymbol);
      if (!low && !high) continue;
      const auto oldest = offset_from(simplify(box[d].min), kPlaneSymbol);
      const auto newest = offset_from(simplify(box[d].max), kPlaneSymbol);
      if (!oldest || !newest || (dim >= 0 && dim != static_cast<int>(d)) || found) {
        throw not_by_planes(f, box, d);
      }
      found = true;
      dim = static_cast<int>(d);
      reads.oldest = *oldest;
      reads.newest = *newest;
    }
    return reads;
  }

  // A plane that is the same in every step is in no ring of planes that come and go.
  void check_read_by_planes(const FunctionData& f, const Box& box, int dim) const {
    if (dim < 0 || box.empty()) return;
    const auto d = static_cast<std::size_t>(dim);
    if (!uses_var(box[d].min, kPlaneSymbol) || !uses_var(box[d].max, kPlaneSymbol)) {
      throw not_by_planes(f, box, d);
    }
  }

  UserError not_by_planes(const FunctionData& f, const Box& box, std::size_t d) const {
    constexpr std::size_t kShown = 60;  // characters of what boundary conditions make of an index
    const auto text = [](const Expr& e) {
      return to_string(substitute(e, kPlaneSymbol, make_var("plane")), kShown);
    };
    return UserError(f.name + ", kept along the march of " + func_.name + " over " + var_ +
                         ", is read at " + text(box[d].min) + " to " + text(box[d].max) +
                         " in dimension " + std::to_string(d) + " (" + f.args[d] +
                         "); a march keeps planes that are read at " + var_ +
                         " + constant in one dimension: compute it at the root, or inline",
                     program_.placement.at(f.name).where);
  }

  static Box without_plane(Box box, int dim) {
    if (dim >= 0) {
      const Expr plane = make_var(kPlaneSymbol);
      box[static_cast<std::size_t>(dim)] = {plane, plane};
    }
    return box;
  }
  static Box with_plane(const MarchStage& stage) {
    Box box = stage.box;
    if (stage.dim >= 0) {
      const Expr plane = simplify(make_var(kPlaneSymbol) + make_const(Int(32), stage.ahead));
      box[static_cast<std::size_t>(stage.dim)] = {plane, plane};
    }
    return box;
  }

  void check_own_points(const FunctionData& f, const std::vector<Reads>& reads) const {
    for (const auto& r : reads) {
      const FunctionData& reader = *r.reader->func;
      const bool same_points = r.reader->stage < 0
                                   ? &reader == &func_
                                   : stages_[static_cast<std::size_t>(r.reader->stage)].per_thread;
      analysis::for_each_access(*r.reader->definition, [&](const Access& access) {
        if (access.name != f.name) return;
        // What fills a plane of shared memory takes its own points from the registers.
        const auto offsets = same_points ? offsets_from(access.args, reader.args) : std::nullopt;
        bool own = offsets.has_value();
        for (std::size_t d = 0; own && !frame_ && d < offsets->size(); ++d) {
          own = (*offsets)[d] == 0 || func_.args[d] == var_;
        }
        if (own) return;
        throw UserError(f.name + " is kept in registers along the march of " + func_.name +
                            ", where a thread holds its own points only, and " + reader.name +
                            " reads it at " + args_text(access.args) + "; keep it in MemoryType::Shared",
                        program_.placement.at(f.name).where);
      });
    }
  }

  // Rings in registers are unrolled to their common multiple: the longest sets it, and the others grow
  // to its divisors, which costs nothing, for a place that holds no live value needs no register.
  void agree_on_period() {
    std::int64_t period = 1;
    for (const auto& stage : stages_) {
      if (stage.per_thread) period = std::max(period, stage.depth);
    }
    for (auto& stage : stages_) {
      while (stage.per_thread && stage.dim >= 0 && period % stage.depth != 0) ++stage.depth;
    }
  }

  // Stages in an order that respects `before_`, consumers' side first where it leaves a choice; in a
  // common frame producers' side first, so that what a thread has taken from others is used up soon.
  MarchPlan ordered() const {
    const int n = static_cast<int>(stages_.size());
    std::vector<bool> done(static_cast<std::size_t>(n) + 1, false);  // the step itself is the last
    auto slot = [&](int i) { return static_cast<std::size_t>(i < 0 ? n : i); };
    MarchPlan plan;
    for (int placed = 0; placed <= n; ++placed) {
      // Copies are begun first of all.
      int next = n + 1;
      for (int k = 0; k < n && next > n; ++k) {
        const auto& stage = stages_[static_cast<std::size_t>(k)];
        if (!done[slot(k)] && is_copied(program_.placement.at(stage.func->name))) next = k;
      }
      for (int i = -1; i < n && next > n; ++i) {
        const int k = frame_ ? n - 2 - i : i;
        if (done[slot(k)]) continue;
        const bool free = std::none_of(before_.begin(), before_.end(), [&](const auto& edge) {
          return edge.second == k && !done[slot(edge.first)];
        });
        if (free) next = k;
      }
      internal_check(next <= n, "the stages of a march have an order");
      done[slot(next)] = true;
      if (next < 0) {
        plan.consumer_at = plan.stages.size();
      } else {
        plan.stages.push_back(stages_[static_cast<std::size_t>(next)]);
        plan.warm_up = std::max(plan.warm_up, plan.stages.back().warm_up());
      }
    }
    return plan;
  }

  const Program& program_;
  const FunctionData& func_;
  std::string var_;
  const Scope& own_;
  const std::optional<CommonFrame>& frame_;
  bool split_;
  std::vector<Reader> readers_;
  std::vector<MarchStage> stages_;
  std::vector<std::pair<int, int>> before_;  // (earlier, later) in a step
};

}  // namespace

MarchPlan plan_march(const Program& program, const FunctionData& func, const std::string& var,
                     const std::vector<const FunctionData*>& placed,
                     const std::vector<const FunctionData*>& inner, const analysis::Scope& own,
                     const std::optional<CommonFrame>& frame, bool split) {
  return Planner(program, func, var, own, frame, split).run(placed, inner);
}

}  // namespace mica::planning
