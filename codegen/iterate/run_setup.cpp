#include "codegen/iterate/run_setup.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <map>

#include "codegen/iterate/in_place_step.h"
#include "codegen/iterate/level_marches.h"
#include "codegen/iterate/run_inputs.h"
#include "codegen/iterate/time_levels.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/evaluate.h"

namespace mica::iterate {
namespace {

bool reads(const Plan& plan, const RunInput& input) {
  return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                     [&](const PlanBuffer& buffer) { return buffer.image == input.image; });
}

bool reads(const Plan& plan, const RunParam& param) {
  return std::any_of(plan.scalars.begin(), plan.scalars.end(),
                     [&](const Plan::Scalar& scalar) { return scalar.param == param.param; });
}

bool mentions(const Expr& e, const RunParam& param) {
  bool found = false;
  walk(e, [&](const Expr& node) {
    const auto* ref = node.as<ParamRef>();
    found = found || (ref != nullptr && ref->param == param.param);
  });
  return found;
}

/// What replaces each field after one step that runs `plan` over `boxes`.
std::vector<FieldRule> rules_of(const Iteration::State& s, const Plan& plan,
                                const std::vector<Ranges>& boxes, const CallSite& at) {
  std::vector<std::string> outputs;
  std::map<std::string, int> fields;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.is_output) outputs.push_back(buffer.name);
    for (std::size_t f = 0; f < s.replacements.size(); ++f) {
      if (buffer.image == s.replacements[f].field.data()) fields[buffer.name] = static_cast<int>(f);
    }
  }
  std::vector<FieldRule> rules(s.replacements.size());
  int number = 0;
  for (std::size_t o = 0; o < s.outputs.size(); ++o) {
    for (const std::size_t f : s.outputs[o].fields) {
      rules[f].output = number;
      rules[f].box = boxes[o];
      for (const PlanSharing& pair : plan.sharing) {
        if (pair.output != outputs[static_cast<std::size_t>(number)] || !pair.obstacle.empty()) continue;
        const auto found = fields.find(pair.input);
        if (found != fields.end()) rules[f].may_overwrite.push_back(found->second);
      }
      ++number;
    }
  }
  for (std::size_t f = 0; f < rules.size(); ++f) {
    const auto& input = s.replacements[f].input;
    if (input) rules[f].field = static_cast<int>(s.field_number(*input, at));
  }
  return rules;
}

}  // namespace

RunSetup::RunSetup(Iteration::State& state, const std::vector<RunInput>& given, const Target& target,
                   const std::vector<RunParam>& params, const CallSite& at, const Pace& pace)
    : state_(&state), target_(target), at_(at), pace_(pace), compiled_(state.compiled_for(target)) {
  fields_ = buffers_of(state, given, at);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    given_.inputs.emplace_back(state.replacements[f].field, fields_[f], at);
  }
  for (const RunInput& input : given) {
    const bool is_field = std::any_of(given_.inputs.begin(), given_.inputs.end(),
                                      [&](const RunInput& f) { return f.image == input.image; });
    if (!is_field) given_.inputs.push_back(input);
  }
  given_.params = params;
  keep_what_is_set();
  const Plan& plan = compiled_.step.plan();
  boxes_ = stepped_boxes(state, plan, fields_, given_.inputs, given_.params, at);
  box_ = box_around(boxes_);
  plan_single_step();
  check_places(state);
}

void RunSetup::plan_single_step() {
  if (state_->in_place) {
    single_ = in_place(1);
    return;
  }
  single_ = {.launches = {{compiled_.step, {}}},
             .rules = rules_of(*state_, compiled_.step.plan(), boxes_, at_)};
  for (const auto& output : state_->outputs) {
    std::vector<std::size_t>& fields = single_.launches.front().fields;
    fields.insert(fields.end(), output.fields.begin(), output.fields.end());
  }
}

StepPlan RunSetup::in_place(int steps) const {
  if (!is_whole()) {
    throw UserError(
        "in_place computes all points of each field, but the step computes others than all "
        "that each of them has: give the fields one box, without over, or leave in_place out",
        *state_->in_place);
  }
  const CompiledInPlace& code = *compiled_.in_place;
  StepPlan plan{.launches = {{code.away, code.step.away_to}}, .steps = steps, .rules = {}};
  if (steps > 1) {
    plan.launches.push_back({code.back, code.step.back_to});
  } else if (code.home.defined()) {
    plan.launches.push_back({code.home, code.step.home_to});
  }
  plan.rules.assign(fields_.size(), {.output = 0, .box = boxes_.front(), .stays = true});
  return plan;
}

RunSetup RunSetup::scheduled_as(Iteration::State& state) const {
  RunSetup same = *this;
  if (&state == state_) return same;
  same.state_ = &state;
  same.compiled_ = state.compiled_for(target_);
  same.plan_single_step();
  return same;
}

