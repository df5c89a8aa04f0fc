#include "codegen/iterate/patches.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "codegen/compile.h"
#include "codegen/iterate/copy_funcs.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/schedule/compute_place.h"

namespace mica {
namespace iterate {
namespace {

/// Points for which a patch of its own is not worth its launches, and the part of the box that these are
/// at most.
constexpr std::int64_t kFewPoints = std::int64_t{1} << 20, kFewPart = 16;
constexpr std::size_t kMostPatches = 16;
/// A tile is worth patches of so small a part of what it computes, or of so few points.
constexpr std::int64_t kSmallPart = 4, kAlways = std::int64_t{1} << 14;

/// Where levels of a tile are computed.
class Growth {
 public:
  Growth(const StepReach& reach, const Ranges& field, const Ranges& box, int steps)
      : reach_(reach), field_(field), box_(box), steps_(steps) {}

  /// The points that a source or receiver in `points` asks of a level, 1 being the first step's.
  [[nodiscard]] Ranges of_source(const Ranges& points, int level) const {
    return computed(points, 2 * steps_ - 1 - level);
  }
  [[nodiscard]] Ranges of_receiver(const Ranges& points, int level) const {
    return computed(points, steps_ - 1 - level);
  }
  [[nodiscard]] std::int64_t few_points() const {
    return std::min(kFewPoints, points_in(box_) / kFewPart);
  }
  /// The points of the fields that so many computed ones read.
  [[nodiscard]] Ranges read(const Ranges& computed) const { return grown(computed, 1, field_); }

 private:
  [[nodiscard]] Ranges computed(const Ranges& points, int steps) const {
    return points.empty() ? points : grown(points, steps, box_);
  }
  /// `points` and what lies so many steps around them in `within`, its nearest points at least.
  [[nodiscard]] Ranges grown(const Ranges& points, int steps, const Ranges& within) const {
    Ranges result;
    for (std::size_t d = 0; d < points.size(); ++d) {
      const std::int64_t reach = steps * reach_.points[d];
      const std::int64_t begin = points[d].first - reach;
      const std::int64_t last = points[d].first + points[d].second - 1 + reach;
      const auto& [first, extent] = within[d];
      const std::int64_t end_of_field = field_[d].first + field_[d].second;
      if (reach_.wraps[d] && (begin < field_[d].first || last >= end_of_field)) {
        result.push_back(within[d]);
        continue;
      }
      const std::int64_t from = std::clamp(begin, first, first + extent - 1);
      result.emplace_back(from, std::clamp(last, first, first + extent - 1) - from + 1);
    }
    return result;
  }

