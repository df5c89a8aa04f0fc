// Conditions of runs, and which of a run's arguments a pipeline uses.
#include <algorithm>
#include <cstdio>

#include "codegen/compile.h"
#include "codegen/iterate/copy_funcs.h"
#include "codegen/iterate/iteration_state.h"
#include "dsl/expr/print.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::iterate {

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

Condition::Condition(const Expr& condition_arg, const std::vector<Func>& steps, const Target& target,
                     const CallSite& at) {
  const Expr condition = condition_arg.defined() ? without_directives(condition_arg, steps) : Expr();
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
  run_ = compile(judge, target);
}

Judgement Condition::evaluate(const RunOptions& options) const {
  Buffer<std::int32_t> holds(1);
  Buffer<double> value(1);
  Executable run = run_;
  run.run({&holds, &value}, used_by(run, options));
  return {holds(0) != 0, value(0)};
}

std::uint64_t mark_of(const std::vector<std::shared_ptr<FunctionData>>& functions) {
  std::uint64_t mark = 0;
  const auto add = [&](std::uint64_t bits) {
    mark = (mark ^ bits) * 0x100000001b3U;  // as FNV-1a mixes bytes (Fowler, Noll, Vo)
    mark ^= mark >> 29;
  };
  for (const auto& func : collect_graph(functions).funcs) {
    for (const Definition& definition : func->definitions) {
      for (const Expr& e : definition.args) add(e->hash);
      for (const Expr& e : definition.values) add(e->hash);
    }
  }
  return mark;
}

void warn_of_limits(Iteration::State& s, const std::vector<RunParam>& params) {
  for (const auto& limit : s.limits) {
    const Judgement now =
        s.condition_for(limit.condition, Target::host(), limit.where)->evaluate({.params = params});
    if (now.holds) continue;
    std::fprintf(stderr,
                 "warning: %s: the limit of stability %s does not hold: its left side is %g; the steps "
                 "may grow without bounds\n",
                 to_string(SourceLocation(limit.where)).c_str(), brief(limit.condition).c_str(),
                 now.value);
  }
}

}  // namespace mica::iterate

namespace mica {

namespace {
constexpr std::size_t kKeptConditions = 16;
}

std::shared_ptr<const iterate::Condition> Iteration::State::condition_for(const Expr& condition,
                                                                          const Target& target,
                                                                          const CallSite& at) {
  std::vector<std::shared_ptr<FunctionData>> read;
  if (condition.defined()) {
    walk(condition, [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access == nullptr || access->function == nullptr) return;
      const auto func = std::const_pointer_cast<FunctionData>(access->function);
      if (std::count(read.begin(), read.end(), func) == 0) read.push_back(func);
    });
  }
  const std::uint64_t now = read.empty() ? 0 : iterate::mark_of(read);
  const std::lock_guard lock(compiling);
  for (const CompiledCondition& known : conditions) {
    if (known.mark == now && known.compiled->target() == target && equal(known.condition, condition)) {
      return known.compiled;
    }
  }
  auto made = std::make_shared<const iterate::Condition>(condition, funcs(), target, at);
  if (conditions.size() == kKeptConditions) conditions.erase(conditions.begin());
  conditions.push_back({condition, now, made});
  return made;
}

}  // namespace mica
