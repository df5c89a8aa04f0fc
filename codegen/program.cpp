#include "codegen/program.h"

#include <algorithm>
#include <set>

#include "dsl/expr/node_visit.h"

namespace mica {

std::string storage_name(const std::string& func, int value, std::size_t count) {
  return count == 1 ? func : func + "." + std::to_string(value);
}
const planning::KernelPlan* plan_of(const Program& program, const Nest& nest) {
  return planning::find_kernel(program.kernels, nest.func, nest.definition);
}
const FuncSchedule& schedule_of(const Program& program, const FunctionData& func) {
  const auto found = program.schedule.find(func.name);
  internal_check(found != program.schedule.end(), "the schedule of a Func that is computed was read");
  return found->second;
}
int storage_alignment(const Program& program, const FunctionData& func, std::size_t d, int otherwise) {
  const auto& alignment = schedule_of(program, func).alignment;
  const auto found = alignment.find(func.args[d]);
  return found == alignment.end() ? otherwise : found->second;
}
ArrayKind kind_of(const Plan& plan, const std::string& array) {
  for (const auto& b : plan.buffers) {
    if (b.name == array) return {b.type, static_cast<std::size_t>(b.dimensions)};
  }
  for (const auto& t : plan.temporaries) {
    if (t.name == array) return {t.type, t.extents.size()};
  }
  throw InternalError("the plan has no array " + array);
}
int unit_of_baked_strides(const LowerOptions& options, const std::string& array, std::size_t rank,
                          int unit) {
  for (std::size_t d = 1; d < rank; ++d) {
    const auto baked = options.bake.find(stride_symbol(array, d).as<VarRef>()->name);
    while (baked != options.bake.end() && unit > 1 && baked->second % unit != 0) unit /= 2;
  }
  return unit;
}
bool has_odd_rows(const Program& program) {
  const Pipeline& pipeline = program.pipeline;
  if (program.options.bake.empty()) return false;
  const auto is_odd = [&](const std::string& array, std::size_t rank) {
    return unit_of_baked_strides(program.options, array, rank, 2) == 1;
  };
  std::set<std::size_t> ranks;
  bool odd = false;
  for (const std::string& name : pipeline.outputs) {
    const FunctionData& func = *pipeline.find(name);
    ranks.insert(func.args.size());
    odd = odd || is_odd(storage_name(name, 0, func.types.size()), func.args.size());
  }
  return odd || std::ranges::any_of(pipeline.inputs, [&](const auto& input) {
           const auto rank = static_cast<std::size_t>(input.image->dimensions);
           return ranks.count(rank) > 0 && is_odd(input.name, rank);
         });
}
bool is_launch_value(const Plan& plan, const Expr& e) {
  std::set<std::string> known;
  const auto add = [&](const std::string& array, std::size_t rank) {
    for (std::size_t d = 0; d < rank; ++d) {
      for (const Expr& symbol :
           {min_symbol(array, d), extent_symbol(array, d), stride_symbol(array, d)}) {
        known.insert(symbol.as<VarRef>()->name);
      }
    }
  };
  for (const auto& b : plan.buffers) add(b.name, static_cast<std::size_t>(b.dimensions));
  for (const auto& t : plan.temporaries) add(t.name, t.extents.size());
  for (const auto& value : plan.values) known.insert(value.name);
  for (const auto& scalar : plan.scalars) known.insert(scalar.name);
  bool result = true;
  visit_nodes({e}, [&](const Expr& node) {
    const auto* var = node.as<VarRef>();
    if ((var && known.count(var->name) == 0) || node.as<Load>() || node.as<Access>()) result = false;
  });
  return result;
}
std::map<std::string, std::int64_t> with_array_names(const std::map<std::string, std::int64_t>& symbols,
                                                     const Pipeline& pipeline) {
  if (symbols.empty()) return symbols;
  std::map<std::string, std::string> arrays;  // what the user calls them -> names
  for (const auto& input : pipeline.inputs) arrays.emplace(pipeline.texts.at(input.name), input.name);
  for (const auto& name : pipeline.outputs) {
    const std::size_t count = pipeline.find(name)->types.size();
    for (std::size_t i = 0; i < count; ++i) {
      const int value = static_cast<int>(i);
      arrays.emplace(storage_name(pipeline.texts.at(name), value, count),
                     storage_name(name, value, count));
    }
  }
  std::map<std::string, std::int64_t> result;
  for (const auto& [symbol, value] : symbols) {
    // "<array>.extent.0"
    std::size_t end = symbol.rfind('.');
    if (end != std::string::npos && end > 0) end = symbol.rfind('.', end - 1);
    const auto array = end == std::string::npos ? arrays.end() : arrays.find(symbol.substr(0, end));
    result.emplace(array == arrays.end() ? symbol : array->second + symbol.substr(end), value);
  }
  return result;
}

Expr min_symbol(const std::string& buffer, std::size_t d) {
  return make_symbol(buffer, BufferField::Min, d);
}
Expr extent_symbol(const std::string& buffer, std::size_t d) {
  return make_symbol(buffer, BufferField::Extent, d);
}
Expr stride_symbol(const std::string& buffer, std::size_t d) {
  return make_symbol(buffer, BufferField::Stride, d);
}

}  // namespace mica
