#include "codegen/passes/bake_symbols.h"

#include "codegen/ir/traverse.h"
#include "codegen/passes/simplify.h"
#include "dsl/operators.h"

namespace mica::passes {
namespace {

bool exists(const Program& program, const std::string& symbol) {
  for (const auto& buffer : program.plan.buffers) {
    for (int d = 0; d < buffer.dimensions; ++d) {
      const std::string tail = "." + std::to_string(d);
      for (const char* field : {".min", ".extent", ".stride"}) {
        if (buffer.name + field + tail == symbol) return true;
      }
    }
  }
  return false;
}

// The constraint that a `bound` directive puts on an output's buffer.
void check_bounds(Program& program) {
  for (const auto& name : program.pipeline.outputs) {
    const FunctionData& func = *program.pipeline.find(name);
    const std::string array = storage_name(name, 0, func.types.size());
    for (const auto& d : func.definitions.front().directives) {
      const auto* bound = std::get_if<directive::Bound>(&d.op);
      if (!bound) continue;
      for (std::size_t i = 0; i < func.args.size(); ++i) {
        if (func.args[i] != bound->var) continue;
        PlanCheck check;
        check.holds = min_symbol(array, i) == make_const(Int(32), bound->min) &&
                      extent_symbol(array, i) == make_const(Int(32), bound->extent);
        check.values = {min_symbol(array, i), extent_symbol(array, i)};
        check.message = "bound(" + bound->var + ", " + std::to_string(bound->min) + ", " +
                        std::to_string(bound->extent) + ") of " + name +
                        ", but the output has min {0} and extent {1} there; realize the bounded box";
        check.where = d.where;
        program.plan.checks.push_back(check);
      }
    }
  }
}

}  // namespace

void bake_symbols(Program& program) {
  check_bounds(program);
  for (const auto& [symbol, value] : program.options.bake) {
    if (!exists(program, symbol)) {
      throw UserError("bake: there is no symbol " + symbol +
                      "; symbols are <array>.min.<d>, <array>.extent.<d> and <array>.stride.<d> of "
                      "inputs and outputs");
    }
    for (auto& nest : program.nests) {
      nest.body = ir::substitute(nest.body, symbol, make_const(Int(32), value));
    }
    PlanCheck check;
    check.holds = make_var(symbol) == make_const(Int(32), value);
    check.values = {make_var(symbol)};
    check.message = symbol + " is {0}, but was compiled in as " + std::to_string(value) +
                    "; compile again for this shape, or do not bake it";
    program.plan.checks.push_back(check);
  }
}

}  // namespace mica::passes
