// The fp64 4-point kernels of the slides: before, now, and the step announced after that.
extern "C" __global__ void __launch_bounds__(256)
    jacobi2d_thread_tile(const double* __restrict__ in, double* __restrict__ out, int nx, int ny, int,
                         int, long isy, long, long osy, long) {
  // Each of 16x16 threads owns a square of 2x2 points; the first thread loads the halo by itself.
  constexpr int kSquare = 2, kTile = 16 * kSquare;
  __shared__ double s[kTile + 2][kTile + 2];
  const int x0 = blockIdx.x * kTile, y0 = blockIdx.y * kTile;
  const int i0 = threadIdx.x * kSquare, j0 = threadIdx.y * kSquare;
#pragma unroll
  for (int j = j0; j < j0 + kSquare; ++j) {
#pragma unroll
    for (int i = i0; i < i0 + kSquare; ++i) {
      if (x0 + i < nx && y0 + j < ny) s[j + 1][i + 1] = in[(y0 + j) * isy + x0 + i];
    }
  }
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    const int width = min(kTile, nx - x0), height = min(kTile, ny - y0);
    for (int i = 0; i < width; ++i) {
      s[0][i + 1] = in[(y0 - 1) * isy + x0 + i];
      s[height + 1][i + 1] = in[(y0 + height) * isy + x0 + i];
    }
    for (int j = 0; j < height; ++j) {
      s[j + 1][0] = in[(y0 + j) * isy + x0 - 1];
      s[j + 1][width + 1] = in[(y0 + j) * isy + x0 + width];
    }
  }
  __syncthreads();
#pragma unroll
  for (int j = j0; j < j0 + kSquare; ++j) {
#pragma unroll
    for (int i = i0; i < i0 + kSquare; ++i) {
      if (x0 + i < nx && y0 + j < ny) {
        out[(y0 + j) * osy + x0 + i] =
            (((s[j][i + 1] + s[j + 1][i]) + s[j + 1][i + 2]) + s[j + 2][i + 1]) / 5.5;
      }
    }
  }
}

// A row of threads strides along x over a shared tile, to fill it and to compute it.
extern "C" __global__ void __launch_bounds__(128)
    jacobi2d_strided(const double* __restrict__ in, double* __restrict__ out, int nx, int ny, int, int,
                     long isy, long, long osy, long) {
  constexpr int kTileX = 128, kTileY = 16;
  __shared__ double s[kTileY + 2][kTileX + 2];
  const int x0 = blockIdx.x * kTileX, y0 = blockIdx.y * kTileY;
  for (int i = 0; i < kTileY + 2; ++i) {
    for (int j = threadIdx.x; j < kTileX + 2; j += 128) {
      const int x = x0 + j - 1, y = y0 + i - 1;
      if (x <= nx && y <= ny) s[i][j] = in[y * isy + x];
    }
  }
  __syncthreads();
  for (int i = 0; i < kTileY; ++i) {
    for (int j = threadIdx.x; j < kTileX; j += 128) {
      if (x0 + j >= nx || y0 + i >= ny) continue;
      out[(y0 + i) * osy + x0 + j] =
          (((s[i][j + 1] + s[i + 1][j]) + s[i + 1][j + 2]) + s[i + 2][j + 1]) / 5.5;
    }
  }
}

// Shared memory as a window that slides over `chunk` rows: three rows, one of them arriving. The row
// after that is asked for meanwhile. A thread reads the row above at its own column alone, so one
// barrier a row is enough.
extern "C" __global__ void __launch_bounds__(256)
    jacobi2d_row_window(const double* __restrict__ in, double* __restrict__ out, int nx, int ny, int,
                        int chunk, long isy, long, long osy, long) {
  constexpr int kTile = 256;
  __shared__ double s[3][kTile + 2];
  const int i = threadIdx.x, x = blockIdx.x * kTile + i;
  const int begin = blockIdx.y * chunk, end = min(begin + chunk, ny);
  const bool inside = x < nx;
  // The first thread also loads the point to the left of the tile, the last one that to the right.
  const int beside = i == 0 ? -1 : 1;
  const bool at_side = inside && (i == 0 || i == kTile - 1 || x == nx - 1);
  const bool both = at_side && i == 0 && (x == nx - 1);
  const double* p = in + (begin - 1) * isy + x;
  double* q = out + begin * osy + x;
  double arriving = 0, side = 0, right = 0;
  auto ask = [&] {
    if (inside) arriving = *p;
    if (at_side) side = p[beside];
    if (both) right = p[1];
    p += isy;
  };
  auto put = [&](double* row) {
    if (inside) row[i + 1] = arriving;
    if (at_side) row[i + 1 + beside] = side;
    if (both) row[i + 2] = right;
  };
  ask();
  put(s[0]);
  ask();
  put(s[1]);
  ask();
  for (int y = begin; y < end; y += 3) {
#pragma unroll
    for (int step = 0; step < 3; ++step) {
      if (y + step >= end) return;
      const double *above = s[step], *row = s[(step + 1) % 3], *below = s[(step + 2) % 3];
      put(s[(step + 2) % 3]);
      __syncthreads();
      if (y + step + 1 < end) ask();
      if (inside) *q = (((above[i + 1] + row[i]) + row[i + 2]) + below[i + 1]) / 5.5;
      q += osy;
    }
  }
}
