// What the hand-written kernels share. Every kernel's arguments are
//   (inputs..., outputs..., int nx, int ny, int nz, int chunk, long isy, long isz, long osy, long osz)
// as bench/cases.h describes them. The order of additions is that of Mica's fixed sums: by plane of the
// slowest dimension, then as the algorithm writes the taps; the first term is a product, each further
// one an fma, so that a compiler has nothing left to contract and bits can be compared.
#pragma once

/// a*b + c in one rounding.
__device__ __forceinline__ float madd(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double madd(double a, double b, double c) { return fma(a, b, c); }

/// V (1, 2 or 4) floats in one access; `from` is aligned to all of them.
template <int V>
__device__ __forceinline__ void load(float* to, const float* from) {
  if constexpr (V == 4) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else if constexpr (V == 2) {
    const float2 v = *reinterpret_cast<const float2*>(from);
    to[0] = v.x, to[1] = v.y;
  } else {
    to[0] = *from;
  }
}
template <int V>
__device__ __forceinline__ void store(float* to, const float* from) {
  if constexpr (V == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
  } else if constexpr (V == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(from[0], from[1]);
  } else {
    *to = *from;
  }
}
