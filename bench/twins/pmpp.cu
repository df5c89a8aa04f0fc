// Hand-written kernels in the manner of the stencil notes: from one thread a point to a walk along z
// with one plane in shared memory.
#include "bench/twins/twin.cuh"
#include "bench/weights.h"

namespace {

template <typename T>
__device__ __forceinline__ T star7(T c, T xm, T xp, T ym, T yp, T zm, T zp) {
  using mica::bench::star7_weight;
  T sum = star7_weight<T>(5) * zm;
  sum = madd(star7_weight<T>(0), c, sum);
  sum = madd(star7_weight<T>(1), xm, sum);
  sum = madd(star7_weight<T>(2), xp, sum);
  sum = madd(star7_weight<T>(3), ym, sum);
  sum = madd(star7_weight<T>(4), yp, sum);
  return madd(star7_weight<T>(6), zp, sum);
}

template <typename T>
__device__ __forceinline__ void naive(const T* __restrict__ in, T* __restrict__ out, int nx, int ny,
                                      long isy, long isz, long osy, long osz) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  const T* p = in + z * isz + y * isy + x;
  out[z * osz + y * osy + x] = star7(p[0], p[-1], p[1], p[-isy], p[isy], p[-isz], p[isz]);
}

constexpr int kSide = 32;         // threads, and points of a staged plane, along x and y
constexpr int kTile = kSide - 2;  // of which this many compute

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    stencil7_naive(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int, int,
                   long isy, long isz, long osy, long osz) {
  naive(in, out, nx, ny, isy, isz, osy, osz);
}

extern "C" __global__ void __launch_bounds__(256)
    stencil7_naive_f64(const double* __restrict__ in, double* __restrict__ out, int nx, int ny, int, int,
                       long isy, long isz, long osy, long osz) {
  naive(in, out, nx, ny, isy, isz, osy, osz);
}

// Four points of x a thread; nx must be a multiple of 4 and rows aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    stencil7_float4(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int, int,
                    long isy, long isz, long osy, long osz) {
  const int x = (blockIdx.x * 32 + threadIdx.x) * 4, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  const float* p = in + z * isz + y * isy + x;
  float row[6], ym[4], yp[4], zm[4], zp[4], sum[4];
  row[0] = p[-1];
  load<4>(row + 1, p);
  row[5] = p[4];
  load<4>(ym, p - isy);
  load<4>(yp, p + isy);
  load<4>(zm, p - isz);
  load<4>(zp, p + isz);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[i] = star7(row[i + 1], row[i], row[i + 2], ym[i], yp[i], zm[i], zp[i]);
  }
  store<4>(out + z * osz + y * osy + x, sum);
}

// A box of 8^3 points with its halo in shared memory, one thread per input point.
extern "C" __global__ void __launch_bounds__(1000)
    stencil7_shared_tile(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                         int, long isy, long isz, long osy, long osz) {
  __shared__ float s[10][10][10];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  const int x = blockIdx.x * 8 + i - 1, y = blockIdx.y * 8 + j - 1, z = blockIdx.z * 8 + k - 1;
  if (x <= nx && y <= ny && z <= nz) s[k][j][i] = in[z * isz + y * isy + x];
  __syncthreads();
  if (i < 1 || i > 8 || j < 1 || j > 8 || k < 1 || k > 8) return;
  if (x >= nx || y >= ny || z >= nz) return;
  out[z * osz + y * osy + x] = star7(s[k][j][i], s[k][j][i - 1], s[k][j][i + 1], s[k][j - 1][i],
                                     s[k][j + 1][i], s[k - 1][j][i], s[k + 1][j][i]);
}

// Previous, current and next plane in shared memory, one thread per point of a plane with its halo.
// The three slots change places instead of being copied. A thread reads the previous plane at its own
// point alone, so it may overwrite that point with the plane after the next without a second barrier.
extern "C" __global__ void __launch_bounds__(kSide* kSide)
    stencil7_three_plane(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                         int chunk, long isy, long isz, long osy, long osz) {
  __shared__ float s[3][kSide][kSide];
  const int i = threadIdx.x, j = threadIdx.y;
  const int x = blockIdx.x * kTile + i - 1, y = blockIdx.y * kTile + j - 1;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  const bool loads = x <= nx && y <= ny;
  const bool computes = i >= 1 && i <= kTile && j >= 1 && j <= kTile && x < nx && y < ny;
  const float* p = in + (begin - 1) * isz + y * isy + x;
  float* q = out + begin * osz + y * osy + x;
  if (loads) {
    s[0][j][i] = p[0];
    s[1][j][i] = p[isz];
  }
  p += 2 * isz;
  for (int z = begin; z < end; z += 3) {
#pragma unroll
    for (int step = 0; step < 3; ++step) {
      if (z + step >= end) return;
      float(&previous)[kSide][kSide] = s[step], (&current)[kSide][kSide] = s[(step + 1) % 3],
      (&next)[kSide][kSide] = s[(step + 2) % 3];
      if (loads) next[j][i] = *p;
      p += isz;
      __syncthreads();
      if (computes) {
        *q = star7(current[j][i], current[j][i - 1], current[j][i + 1], current[j - 1][i],
                   current[j + 1][i], previous[j][i], next[j][i]);
      }
      q += osz;
    }
  }
}

// The current plane in shared memory, the points before and behind it in registers.
extern "C" __global__ void __launch_bounds__(kSide* kSide)
    stencil7_register_march(const float* __restrict__ in, float* __restrict__ out, int nx, int ny,
                            int nz, int chunk, long isy, long isz, long osy, long osz) {
  __shared__ float s[kSide][kSide];
  const int i = threadIdx.x, j = threadIdx.y;
  const int x = blockIdx.x * kTile + i - 1, y = blockIdx.y * kTile + j - 1;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  const bool loads = x <= nx && y <= ny;
  const bool computes = i >= 1 && i <= kTile && j >= 1 && j <= kTile && x < nx && y < ny;
  const float* p = in + (begin - 1) * isz + y * isy + x;
  float* q = out + begin * osz + y * osy + x;
  float w[3] = {0, 0, 0};
  if (loads) {
    w[0] = p[0];
    w[1] = p[isz];
  }
  p += 2 * isz;
  for (int z = begin; z < end; z += 3) {
#pragma unroll
    for (int step = 0; step < 3; ++step) {
      if (z + step >= end) return;
      float &previous = w[step], &current = w[(step + 1) % 3], &next = w[(step + 2) % 3];
      s[j][i] = current;
      if (loads) next = *p;
      p += isz;
      __syncthreads();
      if (computes) {
        *q = star7(current, s[j][i - 1], s[j][i + 1], s[j - 1][i], s[j + 1][i], previous, next);
      }
      q += osz;
      __syncthreads();
    }
  }
}
