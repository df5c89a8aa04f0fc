#include "codegen/analysis/traffic/usual_symbols.h"

#include "codegen/analysis/bounds.h"
#include "codegen/lower.h"
#include "dsl/expr/float_mode.h"
#include "dsl/expr/names.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"

namespace mica {
namespace analysis {

std::optional<std::int64_t> value_of(const Expr& e, const Symbols& symbols) {
  if (!e.defined()) return std::nullopt;
  const Reading reading = FormReader(symbols).read(e, {});
  return reading.form ? std::optional(reading.form->base) : std::nullopt;
}

namespace {

/// What a Param of integers holds; nothing for others.
std::optional<std::int64_t> value_of(const ParamData& param) {
  if (!param.type.is_int() && !param.type.is_uint()) return std::nullopt;
  const std::uint64_t bits = param.bits.load();
  const int unused = 64 - param.type.bits;
  if (param.type.is_uint()) return static_cast<std::int64_t>(bits << unused >> unused);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

}  // namespace

Symbols output_symbols(const Pipeline& pipeline, const std::vector<std::int64_t>& extents,
                       const std::map<std::string, std::int64_t>& symbols) {
  Symbols all = with_array_names(symbols, pipeline);
  for (const std::string& output : pipeline.outputs) {
    const FunctionData& func = *pipeline.find(output);
    if (func.args.size() != extents.size()) {
      throw UserError(func.name + " has " + counted(func.args.size(), "dimension") + ", and " +
                          std::to_string(extents.size()) + " extents were given",
                      func.where);
    }
    for (std::size_t i = 0; i < func.types.size(); ++i) {
      const std::string name = storage_name(func.name, static_cast<int>(i), func.types.size());
      for (std::size_t d = 0; d < extents.size(); ++d) {
        all.emplace(symbol_name(name, BufferField::Min, d), 0);
        all.emplace(symbol_name(name, BufferField::Extent, d), extents[d]);
      }
    }
  }
  return all;
}

UsualSymbols::UsualSymbols(const Program& program, std::vector<std::int64_t> extents,
                           const std::map<std::string, std::int64_t>& symbols)
    : extents_(std::move(extents)), symbols_(output_symbols(program.pipeline, extents_, symbols)) {
  for (const auto& scalar : program.pipeline.params) {
    if (const auto value = value_of(*scalar.param)) symbols_.emplace(scalar.name, *value);
  }
  for (const auto& input : program.pipeline.inputs) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(input.image->dimensions); ++d) {
      set(input.name, BufferField::Min, d, 0);
      set(input.name, BufferField::Extent, d, usual_extent(d));
    }
  }
  for (const auto& value : program.plan.values) {
    if (const auto number = value_of(value.value, symbols_)) symbols_.emplace(value.name, *number);
  }
  for (const auto& temporary : program.plan.temporaries) {
    for (std::size_t d = 0; d < temporary.mins.size(); ++d) {
      set(temporary.name, BufferField::Min, d, value_of(temporary.mins[d], symbols_));
      set(temporary.name, BufferField::Extent, d, value_of(temporary.extents[d], symbols_));
    }
  }
}

void UsualSymbols::set(const std::string& array, BufferField field, std::size_t d,
                       std::optional<std::int64_t> value) {
  if (value) symbols_.emplace(symbol_name(array, field, d), *value);
}

std::int64_t UsualSymbols::usual_extent(std::size_t d) const {
  return d < extents_.size() ? extents_[d] : 1;
}

}  // namespace analysis

std::vector<InputBox> input_boxes(const std::vector<Func>& outputs,
                                  const std::vector<std::int64_t>& extents, const Target& target) {
  const DefaultFloatMode mode;
  const Pipeline pipeline = make_pipeline(functions_of(outputs));
  const Program program = lower(pipeline, {target, Variant{}, {}, DeviceLimits{}}, "infer_bounds");
  const analysis::UsualSymbols table(program, extents);
  std::vector<InputBox> boxes;
  for (const auto& input : program.pipeline.inputs) {
    const analysis::Box read = analysis::read_box(program.pipeline, program.required, input.name);
    InputBox box{input.image, {}, {}};
    for (std::size_t d = 0; d < static_cast<std::size_t>(input.image->dimensions); ++d) {
      const auto usual = [&](BufferField field) {
        return table.symbols().at(symbol_name(input.name, field, d));
      };
      std::optional<std::int64_t> min, max;
      if (d < read.size() && read[d].bounded()) {
        min = analysis::value_of(read[d].min, table.symbols());
        max = analysis::value_of(read[d].max, table.symbols());
      }
      const bool known = min && max && *min <= *max;
      box.mins.push_back(known ? *min : usual(BufferField::Min));
      box.extents.push_back(known ? *max - *min + 1 : usual(BufferField::Extent));
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

}  // namespace mica
