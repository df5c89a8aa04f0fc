// A shared library with the C interface of exported pipelines (docs/export.md), written by hand: what it
// was given shows in what it computes and says. The tests of the Python package load it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

struct Dimension {
  std::int64_t min, extent, stride;
};
struct Buffer {
  void* data;
  std::int32_t dimensions;
  std::uint8_t type_code, type_bits, memory, reserved;
  Dimension dim[6];
};
struct ArrayDescription {
  const char* name;
  std::int32_t dimensions, is_output;
  std::uint8_t type_code, type_bits;
};
struct ScalarDescription {
  const char* name;
  std::uint64_t value;
  std::uint8_t type_code, type_bits;
};
struct Description {
  std::int32_t abi, array_count, scalar_count;
  const char *mica_version, *name, *target, *code;
  const ArrayDescription* arrays;
  const ScalarDescription* scalars;
};
static_assert(sizeof(Buffer) == 160);

constexpr std::uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6;

const ArrayDescription kArrays[] = {{"u", 2, 0, kFloat, 32}, {"out", 2, 1, kFloat, 32}};
// 0.5, 7, -1, true, 1.5 in bf16, 0.25 in f64.
const ScalarDescription kScalars[] = {
    {"c", 0x3F000000, kFloat, 32}, {"status", 0, kInt, 32},
    {"small", 0xFF, kInt, 8},      {"on", 1, kBool, 8},
    {"half", 0x3FC0, kBfloat, 16}, {"wide", 0x3FD0000000000000, kFloat, 64},
    {"big", 7, kUInt, 64}};
const Description kHost = {1, 2, 7, "0.1.0", "scale", "host", "a CPU", kArrays, kScalars};
const Description kGpu = {1, 2, 7, "0.1.0", "gpu", "cuda:90", "PTX", kArrays, kScalars};
const Description kLater = {2, 0, 0, "9.0.0", "later", "host", "a CPU", nullptr, nullptr};

template <typename T>
T scalar(const void* const* scalars, int i) {
  T value;
  std::memcpy(&value, scalars[i], sizeof(T));
  return value;
}

bool is_right(const Buffer& buffer, std::uint8_t memory) {
  return buffer.dimensions == 2 && buffer.type_code == kFloat && buffer.type_bits == 32 &&
         buffer.memory == memory && buffer.reserved == 0;
}

}  // namespace

extern "C" {

const Description* scale_describe() { return &kHost; }
const Description* gpu_describe() { return &kGpu; }
const Description* later_describe() { return &kLater; }
int later_call(const Buffer* const*, const void* const*, void*, char*, std::size_t) { return 0; }

/// out(x, y) = c * u(x, y) + 10 * x + y + small, where u has a value, or the status that it is told to
/// return.
int scale_call(const Buffer* const* buffers, const void* const* scalars, void* stream, char* error,
               std::size_t error_bytes) {
  const Buffer &u = *buffers[0], &out = *buffers[1];
  if (const auto status = scalar<std::int32_t>(scalars, 1); status != 0) {
    if (status < 9)
      std::snprintf(error, error_bytes, "status %d, on %d, half %#x, wide %g, big %llu", status,
                    static_cast<int>(scalar<bool>(scalars, 3)), scalar<std::uint16_t>(scalars, 4),
                    scalar<double>(scalars, 5),
                    static_cast<unsigned long long>(scalar<std::uint64_t>(scalars, 6)));
    return status;
  }
  if (!is_right(u, 0) || !is_right(out, 0) || stream != nullptr) return 1;
  const auto c = scalar<float>(scalars, 0);
  for (std::int64_t y = out.dim[1].min; y < out.dim[1].min + out.dim[1].extent; ++y) {
    for (std::int64_t x = out.dim[0].min; x < out.dim[0].min + out.dim[0].extent; ++x) {
      const std::int64_t ux = x - u.dim[0].min, uy = y - u.dim[1].min;
      if (ux < 0 || uy < 0 || ux >= u.dim[0].extent || uy >= u.dim[1].extent) {
        std::snprintf(error, error_bytes, "input u is too small");
        return 1;
      }
      static_cast<float*>(out.data)[(x - out.dim[0].min) * out.dim[0].stride +
                                    (y - out.dim[1].min) * out.dim[1].stride] =
          c * static_cast<const float*>(u.data)[ux * u.dim[0].stride + uy * u.dim[1].stride] +
          10.0F * static_cast<float>(x) + static_cast<float>(y) +
          static_cast<float>(scalar<std::int8_t>(scalars, 2));
    }
  }
  return 0;
}

/// Says what it was given, as an error of the device.
int gpu_call(const Buffer* const* buffers, const void* const*, void* stream, char* error,
             std::size_t error_bytes) {
  const bool right = is_right(*buffers[0], 1) && is_right(*buffers[1], 1);
  std::snprintf(error, error_bytes, "%s: %p to %p in %p", right ? "right" : "wrong", buffers[0]->data,
                buffers[1]->data, stream);
  return 3;
}
}
