#include "codegen/iterate/run_inputs.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "runtime/run/evaluate.h"

namespace mica::iterate {
namespace {

/// The buffer that `input` stands for in this run: undefined if nothing is set.
AnyBuffer buffer_of(const std::shared_ptr<const ImageData>& image, const std::vector<RunInput>& given) {
  for (const RunInput& input : given) {
    if (input.image == image) return input.buffer;
  }
  const std::shared_ptr<AnyBuffer> bound = std::atomic_load(&image->bound);
  return bound != nullptr ? *bound : AnyBuffer();
}

/// The points at which all fields of an output have elements.
Ranges common_box(const Iteration::State::Output& output, const std::vector<AnyBuffer>& fields) {
  Ranges common = iterate::ranges_of(fields[output.fields.front()]);
  for (const std::size_t f : output.fields) {
    const Ranges other = iterate::ranges_of(fields[f]);
    for (std::size_t d = 0; d < common.size(); ++d) {
      const std::int64_t begin = std::max(common[d].first, other[d].first);
      const std::int64_t end =
          std::min(common[d].first + common[d].second, other[d].first + other[d].second);
      common[d] = {begin, end - begin};
    }
  }
  return common;
}

}  // namespace

std::vector<AnyBuffer> buffers_of(const Iteration::State& s, const std::vector<RunInput>& given,
                                  const CallSite& at) {
  std::vector<AnyBuffer> fields;
  for (const Replacement& r : s.replacements) {
    const auto is_field = [&](const RunInput& input) { return input.image == r.field.data(); };
    const auto found = std::find_if(given.begin(), given.end(), is_field);
    if (found == given.end()) {
      throw UserError("the run was given no buffer for field " + r.field.name() + ": {{" +
                          r.field.name() + ", buffer}, ...}",
                      at);
    }
    if (std::count_if(given.begin(), given.end(), is_field) > 1) {
      throw UserError("the run was given field " + r.field.name() + " twice: name it once", at);
    }
    for (std::size_t before = 0; before < fields.size(); ++before) {
      if (!fields[before].overlaps(found->buffer)) continue;
      throw UserError("the buffers of fields " + s.replacements[before].field.name() + " and " +
                          r.field.name() + " share memory: give each its own",
                      at);
    }
    fields.push_back(found->buffer);
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const Replacement& r = s.replacements[f];
    if (!r.input) continue;
    const AnyBuffer& other = fields[s.field_number(*r.input, at)];
    if (ranges_of(other) == ranges_of(fields[f])) continue;
    throw UserError("after a step " + r.field.name() + " holds what " + r.input->name() +
                        " held, but their buffers have other boxes: " + fields[f].describe() + " and " +
                        other.describe(),
                    at);
  }
  return fields;
}

std::vector<Ranges> stepped_boxes(const Iteration::State& s, const Plan& plan,
                                  const std::vector<AnyBuffer>& fields,
                                  const std::vector<RunInput>& given,
                                  const std::vector<RunParam>& params, const CallSite& at) {
  std::vector<Ranges> boxes;
  std::vector<bool> fixed;
  for (const auto& output : s.outputs) {
    Ranges box = common_box(output, fields);
    if (output.over) {
      for (std::size_t d = 0; d < box.size(); ++d) {
        const auto& [min, extent] = (*output.over)[d];
        if (min >= box[d].first && min + extent <= box[d].first + box[d].second) continue;
        throw UserError("over asks for points " + std::to_string(min) + " to " +
                            std::to_string(min + extent - 1) + " of dimension " + std::to_string(d) +
                            ", but the buffers that " + output.func.name() + " replaces hold " +
                            std::to_string(box[d].first) + " to " +
                            std::to_string(box[d].first + box[d].second - 1),
                        output.where);
      }
      box = *output.over;
    }
    boxes.push_back(box);
    fixed.push_back(output.over.has_value());
  }
  std::vector<std::pair<const ImageData*, AnyBuffer>> inputs;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.image == nullptr) continue;
    const AnyBuffer bound = buffer_of(buffer.image, given);
    if (!bound.defined()) {
      throw UserError("input " + buffer.image->name + " is not set: name it beside the fields, {" +
                          buffer.image->name + ", buffer}",
                      at);
    }
    inputs.emplace_back(buffer.image.get(), bound);
  }
  std::map<const ParamData*, std::int64_t> values;
  for (const Plan::Scalar& scalar : plan.scalars) {
    if (scalar.param->type.is_float()) continue;
    std::uint64_t bits = scalar.param->bits;
    for (const RunParam& param : params) {
      if (param.param == scalar.param) bits = param.bits;
    }
    values[scalar.param.get()] = unpack_value(bits, scalar.param->type).i;
  }
  return s.reads->inside(std::move(boxes), fixed, inputs, values, at);
}

}  // namespace mica::iterate
