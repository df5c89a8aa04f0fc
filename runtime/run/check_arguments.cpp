#include "runtime/run/check_arguments.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "runtime/buffer/buffer_storage.h"
#include "runtime/run/run_plan.h"

namespace mica {

namespace {

std::string role(const PlanBuffer& wanted) {
  return (wanted.is_output ? "output " : "input ") + wanted.name;
}

SourceLocation place_of(const PlanBuffer& wanted) {
  return wanted.image != nullptr ? wanted.image->where : wanted.where;
}

/// Where a buffer that a run works on was given: where its input was declared, if nothing nearer is
/// known.
struct GivenAt {
  CallSite call;  ///< of the run, or of the RunInput
  const SourceLocation* declared = nullptr;
  [[nodiscard]] SourceLocation place() const {
    return declared != nullptr && declared->known() ? *declared : SourceLocation(call);
  }
};

void check_kind(const PlanBuffer& wanted, const AnyBuffer& given, const GivenAt& at) {
  if (given.type() != wanted.type) {
    const std::string why = wanted.why_type.empty() ? "" : " (" + wanted.why_type + ")";
    throw UserError(role(wanted) + " has elements of type " + to_string(wanted.type) + why +
                        ", but the buffer given holds " + given.describe() + ": give a buffer of " +
                        to_string(wanted.type) +
                        (why.empty() ? "" : ", or cast what is wider than the rest"),
                    at.place());
  }
  if (given.dimensions() != wanted.dimensions) {
    throw UserError(
        role(wanted) + " has " + counted(static_cast<std::size_t>(wanted.dimensions), "dimension") +
            ", but the buffer given has " + std::to_string(given.dimensions()) + ": " + given.describe(),
        at.place());
  }
  for (std::size_t d = 0; d < given.dims().size(); ++d) {
    const BufferDim& dim = given.dims()[d];
    if (lies_within_limits(dim.min, dim.extent)) continue;
    throw UserError(role(wanted) + ", " + given.describe() + ", has min " + std::to_string(dim.min) +
                        " and extent " + std::to_string(dim.extent) + " in dimension " +
                        std::to_string(d) + ", but " + limits_text() +
                        ": give it more dimensions, or another min",
                    at.place());
  }
}

const AnyBuffer* output_named(const PlanBuffer& wanted, const std::vector<std::string>& outputs,
                              const std::vector<AnyBuffer*>& given, const CallSite& at) {
  const auto found = std::find(outputs.begin(), outputs.end(), wanted.name);
  internal_check(found != outputs.end(), "the plan writes an output that the pipeline does not name");
  const AnyBuffer* buffer = given[static_cast<std::size_t>(found - outputs.begin())];
  if (buffer == nullptr || !buffer->defined()) {
    throw UserError("the buffer given for output " + wanted.name +
                        " is undefined: give it extents first, as in Buffer<float>(512, 512)",
                    at);
  }
  return buffer;
}

/// The plan's inputs or scalars as users name them.
std::vector<std::string> inputs_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.image != nullptr) names.push_back(buffer.image->name);
  }
  return names;
}

std::vector<std::string> scalars_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Plan::Scalar& scalar : plan.scalars) names.push_back(scalar.param->name);
  return names;
}

/// The one of `pairs` whose `member` is `wanted`; null if there is none.
template <typename Pair, typename Data>
const Pair* pair_of(const std::vector<Pair>& pairs, std::shared_ptr<const Data> Pair::*member,
                    const Data* wanted) {
  for (const Pair& pair : pairs) {
    if ((pair.*member).get() == wanted) return &pair;
  }
  return nullptr;
}

