// What inputs and Params hold: the members of their handles that need runtime/buffer/buffer.h, and what
// a run is given in their stead.
#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/run_options.h"

namespace mica {

namespace {

void check_settable(const ImageParam& input, const CallSite& at) {
  if (!input.data()->is_buffer) return;
  throw UserError(fmt::format("input {} stands for a buffer, {}, and cannot be set to another: use an "
                              "ImageParam where the buffer changes from run to run",
                              input.name(), input.data()->bound->describe()),
                  at);
}

void check_buffer(const ImageParam& input, const AnyBuffer& buffer, const CallSite& at) {
  check_settable(input, at);
  if (!buffer.defined()) {
    throw UserError(fmt::format("input {} is set to an undefined buffer", input.name()), at);
  }
  if (buffer.type() == input.type() && buffer.dimensions() == input.dimensions()) return;
  const auto dims = [](int n) { return counted(static_cast<std::size_t>(n), "dimension"); };
  throw UserError(fmt::format("input {} is {} with {}, the buffer is {} with {}: {}", input.name(),
                              to_string(input.type()), dims(input.dimensions()),
                              to_string(buffer.type()), dims(buffer.dimensions()), buffer.describe()),
                  at);
}

}  // namespace

void ImageParam::set(const AnyBuffer& buffer, CallSite at) {
  check_buffer(*this, buffer, at);
  std::atomic_store(&data_->bound, std::make_shared<AnyBuffer>(buffer));
}

void ImageParam::reset(CallSite at) {
  check_settable(*this, at);
  std::atomic_store(&data_->bound, std::shared_ptr<AnyBuffer>());
}

RunInput::RunInput(const ImageParam& input, const AnyBuffer& buffer_arg, CallSite at)
    : image(input.data()), buffer(buffer_arg), where(at) {
  check_buffer(input, buffer, at);
}

void detail::refuse_value(const ParamData& param, const std::string& value, const CallSite& at) {
  throw UserError(
      fmt::format("Param {} is {}, which does not hold {}", param.name, to_string(param.type), value),
      at);
}

}  // namespace mica
