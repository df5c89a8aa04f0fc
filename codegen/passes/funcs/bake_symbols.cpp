#include "codegen/passes/funcs/bake_symbols.h"

#include <map>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"

namespace mica::passes {
namespace {

// What an array's symbol is and may be.
struct Field {
  const char* name;  // "<array>.<name>.<dimension>"
  const char* text;
  std::int64_t least, most;
};
constexpr Field kFields[] = {{"min", "a min", -kLargestMin, kLargestMin},
                             {"extent", "an extent", 0, kLargestExtent},
                             {"stride", "a stride", INT32_MIN, INT32_MAX}};

// The fields of inputs and outputs by their symbols.
using Fields = std::map<std::string, const Field*>;

Fields fields_of(const Pipeline& pipeline) {
  Fields fields;
  const auto add = [&](const std::string& array, int dimensions) {
    for (int d = 0; d < dimensions; ++d) {
      for (const Field& field : kFields) {
        fields.emplace(array + "." + field.name + "." + std::to_string(d), &field);
      }
    }
  };
  for (const auto& input : pipeline.inputs) add(input.name, input.image->dimensions);
  for (const auto& name : pipeline.outputs) {
    const FunctionData& func = *pipeline.find(name);
    for (std::size_t i = 0; i < func.types.size(); ++i) {
      add(storage_name(name, static_cast<int>(i), func.types.size()), func.dimensions());
    }
  }
  return fields;
}

// The constraint that a `bound` directive puts on an output's buffer.
void check_bounds(Program& program) {
  for (const auto& name : program.pipeline.outputs) {
    const FunctionData& func = *program.pipeline.find(name);
    const std::string array = storage_name(name, 0, func.types.size());
    for (const FuncSchedule::Bound& bound : schedule_of(program, func).bounds) {
      for (std::size_t i = 0; i < func.args.size(); ++i) {
        if (func.args[i] != bound.var) continue;
        PlanCheck check;
        check.holds = min_symbol(array, i) == make_const(Int(32), bound.min) &&
                      extent_symbol(array, i) == make_const(Int(32), bound.extent);
        check.values = {min_symbol(array, i), extent_symbol(array, i)};
        check.message = "bound(" + bound.var + ", " + std::to_string(bound.min) + ", " +
                        std::to_string(bound.extent) + ") of " + name +
                        ", but the output has min {0} and extent {1} there; realize the bounded box";
        check.where = bound.where;
        program.plan.checks.push_back(check);
      }
    }
  }
}

}  // namespace

void check_baked(const Pipeline& pipeline, const std::map<std::string, std::int64_t>& bake) {
  const Fields fields = bake.empty() ? Fields() : fields_of(pipeline);
  for (const auto& [symbol, value] : bake) {
    const auto found = fields.find(symbol);
    const Field* field = found == fields.end() ? nullptr : found->second;
    if (field == nullptr) {
      std::vector<std::string> symbols;
      for (const auto& [known, ignored] : fields) symbols.push_back(known);
      throw UserError("bake: there is no symbol " + symbol + did_you_mean(symbol, symbols) +
                      "; symbols are <array>.min.<d>, <array>.extent.<d> and <array>.stride.<d> of "
                      "inputs and outputs");
    }
    if (value >= field->least && value <= field->most) continue;
    throw UserError("bake: " + symbol + " is " + std::to_string(value) + "; " + field->text +
                    " must be from " + std::to_string(field->least) + " to " +
                    std::to_string(field->most));
  }
}

void bake_symbols(Program& program) {
  check_bounds(program);
  const auto& baked = program.options.bake;
  NodeRewriter constants([&](const Expr& e) {  // one for all, so that what is shared stays so
    const auto* var = e.as<VarRef>();
    const auto found = var ? baked.find(var->name) : baked.end();
    return found == baked.end() ? Expr() : make_const(e.type(), found->second);
  });
  for (auto& nest : program.nests) {
    if (!baked.empty())
      nest.body = ir::map_exprs(nest.body, [&](const Expr& e) { return constants(e); });
  }
  for (const auto& [symbol, value] : baked) {
    PlanCheck check;
    check.holds = make_var(symbol) == make_const(Int(32), value);
    check.values = {make_var(symbol)};
    check.message = symbol + " is {0}, but was compiled in as " + std::to_string(value) +
                    "; compile again for this shape, or do not bake it";
    program.plan.checks.push_back(check);
  }
}

}  // namespace mica::passes
