#include "codegen/iterate/step_runs.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/run/device.h"

namespace mica::iterate {
namespace {

// Moves of a graph: enough for its own price to be small beside theirs.
constexpr std::int64_t kMostMoves = 128, kFewestMoves = 4;
// Moves of a run that a graph is made for.
constexpr std::int64_t kLeastInAll = 16;

RunParam number_of_step(std::int64_t number, const CallSite& at) {
  return {step_param(), static_cast<std::int32_t>(number), at};
}

std::vector<AnyBuffer> fields_of(const Iteration::State& state, const RunOptions& options) {
  std::vector<AnyBuffer> fields;
  for (std::size_t f = 0; f < state.replacements.size(); ++f) fields.push_back(options.inputs[f].buffer);
  return fields;
}

}  // namespace

void give_lines(const StepPlan& plan, std::vector<RunInput>& inputs) {
  for (RunInput& input : inputs) {
    const bool in_rows = input.buffer.dimensions() == inputs.front().buffer.dimensions();
    if (plan.lines_from && in_rows) input.buffer = in_lines(input.buffer, *plan.lines_from);
  }
}

std::vector<Ranges> Parts::of(const Ranges& box) const {
  const auto up = [](std::int64_t n, std::int64_t to) { return (n + to - 1) / to; };
  std::int64_t across = 1;
  for (std::size_t d = 0; d + 1 < box.size(); ++d) across *= box[d].second;
  const auto [first, length] = box.back();
  const std::int64_t least =
      std::max({up(length, kMost), up(points, std::max<std::int64_t>(across, 1)), reach});
  const std::int64_t each = up(least, unit) * unit;
  std::vector<Ranges> parts;
  for (std::int64_t begin = 0; begin < length; begin += each) {
    // What is left at the end is a part's own if its neighbours are all that read it.
    const bool is_last = length - begin - each < reach;
    parts.push_back(box);
    parts.back().back() = {first + begin, is_last ? length - begin : each};
    if (is_last) break;
  }
  return parts;
}

StepRuns::StepRuns(const Iteration::State& state, const Iteration::State::Compiled& compiled,
                   RunOptions options, StepPlan single, std::unique_ptr<StepPlan> tile,
                   std::int64_t stretch, const CallSite& at)
    : state_(state),
      compiled_(compiled),
      options_(std::move(options)),
      stretch_(stretch),
      at_(at),
      buffers_(fields_of(state, options_), tile == nullptr ? single.rules : tile->rules,
               *compiled.copier) {
  single_.plan = std::move(single);
  if (tile == nullptr) return;
  tile_ = std::make_unique<Way>();
  tile_->plan = std::move(*tile);
  const StepPlan& plan = tile_->plan;
  if (plan.patches.empty()) return;
  patches_ = std::make_unique<PatchRuns>(state_, compiled_, plan.patch_step, plan.patches,
                                         single_.plan.rules, buffers_);
}

RunOptions StepRuns::options_now() const {
  RunOptions now = options_;
  for (std::size_t f = 0; f < state_.replacements.size(); ++f) {
    now.inputs[f].buffer = buffers_.current(f);
  }
  return now;
}

std::int64_t StepRuns::advance(std::int64_t done, std::int64_t most, std::int64_t left) {
  Way& way = tile_ != nullptr && most >= tile_->plan.steps ? *tile_ : single_;
  if (const std::int64_t steps = launch_graph(way, done, most); steps > 0) return steps;
  Move& move = move_on(way);
  launch(move, done);
  buffers_.advance();
  if (!way.tried_graph) make_graph(way, left - way.plan.steps);
  return way.plan.steps;
}

// The next move of `way`, and the fields' memory made ready for it.
StepRuns::Move& StepRuns::move_on(Way& way) {
  const bool copied = buffers_.prepare(way.plan.rules);
  std::unique_ptr<Move>& move = way.moves[{buffers_.places(), buffers_.next_places()}];
  if (move == nullptr) move = make_move(way);
  if (copied) way.last.clear();
  if (!way.tried_graph) way.last.push_back(move.get());
  if (tile_ != nullptr) (&way == &single_ ? *tile_ : single_).last.clear();
  return *move;
}

std::unique_ptr<StepRuns::Move> StepRuns::make_move(const Way& way) const {
  auto move = std::make_unique<Move>();
  RunOptions options = options_now();
  options.params.insert(options.params.end(), way.plan.params.begin(), way.plan.params.end());
  options.params.push_back(number_of_step(0, at_));
  std::vector<LaterRun> after;
  if (&way == tile_.get() && patches_ != nullptr) {
    std::vector<AnyBuffer> next;
    for (std::size_t f = 0; f < state_.replacements.size(); ++f) next.push_back(buffers_.next(f));
    move->runs = patches_->levels(options, at_);
    after = patches_->last(options, next, at_);
  }
  give_lines(way.plan, options.inputs);
  for (const StepPlan::Launch& launch : way.plan.launches) {
    std::vector<AnyBuffer> outputs;
    for (const std::size_t f : launch.fields) outputs.push_back(buffers_.output(f));
    std::vector<AnyBuffer*> pointers;
    for (AnyBuffer& output : outputs) pointers.push_back(&output);
    Executable run = launch.run;
    move->runs.push_back({run.prepare(pointers, used_by(run, options), at_)});
    if (way.plan.parts) move->outputs = std::move(outputs);
  }
  if (way.plan.parts) move->options = options;
  move->runs.insert(move->runs.end(), after.begin(), after.end());
  add_places(*move, way.plan.steps - 1);
  for (std::size_t i = 0; i < move->runs.size(); ++i) {
    if (move->runs[i].run.uses(*step_param().data())) move->timed.push_back(i);
  }
  return move;
}

void StepRuns::add_places(Move& move, int later) const {
  const auto after = [&](const ImageParam& field) {
    return buffers_.next(state_.field_number(field, at_));
  };
  for (std::size_t i = 0; i < compiled_.sources.size(); ++i) {
    const Sources& sources = state_.sources[i];
    move.runs.push_back({sources.prepare(compiled_.sources[i], after(sources.field())), later});
  }
  for (std::size_t i = 0; i < compiled_.receivers.size(); ++i) {
    const Receivers& receivers = state_.receivers[i];
    move.runs.push_back({receivers.prepare(compiled_.receivers[i], after(receivers.field())), later});
  }
}

std::unique_ptr<StepRuns::Move> StepRuns::in_parts(const Way& way, const Move& move) const {
  if (!way.plan.parts || move.runs.size() != 1 || move.runs.front().run.launches() != 1) return nullptr;
  const std::vector<Ranges> parts = way.plan.parts->of(ranges_of(move.outputs.front()));
  if (parts.size() < 3) return nullptr;  // of two either waits for both
  auto cut = std::make_unique<Move>();
  for (const Ranges& part : parts) {
    std::vector<AnyBuffer> outputs;
    for (const AnyBuffer& output : move.outputs) outputs.push_back(output.cropped(part));
    std::vector<AnyBuffer*> pointers;
    for (AnyBuffer& output : outputs) pointers.push_back(&output);
    Executable run = way.plan.launches.front().run;
    cut->runs.push_back({run.prepare(pointers, used_by(run, move.options), at_)});
    if (cut->runs.back().run.launches() != 1) return nullptr;
    if (!move.timed.empty()) cut->timed.push_back(cut->runs.size() - 1);
  }
  return cut;
}

void StepRuns::set_number(LaterRun& one, std::int64_t first) const {
  one.run.set(number_of_step(first + one.later, at_));
}

void StepRuns::launch(Move& move, std::int64_t number) {
  for (const std::size_t i : move.timed) set_number(move.runs[i], number);
  for (LaterRun& one : move.runs) one.run.run(at_);
}

// ---- graphs ----------------------------------------------------------------------------------------

std::int64_t StepRuns::launch_graph(Way& way, std::int64_t done, std::int64_t most) {
  Graph& graph = way.graph;
  const auto moves = static_cast<std::int64_t>(graph.moves.size());
  const std::int64_t steps = moves * way.plan.steps;
  if (moves == 0 || steps > most || graph.begin != buffers_.places()) return 0;
  bool whole = true;
  for (std::size_t m = 0; m < graph.period; ++m) {
    for (LaterRun& one : graph.moves[m]->runs) whole = one.run.use_in_graph() && whole;
  }
  if (!whole) (void)fill(graph);
  std::size_t number = 0;
  for (std::size_t m = 0; m < graph.moves.size(); ++m) {
    Move& move = *graph.moves[m];
    const std::int64_t step = done + static_cast<std::int64_t>(m) * way.plan.steps;
    auto timed = move.timed.begin();
    for (std::size_t i = 0; i < move.runs.size(); ++i) {
      LaterRun& one = move.runs[i];
      if (timed != move.timed.end() && *timed == i) {
        set_number(one, step);
        one.run.change_in(*graph.launches, number);
        ++timed;
      }
      number += one.run.launches();
    }
  }
  graph.launches->launch({});
  return steps;
}

// Makes a graph of what comes round, if that is worth its price in the `left` steps before the run's
// end.
void StepRuns::make_graph(Way& way, std::int64_t left) {
  const auto earlier = std::find(way.last.rbegin() + 1, way.last.rend(), way.last.back());
  if (earlier == way.last.rend()) return;
  const std::vector<Move*> round(earlier.base(), way.last.end());  // the next move is its first
  way.tried_graph = true;
  const auto period = static_cast<std::int64_t>(round.size());
  const std::int64_t in_all = left / way.plan.steps;
  const std::int64_t at_once = std::min(left, stretch_) / way.plan.steps;
  if (in_all < kLeastInAll || at_once < kFewestMoves) return;
  const std::int64_t least = in_all < 2 * at_once ? 2 : 1;  // a graph that is launched once is dear
  const std::int64_t parts = std::max(least, (at_once + kMostMoves - 1) / kMostMoves);
  const std::int64_t moves = at_once / parts / period * period;
  if (moves < kFewestMoves) return;

  if (compiled_.target.backend != Backend::Cuda) return;
  for (const Move* move : round) {
    for (const LaterRun& one : move->runs) {
      if (const std::string why = one.run.why_no_graph({step_param().data().get()}); !why.empty()) {
        return note(way, why);
      }
    }
  }
  Graph graph;
  std::vector<Move*> launched = round;
  for (Move*& move : launched) {
    std::unique_ptr<Move> cut = in_parts(way, *move);
    if (cut == nullptr) break;
    move = cut.get();
    graph.cut.push_back(std::move(cut));
  }
  if (graph.cut.size() < round.size()) {
    graph.cut.clear();
    launched = round;
  }
  for (std::int64_t m = 0; m < moves; ++m) {
    graph.moves.push_back(launched[static_cast<std::size_t>(m % period)]);
  }
  graph.period = round.size();
  graph.begin = buffers_.places();
  if (!fill(graph)) {
    return note(way, "the driver makes no graphs of launches; one for CUDA 12.0 or newer does");
  }
  way.graph = std::move(graph);
}

bool StepRuns::fill(Graph& graph) const {
  graph.launches = device_for(compiled_.target)->make_graph();
  if (graph.launches == nullptr) return false;
  std::vector<std::size_t> before;
  for (Move* move : graph.moves) {
    if (graph.cut.empty()) {
      for (LaterRun& one : move->runs) one.run.add_to(*graph.launches);
    } else {
      add_parts(*move, *graph.launches, before);
    }
  }
  return true;
}

void StepRuns::add_parts(Move& move, LaunchGraph& launches, std::vector<std::size_t>& before) {
  std::vector<std::size_t> now;
  for (std::size_t r = 0; r < move.runs.size(); ++r) {
    std::vector<std::size_t> after;
    for (std::size_t other = r > 0 ? r - 1 : 0; other < std::min(r + 2, before.size()); ++other) {
      after.push_back(before[other]);
    }
    move.runs[r].run.add_to(launches, after);
    now.push_back(launches.size() - 1);
  }
  before = std::move(now);
}

void StepRuns::note(const Way& way, const std::string& why) const {
  std::fprintf(stderr, "note: %s: %s costs the host a few microseconds: %s\n",
               to_string(SourceLocation(at_)).c_str(),
               way.plan.steps > 1 ? "each move of several steps" : "each step", why.c_str());
}

}  // namespace mica::iterate
