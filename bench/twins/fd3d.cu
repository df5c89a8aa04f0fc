// Hand-written 25-point kernels in the manner of the 3-D finite-difference slides: in two passes, and
// in one with a register queue along z.
#include "bench/twins/twin.cuh"
#include "bench/weights.h"

namespace {

constexpr int kR = 4, kQueue = 2 * kR + 1;

__device__ __forceinline__ float weight(int axis, int offset) {
  return mica::bench::star25_weight<float>(mica::bench::star25_tap(axis, offset));
}

// The plane's taps in shared memory after the first, which opens or continues the sum.
template <int kRow>
__device__ __forceinline__ float add_plane(const float* u, float sum) {
#pragma unroll
  for (int k = 1; k <= kR; ++k) {
    sum = madd(weight(0, -k), u[-k], sum);
    sum = madd(weight(0, k), u[k], sum);
    sum = madd(weight(1, -k), u[-k * kRow], sum);
    sum = madd(weight(1, k), u[k * kRow], sum);
  }
  return sum;
}

// Loads of the halo of a tile of X x Y points: the first threads of each side load two points each.
// Whether the points exist depends on the tile alone.
template <int X, int Y>
struct Halo {
  bool own, above, below, left, right;
  __device__ __forceinline__ Halo(int x, int y, int nx, int ny) {
    const bool row = y < ny + kR, column = x < nx + kR;
    own = row && column;
    above = threadIdx.y < kR && column;
    below = threadIdx.y < kR && column && y + Y < ny + kR;
    left = threadIdx.x < kR && row;
    right = threadIdx.x < kR && row && x + X < nx + kR;
  }
  __device__ __forceinline__ void fill(float (*s)[X + 2 * kR], const float* __restrict__ p,
                                       long isy) const {
    const int i = threadIdx.x + kR, j = threadIdx.y + kR;
    if (above) s[j - kR][i] = p[-kR * isy];
    if (below) s[j + Y][i] = p[Y * isy];
    if (left) s[j][i - kR] = p[-kR];
    if (right) s[j][i + X] = p[X];
  }
};

}  // namespace

// First pass: the taps of x and y, from a tile of 32x32 points in shared memory.
extern "C" __global__ void __launch_bounds__(1024, 2)
    star25_plane_pass(const float* __restrict__ in, float* __restrict__ scratch, int nx, int ny, int,
                      int, long isy, long isz, long, long) {
  constexpr int kX = 32, kY = 32, kRow = kX + 2 * kR;
  __shared__ float s[kY + 2 * kR][kRow];
  const int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y, z = blockIdx.z;
  const float* p = in + z * isz + y * isy + x;
  const Halo<kX, kY> halo(x, y, nx, ny);
  float& own = s[threadIdx.y + kR][threadIdx.x + kR];
  if (halo.own) own = *p;
  halo.fill(s, p, isy);
  __syncthreads();
  if (x >= nx || y >= ny) return;
  scratch[z * isz + y * isy + x] = add_plane<kRow>(&own, weight(0, 0) * own);
}

// Second pass: the other taps of z, added to what the first pass left.
extern "C" __global__ void __launch_bounds__(256)
    star25_column_pass(const float* __restrict__ in, const float* __restrict__ scratch,
                       float* __restrict__ out, int nx, int ny, int nz, int chunk, long isy, long isz,
                       long osy, long osz) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  if (x >= nx || y >= ny) return;
  const float* p = in + (begin - kR) * isz + y * isy + x;
  const float* plane = scratch + begin * isz + y * isy + x;
  float* q = out + begin * osz + y * osy + x;
  float w[kQueue];
#pragma unroll
  for (int i = 0; i < 2 * kR; ++i) {
    w[i] = *p;
    p += isz;
  }
  for (int z = begin; z < end; z += kQueue) {
#pragma unroll
    for (int step = 0; step < kQueue; ++step) {
      if (z + step >= end) return;
      w[(step + 2 * kR) % kQueue] = *p;
      p += isz;
      float sum = weight(2, -kR) * w[step];
#pragma unroll
      for (int i = 1; i < kR; ++i) sum = madd(weight(2, i - kR), w[(step + i) % kQueue], sum);
      sum = sum + *plane;
      plane += isz;
#pragma unroll
      for (int i = kR + 1; i <= 2 * kR; ++i) {
        sum = madd(weight(2, i - kR), w[(step + i) % kQueue], sum);
      }
      *q = sum;
      q += osz;
    }
  }
}

// One pass: a tile walks along z with the current plane in shared memory and a queue of nine points of
// each thread's column in registers, which the unrolled loop renames instead of moving.
extern "C" __global__ void __launch_bounds__(512)
    star25_one_pass(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                    int chunk, long isy, long isz, long osy, long osz) {
  constexpr int kX = 32, kY = 16, kRow = kX + 2 * kR;
  __shared__ float s[kY + 2 * kR][kRow];
  const int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  const bool computes = x < nx && y < ny;
  const Halo<kX, kY> halo(x, y, nx, ny);
  const float* ahead = in + (begin - kR) * isz + y * isy + x;
  const float* p = ahead + kR * isz;
  float* q = out + begin * osz + y * osy + x;
  float& own = s[threadIdx.y + kR][threadIdx.x + kR];
  float w[kQueue];
#pragma unroll
  for (int i = 0; i < 2 * kR; ++i) {
    w[i] = halo.own ? *ahead : 0.0f;
    ahead += isz;
  }
  for (int z = begin; z < end; z += kQueue) {
#pragma unroll
    for (int step = 0; step < kQueue; ++step) {
      if (z + step >= end) return;
      // Advance the slice.
      if (halo.own) w[(step + 2 * kR) % kQueue] = *ahead;
      ahead += isz;
      __syncthreads();
      // Update the slice in shared memory.
      halo.fill(s, p, isy);
      p += isz;
      own = w[(step + kR) % kQueue];
      __syncthreads();
      // Compute the output point.
      float sum = weight(2, -kR) * w[step];
#pragma unroll
      for (int i = 1; i < kR; ++i) sum = madd(weight(2, i - kR), w[(step + i) % kQueue], sum);
      sum = add_plane<kRow>(&own, madd(weight(0, 0), w[(step + kR) % kQueue], sum));
#pragma unroll
      for (int i = kR + 1; i <= 2 * kR; ++i) {
        sum = madd(weight(2, i - kR), w[(step + i) % kQueue], sum);
      }
      if (computes) *q = sum;
      q += osz;
    }
  }
}