// Inputs and Params that the run is not given have all along what they hold when it begins.
void RunSetup::keep_what_is_set() {
  const Plan& plan = compiled_.step.plan();
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.image == nullptr || buffer.image->is_buffer) continue;
    const bool known = std::any_of(given_.inputs.begin(), given_.inputs.end(),
                                   [&](const RunInput& in) { return in.image == buffer.image; });
    const std::shared_ptr<AnyBuffer> bound = std::atomic_load(&buffer.image->bound);
    if (!known && bound != nullptr) given_.inputs.emplace_back(ImageParam(buffer.image), *bound, at_);
  }
  for (const Plan::Scalar& scalar : plan.scalars) {
    const bool known = std::any_of(given_.params.begin(), given_.params.end(),
                                   [&](const RunParam& p) { return p.param == scalar.param; });
    if (known || scalar.param == step_param().data()) continue;
    RunParam value(step_param(), 0, at_);
    value.param = scalar.param;
    value.bits = scalar.param->bits.load();
    given_.params.push_back(value);
  }
}

bool RunSetup::is_box_of_all() const {
  return std::all_of(boxes_.begin(), boxes_.end(), [&](const Ranges& box) { return box == box_; });
}

bool RunSetup::is_whole() const {
  return is_box_of_all() && std::all_of(fields_.begin(), fields_.end(), [&](const AnyBuffer& field) {
           return ranges_of(field) == box_;
         });
}

void RunSetup::note(const std::string& why) const {
  std::fprintf(stderr, "note: %s: time_tile(%d) computes step by step: %s\n",
               to_string(SourceLocation(state_->tile_where)).c_str(), state_->tile_steps, why.c_str());
}

bool RunSetup::has_whole_lines() const {
  return std::all_of(given_.inputs.begin(), given_.inputs.end(), [&](const RunInput& input) {
    const AnyBuffer& buffer = input.buffer;
    return buffer.dimensions() != fields_.front().dimensions() ||
           in_lines(buffer.type(), ranges_of(buffer), box_[0].first) == ranges_of(buffer);
  });
}

// Most fields are aligned at the stepped box's first point, where single steps begin, so that there are
// copies before the run and after it, and single steps between tiles are slower.
bool RunSetup::pays_to_begin_at_fields(int steps) const {
  constexpr std::int64_t kTilesOfTwoCopies = 32, kTilesOfAStep = 4;
  const std::int64_t stretch = std::min(pace_.steps, pace_.stretch);
  if (stretch / steps < kTilesOfAStep * (stretch % steps)) return false;
  return pace_.steps / steps >= kTilesOfTwoCopies ||
         std::all_of(fields_.begin(), fields_.end(),
                     [](const AnyBuffer& f) { return has_aligned_rows(f, ranges_of(f)); });
}

// On an H200 7 points in f32, four steps at once, took 0.106 ms a step for 0.120 at 512^3 (9 tiles for
// 10), but 1.08 for 0.80 at 1024^3, where there are 19 either way: what tiles store then begins 16 bytes
// behind the fields' first points, in halves of sectors, and the more tiles there are, the later the
// other half comes. Rows that begin so that only what tiles read is in halves took 0.111 and 0.85.
bool RunSetup::saves_tiles(int steps) const {
  constexpr std::int64_t kSector = 32;     // bytes
  constexpr std::int64_t kMostTiles = 12;  // of which one less pays for halves of sectors
  const auto up = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit; };
  const RowTiles row = row_tiles(*state_, steps);
  const std::int64_t first = fields_.front().min(0), points = fields_.front().extent(0);
  const auto& [min, extent] = box_.front();
  const std::int64_t beside = up((min - first) * steps, row.lanes) * row.lanes;
  const std::int64_t own = row.points - 2 * beside;
  if (own < 1) return false;
  const std::int64_t plain = up(extent, own),
                     fewer = up(std::max<std::int64_t>(points - 2 * beside, 1), own);
  const bool whole_sectors = std::all_of(fields_.begin(), fields_.end(), [&](const AnyBuffer& f) {
    return beside * f.type().bytes() % kSector == 0;
  });
  return fewer < plain && (whole_sectors || plain <= kMostTiles);
}

