// ImageParam's buffer: the only members that need runtime/buffer.h.
#include <fmt/format.h>

#include "dsl/func.h"
#include "dsl/names.h"
#include "runtime/buffer.h"

namespace mica {

void ImageParam::set(const AnyBuffer& buffer, CallSite at) {
  if (!buffer.defined()) {
    throw UserError(fmt::format("input {} is set to an undefined buffer", name()), at);
  }
  if (buffer.type() != type() || buffer.dimensions() != dimensions()) {
    const auto dims = [](int n) { return counted(static_cast<std::size_t>(n), "dimension"); };
    throw UserError(fmt::format("input {} is {} with {}, the buffer is {} with {}: {}", name(),
                                to_string(type()), dims(dimensions()), to_string(buffer.type()),
                                dims(buffer.dimensions()), buffer.describe()),
                    at);
  }
  std::atomic_store(&data_->bound, std::make_shared<AnyBuffer>(buffer));
}

void ImageParam::reset() { std::atomic_store(&data_->bound, std::shared_ptr<AnyBuffer>()); }

}  // namespace mica
