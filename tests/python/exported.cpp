// A shared library with the C interface of exported pipelines (docs/export.md), written by hand: what it
// was given shows in what it computes and says. The tests of the Python package load it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "runtime/export/abi.h"

namespace {

const mica_array_description kArrays[] = {{"u", 2, 0, MICA_FLOAT, 32}, {"out", 2, 1, MICA_FLOAT, 32}};
// 0.5, 7, -1, true, 1.5 in bf16, 0.25 in f64.
const mica_scalar_description kScalars[] = {
    {"c", 0x3F000000, MICA_FLOAT, 32}, {"status", 0, MICA_INT, 32},
    {"small", 0xFF, MICA_INT, 8},      {"on", 1, MICA_BOOL, 8},
    {"half", 0x3FC0, MICA_BFLOAT, 16}, {"wide", 0x3FD0000000000000, MICA_FLOAT, 64},
    {"big", 7, MICA_UINT, 64}};
using Description = mica_pipeline_description;
const Description kHost = {MICA_EXPORT_ABI, 2, 7, "0.1.0", "scale", "host", "a CPU", kArrays, kScalars};
const Description kGpu = {MICA_EXPORT_ABI, 2, 7, "0.1.0", "gpu", "cuda:90", "PTX", kArrays, kScalars};
const Description kLater = {
    MICA_EXPORT_ABI + 1, 0, 0, "9.0.0", "later", "host", "a CPU", nullptr, nullptr};

template <typename T>
T scalar(const void* const* scalars, int i) {
  T value;
  std::memcpy(&value, scalars[i], sizeof(T));
  return value;
}

bool is_right(const mica_buffer& buffer, std::uint8_t memory) {
  return buffer.dimensions == 2 && buffer.type_code == MICA_FLOAT && buffer.type_bits == 32 &&
         buffer.memory == memory && buffer.reserved == 0;
}

}  // namespace

extern "C" {

const Description* scale_describe() { return &kHost; }
const Description* gpu_describe() { return &kGpu; }
const Description* later_describe() { return &kLater; }
int later_call(const mica_buffer* const*, const void* const*, void*, char*, std::size_t) {
  return MICA_OK;
}

/// out(x, y) = c * u(x, y) + 10 * x + y + small, where u has a value, or the status that it is told to
/// return.
int scale_call(const mica_buffer* const* buffers, const void* const* scalars, void* stream, char* error,
               std::size_t error_bytes) {
  const mica_buffer &u = *buffers[0], &out = *buffers[1];
  if (const auto status = scalar<std::int32_t>(scalars, 1); status != 0) {
    if (status < 9)
      std::snprintf(error, error_bytes, "status %d, on %d, half %#x, wide %g, big %llu", status,
                    static_cast<int>(scalar<bool>(scalars, 3)), scalar<std::uint16_t>(scalars, 4),
                    scalar<double>(scalars, 5),
                    static_cast<unsigned long long>(scalar<std::uint64_t>(scalars, 6)));
    return status;
  }
  if (!is_right(u, MICA_HOST) || !is_right(out, MICA_HOST) || stream != nullptr)
    return MICA_WRONG_ARGUMENT;
  const auto c = scalar<float>(scalars, 0);
  for (std::int64_t y = out.dim[1].min; y < out.dim[1].min + out.dim[1].extent; ++y) {
    for (std::int64_t x = out.dim[0].min; x < out.dim[0].min + out.dim[0].extent; ++x) {
      const std::int64_t ux = x - u.dim[0].min, uy = y - u.dim[1].min;
      if (ux < 0 || uy < 0 || ux >= u.dim[0].extent || uy >= u.dim[1].extent) {
        std::snprintf(error, error_bytes, "input u is too small");
        return MICA_WRONG_ARGUMENT;
      }
      static_cast<float*>(out.data)[(x - out.dim[0].min) * out.dim[0].stride +
                                    (y - out.dim[1].min) * out.dim[1].stride] =
          c * static_cast<const float*>(u.data)[ux * u.dim[0].stride + uy * u.dim[1].stride] +
          10.0F * static_cast<float>(x) + static_cast<float>(y) +
          static_cast<float>(scalar<std::int8_t>(scalars, 2));
    }
  }
  return MICA_OK;
}

/// Says what it was given, as an error of the device.
int gpu_call(const mica_buffer* const* buffers, const void* const*, void* stream, char* error,
             std::size_t error_bytes) {
  const bool right = is_right(*buffers[0], MICA_DEVICE) && is_right(*buffers[1], MICA_DEVICE);
  std::snprintf(error, error_bytes, "%s: %p to %p in %p", right ? "right" : "wrong", buffers[0]->data,
                buffers[1]->data, stream);
  return MICA_DEVICE_FAILED;
}
}
