// Hand-written 8th-order derivatives in the manner of the seismic notes: along one axis with scalar
// and vector accesses, with shared memory for y and a register window for z.
#include "bench/twins/twin.cuh"
#include "bench/weights.h"

namespace {

constexpr int kR = 4;
constexpr int kX = 64, kY = 4;  // threads of the vector kernels

template <int V>
__device__ __forceinline__ void accumulate(int axis, int tap, const float* values, float* sum) {
  const float w = mica::bench::derivative_weight<float>(axis, tap);
#pragma unroll
  for (int i = 0; i < V; ++i) sum[i] = tap == 0 ? w * values[i] : madd(w, values[i], sum[i]);
}

// One point a thread: nine loads.
__device__ __forceinline__ void plain(int axis, const float* __restrict__ in, float* __restrict__ out,
                                      long stride) {
  float sum = 0;
#pragma unroll
  for (int tap = 0; tap <= 2 * kR; ++tap) accumulate<1>(axis, tap, in + (tap - kR) * stride, &sum);
  *out = sum;
}

// V points of x a thread, from a window of x in registers that is filled with vectors of V.
template <int V>
__device__ __forceinline__ void along_x(const float* __restrict__ in, float* __restrict__ out, int nx,
                                        int ny, long isy, long isz, long osy, long osz) {
  const int x = V * (blockIdx.x * kX + threadIdx.x), y = blockIdx.y * kY + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  const float* p = in + z * isz + y * isy + x;
  float window[2 * kR + V], sum[V];
#pragma unroll
  for (int i = 0; i < 2 * kR + V; i += V) load<V>(window + i, p + i - kR);
#pragma unroll
  for (int tap = 0; tap <= 2 * kR; ++tap) accumulate<V>(0, tap, window + tap, sum);
  store<V>(out + z * osz + y * osy + x, sum);
}

template <int V>
__device__ __forceinline__ void along_y(const float* __restrict__ in, float* __restrict__ out, int nx,
                                        int ny, long isy, long isz, long osy, long osz) {
  const int x = V * (blockIdx.x * kX + threadIdx.x), y = blockIdx.y * kY + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  const float* p = in + z * isz + (y - kR) * isy + x;
  float sum[V];
#pragma unroll
  for (int tap = 0; tap <= 2 * kR; ++tap) {
    float values[V];
    load<V>(values, p);
    accumulate<V>(1, tap, values, sum);
    p += isy;
  }
  store<V>(out + z * osz + y * osy + x, sum);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    seismic_x(const float* __restrict__ in, float* __restrict__ out, int nx, int, int, int, long isy,
              long isz, long osy, long osz) {
  const int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x < nx) plain(0, in + z * isz + y * isy + x, out + z * osz + y * osy + x, 1);
}
extern "C" __global__ void __launch_bounds__(256)
    seismic_y(const float* __restrict__ in, float* __restrict__ out, int nx, int, int, int, long isy,
              long isz, long osy, long osz) {
  const int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x < nx) plain(1, in + z * isz + y * isy + x, out + z * osz + y * osy + x, isy);
}

// Vector kernels: nx must be a multiple of V and rows aligned to vectors.
#define MICA_VECTOR_TWIN(axis, V)                                                                    \
  extern "C" __global__ void __launch_bounds__(kX* kY)                                               \
      seismic_##axis##_vec##V(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, \
                              int, int, long isy, long isz, long osy, long osz) {                    \
    along_##axis<V>(in, out, nx, ny, isy, isz, osy, osz);                                            \
  }
MICA_VECTOR_TWIN(x, 1)
MICA_VECTOR_TWIN(x, 2)
MICA_VECTOR_TWIN(x, 4)
MICA_VECTOR_TWIN(y, 1)
MICA_VECTOR_TWIN(y, 2)
MICA_VECTOR_TWIN(y, 4)

// Vectors of four, and the rows of the tile with four above and below in shared memory: every thread
// loads its own row, the one four above and the one four below.
extern "C" __global__ void __launch_bounds__(kX* kY)
    seismic_y_shared(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int, int,
                     long isy, long isz, long osy, long osz) {
  __shared__ float4 s[kY + 2 * kR][kX];
  const int i = threadIdx.x, j = threadIdx.y;
  const int x = 4 * (blockIdx.x * kX + i), y = blockIdx.y * kY + j, z = blockIdx.z;
  if (x >= nx) return;
  const float* p = in + z * isz + y * isy + x;
  const auto row = [](const float* q) { return *reinterpret_cast<const float4*>(q); };
  s[j][i] = row(p - kR * isy);
  s[j + kR][i] = row(p);
  if (y < ny) s[j + 2 * kR][i] = row(p + kR * isy);
  __syncthreads();
  if (y >= ny) return;
  float sum[4];
#pragma unroll
  for (int tap = 0; tap <= 2 * kR; ++tap) {
    float values[4];
    load<4>(values, &s[j + tap][i].x);
    accumulate<4>(1, tap, values, sum);
  }
  store<4>(out + z * osz + y * osy + x, sum);
}

// A window of nine points of the column in registers, which slides over `chunk` planes.
extern "C" __global__ void __launch_bounds__(256)
    seismic_z_window(const float* __restrict__ in, float* __restrict__ out, int nx, int, int nz,
                     int chunk, long isy, long isz, long osy, long osz) {
  constexpr int kWindow = 2 * kR + 1;
  const int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  if (x >= nx) return;
  const float* p = in + (begin - kR) * isz + y * isy + x;
  float* q = out + begin * osz + y * osy + x;
  float w[kWindow];
#pragma unroll
  for (int i = 0; i < 2 * kR; ++i) {
    w[i] = *p;
    p += isz;
  }
  for (int z = begin; z < end; z += kWindow) {
#pragma unroll
    for (int step = 0; step < kWindow; ++step) {
      if (z + step >= end) return;
      w[(step + 2 * kR) % kWindow] = *p;
      p += isz;
      float sum = 0;
#pragma unroll
      for (int tap = 0; tap <= 2 * kR; ++tap) accumulate<1>(2, tap, &w[(step + tap) % kWindow], &sum);
      *q = sum;
      q += osz;
    }
  }
}
