// The programs of bench/halide/table as the loops that one would write by hand, for the C++ compiler to
// vectorize and OpenMP to spread over threads.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/halide/peers.h"

namespace peers::plain {

inline void f32_i32_f32(const Memory& in, const Memory& out) {
  const float* __restrict u = in.data<float>();
  float* __restrict f = out.data<float>();
  const int nx = out.extents[0], ny = out.extents[1];
#pragma omp parallel for
  for (int y = 0; y < ny; ++y) {
    for (int x = 0; x < nx; ++x) {
      f[y * nx + x] = static_cast<float>(static_cast<std::int32_t>(u[y * nx + x] * 1.5f) * 3 + 1);
    }
  }
}

inline void down_by_2(const Memory& in, const Memory& out) {
  const float* __restrict u = in.data<float>();
  float* __restrict f = out.data<float>();
  const int nx = out.extents[0], ny = out.extents[1], n = in.extents[0];
#pragma omp parallel for
  for (int y = 0; y < ny; ++y) {
    for (int x = 0; x < nx; ++x) {
      const float* at = u + 2 * y * n + 2 * x;
      f[y * nx + x] = 0.25f * (at[0] + at[1] + at[n] + at[n + 1]);
    }
  }
}

inline void grey_of_rgb(const Memory& in, const Memory& out) {
  const std::uint8_t* __restrict u = in.data<std::uint8_t>();
  std::uint8_t* __restrict f = out.data<std::uint8_t>();
  const int nx = out.extents[0], ny = out.extents[1];
#pragma omp parallel for
  for (int y = 0; y < ny; ++y) {
    for (int x = 0; x < nx; ++x) {
      const std::uint8_t* at = u + 3 * (y * nx + x);
      f[y * nx + x] = static_cast<std::uint8_t>((at[0] * 77 + at[1] * 151 + at[2] * 28) / 256);
    }
  }
}

/// With the edges by hand.
inline void periodic_5_point(const Memory& in, const Memory& out) {
  const float* __restrict u = in.data<float>();
  float* __restrict f = out.data<float>();
  const int nx = out.extents[0], ny = out.extents[1];
#pragma omp parallel for
  for (int y = 0; y < ny; ++y) {
    const float* row = u + y * nx;
    const float* below = u + (y == 0 ? ny - 1 : y - 1) * nx;
    const float* above = u + (y == ny - 1 ? 0 : y + 1) * nx;
    const auto point = [&](int x, int left, int right) {
      f[y * nx + x] = row[x] + 0.1f * (row[left] + row[right] + below[x] + above[x] - 4.0f * row[x]);
    };
    point(0, nx - 1, 1);
    for (int x = 1; x < nx - 1; ++x) point(x, x - 1, x + 1);
    point(nx - 1, nx - 2, 0);
  }
}

template <int points, int reach>
void stencil(const Memory& in, const Memory& out) {
  const int nx = out.extents[0], ny = out.extents[1], nz = out.extents[2];
  const std::int64_t row = in.extents[0], plane = row * in.extents[1];
  const float* __restrict u = in.data<float>() + reach * (1 + row + plane);
  float* __restrict f = out.data<float>();
#pragma omp parallel for collapse(2)
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      const float* at = u + z * plane + y * row;
      float* to = f + (static_cast<std::int64_t>(z) * ny + y) * nx;
      for (int x = 0; x < nx; ++x) {
        float e = 0.4f * at[x];
        if constexpr (points == 27) {
#pragma GCC unroll 27
          for (int i = 0; i < 27; ++i) {
            if (i == 13) continue;
            const std::int64_t tap = (i % 3 - 1) + (i / 3 % 3 - 1) * row + (i / 9 - 1) * plane;
            e += (0.1f / static_cast<float>(i + 1)) * at[x + tap];
          }
        } else {
#pragma GCC unroll 4
          for (int r = 1; r <= reach; ++r) {
            e += (0.1f / static_cast<float>(r)) *
                 (at[x - r] + at[x + r] + at[x - r * row] + at[x + r * row] + at[x - r * plane] +
                  at[x + r * plane]);
          }
        }
        to[x] = e;
      }
    }
  }
}

}  // namespace peers::plain
