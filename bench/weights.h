// Coefficients of the benchmarks' stencils: one table for the algorithms and the CUDA twins.
#pragma once

#ifdef __CUDACC__
#define MICA_BENCH_WEIGHT __host__ __device__ constexpr
#else
#define MICA_BENCH_WEIGHT constexpr
#endif

namespace mica::bench {

/// Seven-point star: centre, x-1, x+1, y-1, y+1, z-1, z+1.
template <typename T>
MICA_BENCH_WEIGHT T star7_weight(int tap) {
  constexpr double kWeights[7] = {0.4, 0.11, 0.09, 0.12, 0.08, 0.13, 0.07};
  return static_cast<T>(kWeights[tap]);
}

/// The second input of the stencil of two inputs, taps as star7_weight's.
template <typename T>
MICA_BENCH_WEIGHT T second7_weight(int tap) {
  constexpr double kWeights[7] = {-0.31, 0.052, 0.047, 0.061, 0.058, 0.043, 0.049};
  return static_cast<T>(kWeights[tap]);
}

/// Star of radius 4, every tap with a weight of its own: 0 is the centre, tap 1 + 6*(k - 1) + i at
/// distance k = 1 ... 4 is x-k, x+k, y-k, y+k, z-k, z+k for i = 0 ... 5.
template <typename T>
MICA_BENCH_WEIGHT T star25_weight(int tap) {
  constexpr double kWeights[25] = {0.37,    0.071,   0.069,   0.074,   0.066,   0.077,   0.063,
                                   -0.0191, -0.0183, -0.0207, -0.0171, -0.0213, -0.0167, 0.0059,
                                   0.0061,  0.0053,  0.0067,  0.0047,  0.0071,  -0.0011, -0.0013,
                                   -0.0007, -0.0017, -0.0019, -0.0023};
  return static_cast<T>(kWeights[tap]);
}

/// The tap of star25_weight at `offset` (-4 ... 4) along `axis` (0, 1, 2 for x, y, z).
MICA_BENCH_WEIGHT int star25_tap(int axis, int offset) {
  if (offset == 0) return 0;
  const int distance = offset < 0 ? -offset : offset;
  return 1 + 6 * (distance - 1) + 2 * axis + (offset < 0 ? 0 : 1);
}

/// Eighth-order second derivative along an axis (0, 1, 2 for x, y, z) on a grid whose spacing differs
/// between the axes: the weight of offset tap - 4, for tap 0 ... 8.
template <typename T>
MICA_BENCH_WEIGHT T derivative_weight(int axis, int tap) {
  constexpr double kWeights[9] = {-1.0 / 560, 8.0 / 315, -0.2,      1.6,       -205.0 / 72,
                                  1.6,        -0.2,      8.0 / 315, -1.0 / 560};
  constexpr double kScales[3] = {1.0, 0.64, 1.44};
  return static_cast<T>(kScales[axis] * kWeights[tap]);
}

/// The stencils of the pipeline with five inputs: 0 ... 6 of f1, 7 ... 10 of f2, 11 ... 16 of f3 and
/// 17 ... 21 of f4, in the order in which the algorithm writes their taps.
template <typename T>
MICA_BENCH_WEIGHT T pipeline_weight(int tap) {
  constexpr double kWeights[22] = {0.31,  0.14, -0.13, 0.17,  0.19,  -0.07, 0.05,  0.21,
                                   -0.11, 0.23, 0.03,  -0.29, 0.27,  0.02,  0.015, -0.33,
                                   0.35,  0.06, 0.08,  0.41,  -0.37, 0.39};
  return static_cast<T>(kWeights[tap]);
}

}  // namespace mica::bench
