// Members of Buffer<T> (runtime/buffer.h), included by it alone.
#pragma once

#include "runtime/buffer.h"

namespace mica {

namespace detail {

/// Calls fn(element, coordinates) for the elements of `dims` at `base`, dimension 0 fastest.
template <typename Element, typename Fn>
void visit_elements(Element* base, const std::vector<BufferDim>& dims, const Fn& fn) {
  std::array<BufferDim, kMaxDimensions> d;
  d.fill({0, 1, 0});
  for (std::size_t i = 0; i < dims.size(); ++i) d[i] = dims[i];
  std::array<std::int64_t, kMaxDimensions> at{};
  for (std::int64_t w = 0; w < d[3].extent; ++w) {
    for (std::int64_t z = 0; z < d[2].extent; ++z) {
      for (std::int64_t y = 0; y < d[1].extent; ++y) {
        const std::int64_t row = w * d[3].stride + z * d[2].stride + y * d[1].stride;
        for (std::int64_t x = 0; x < d[0].extent; ++x) {
          at = {d[0].min + x, d[1].min + y, d[2].min + z, d[3].min + w};
          fn(base[row + x * d[0].stride], at);
        }
      }
    }
  }
}

}  // namespace detail

template <typename T>
Buffer<T>::Buffer(T* host, const std::vector<std::int64_t>& extents)
    : AnyBuffer(AnyBuffer::wrap_host(type_of<T>(), host, dense_dims(extents))) {}

template <typename T>
void Buffer<T>::check_type() const {
  if (defined()) require_type(type_of<T>());
}

template <typename T>
std::int64_t Buffer<T>::offset_of(std::initializer_list<std::int64_t> at) const {
#ifdef NDEBUG
  if (at.size() != dims_.size()) require_coordinates(at);
#else
  require_coordinates(at);
#endif
  std::int64_t offset = 0;
  const BufferDim* dim = dims_.data();
  for (const std::int64_t i : at) {
    offset += (i - dim->min) * dim->stride;
    ++dim;
  }
  return offset;
}

template <typename T>
void Buffer<T>::for_each(const std::function<void(T&, const std::array<std::int64_t, 4>&)>& fn) {
  detail::visit_elements(data(), dims_, fn);
}

template <typename T>
void Buffer<T>::for_each(
    const std::function<void(const T&, const std::array<std::int64_t, 4>&)>& fn) const {
  detail::visit_elements(data(), dims_, fn);
}

template <typename T>
void Buffer<T>::fill(T value) {
  detail::visit_elements(static_cast<T*>(host_data_for_overwrite()), dims_,
                         [&](T& element, const std::array<std::int64_t, 4>&) { element = value; });
}

}  // namespace mica
