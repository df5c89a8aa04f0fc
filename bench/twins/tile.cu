// Hand-written kernels in the manner of the structured-grids lecture: tiles in shared memory without
// threads that only load.
#include "bench/twins/twin.cuh"
#include "bench/weights.h"

namespace {

constexpr int kX = 32, kY = 8, kZ = 4;  // points of a tile, and threads
constexpr int kBoxX = kX + 2, kBoxY = kY + 2, kBoxZ = kZ + 2;
constexpr int kThreads = kX * kY * kZ, kBox = kBoxX * kBoxY * kBoxZ;

// The tile and its halo: all threads load once, and as many as are needed a second time.
__device__ __forceinline__ void load_box(float* s, const float* __restrict__ in, int nx, int ny, int nz,
                                         long isy, long isz) {
  const int thread = (threadIdx.z * kY + threadIdx.y) * kX + threadIdx.x;
  const int x0 = blockIdx.x * kX - 1, y0 = blockIdx.y * kY - 1, z0 = blockIdx.z * kZ - 1;
#pragma unroll
  for (int turn = 0; turn < (kBox + kThreads - 1) / kThreads; ++turn) {
    const int point = thread + turn * kThreads;
    const int x = x0 + point % kBoxX, y = y0 + point / kBoxX % kBoxY, z = z0 + point / (kBoxX * kBoxY);
    if (point < kBox && x <= nx && y <= ny && z <= nz) s[point] = in[z * isz + y * isy + x];
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    stencil7_two_step(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz, int,
                      long isy, long isz, long osy, long osz) {
  using mica::bench::star7_weight;
  __shared__ float s[kBox];
  load_box(s, in, nx, ny, nz, isy, isz);
  __syncthreads();
  const int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y;
  const int z = blockIdx.z * kZ + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  constexpr int kRow = kBoxX, kPlane = kBoxX * kBoxY;
  const float* u = s + (threadIdx.z + 1) * kPlane + (threadIdx.y + 1) * kRow + threadIdx.x + 1;
  float sum = star7_weight<float>(5) * u[-kPlane];
  sum = madd(star7_weight<float>(0), u[0], sum);
  sum = madd(star7_weight<float>(1), u[-1], sum);
  sum = madd(star7_weight<float>(2), u[1], sum);
  sum = madd(star7_weight<float>(3), u[-kRow], sum);
  sum = madd(star7_weight<float>(4), u[kRow], sum);
  sum = madd(star7_weight<float>(6), u[kPlane], sum);
  out[z * osz + y * osy + x] = sum;
}

// Two inputs: the first in shared memory, the second through the read-only path.
extern "C" __global__ void __launch_bounds__(kThreads, 2)
    pair7_read_only(const float* __restrict__ staged, const float* __restrict__ read,
                    float* __restrict__ out, int nx, int ny, int nz, int, long isy, long isz, long osy,
                    long osz) {
  using mica::bench::second7_weight;
  using mica::bench::star7_weight;
  __shared__ float s[kBox];
  load_box(s, staged, nx, ny, nz, isy, isz);
  __syncthreads();
  const int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y;
  const int z = blockIdx.z * kZ + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  constexpr int kRow = kBoxX, kPlane = kBoxX * kBoxY;
  const float* u = s + (threadIdx.z + 1) * kPlane + (threadIdx.y + 1) * kRow + threadIdx.x + 1;
  const float* v = read + z * isz + y * isy + x;
  float sum = star7_weight<float>(5) * u[-kPlane];
  sum = madd(second7_weight<float>(5), __ldg(v - isz), sum);
  sum = madd(star7_weight<float>(0), u[0], sum);
  sum = madd(star7_weight<float>(1), u[-1], sum);
  sum = madd(star7_weight<float>(2), u[1], sum);
  sum = madd(star7_weight<float>(3), u[-kRow], sum);
  sum = madd(star7_weight<float>(4), u[kRow], sum);
  sum = madd(second7_weight<float>(0), __ldg(v), sum);
  sum = madd(second7_weight<float>(1), __ldg(v - 1), sum);
  sum = madd(second7_weight<float>(2), __ldg(v + 1), sum);
  sum = madd(second7_weight<float>(3), __ldg(v - isy), sum);
  sum = madd(second7_weight<float>(4), __ldg(v + isy), sum);
  sum = madd(star7_weight<float>(6), u[kPlane], sum);
  sum = madd(second7_weight<float>(6), __ldg(v + isz), sum);
  out[z * osz + y * osy + x] = sum;
}