bool RunSetup::still_ends(int steps) const {
  constexpr std::int64_t kMost = 4;  // more beside the box are cheaper to leave alone
  const Ranges field = ranges_of(fields_.front());
  const bool same = std::all_of(fields_.begin(), fields_.end(),
                                [&](const auto& other) { return ranges_of(other) == field; });
  if (!may_have_still_ends(target_, field.size()) || !same || !is_box_of_all()) return false;
  const auto [first, points] = field.front();
  const auto& [min, extent] = box_.front();
  const std::int64_t before = min - first, after = points - extent - before;
  const bool few = std::min(before, after) > 0 && std::max(before, after) <= kMost;
  const bool repeats = !state_->periods.repeats.empty() && state_->periods.repeats.front();
  // What has points beyond the fields may be read further beside the stepped box than they are.
  const bool within =
      std::all_of(given_.inputs.begin(), given_.inputs.end(), [&](const RunInput& input) {
        if (input.buffer.dimensions() != static_cast<int>(field.size())) return true;
        const BufferDim& dim = input.buffer.dim(0);
        return dim.min >= first && dim.min + dim.extent <= first + points;
      });
  return few && within && !repeats && saves_tiles(steps) && pays_to_begin_at_fields(steps);
}

Ranges RunSetup::tile_box(bool still_ends) const {
  Ranges box = box_;
  if (still_ends) box.front() = ranges_of(fields_.front()).front();
  return box;
}

TileForm RunSetup::tile_form(int steps, bool moves) const {
  TileForm form{.whole = is_whole(),
                .still_ends = moves && still_ends(steps),
                .open = opens_edges(*state_, target_)};
  form.in_lines = has_lines(tile_box(form.still_ends), moves);
  form.apart = !is_box_of_all();
  return form;
}

bool RunSetup::has_lines(const Ranges& box, bool moves) const {
  const Periods& periods = state_->periods;
  if (periods.any() && periods.repeats.front()) return target_.is_gpu() && has_whole_lines();
  if (!target_.is_gpu() || is_whole() || state_->reads->asks_for_row_ends()) return false;
  for (std::size_t i = 0; i < given_.inputs.size(); ++i) {
    const AnyBuffer& buffer = given_.inputs[i].buffer;
    if (buffer.dimensions() != fields_.front().dimensions()) continue;
    // Fields of other rows come into memory of Mica's, which has whole lines.
    const bool moved =
        moves && i < fields_.size() && single_.rules[i].output >= 0 && !has_aligned_rows(buffer, box);
    if (!moved && !in_lines(buffer, box[0].first).defined()) return false;
  }
  return true;
}

void RunSetup::check_places(const Iteration::State& of) const {
  for (const Sources& sources : of.sources) {
    const std::size_t f = state_->field_number(sources.field(), at_);
    sources.check_inside(fields_[f], single_.rules[f].box);
  }
  for (const Receivers& receivers : of.receivers) {
    receivers.check_inside(fields_[state_->field_number(receivers.field(), at_)]);
  }
}

void RunSetup::check_used(const Plan* until) const {
  const Plan& plan = compiled_.step.plan();
  for (std::size_t i = fields_.size(); i < given_.inputs.size(); ++i) {
    const RunInput& input = given_.inputs[i];
    if (reads(plan, input) || (until != nullptr && reads(*until, input))) continue;
    throw UserError("the run is given input " + input.image->name + ", which no step reads",
                    input.where);
  }
  for (const RunParam& param : given_.params) {
    bool used = reads(plan, param) || (until != nullptr && reads(*until, param));
    for (const auto& limit : state_->limits) used = used || mentions(limit.condition, param);
    if (used) continue;
    throw UserError("the run is given Param " + param.param->name + ", which no step uses", param.where);
  }
}

std::shared_ptr<const Iteration::State::Tile> RunSetup::tile_of(Iteration::State& state, int steps,
                                                                bool moves) const {
  TileForm form = tile_form(steps, moves);
  const Otherwise otherwise = moves ? Otherwise::Nothing : Otherwise::OneAfterTheOther;
  auto made = state.tile_for(target_, form, otherwise);
  const bool may_close = form.open && !target_.is_gpu() && !state_->reads->at_remainders();
  if (!may_close || why_beyond(made->levels.edges, box_, given_.inputs, given_.params).empty())
    return made;
  form.open = false;
  return state.tile_for(target_, form, otherwise);
}

