#include "codegen/passes/loops/name_values.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/node_map.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

constexpr std::size_t kMostOperations = 256;  // of an expression of the plan, in about

class Namer {
 public:
  explicit Namer(std::vector<PlanValue>& values) : values_(values) {}

  void operator()(Expr& e) {
    if (e.defined()) e = part(e).small;
  }
  void operator()(std::vector<Expr>& all) {
    for (Expr& e : all) (*this)(e);
  }

 private:
  struct Part {
    Expr of;                     // keeps the node alive
    Expr small;                  // the same with names for what is large
    std::size_t operations = 1;  // in `small`, at most
  };

  const Part& part(const Expr& e) {
    if (const auto found = parts_.find(e.ptr().get()); found != parts_.end()) return found->second;
    Part made{e, e};
    if (!e.as<Let>()) {  // a let's variable has no value outside
      made.small = map_children(e, [&](const Expr& child) {
        if (!is_coordinate(e, child)) return child;
        const Part& below = part(child);
        made.operations += below.operations;
        return below.small;
      });
    }
    if (made.operations > kMostOperations && e.type().is_index()) {
      const std::string name = "launch.value." + std::to_string(count_++);
      values_.push_back({name, made.small});
      made.small = make_var(name, e.type());
      made.operations = 1;
    }
    return parts_.emplace(e.ptr().get(), std::move(made)).first->second;
  }

  // Values do not wrap, as these parts of an expression do (HostProgram).
  static bool is_coordinate(const Expr& e, const Expr& child) {
    if (const auto* op = e.as<Binary>()) return op->op != BinaryOp::Mod || !child.same_as(op->a);
    return !e.as<Cast>() || e.type().is_index();
  }

  std::vector<PlanValue>& values_;
  std::size_t count_ = 0;
  NodeMap<Part> parts_;
};

}  // namespace

void name_values(Program& program) {
  Plan& plan = program.plan;
  std::vector<PlanValue> values;
  Namer name(values);
  for (PlanValue& value : plan.values) {
    name(value.value);
    values.push_back(std::move(value));
  }
  for (PlanTemporary& temporary : plan.temporaries) {
    name(temporary.mins);
    name(temporary.extents);
  }
  for (PlanCheck& check : plan.checks) {
    name(check.holds);
    name(check.values);
  }
  for (PlanAlignment& alignment : plan.alignments) name(alignment.at);
  for (PlanLaunch& launch : plan.launches) {
    for (KernelArgument& argument : launch.arguments) {
      name(argument.at);
    }
    name(launch.grid);
    name(launch.when);
  }
  plan.values = std::move(values);
}

}  // namespace mica::passes
