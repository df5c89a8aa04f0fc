// The fp64 4-point kernel in which a row of threads strides along x over a shared tile.
extern "C" __global__ void __launch_bounds__(128)
    jacobi2d_strided(const double* __restrict__ in, double* __restrict__ out, int nx, int ny, int,
                     long isy, long, long osy, long) {
  constexpr int kTileX = 128, kTileY = 16;
  __shared__ double s[kTileY + 2][kTileX + 2];
  const int x0 = blockIdx.x * kTileX, y0 = blockIdx.y * kTileY;
  for (int i = 0; i < kTileY + 2; ++i) {
    for (int j = threadIdx.x; j < kTileX + 2; j += blockDim.x) {
      const int x = x0 + j - 1, y = y0 + i - 1;
      if (x <= nx && y <= ny) s[i][j] = in[y * isy + x];
    }
  }
  __syncthreads();
  for (int i = 0; i < kTileY; ++i) {
    for (int j = threadIdx.x; j < kTileX; j += blockDim.x) {
      if (x0 + j >= nx || y0 + i >= ny) continue;
      out[(y0 + i) * osy + x0 + j] =
          (((s[i][j + 1] + s[i + 1][j]) + s[i + 1][j + 2]) + s[i + 2][j + 1]) / 5.5;
    }
  }
}