std::unique_ptr<StepPlan> RunSetup::tile(bool moves) const {
  const bool in_order = state_->in_place && !compiled_.in_place->home.defined();
  if (state_->in_place && !in_order && state_->sources.empty() && state_->receivers.empty()) {
    return std::make_unique<StepPlan>(in_place(2));
  }
  if (state_->tile_steps < 2) return nullptr;
  if (!repeats_whole()) return nullptr;
  Patches patches = find_patches(*state_, state_->tile_steps, fields_, box_, given_);
  std::string why = patches.why;
  if (why.empty() && moves && widens()) {
    why =
        "it reads what it computes at ever more points, as at 2*x: of each earlier step more would be "
        "computed";
  }
  if (why.empty() && moves && target_.backend == Backend::Cuda) {  // what is prepared is one run
    why = why_too_few(*state_, box_, gpu_facts(target_).multiprocessors);
  }
  if (!why.empty()) {
    note(why);
    return nullptr;
  }
  const auto made = tile_of(*state_, state_->tile_steps, moves);
  if (!made->why.empty()) {
    note(made->why);
    // What is prepared is one run. In a longer one, levels that are arrays of their own would gain
    // nothing, and cost what they are computed beyond the step's box: a step that reads a Func at 2*z
    // doubles it.
    if (moves) return nullptr;
  }
  std::unique_ptr<StepPlan> plan = tile(*made);
  if (plan != nullptr && !patches.all.empty()) {
    plan->patches = std::move(patches.all);
    plan->patch_step = state_->patch_step_for(target_, !is_box_of_all());
  }
  return plan;
}

bool RunSetup::widens() const {
  if (!state_->reads->may_widen()) return false;
  if (state_->outputs.size() > 1 &&
      !std::ranges::all_of(boxes_, [&](const Ranges& box) { return box.size() == box_.size(); })) {
    return false;  // which compiling refuses
  }
  std::vector<const ImageData*> fields;
  for (const Replacement& r : state_->replacements) fields.push_back(r.field.data().get());
  std::vector<std::pair<const ImageData*, AnyBuffer>> inputs;
  for (const RunInput& input : given_.inputs) inputs.emplace_back(input.image.get(), input.buffer);
  std::map<const ParamData*, std::int64_t> params{{step_param().data().get(), 0}};
  for (const RunParam& given : given_.params) {
    const Type type = given.param->type;
    if (!type.is_float()) params[given.param.get()] = unpack_value(given.bits, type).i;
  }
  return state_->reads->widens(box_, fields, inputs, params);
}

bool RunSetup::repeats_whole() const {
  const std::vector<bool>& repeats = state_->periods.repeats;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    const auto is_whole_in = [&](const Ranges& points) { return points[d] == box_[d]; };
    const bool whole =
        !repeats[d] || (std::all_of(boxes_.begin(), boxes_.end(), is_whole_in) &&
                        std::all_of(fields_.begin(), fields_.end(),
                                    [&](const auto& field) { return is_whole_in(ranges_of(field)); }));
    if (whole) continue;
    note("in dimension " + std::to_string(d) +
         " the fields repeat, and the step computes other points than all that each of them has");
    return false;
  }
  return true;
}

std::unique_ptr<StepPlan> RunSetup::tile(const Iteration::State::Tile& made) const {
  if (!repeats_whole()) return nullptr;
  const std::string why = why_beyond(made.levels.edges, box_, given_.inputs, given_.params);
  if (!why.empty()) {
    note(why);
    return nullptr;
  }
  auto tile = std::make_unique<StepPlan>();
  const bool still = made.form.still_ends;
  const Ranges box = tile_box(still);
  if (made.form.in_lines && made.why.empty()) tile->lines_from = box[0].first;
  tile->launches.push_back({made.executable, {}});
  tile->steps = made.steps;
  const bool in_rows = box.size() == 2;  // of three dimensions single launches are faster, docs/time.md
  if (in_rows && made.why.empty() && target_.is_gpu() && !state_->periods.any()) {
    if (const auto reach = reach_along_march(*state_, made.levels.last)) {
      tile->parts = Parts{.reach = std::max<std::int64_t>(*reach, 1), .unit = chunk_of(*state_)};
    }
  }
  tile->rules = single_.rules;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    tile->launches.front().fields.push_back(f);
    tile->rules[f] = {.output = static_cast<int>(f), .box = box, .with_still = still || made.form.apart};
    // What lies outside of a field that takes another's values is that one's, after as many steps.
    std::size_t from = f;
    for (int n = 0; n < tile->steps && state_->replacements[from].input; ++n) {
      from = state_->field_number(*state_->replacements[from].input, at_);
    }
    tile->rules[f].outside = static_cast<int>(from);
  }
  for (std::size_t o = 0; o < made.levels.margins.size(); ++o) {
    const AnyBuffer& first = fields_[state_->outputs[o].fields.front()];
    Ranges field = ranges_of(first);
    if (tile->lines_from) field = in_lines(first.type(), field, *tile->lines_from);
    if (!add_margins(made.levels.margins[o], boxes_[o], field, tile->params, at_)) {
      note("more than " + std::to_string(kWidestMargin) + " points keep their values beside the box");
      return nullptr;
    }
  }
  return tile;
}

std::int64_t steps_between(const Iteration::State& state) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& callback : state.callbacks) least = std::min(least, callback.every);
  return state.checkpoint ? std::min(least, state.checkpoint->every) : least;
}

}  // namespace mica::iterate
