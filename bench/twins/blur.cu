// Hand-written image filters in the manner of the structured-grids lecture: 16-bit samples.
using u16 = unsigned short;

extern "C" __global__ void __launch_bounds__(256)
    blur_box9(const u16* __restrict__ in, u16* __restrict__ out, int nx, int ny, int, int, long isy,
              long, long osy, long) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const u16* p = in + y * isy + x;
  u16 sum = 0;
  for (int j = -1; j <= 1; ++j) {
    for (int i = -1; i <= 1; ++i) sum = static_cast<u16>(sum + p[j * isy + i]);
  }
  out[y * osy + x] = sum / 9;
}

// The x blur of the whole image and of the rows above and below it (the grid covers two rows more) ...
extern "C" __global__ void __launch_bounds__(256)
    blur_x_pass(const u16* __restrict__ in, u16* __restrict__ scratch, int nx, int ny, int, int,
                long isy, long, long, long) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y - 1;
  if (x >= nx || y > ny) return;
  const u16* p = in + y * isy + x;
  scratch[y * isy + x] = static_cast<u16>(p[-1] + p[0] + p[1]) / 3;
}
// ... and then the y blur.
extern "C" __global__ void __launch_bounds__(256)
    blur_y_pass(const u16* __restrict__ scratch, u16* __restrict__ out, int nx, int ny, int, int,
                long isy, long, long osy, long) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const u16* p = scratch + y * isy + x;
  out[y * osy + x] = static_cast<u16>(p[-isy] + p[0] + p[isy]) / 3;
}

extern "C" __global__ void __launch_bounds__(256)
    blur_inline(const u16* __restrict__ in, u16* __restrict__ out, int nx, int ny, int, int, long isy,
                long, long osy, long) {
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
    blur_shared_tile(const u16* __restrict__ in, u16* __restrict__ out, int nx, int ny, int, int,
                     long isy, long, long osy, long) {
  __shared__ u16 s[10][32];
  const int i = threadIdx.x, x = blockIdx.x * 32 + i, y0 = blockIdx.y * 8;
  for (int j = threadIdx.y; j < 10; j += 8) {
    const int y = y0 + j - 1;
    if (x < nx && y <= ny) {
      const u16* p = in + y * isy + x;
      s[j][i] = static_cast<u16>(p[-1] + p[0] + p[1]) / 3;
    }
  }
  __syncthreads();
  const int j = threadIdx.y, y = y0 + j;
  if (x >= nx || y >= ny) return;
  out[y * osy + x] = static_cast<u16>(s[j][i] + s[j + 1][i] + s[j + 2][i]) / 3;
}