/// UserErrors: one of `pairs` comes twice, or not `is_used`. `what`: "input" or "Param".
template <typename Pair, typename Data, typename IsUsed>
void check_pairs(const std::vector<Pair>& pairs, std::shared_ptr<const Data> Pair::*member,
                 const std::string& what, const std::vector<std::string>& used, const IsUsed& is_used) {
  for (const Pair& pair : pairs) {
    const Data* data = (pair.*member).get();
    if (const Pair* first = pair_of(pairs, member, data); first != &pair) {
      throw UserError("the run is given " + what + " " + data->name + " twice, first" +
                          line_of(SourceLocation(first->where)) + ": name it once",
                      pair.where);
    }
    if (is_used(data)) continue;
    throw UserError("the run is given " + what + " " + data->name + ", which the pipeline does not use" +
                        did_you_mean(data->name, used) + ": its " + what + "s are " + joined(used),
                    pair.where);
  }
}

void check_options(const Plan& plan, const RunOptions& options) {
  if (!options.inputs.empty()) {
    check_pairs(options.inputs, &RunInput::image, "input", inputs_of(plan), [&](const ImageData* image) {
      return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                         [&](const PlanBuffer& buffer) { return buffer.image.get() == image; });
    });
  }
  if (!options.params.empty()) {
    check_pairs(
        options.params, &RunParam::param, "Param", scalars_of(plan), [&](const ParamData* param) {
          return std::any_of(plan.scalars.begin(), plan.scalars.end(),
                             [&](const Plan::Scalar& scalar) { return scalar.param.get() == param; });
        });
  }
}

std::string strides_of(const AnyBuffer& buffer) {
  std::string text;
  for (const BufferDim& dim : buffer.dims()) {
    text += (text.empty() ? "" : ", ") + std::to_string(dim.stride);
  }
  return "(" + text + ")";
}

/// Bytes from the element of `input` to that of `output` at the output's mins, if both are in one
/// memory.
std::int64_t distance(const AnyBuffer& output, const AnyBuffer& input) {
  std::int64_t elements = output.offset() - input.offset();
  for (int d = 0; d < output.dimensions(); ++d) {
    elements -= (output.min(d) - input.min(d)) * input.stride(d);
  }
  const auto from = std::bit_cast<std::uintptr_t>(input.storage()->host_address());
  const auto to = std::bit_cast<std::uintptr_t>(output.storage()->host_address());
  const bool same = output.storage() == input.storage();
  return elements * output.type().bytes() + (same ? 0 : static_cast<std::int64_t>(to - from));
}

/// Why an output that overlaps another array cannot be that array's own memory, element for element, and
/// the place of what is in the way; none if it can.
std::optional<std::string> why_apart(const Plan& plan, const PlanBuffer& output, const AnyBuffer& to,
                                     const PlanBuffer& other, const AnyBuffer& from,
                                     const Target& target, SourceLocation& where) {
  const auto pair =
      std::find_if(plan.sharing.begin(), plan.sharing.end(), [&](const PlanSharing& sharing) {
        return sharing.output == output.name && sharing.input == other.name;
      });
  if (pair == plan.sharing.end()) return "";
  if (!pair->obstacle.empty()) {
    where = pair->where;
    return std::string(pair->obstacle + "; ");
  }
  for (int d = 0; d < to.dimensions(); ++d) {
    if (to.extent(d) == 1 || to.stride(d) == from.stride(d)) continue;
    return "it may take the place of that input, but their strides are " + strides_of(to) + " and " +
           strides_of(from) + "; give views of equal strides or ";
  }
  if (const std::int64_t bytes = distance(to, from); bytes != 0) {
    return "it may take the place of that input, but its elements lie " + std::to_string(bytes) +
           " bytes from those of the same coordinates there; give views in which they have the same, "
           "or ";
  }
  const bool on_host = target.backend != Backend::Cuda && to.storage()->host_address() != nullptr &&
                       from.storage()->host_address() != nullptr;
  if (to.storage() != from.storage() && !on_host) {
    return "two buffers that wrap the same memory have a copy each on a GPU; give one buffer, or ";
  }
  return std::nullopt;
}

}  // namespace

bool lies_within_limits(std::int64_t min, std::int64_t extent) {
  return min >= -kLargestMin && min <= kLargestMin && extent <= kLargestExtent;
}

