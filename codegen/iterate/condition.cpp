// Conditions of runs, and which of a run's arguments a pipeline uses.
#include <algorithm>

#include "codegen/compile.h"
#include "codegen/iterate/copy_funcs.h"
#include "codegen/iterate/iteration_state.h"
#include "dsl/expr/print.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace iterate {

RunOptions used_by(const Executable& executable, const RunOptions& options) {
  const Plan& plan = executable.plan();
  RunOptions used;
  used.stream = options.stream;
  for (const RunInput& input : options.inputs) {
    for (const PlanBuffer& buffer : plan.buffers) {
      if (buffer.image == input.image) used.inputs.push_back(input);
    }
  }
  for (const RunParam& param : options.params) {
    for (const Plan::Scalar& scalar : plan.scalars) {
      if (scalar.param == param.param) used.params.push_back(param);
    }
  }
  return used;
}

Condition::Condition(Executable judge)
    : run_(std::move(judge)), holds_(Int(32), {1}), value_(Float(64), {1}) {}

Judgement Condition::evaluate(const RunOptions& options) {
  run_.run({&holds_, &value_}, used_by(run_, options));
  const Buffer<std::int32_t> holds(holds_);
  const Buffer<double> value(value_);
  return {holds(0) != 0, value(0)};
}

}  // namespace iterate

Executable Iteration::State::condition_for(const Expr& given, const Target& target, const CallSite& at) {
  std::vector<Func> steps;
  for (const Output& output : outputs) steps.push_back(output.func);
  const Expr condition = given.defined() ? iterate::without_directives(given, steps) : Expr();
  const auto* compare = condition.defined() ? condition.as<Compare>() : nullptr;
  if (compare == nullptr) {
    throw UserError("a condition is a comparison of two numbers, such as norm() < 1e-6F" +
                        (condition.defined() ? ", but this is " + brief(condition) : std::string()),
                    at);
  }
  walk(condition, [&](const Expr& e) {
    if (const auto* var = e.as<VarRef>()) {
      throw UserError("the condition " + brief(condition) + " depends on the Var " + var->name +
                          ", but it is one number a step: reduce over an RDom, as in sum(r, u(r.x))",
                      at);
    }
  });
  Func judge("condition");
  judge() = Tuple(select(condition, 1, 0), cast(Float(64), compare->a));
  const Schedule schedule = judge.schedule();

  const std::lock_guard lock(compiling);
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const auto& one) {
    return one.target == target && equal(one.condition, given) && one.schedule == schedule;
  });
  if (found != conditions.end()) return found->judge;
  constexpr std::size_t kMost = 16;
  if (conditions.size() == kMost) conditions.erase(conditions.begin());
  conditions.push_back({given, target, schedule, compile(judge, target)});
  return conditions.back().judge;
}

}  // namespace mica
