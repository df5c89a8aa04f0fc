// Hand-written image filters in the manner of the structured-grids lecture: 16-bit samples.
using u16 = unsigned short;

extern "C" __global__ void __launch_bounds__(256)
    blur_box9(const u16* __restrict__ in, u16* __restrict__ out, int nx, int ny, int, long isy, long,
              long osy, long) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const u16* p = in + y * isy + x;
  u16 sum = 0;
  for (int j = -1; j <= 1; ++j) {
    for (int i = -1; i <= 1; ++i) sum += p[j * isy + i];
  }
  out[y * osy + x] = sum / 9;
}

extern "C" __global__ void __launch_bounds__(256)
    blur_inline(const u16* __restrict__ in, u16* __restrict__ out, int nx, int ny, int, long isy, long,
                long osy, long) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= nx || y >= ny) return;
  u16 rows[3];
  for (int j = 0; j < 3; ++j) {
    const u16* p = in + (y + j - 1) * isy + x;
    rows[j] = static_cast<u16>(p[-1] + p[0] + p[1]) / 3;
  }
  out[y * osy + x] = static_cast<u16>(rows[0] + rows[1] + rows[2]) / 3;
}

// The x blur of the tile and its halo rows in shared memory, then the y blur.
extern "C" __global__ void __launch_bounds__(256)
    blur_shared_tile(const u16* __restrict__ in, u16* __restrict__ out, int nx, int ny, int, long isy,
                     long, long osy, long) {
  __shared__ u16 s[10][32];
  const int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 8;
  for (int j = threadIdx.y; j < 10; j += 8) {
    const int y = y0 + j - 1;
    if (x < nx && y <= ny) {
      const u16* p = in + y * isy + x;
      s[j][threadIdx.x] = static_cast<u16>(p[-1] + p[0] + p[1]) / 3;
    }
  }
  __syncthreads();
  const int y = y0 + threadIdx.y;
  if (x >= nx || y >= ny) return;
  out[y * osy + x] = static_cast<u16>(s[threadIdx.y][threadIdx.x] + s[threadIdx.y + 1][threadIdx.x] +
                                      s[threadIdx.y + 2][threadIdx.x]) /
                     3;
}