std::string limits_text() {
  return "a min lies in " + std::to_string(-kLargestMin) + ".." + std::to_string(kLargestMin) +
         " and an extent is at most " + std::to_string(kLargestExtent);
}

BoundArguments bind_arguments(const Plan& plan, const std::vector<std::string>& outputs,
                              const std::vector<AnyBuffer*>& given, const RunOptions& options,
                              const CallSite& at) {
  if (given.size() != outputs.size()) {
    throw UserError("the pipeline writes " + counted(outputs.size(), "buffer") + " (" + joined(outputs) +
                        "), but the run was given " + std::to_string(given.size()),
                    at);
  }
  check_options(plan, options);
  BoundArguments bound;
  bound.nothing_to_do = true;
  bound.buffers.reserve(plan.buffers.size());
  for (const PlanBuffer& wanted : plan.buffers) {
    const AnyBuffer* buffer = nullptr;
    GivenAt from{at};
    if (wanted.is_output) {
      buffer = output_named(wanted, outputs, given, at);
      if (buffer->elements() > 0) bound.nothing_to_do = false;
    } else {
      internal_check(wanted.image != nullptr, "an input of the plan has no image");
      if (const RunInput* own = pair_of(options.inputs, &RunInput::image, wanted.image.get())) {
        buffer = &own->buffer;
        from.call = own->where;
      } else {
        bound.inputs.push_back(std::atomic_load(&wanted.image->bound));
        buffer = bound.inputs.back().get();
        from.declared = &wanted.image->where;
      }
      if (buffer == nullptr || !buffer->defined()) {
        const std::string& name = wanted.image->name;
        throw UserError("input " + wanted.name + " is not set: call " + name + ".set(buffer), or run(" +
                            "output, {.inputs = {{" + name + ", buffer}}})",
                        from.place());
      }
    }
    check_kind(wanted, *buffer, from);
    bound.buffers.push_back(buffer);
  }
  bound.scalars.reserve(plan.scalars.size());
  for (const Plan::Scalar& scalar : plan.scalars) {
    const RunParam* own = pair_of(options.params, &RunParam::param, scalar.param.get());
    bound.scalars.push_back(own != nullptr ? own->bits : scalar.param->bits.load());
  }
  return bound;
}

bool check_overlaps(const Plan& plan, const std::vector<const AnyBuffer*>& buffers,
                    const Target& target) {
  bool in_place = false;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!plan.buffers[i].is_output) continue;
    for (std::size_t j = 0; j < buffers.size(); ++j) {
      if (i == j || (plan.buffers[j].is_output && j < i)) continue;
      if (!buffers[i]->overlaps(*buffers[j])) continue;
      const PlanBuffer &output = plan.buffers[i], &other = plan.buffers[j];
      SourceLocation where = place_of(other);
      const auto why = why_apart(plan, output, *buffers[i], other, *buffers[j], target, where);
      if (!why) {
        in_place = true;
        continue;
      }
      throw UserError(role(output) + " " + buffers[i]->describe() + " shares memory with " +
                          role(other) + " " + buffers[j]->describe() + ": " + *why +
                          "write to a buffer of its own",
                      where);
    }
  }
  return in_place;
}

void check_condition(const PreparedPlan& plan, std::size_t number, const HostValue* symbols) {
  const PreparedPlan::Check& check = plan.checks[number];
  if (check.holds.run(symbols).i != 0) return;
  const PlanCheck& source = plan.plan().checks[number];
  std::string message = source.message;
  for (std::size_t k = 0; k < check.values.size(); ++k) {
    const std::string hole = "{" + std::to_string(k) + "}";
    const std::string value = print_value(check.values[k].run(symbols), check.values[k].type());
    for (std::size_t at = message.find(hole); at != std::string::npos;
         at = message.find(hole, at + value.size())) {
      message.replace(at, hole.size(), value);
    }
  }
  throw UserError(message, source.where);
}

void check_conditions(const PreparedPlan& plan, const HostValue* symbols) {
  for (std::size_t c = 0; c < plan.checks.size(); ++c) check_condition(plan, c, symbols);
}

}  // namespace mica
