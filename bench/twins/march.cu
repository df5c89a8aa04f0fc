// Hand-written 25-point kernels in the manner of the structured-grids lecture: blocks walk the volume
// plane by plane, first with all nine planes in shared memory, then with one.
#include "bench/twins/twin.cuh"
#include "bench/weights.h"

namespace {

constexpr int kR = 4;
constexpr int kX = 32, kY = 16;  // points of a tile, and threads
constexpr int kRowX = kX + 2 * kR, kRowsY = kY + 2 * kR;
constexpr int kThreads = kX * kY, kPlane = kRowX * kRowsY;
constexpr int kRing = 2 * kR + 2;  // nine planes and the one that arrives

// The tap at `offset` along an axis of the 25-point star.
template <typename T>
__device__ __forceinline__ constexpr T weight(int axis, int offset) {
  return mica::bench::star25_weight<T>(mica::bench::star25_tap(axis, offset));
}

// Adds the taps of one plane, which lies in shared memory with the point at `u`, to `sum`.
template <typename T>
__device__ __forceinline__ T add_plane(const T* u, T centre, T sum) {
  sum = madd(weight<T>(0, 0), centre, sum);
#pragma unroll
  for (int k = 1; k <= kR; ++k) {
    sum = madd(weight<T>(0, -k), u[-k], sum);
    sum = madd(weight<T>(0, k), u[k], sum);
    sum = madd(weight<T>(1, -k), u[-k * kRowX], sum);
    sum = madd(weight<T>(1, k), u[k * kRowX], sum);
  }
  return sum;
}

// The current plane in shared memory, nine points of the thread's column in registers. The plane is
// written from the registers; its halo (256 points above and below, 128 to the sides) takes one more
// load of three quarters of the threads. Both are asked for one plane ahead, and two copies of the
// plane leave one barrier a plane.
template <typename T>
__device__ __forceinline__ void high_order(T (&s)[2][kPlane], const T* __restrict__ in,
                                           T* __restrict__ out, int nx, int ny, int nz, int chunk,
                                           long isy, long isz, long osy, long osz) {
  const int x0 = blockIdx.x * kX, y0 = blockIdx.y * kY;
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  const bool loads = x < nx + kR && y < ny + kR, computes = x < nx && y < ny;
  const int own = (threadIdx.y + kR) * kRowX + threadIdx.x + kR;

  // The thread's point of the halo, as column and row of the staged plane.
  const int thread = threadIdx.y * kX + threadIdx.x, side = thread - 2 * kR * kX;
  const int row = side < 0 ? thread / kX : side / (2 * kR);
  const int column = side < 0 ? thread % kX : side % (2 * kR);
  const int halo_x = side >= 0 && column >= kR ? column + kX : column + (side < 0 ? kR : 0);
  const int halo_y = side < 0 && row >= kR ? row + kY : row + (side < 0 ? 0 : kR);
  const bool loads_halo = side < 2 * kR * kY && x0 + halo_x - kR < nx + kR && y0 + halo_y - kR < ny + kR;

  const T* p = in + (begin - kR) * isz + y * isy + x;
  const T* h = in + begin * isz + (y0 + halo_y - kR) * isy + x0 + halo_x - kR;
  T* q = out + begin * osz + y * osy + x;
  T w[kRing], halo = 0;
#pragma unroll
  for (int i = 0; i < kRing - 1; ++i) {
    w[i] = loads ? *p : T(0);
    p += isz;
  }
  if (loads_halo) halo = *h;
  for (int z = begin; z < end; z += kRing) {
#pragma unroll
    for (int step = 0; step < kRing; ++step) {
      if (z + step >= end) return;
      T* plane = s[step % 2];
      plane[own] = w[(step + kR) % kRing];
      if (loads_halo) plane[halo_y * kRowX + halo_x] = halo;
      __syncthreads();
      h += isz;
      if (z + step + 1 < end) {
        if (loads_halo) halo = *h;
        if (loads) w[(step + kRing - 1) % kRing] = *p;
      }
      p += isz;
      T sum = weight<T>(2, -kR) * w[step];
#pragma unroll
      for (int i = 1; i < kR; ++i) sum = madd(weight<T>(2, i - kR), w[(step + i) % kRing], sum);
      sum = add_plane(plane + own, w[(step + kR) % kRing], sum);
#pragma unroll
      for (int i = kR + 1; i <= 2 * kR; ++i) {
        sum = madd(weight<T>(2, i - kR), w[(step + i) % kRing], sum);
      }
      if (computes) *q = sum;
      q += osz;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    star25_high_order(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                      int chunk, long isy, long isz, long osy, long osz) {
  __shared__ float s[2][kPlane];
  high_order(s, in, out, nx, ny, nz, chunk, isy, isz, osy, osz);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    star25_high_order_f64(const double* __restrict__ in, double* __restrict__ out, int nx, int ny,
                          int nz, int chunk, long isy, long isz, long osy, long osz) {
  __shared__ double s[2][kPlane];
  high_order(s, in, out, nx, ny, nz, chunk, isy, isz, osy, osz);
}

// Nine planes with their halo in a ring in shared memory. All threads load one point of the arriving
// plane and most a second one, a plane ahead; the tenth slot leaves one barrier a plane.
extern "C" __global__ void __launch_bounds__(kThreads)
    star25_plane(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                 int chunk, long isy, long isz, long osy, long osz) {
  __shared__ float s[kRing][kPlane];
  const int x0 = blockIdx.x * kX, y0 = blockIdx.y * kY;
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, nz);
  const bool computes = x < nx && y < ny;
  const int own = (threadIdx.y + kR) * kRowX + threadIdx.x + kR;

  const int first = threadIdx.y * kX + threadIdx.x, second = first + kThreads;
  auto inside = [&](int point) {
    return point < kPlane && x0 + point % kRowX < nx + 2 * kR && y0 + point / kRowX < ny + 2 * kR;
  };
  auto place = [&](int point) {
    return in + (begin - kR) * isz + (y0 + point / kRowX - kR) * isy + x0 + point % kRowX - kR;
  };
  const bool loads_first = inside(first), loads_second = inside(second);
  const float *p = place(first), *p2 = place(second);
  float* q = out + begin * osz + y * osy + x;
  float a = 0, b = 0;  // the two points of the arriving plane
  auto ask = [&] {
    if (loads_first) a = *p;
    if (loads_second) b = *p2;
    p += isz;
    p2 += isz;
  };
#pragma unroll
  for (int i = 0; i < 2 * kR; ++i) {
    ask();
    s[i][first] = a;
    if (second < kPlane) s[i][second] = b;
  }
  ask();
  for (int z = begin; z < end; z += kRing) {
#pragma unroll
    for (int step = 0; step < kRing; ++step) {
      if (z + step >= end) return;
      float* arriving = s[(step + 2 * kR) % kRing];
      arriving[first] = a;
      if (second < kPlane) arriving[second] = b;
      __syncthreads();
      if (z + step + 1 < end) ask();
      float sum = weight<float>(2, -kR) * s[step][own];
#pragma unroll
      for (int i = 1; i < kR; ++i) {
        sum = madd(weight<float>(2, i - kR), s[(step + i) % kRing][own], sum);
      }
      const float* current = s[(step + kR) % kRing] + own;
      sum = add_plane(current, *current, sum);
#pragma unroll
      for (int i = kR + 1; i <= 2 * kR; ++i) {
        sum = madd(weight<float>(2, i - kR), s[(step + i) % kRing][own], sum);
      }
      if (computes) *q = sum;
      q += osz;
    }
  }
}
