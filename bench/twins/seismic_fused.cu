// Hand-written 8th-order derivatives in several directions at once, in the manner of the seismic
// notes: x from a window of vectors, y from shared memory, z from a register window.
#include "bench/twins/twin.cuh"
#include "bench/weights.h"

namespace {

constexpr int kR = 4, kV = 4;
constexpr int kX = 64, kY = 4;

__device__ __forceinline__ float weight(int axis, int tap) {
  return mica::bench::derivative_weight<float>(axis, tap);
}

__device__ __forceinline__ void accumulate(float w, const float* values, float* sum) {
#pragma unroll
  for (int i = 0; i < kV; ++i) sum[i] = madd(w, values[i], sum[i]);
}

// What a thread loads of one plane: its four points with four to each side, and the rows four above and
// four below.
struct Taps {
  float x[2 * kR + kV], above[kV], below[kV];
  __device__ __forceinline__ void ask(const float* __restrict__ p, long isy, bool in_rows) {
#pragma unroll
    for (int i = 0; i < 2 * kR + kV; i += kV) load<kV>(x + i, p + i - kR);
    load<kV>(above, p - kR * isy);
    if (in_rows) load<kV>(below, p + kR * isy);
  }
  __device__ __forceinline__ void share(float4 (&s)[kY + 2 * kR][kX], bool in_rows) const {
    const int i = threadIdx.x, j = threadIdx.y;
    store<kV>(&s[j][i].x, above);
    store<kV>(&s[j + kR][i].x, x + kR);
    if (in_rows) store<kV>(&s[j + 2 * kR][i].x, below);
  }
};

__device__ __forceinline__ void add_y(const float4 (&s)[kY + 2 * kR][kX], float* sum) {
#pragma unroll
  for (int tap = 0; tap <= 2 * kR; ++tap) {
    float values[kV];
    load<kV>(values, &s[threadIdx.y + tap][threadIdx.x].x);
    accumulate(weight(1, tap), values, sum);
  }
}

}  // namespace

// x and y; nx must be a multiple of 4 and rows aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(kX* kY)
    seismic_xy(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int, int, long isy,
               long isz, long osy, long osz) {
  __shared__ float4 s[kY + 2 * kR][kX];
  const int x = kV * (blockIdx.x * kX + threadIdx.x), y = blockIdx.y * kY + threadIdx.y, z = blockIdx.z;
  if (x >= nx) return;
  Taps taps;
  taps.ask(in + z * isz + y * isy + x, isy, y < ny);
  taps.share(s, y < ny);
  __syncthreads();
  if (y >= ny) return;
  float sum[kV];
#pragma unroll
  for (int i = 0; i < kV; ++i) sum[i] = weight(0, 0) * taps.x[i];
#pragma unroll
  for (int tap = 1; tap <= 2 * kR; ++tap) accumulate(weight(0, tap), taps.x + tap, sum);
  add_y(s, sum);
  __stcs(reinterpret_cast<float4*>(out + z * osz + y * osy + x),
         make_float4(sum[0], sum[1], sum[2], sum[3]));
}

// x, y and z in one pass of `chunk` planes a block. A plane's sum is opened when the plane arrives, with
// the four planes before it from the window and its x and y terms; it is carried in registers until the
// four planes behind it have arrived.
extern "C" __global__ void __launch_bounds__(kX* kY)
    seismic_xyz(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz, int chunk,
                long isy, long isz, long osy, long osz) {
  constexpr int kSlots = kR + 1;
  __shared__ float4 s[kY + 2 * kR][kX];
  const int x = kV * (blockIdx.x * kX + threadIdx.x), y = blockIdx.y * kY + threadIdx.y;
  if (x >= nx) return;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  const bool in_rows = y < ny;
  const float* p = in + (begin - kR) * isz + y * isy + x;
  float* q = out + begin * osz + y * osy + x;
  // Slot step % 5 of both: the plane that arrives, and its sum.
  float window[kSlots][kV], sums[kSlots][kV];
#pragma unroll
  for (int i = 1; i < kSlots; ++i) {
    load<kV>(window[i], p);
    p += isz;
  }
  for (int z = begin; z < end + kR; z += kSlots) {
#pragma unroll
    for (int step = 0; step < kSlots; ++step) {
      const int arriving = z + step;
      if (arriving >= end + kR) return;
      float(&sum)[kV] = sums[step];
      if (arriving < end) {
        Taps taps;
        taps.ask(p, isy, in_rows);
        __syncthreads();
        taps.share(s, in_rows);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kV; ++i) {
          window[step][i] = taps.x[kR + i];
          sum[i] = weight(2, 0) * window[(step + 1) % kSlots][i];
        }
#pragma unroll
        for (int tap = 1; tap < kR; ++tap) {
          accumulate(weight(2, tap), window[(step + 1 + tap) % kSlots], sum);
        }
#pragma unroll
        for (int tap = 0; tap <= 2 * kR; ++tap) accumulate(weight(0, tap), taps.x + tap, sum);
        add_y(s, sum);
        accumulate(weight(2, kR), window[step], sum);
      } else {
        load<kV>(window[step], p);
      }
      p += isz;
      if (arriving >= begin + kR) {
        float(&finished)[kV] = sums[(step + 1) % kSlots];
#pragma unroll
        for (int tap = kR + 1; tap <= 2 * kR; ++tap) {
          accumulate(weight(2, tap), window[(step + 1 + tap - kR) % kSlots], finished);
        }
        if (in_rows) {
          __stcs(reinterpret_cast<float4*>(q),
                 make_float4(finished[0], finished[1], finished[2], finished[3]));
        }
        q += osz;
      }
    }
  }
}
