#include "runtime/run/prepared_run.h"

#include <algorithm>

#include "dsl/expr/names.h"
#include "runtime/run/prepared_run_state.h"

namespace mica {
namespace {

void require_made(bool made, const SourceLocation& where = {}) {
  if (made) return;
  throw UserError("a PreparedRun that was never made is used: assign it from Executable::prepare",
                  where);
}

}  // namespace

void PreparedRun::State::make_ready() {
  if (bound.nothing_to_do) return;
  if (shaped != nullptr) {
    if (!is_checked) check_scalars(*shaped, bound);
    is_checked = true;
    return;
  }
  shaped = shape(bound);
  is_checked = true;
  launcher.emplace(*shaped, bound, target, device, options.stream);
  launcher->make_ready();
}

void PreparedRun::run(CallSite at) {
  if (!defined()) require_made(false, at);
  in_a_run([&] {
    state_->make_ready();
    if (!state_->launcher) return;
    LineSink lines(state_->options.print);
    state_->launcher->launch(lines);
    lines.finish();
  });
}

void PreparedRun::set(const RunParam& value) {
  require_made(defined(), value.where);
  State& s = *state_;
  const PreparedPlan& plan = *s.plan;
  const auto& scalars = plan.plan().scalars;
  const auto found = std::find_if(scalars.begin(), scalars.end(), [&](const Plan::Scalar& scalar) {
    return scalar.param == value.param;
  });
  if (found == scalars.end()) {
    std::vector<std::string> names;
    for (const Plan::Scalar& scalar : scalars) names.push_back(scalar.param->name);
    throw UserError("Param " + value.param->name + " is none that the pipeline uses" +
                        did_you_mean(value.param->name, names) + ": they are " + joined(names),
                    value.where);
  }
  const auto number = found - scalars.begin();
  std::uint64_t& bits = s.bound.scalars[static_cast<std::size_t>(number)];
  const auto& shaping = plan.shape_scalars;
  const bool shapes = std::binary_search(shaping.begin(), shaping.end(), static_cast<int>(number));
  if (shapes && bits != value.bits) {
    s.launcher.reset();
    s.shaped = nullptr;
  }
  if (bits != value.bits) s.is_checked = false;
  bits = value.bits;
}

bool PreparedRun::uses(const ParamData& param) const {
  require_made(defined());
  const auto& scalars = state_->plan->plan().scalars;
  return std::any_of(scalars.begin(), scalars.end(),
                     [&](const Plan::Scalar& scalar) { return scalar.param.get() == &param; });
}

std::string PreparedRun::why_no_graph(const std::vector<const ParamData*>& changing) const {
  require_made(defined());
  const State& s = *state_;
  for (const int scalar : s.plan->shape_scalars) {
    const auto& param = s.plan->plan().scalars[static_cast<std::size_t>(scalar)].param;
    if (std::count(changing.begin(), changing.end(), param.get()) == 0) continue;
    return "sizes or bounds depend on " + param->name + ", which changes";
  }
  return s.launcher ? s.launcher->why_no_graph() : "";
}

std::size_t PreparedRun::launches() const {
  require_made(defined());
  return state_->shaped == nullptr ? 0 : state_->shaped->launches.size();
}

void PreparedRun::add_to(LaunchGraph& graph) {
  add_to(graph,
         graph.size() > 0 ? std::vector<std::size_t>{graph.size() - 1} : std::vector<std::size_t>());
}

void PreparedRun::add_to(LaunchGraph& graph, const std::vector<std::size_t>& after) {
  require_made(defined());
  State& s = *state_;
  if (!s.bound.in_graph) {
    s.bound.in_graph = true;
    s.launcher.reset();
    s.shaped = nullptr;
  }
  s.make_ready();
  if (s.launcher) s.launcher->add_to(graph, after);
}

void PreparedRun::change_in(LaunchGraph& graph, std::size_t first) {
  require_made(defined());
  if (state_->launcher) state_->make_ready();
  if (state_->launcher && state_->launcher->has_changing_arguments()) {
    state_->launcher->change_in(graph, first);
  }
}

bool PreparedRun::use_in_graph() {
  require_made(defined());
  return !state_->launcher || state_->launcher->use_in_graph();
}

}  // namespace mica
