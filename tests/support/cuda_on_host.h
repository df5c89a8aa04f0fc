// CUDA C++ kernels as host code: the words of the language that bench/twins uses, and a scheduler that
// runs the threads of one block after another between barriers.
//
// A file of kernels is included as text, inside a namespace, after this header. Shared arrays must not
// be declared in templates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "runtime/run/device.h"

namespace mica::test::cuda {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
/// The thread that runs now, in the order of the CUDA words.
struct Position {
  Index3 thread, block;
};
/// Of the running thread of a block; meaningless outside run_blocks.
const Position& position();
/// Waits until every thread of the block that has not returned waits too.
void barrier();

/// The order in which the threads of a block run between two barriers. A kernel that lacks a barrier
/// gives other values for another order.
enum class Order : std::uint8_t { Forward, Backward, EvenFirst };

/// Runs `thread` for every thread of every block of `shape`. Shared arrays hold 0xFF bytes (NaN) when a
/// block starts. InternalError if a kernel is started from within a kernel.
void run_blocks(const LaunchShape& shape, Order order, const std::function<void()>& thread);

/// Calls `kernel` with arguments as LoadedKernel::launch takes them.
template <typename... A>
std::function<void()> bind_kernel(void (*kernel)(A...), void* const* arguments) {
  return [=] {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto value = []<typename T>(const void* from, T to) {
        std::memcpy(&to, from, sizeof to);
        return to;
      };
      kernel(value(arguments[I], A{})...);
    }
    (std::index_sequence_for<A...>{});
  };
}
template <typename... A>
constexpr std::size_t parameter_count(void (*)(A...)) {
  return sizeof...(A);
}

struct alignas(8) Float2 {
  float x, y;
};
struct alignas(16) Float4 {
  float x, y, z, w;
};

}  // namespace mica::test::cuda

using float2 = mica::test::cuda::Float2;
using float4 = mica::test::cuda::Float4;
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}
using std::min;

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ __attribute__((section("mica_shared"))) static
#define threadIdx (::mica::test::cuda::position().thread)
#define blockIdx (::mica::test::cuda::position().block)
#define __syncthreads() ::mica::test::cuda::barrier()
