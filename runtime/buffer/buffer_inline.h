// Members of Buffer<T> (runtime/buffer/buffer.h), included by it alone.
#pragma once

#include "runtime/buffer/buffer.h"

namespace mica {

namespace detail {

/// Calls fn(element, coordinates) for the elements of `dims` at `base`, dimension 0 fastest.
template <typename Element, typename Fn>
void visit_elements(Element* base, const std::vector<BufferDim>& dims, const Fn& fn) {
  Coordinates at{};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].extent <= 0) return;
    at[d] = dims[d].min;
  }
  const BufferDim row = dims.empty() ? BufferDim{0, 1, 0} : dims.front();
  Element* start = base;  // of the row
  for (std::size_t d = 0; d != dims.size();) {
    for (std::int64_t x = 0; x < row.extent; ++x) {
      at[0] = row.min + x;
      fn(start[x * row.stride], at);
    }
    for (d = 1; d < dims.size(); ++d) {
      start += dims[d].stride;
      if (++at[d] < dims[d].min + dims[d].extent) break;
      start -= dims[d].stride * dims[d].extent;
      at[d] = dims[d].min;
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
void Buffer<T>::for_each(const std::function<void(T&, const Coordinates&)>& fn) {
  detail::visit_elements(data(), dims_, fn);
}

template <typename T>
void Buffer<T>::for_each(const std::function<void(const T&, const Coordinates&)>& fn) const {
  detail::visit_elements(data(), dims_, fn);
}

template <typename T>
void Buffer<T>::for_each(const std::function<void(T&)>& fn) {
  detail::visit_elements(data(), dims_, [&](T& element, const Coordinates&) { fn(element); });
}

template <typename T>
void Buffer<T>::for_each(const std::function<void(const T&)>& fn) const {
  detail::visit_elements(data(), dims_, [&](const T& element, const Coordinates&) { fn(element); });
}

template <typename T>
void Buffer<T>::fill(T value) {
  detail::visit_elements(static_cast<T*>(host_data_for_overwrite()), dims_,
                         [&](T& element, const Coordinates&) { element = value; });
}

}  // namespace mica
