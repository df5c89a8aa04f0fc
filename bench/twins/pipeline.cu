// The pipeline of five inputs and three outputs of the structured-grids lecture, in one launch:
// Y1 = f1(A, B, C) + f2(D, E), Y2 = Y1 + f3(B, C, D), Y3 = Y1 + Y2 + f4(A, E). A and B, whose taps lie
// in one plane, are staged in shared memory without threads that only load; C, D and E come through
// the read-only path, so that shared memory does not bound the number of blocks.
#include "bench/twins/twin.cuh"
#include "bench/weights.h"

namespace {

constexpr int kX = 32, kY = 8, kRow = kX + 2, kPlane = kRow * (kY + 2);

}  // namespace

extern "C" __global__ void __launch_bounds__(kX* kY)
    pipeline_multi_output(const float* __restrict__ a, const float* __restrict__ b,
                          const float* __restrict__ c, const float* __restrict__ d,
                          const float* __restrict__ e, float* __restrict__ y1, float* __restrict__ y2,
                          float* __restrict__ y3, int nx, int ny, int, int, long isy, long isz, long osy,
                          long osz) {
  __shared__ float sa[kPlane], sb[kPlane];
  const int x0 = blockIdx.x * kX, y0 = blockIdx.y * kY, z = blockIdx.z;
#pragma unroll
  for (int point = threadIdx.y * kX + threadIdx.x; point < kPlane; point += kX * kY) {
    const int x = x0 + point % kRow - 1, y = y0 + point / kRow - 1;
    if (x <= nx && y <= ny) {
      sa[point] = a[z * isz + y * isy + x];
      sb[point] = b[z * isz + y * isy + x];
    }
  }
  __syncthreads();
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const long in = z * isz + y * isy + x, out = z * osz + y * osy + x;
  const float *ap = sa + (threadIdx.y + 1) * kRow + threadIdx.x + 1, *bp = sb + (ap - sa);
  const float *cp = c + in, *dp = d + in, *ep = e + in;
  constexpr auto w = [](int tap) { return mica::bench::pipeline_weight<float>(tap); };

  float f1 = w(5) * __ldg(cp - isz);
  f1 = madd(w(0), ap[0], f1);
  f1 = madd(w(1), ap[-1], f1);
  f1 = madd(w(2), ap[1], f1);
  f1 = madd(w(3), bp[-kRow], f1);
  f1 = madd(w(4), bp[kRow], f1);
  f1 = madd(w(6), __ldg(cp + isz), f1);

  float f2 = w(7) * __ldg(dp - 1);
  f2 = madd(w(8), __ldg(dp + 1), f2);
  f2 = madd(w(9), __ldg(ep - isy), f2);
  f2 = madd(w(10), __ldg(ep + isy), f2);

  float f3 = w(15) * __ldg(dp - isz);
  f3 = madd(w(11), bp[-1], f3);
  f3 = madd(w(12), bp[1], f3);
  f3 = madd(w(13), __ldg(cp - isy), f3);
  f3 = madd(w(14), __ldg(cp + isy), f3);
  f3 = madd(w(16), __ldg(dp + isz), f3);

  float f4 = w(20) * __ldg(ep - isz);
  f4 = madd(w(17), ap[-kRow], f4);
  f4 = madd(w(18), ap[kRow], f4);
  f4 = madd(w(19), __ldg(ep), f4);
  f4 = madd(w(21), __ldg(ep + isz), f4);

  const float v1 = f1 + f2, v2 = v1 + f3;
  y1[out] = v1;
  y2[out] = v2;
  y3[out] = (v1 + v2) + f4;
}
