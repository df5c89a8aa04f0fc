// Arrays of other libraries (NumPy, PyTorch, CuPy, JAX, ...) without a copy: the C structures of DLPack
// 1.1 (https://dmlc.github.io/dlpack/latest/c_api.html), written down here so that no header of that
// project is needed, and buffers made of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dsl/expr/diagnostics.h"
#include "runtime/buffer/buffer.h"

namespace mica {

namespace dlpack {

/// DLDeviceType: where the memory is. Others are memory that Mica cannot reach.
inline constexpr std::int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;
/// DLDataTypeCode: what an element is. Others are no types of Mica's.
inline constexpr std::uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6;

/// DLDevice: `device_id` numbers the devices of one type.
struct Device {
  std::int32_t device_type;
  std::int32_t device_id;
};
/// DLDataType: elements of `lanes` numbers of `bits` bits.
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
/// DLTensor: `strides` in elements, or null for a dense array whose last dimension is the fastest; the
/// first element lies `byte_offset` bytes behind `data`.
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
/// DLManagedTensor: the structure that is handed on, by whoever calls `deleter` (may be null) in the
/// end.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};

/// A DLManagedTensor as another header declares it.
template <typename T>
concept LaidOutAsManagedTensor = std::is_standard_layout_v<T> && sizeof(T) == sizeof(ManagedTensor) &&
                                 requires(T t) {
  t.dl_tensor.data;
  t.dl_tensor.device.device_id;
  t.dl_tensor.dtype.lanes;
  t.dl_tensor.shape;
  t.dl_tensor.strides;
  t.dl_tensor.byte_offset;
  t.manager_ctx;
  t.deleter;
};

}  // namespace dlpack

/// A buffer of `tensor`'s memory, which is read and written in place. Dimensions come in the opposite
/// order, as Mica's first is the fastest and DLPack's last: the array a[z][y][x] is the buffer a(x, y,
/// z). Mins are 0; strides are taken over. The buffer owns the tensor: its deleter is called when the
/// last buffer and expression that use the memory are gone. Memory on a GPU must be ready: DLPack leaves
/// it to the two sides to order their streams.
///
/// UserErrors, after which the tensor is still the caller's: null; more than 6 or no dimensions; lanes
/// other than 1; an element type that Mica does not have, a device that it does not reach; a stride
/// below 0, as of an array that is turned round (a Buffer made of a pointer takes those); elements that
/// share addresses (a stride of 0) or do not lie at multiples of their size.
AnyBuffer from_dlpack(dlpack::ManagedTensor* tensor, CallSite at = CallSite::current());
template <dlpack::LaidOutAsManagedTensor T>
requires(!std::same_as<T, dlpack::ManagedTensor>) AnyBuffer
    from_dlpack(T* tensor, CallSite at = CallSite::current()) {
  static_assert(offsetof(T, deleter) == offsetof(dlpack::ManagedTensor, deleter));
  return from_dlpack(reinterpret_cast<dlpack::ManagedTensor*>(tensor), at);
}

}  // namespace mica