  const StepReach& reach_;
  const Ranges &field_, &box_;
  int steps_;
};

/// Sources and receivers that share a patch, and the boxes of their grid points.
struct Group {
  Ranges sources, receivers;
  std::vector<std::size_t> receiver_numbers;
};

Ranges level_of(const Ranges& sources, const Ranges& receivers, const Growth& growth, int level) {
  return box_around(growth.of_source(sources, level), growth.of_receiver(receivers, level));
}

/// Adds `one` to the group that grows least by it, or as a group of its own.
void add(std::vector<Group>& groups, const Group& one, const Growth& growth) {
  const auto points = [&](const Ranges& sources, const Ranges& receivers) {
    return points_in(level_of(sources, receivers, growth, 1));
  };
  std::int64_t least =
      groups.size() < kMostPatches ? growth.few_points() : std::numeric_limits<std::int64_t>::max();
  Group* nearest = nullptr;
  for (Group& group : groups) {
    const std::int64_t more =
        points(box_around(group.sources, one.sources), box_around(group.receivers, one.receivers)) -
        points(group.sources, group.receivers) - points(one.sources, one.receivers);
    if (more > least) continue;
    least = more;
    nearest = &group;
  }
  if (nearest == nullptr) nearest = &groups.emplace_back();
  nearest->sources = box_around(nearest->sources, one.sources);
  nearest->receivers = box_around(nearest->receivers, one.receivers);
  nearest->receiver_numbers.insert(nearest->receiver_numbers.end(), one.receiver_numbers.begin(),
                                   one.receiver_numbers.end());
}

Patch patch_of(const Group& group, const Growth& growth, int steps) {
  Patch patch;
  patch.receivers = group.receiver_numbers;
  patch.changed = growth.of_source(group.sources, steps);
  for (int level = 1; level < steps; ++level)
    patch.computed.push_back(level_of(group.sources, group.receivers, growth, level));
  for (std::size_t level = 0; level < patch.computed.size(); ++level) {
    const bool is_last = level + 1 == patch.computed.size();
    const Ranges& reader = is_last ? patch.changed : patch.computed[level + 1];
    const Ranges read = reader.empty() ? reader : growth.read(reader);
    patch.memory.push_back(box_around(box_around(patch.computed[level], read), group.receivers));
  }
  return patch;
}

std::vector<BufferDim> dense(const Ranges& box) {
  std::vector<BufferDim> dims;
  std::int64_t stride = 1;
  for (const auto& [min, extent] : box) {
    dims.push_back({min, extent, stride});
    stride *= extent;
  }
  return dims;
}

}  // namespace

Patches find_patches(const Iteration::State& state, int steps, const std::vector<AnyBuffer>& fields,
                     const Ranges& box, const RunOptions& given) {
  Patches patches;
  if (state.sources.empty() && state.receivers.empty()) return patches;
  if (state.reach == nullptr) return patches;  // which the tile refuses
  const auto refuse = [&](const std::string& why) {
    patches.why = "sources and receivers act between single steps, and " + why;
    return patches;
  };
  const Ranges field = ranges_of(fields.front());
  for (const AnyBuffer& other : fields) {
    if (ranges_of(other) != field) return refuse("the fields have several boxes");
  }
  const StepReach& reach = *state.reach;
  if (!reach.why.empty()) return refuse(reach.why);
  const std::string beyond = why_beyond(reach.edges, box, given.inputs, given.params);
  if (!beyond.empty()) return refuse(beyond);
  const Growth growth(reach, field, box, steps);
  std::vector<Group> groups;
  for (const Sources& sources : state.sources) {
    const Replacement& replaced =
        state.replacements[state.field_number(sources.field(), state.tile_where)];
    if (replaced.input) {
      return refuse("add_at adds to " + replaced.field.name() + ", which holds what " +
                    replaced.input->name() + " held: add to that");
    }
    add(groups, {.sources = sources.box(), .receivers = {}, .receiver_numbers = {}}, growth);
  }
  for (std::size_t i = 0; i < state.receivers.size(); ++i) {
    add(groups, {.sources = {}, .receivers = state.receivers[i].box(), .receiver_numbers = {i}}, growth);
  }
  std::int64_t again = 0;
  for (const Group& group : groups) {
    patches.all.push_back(patch_of(group, growth, steps));
    for (const Ranges& level : patches.all.back().computed) again += points_in(level);
  }
  const std::int64_t in_all = steps * points_in(box);
  if (again <= kAlways || kSmallPart * again <= in_all) return patches;
  patches.why = fmt::format(
      "around sources and receivers {} of the {} points of {} steps would be computed again, more than "
      "a "
      "quarter: give those that lie far from one another calls of add_at and record of their own, or "
      "fewer "
      "steps at once",
      again, in_all, steps);
  return patches;
}

PatchStep compile_for_patches(const Iteration::State& state, const Target& target, bool apart) {
  // A Func that others read is computed once: in a chain of them that are inline work would multiply.
  const JointStep joint = joint_step(state, ReadFuncs::Kept);
  PatchStep patch{.run = {}, .fields = joint.fields, .margins = {}};
  Func step = joint.func;
  if (apart) {
    TimeLevels one = make_time_levels(state, 1, {.apart = true}, state.tile_where);
    patch.margins = one.margins;
    step = one.computed;
    for (TimeLevels::Producer& producer : one.producers) producer.func.compute_root();
  } else {
    step = without_schedule({joint.func}, [&](const auto& copy, const FunctionData& of) {
             if (&of == joint.func.function().get()) return;
             if (compute_place(of, false).kind != ComputePlace::Kind::Inline) Func(copy).compute_root();
           }).front();
  }
  const std::vector<Var> v = step.args();
  if (target.is_gpu() && v.size() == 1) step.gpu_tile(v[0], 128);
  if (target.is_gpu() && v.size() == 2) step.gpu_tile(v[0], v[1], 32, 4);
  if (target.is_gpu() && v.size() == 3) step.gpu_tile(v[0], v[1], v[2], 32, 2, 2);
  patch.run = compile(step, target);
  return patch;
}

}  // namespace iterate

std::shared_ptr<const iterate::PatchStep> Iteration::State::patch_step_for(const Target& target,
                                                                           bool apart) {
  const std::lock_guard lock(code->compiling);
  for (const auto& known : code->patch_steps) {
    if (known->run.target() == target && known->margins.empty() != apart) return known;
  }
  return code->patch_steps.emplace_back(
      std::make_shared<const iterate::PatchStep>(iterate::compile_for_patches(*this, target, apart)));
}

namespace iterate {

PatchRuns::PatchRuns(const Iteration::State& state, const Iteration::State::Compiled& compiled,
                     std::shared_ptr<const PatchStep> step, std::vector<Patch> patches,
                     const std::vector<FieldRule>& rules, const FieldBuffers& fields)
    : state_(state),
      compiled_(compiled),
      step_(std::move(step)),
      patches_(std::move(patches)),
      rules_(rules) {
  Ranges box;
  for (const std::size_t f : step_->fields) box = box_around(box, rules_[f].box);
  for (const Patch& patch : patches_) {
    Levels& levels = memory_.emplace_back(patch.memory.size());
    for (std::size_t level = 0; level < levels.size(); ++level) {
      levels[level].resize(rules_.size());
      for (std::size_t f = 0; f < rules_.size(); ++f) {
        if (rules_[f].output < 0) continue;
        const AnyBuffer& field = fields.current(f);
        AnyBuffer& memory = levels[level][f];
        memory = AnyBuffer(field.type(), dense(patch.memory[level]));
        if (is_inside(patch.memory[level], box)) continue;
        compiled_.copier->copy(field, memory, patch.memory[level]);
      }
    }
  }
}

AnyBuffer PatchRuns::field_at(const Levels& levels, std::size_t level, std::size_t f,
                              const std::vector<RunInput>& fields) const {
  for (; level > 0; --level) {
    if (rules_[f].field < 0) return levels[level - 1][f];
    f = static_cast<std::size_t>(rules_[f].field);
  }
  return fields[f].buffer;
}

LaterRun PatchRuns::step_from(const Levels& levels, std::size_t level,
                              const std::vector<AnyBuffer>& outputs, const RunOptions& options,
                              const CallSite& at) const {
  RunOptions own = options;
  for (std::size_t f = 0; f < rules_.size(); ++f) {
    own.inputs[f].buffer = field_at(levels, level, f, options.inputs);
  }
  for (std::size_t o = 0; o < step_->margins.size(); ++o) {
    const std::size_t f = state_.outputs[o].fields.front();
    (void)add_margins(step_->margins[o], rules_[f].box, ranges_of(own.inputs[f].buffer), own.params, at);
  }
  std::vector<AnyBuffer> written;
  for (const std::size_t f : step_->fields) written.push_back(outputs[f]);
  std::vector<AnyBuffer*> pointers;
  for (AnyBuffer& output : written) pointers.push_back(&output);
  Executable step = step_->run;
  return {step.prepare(pointers, used_by(step, own), at), static_cast<int>(level)};
}

std::vector<LaterRun> PatchRuns::levels(const RunOptions& options, const CallSite& at) const {
  std::vector<LaterRun> runs;
  for (std::size_t p = 0; p < patches_.size(); ++p) {
    const Patch& patch = patches_[p];
    for (std::size_t level = 0; level < patch.computed.size(); ++level) {
      const int later = static_cast<int>(level);
      const Ranges& computed = patch.computed[level];
      const std::vector<AnyBuffer>& memory = memory_[p][level];
      std::vector<AnyBuffer> outputs;
      for (const AnyBuffer& buffer : memory) {
        outputs.push_back(buffer.defined() ? buffer.cropped(computed) : buffer);
      }
      runs.push_back(step_from(memory_[p], level, outputs, options, at));
      for (std::size_t i = 0; i < state_.sources.size(); ++i) {
        const std::size_t f = state_.field_number(state_.sources[i].field(), at);
        const std::optional<Sources> here = state_.sources[i].those_in(computed);
        if (here) runs.push_back({here->prepare(compiled_.sources[i], memory[f]), later});
      }
      for (const std::size_t i : patch.receivers) {
        const Receivers& receivers = state_.receivers[i];
        const std::size_t f = state_.field_number(receivers.field(), at);
        const AnyBuffer field = field_at(memory_[p], level + 1, f, options.inputs);
        runs.push_back({receivers.prepare(compiled_.receivers[i], field), later});
      }
    }
  }
  return runs;
}

std::vector<LaterRun> PatchRuns::last(const RunOptions& options, const std::vector<AnyBuffer>& next,
                                      const CallSite& at) const {
  std::vector<LaterRun> runs;
  for (std::size_t p = 0; p < patches_.size(); ++p) {
    const std::size_t before = memory_[p].size();  // levels
    const Ranges& changed = patches_[p].changed;
    if (changed.empty()) continue;
    std::vector<AnyBuffer> outputs;
    for (const AnyBuffer& field : next) outputs.push_back(field.cropped(changed));
    runs.push_back(step_from(memory_[p], before, outputs, options, at));
    for (std::size_t f = 0; f < rules_.size(); ++f) {
      if (rules_[f].field < 0) continue;
      const auto of = static_cast<std::size_t>(rules_[f].field);
      const AnyBuffer from = field_at(memory_[p], before, of, options.inputs);
      const bool is_older =
          std::any_of(options.inputs.begin(), options.inputs.end(), [&](const RunInput& in) {
            return in.buffer.defined() && in.buffer.storage() == from.storage();
          });
      if (is_older) continue;  // from before the tile: no source has changed it
      runs.push_back({compiled_.copier->prepare(from, next[f], changed), static_cast<int>(before)});
    }
  }
  return runs;
}

}  // namespace iterate
}  // namespace mica
