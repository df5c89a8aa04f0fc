#include "runtime/buffer/dlpack.h"

#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "runtime/run/device.h"
#include "runtime/run/target.h"

namespace mica {

namespace {

struct NamedType {
  std::uint8_t code, bits;
  Type type;
};

constexpr std::array kTypes = {
    NamedType{dlpack::kBool, 8, Bool()},        NamedType{dlpack::kUInt, 8, UInt(8)},
    NamedType{dlpack::kInt, 8, Int(8)},         NamedType{dlpack::kUInt, 16, UInt(16)},
    NamedType{dlpack::kInt, 16, Int(16)},       NamedType{dlpack::kInt, 32, Int(32)},
    NamedType{dlpack::kInt, 64, Int(64)},       NamedType{dlpack::kUInt, 32, UInt(32)},
    NamedType{dlpack::kUInt, 64, UInt(64)},     NamedType{dlpack::kFloat, 16, Float(16)},
    NamedType{dlpack::kBfloat, 16, BFloat(16)}, NamedType{dlpack::kFloat, 32, Float(32)},
    NamedType{dlpack::kFloat, 64, Float(64)},
};

std::string code_text(std::uint8_t code) {
  switch (code) {
    case dlpack::kInt: return "kDLInt";
    case dlpack::kUInt: return "kDLUInt";
    case dlpack::kFloat: return "kDLFloat";
    case dlpack::kBfloat: return "kDLBfloat";
    case dlpack::kBool: return "kDLBool";
    default: return fmt::format("type code {}", code);
  }
}

Type type_of_elements(const dlpack::DataType& dtype, const CallSite& at) {
  if (dtype.lanes != 1) {
    throw UserError(fmt::format("a DLPack tensor has elements of {} lanes: Mica's have 1; view it with "
                                "one more dimension of {} elements",
                                dtype.lanes, dtype.lanes),
                    at);
  }
  for (const NamedType& known : kTypes) {
    if (known.code == dtype.code && known.bits == dtype.bits) return known.type;
  }
  throw UserError(
      fmt::format("a DLPack tensor holds {} of {} bits, which is no type of Mica's: legal are {}",
                  code_text(dtype.code), dtype.bits, user_types()),
      at);
}

/// Mica's dimensions: DLPack's in the opposite order.
std::vector<BufferDim> dims_of(const dlpack::Tensor& tensor, const CallSite& at) {
  if (tensor.ndim < 1 || tensor.ndim > kMaxDimensions) {
    throw UserError(fmt::format("a DLPack tensor has {} dimensions: a buffer has 1 to {}; reshape it",
                                tensor.ndim, kMaxDimensions),
                    at);
  }
  if (tensor.shape == nullptr) throw UserError("a DLPack tensor's shape is null", at);
  std::vector<std::int64_t> extents;
  for (int d = tensor.ndim - 1; d >= 0; --d) extents.push_back(tensor.shape[d]);
  std::vector<BufferDim> dims = dense_dims(extents);
  if (tensor.strides == nullptr) return dims;
  for (int d = 0; d < tensor.ndim; ++d) {
    BufferDim& dim = dims[static_cast<std::size_t>(tensor.ndim - 1 - d)];
    dim.stride = tensor.strides[d];
    if (dim.stride >= 0 || dim.extent <= 1) continue;
    throw UserError(fmt::format("dimension {} of a DLPack tensor has a stride of {}: those that are "
                                "taken over are positive; give a dense copy of it, or the array that "
                                "it turns round",
                                d, dim.stride),
                    at);
  }
  return dims;
}

/// The GPU that holds the memory; none for memory that the host reaches.
std::optional<Target> gpu_of(const dlpack::Device& device, const CallSite& at) {
  switch (device.device_type) {
    case dlpack::kCpu:
    case dlpack::kCudaHost: return std::nullopt;
    case dlpack::kCuda:
    case dlpack::kCudaManaged: try { return Target::cuda(device.device_id);
      } catch (const DeviceError& error) {
        throw UserError(fmt::format("a DLPack tensor lies on GPU {}, which cannot be used: {}",
                                    device.device_id, error.what()),
                        at);
      }
    default:
      throw UserError(
          fmt::format("a DLPack tensor lies on device {} of DLDeviceType {}, which Mica does "
                      "not reach: move it to the CPU (1), memory pinned by CUDA (3) or a CUDA "
                      "GPU (2 or 13)",
                      device.device_id, device.device_type),
          at);
  }
}

}  // namespace

AnyBuffer from_dlpack(dlpack::ManagedTensor* tensor, CallSite at) {
  if (tensor == nullptr) throw UserError("a null DLPack tensor cannot be a buffer", at);
  const dlpack::Tensor& from = tensor->dl_tensor;
  const Type type = type_of_elements(from.dtype, at);
  const std::vector<BufferDim> dims = dims_of(from, at);
  const std::optional<Target> gpu = gpu_of(from.device, at);
  const std::uint64_t address =
      from.data == nullptr ? 0 : std::bit_cast<std::uintptr_t>(from.data) + from.byte_offset;
  if (address % static_cast<std::uint64_t>(type.bytes()) != 0) {
    throw UserError(
        fmt::format("a DLPack tensor's first element lies at address {:#x}, {} past a "
                    "multiple of the {} bytes of its {}: copy it first",
                    address, counted(address % static_cast<std::uint64_t>(type.bytes()), "byte"),
                    type.bytes(), to_string(type)),
        at);
  }
  // Everything that can go wrong goes before the tensor is taken over.
  const auto tensor_of = std::make_shared<dlpack::ManagedTensor*>(nullptr);
  const std::shared_ptr<void> owner(static_cast<void*>(tensor_of.get()), [tensor_of](void*) {
    dlpack::ManagedTensor* owned = *tensor_of;
    if (owned != nullptr && owned->deleter != nullptr) owned->deleter(owned);
  });
  AnyBuffer buffer;
  try {
    if (gpu.has_value()) {
      buffer = AnyBuffer::wrap_device(type, address, dims, *gpu, owner);
    } else {
      buffer = AnyBuffer::wrap_host(type, std::bit_cast<void*>(static_cast<std::uintptr_t>(address)),
                                    dims, owner);
    }
  } catch (const UserError& error) {
    if (error.where().known()) throw;
    throw UserError(std::string("a DLPack tensor: ") + error.what(), at);
  }
  *tensor_of = tensor;
  return buffer;
}

}  // namespace mica
