#include "codegen/iterate/joint_step.h"

#include <algorithm>
#include <set>

#include "codegen/analysis/bounds.h"
#include "codegen/iterate/copy_funcs.h"
#include "dsl/expr/names.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::iterate {
namespace {

using Functions = std::vector<std::shared_ptr<FunctionData>>;

/// Those of `outputs` that others of them read, through Funcs between them, too.
std::set<const FunctionData*> read_by_others(const Functions& outputs) {
  std::set<const FunctionData*> read;
  for (const auto& func : collect_graph(outputs).funcs) {
    for (const Definition& definition : func->definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        if (access.function != nullptr && !access.is_self) read.insert(access.function.get());
      });
    }
  }
  return read;
}

}  // namespace

JointStep joint_step(const Iteration::State& state, ReadFuncs read) {
  JointStep joint;
  Functions outputs;
  std::string name;
  for (std::size_t o = 0; o < state.outputs.size(); ++o) {
    const Iteration::State::Output& output = state.outputs[o];
    outputs.push_back(output.func.function());
    joint.fields.insert(joint.fields.end(), output.fields.begin(), output.fields.end());
    joint.outputs.resize(joint.fields.size(), o);
    name += (o == 0 ? "" : ".") + output.func.name();
  }
  const Func& first = state.outputs.front().func;
  if (outputs.size() == 1) {
    joint.func = first;
    return joint;
  }
  for (const Iteration::State::Output& output : state.outputs) {
    if (output.func.dimensions() == first.dimensions()) continue;
    joint.why = first.name() + " has " +
                counted(static_cast<std::size_t>(first.dimensions()), "dimension") + ", " +
                output.func.name() + " " + std::to_string(output.func.dimensions());
    return joint;
  }
  const std::set<const FunctionData*> wanted = read_by_others(outputs);
  FuncCopier copier([](const Expr&) { return std::nullopt; },
                    [&](const std::shared_ptr<FunctionData>& copy, const FunctionData& original) {
                      copy->wrappers.clear();
                      const auto same = [&](const auto& output) { return output.get() == &original; };
                      if (std::none_of(outputs.begin(), outputs.end(), same)) return;
                      clear_directives(*copy);
                      if (read == ReadFuncs::Kept && wanted.count(&original) > 0)
                        Func(copy).compute_root();
                    });
  for (const auto& output : outputs) copier.require(output.get());
  std::vector<Expr> args, values;
  for (const Var& var : first.args()) args.emplace_back(var);
  for (const auto& output : outputs) {
    const Func copy(
        std::const_pointer_cast<FunctionData>(copier(std::shared_ptr<const FunctionData>(output))));
    const int elements = static_cast<int>(output->types.size());
    for (int e = 0; e < elements; ++e) {
      values.push_back(elements == 1 ? Expr(copy(args)) : Expr(copy(args)[e]));
    }
  }
  joint.func = Func(name);
  joint.func(args) = Tuple(values);
  return joint;
}

}  // namespace mica::iterate
