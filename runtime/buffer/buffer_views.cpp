// The members of AnyBuffer that fix or exchange dimensions, and the input that stands for a buffer.
#include <algorithm>
#include <memory>
#include <string>

#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/buffer/buffer_storage.h"

namespace mica {

namespace {

void require_dimension(const AnyBuffer& buffer, const char* what, int d, const CallSite& at) {
  if (d >= 0 && d < buffer.dimensions()) return;
  throw UserError(std::string(what) + " was given dimension " + std::to_string(d) + " of " +
                      buffer.describe() + ", which has " + std::to_string(buffer.dimensions()) +
                      ", numbered from 0",
                  at);
}

void require_defined(const AnyBuffer& buffer, const CallSite& at) {
  if (buffer.defined()) return;
  throw UserError("an undefined buffer is read in an expression: give it extents first", at);
}

}  // namespace

AnyBuffer AnyBuffer::sliced(int d, std::int64_t index, CallSite at) const {
  require_dimension(*this, "sliced", d, at);
  if (dimensions() == 1) {
    throw UserError("sliced would leave no dimension of " + describe() +
                        ": a buffer has at least one; crop it to one element",
                    at);
  }
  const BufferDim& cut = dim(d);
  if (index < cut.min || index >= cut.min + cut.extent) {
    throw UserError("sliced was given index " + std::to_string(index) + " in dimension " +
                        std::to_string(d) + " of " + describe() + ", which is " +
                        std::to_string(cut.min) + ".." + std::to_string(cut.min + cut.extent - 1),
                    at);
  }
  AnyBuffer slice = *this;
  slice.offset_ += (index - cut.min) * cut.stride;
  slice.dims_.erase(slice.dims_.begin() + d);
  return slice;
}

AnyBuffer AnyBuffer::transposed(int d0, int d1, CallSite at) const {
  require_dimension(*this, "transposed", d0, at);
  require_dimension(*this, "transposed", d1, at);
  AnyBuffer turned = *this;
  std::swap(turned.dims_[static_cast<std::size_t>(d0)], turned.dims_[static_cast<std::size_t>(d1)]);
  return turned;
}

// ---- in algorithms ---------------------------------------------------------------------------------

ImageParam AnyBuffer::input(const std::string& name, CallSite at) const {
  if (name.empty()) throw UserError("the name of a buffer's input is empty", at);
  require_defined(*this, at);
  const ImageParam found(storage_->input_of(*this, name, at));
  if (found.name() == name) return found;
  throw UserError("a buffer, " + describe() + ", is to be called " + name +
                      " in algorithms, but is called " + found.name() + line_of(found.data()->where) +
                      ": give the name before it is read first",
                  at);
}

ImageParam AnyBuffer::input(CallSite at) const {
  require_defined(*this, at);
  return ImageParam(storage_->input_of(*this, "buffer", at));
}

Expr AnyBuffer::access(std::vector<Expr> args, const CallSite& at) const {
  return input(at)(std::move(args), at);
}

std::shared_ptr<const ImageData> BufferStorage::input_of(const AnyBuffer& view, const std::string& name,
                                                         const SourceLocation& where) {
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<const ImageData>& kept : inputs_) {
    std::shared_ptr<const ImageData> image = kept.lock();
    if (image == nullptr) continue;
    const AnyBuffer& bound = *image->bound;
    if (bound.type() == view.type() && bound.offset() == view.offset() && bound.dims() == view.dims()) {
      return image;
    }
  }
  std::erase_if(inputs_, [](const auto& kept) { return kept.expired(); });
  auto image = std::make_shared<ImageData>();
  image->name = name;
  image->type = view.type();
  image->dimensions = view.dimensions();
  image->where = where;
  image->is_buffer = true;
  image->bound = std::make_shared<AnyBuffer>(view);
  inputs_.push_back(image);
  return image;
}

}  // namespace mica
