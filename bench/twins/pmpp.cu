// Hand-written kernels in the manner of the stencil notes. The order of the fused operations is that
// of Mica's fixed sums (by plane), so that bits can be compared; nvcc has nothing left to contract.
#define TERMS(c, xm, xp, ym, yp, zm, zp) \
  fmaf(0.07f, zp,                        \
       fmaf(0.08f, yp, fmaf(0.12f, ym, fmaf(0.09f, xp, fmaf(0.11f, xm, fmaf(0.4f, c, 0.13f * (zm)))))))

extern "C" __global__ void __launch_bounds__(256)
    stencil7_naive(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                   long isy, long isz, long osy, long osz) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const float* p = in + z * isz + y * isy + x;
  out[z * osz + y * osy + x] = TERMS(p[0], p[-1], p[1], p[-isy], p[isy], p[-isz], p[isz]);
}

// Four points of x a thread; nx must be a multiple of 4 and rows aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    stencil7_float4(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                    long isy, long isz, long osy, long osz) {
  const int x = (blockIdx.x * 32 + threadIdx.x) * 4, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const float* p = in + z * isz + y * isy + x;
  auto load = [](const float* q) { return *reinterpret_cast<const float4*>(q); };
  const float4 c = load(p), ym = load(p - isy), yp = load(p + isy), zm = load(p - isz),
               zp = load(p + isz);
  const float l = p[-1], r = p[4];
  float4 v;
  v.x = TERMS(c.x, l, c.y, ym.x, yp.x, zm.x, zp.x);
  v.y = TERMS(c.y, c.x, c.z, ym.y, yp.y, zm.y, zp.y);
  v.z = TERMS(c.z, c.y, c.w, ym.z, yp.z, zm.z, zp.z);
  v.w = TERMS(c.w, c.z, r, ym.w, yp.w, zm.w, zp.w);
  *reinterpret_cast<float4*>(out + z * osz + y * osy + x) = v;
}

// A box of 8^3 points with its halo in shared memory, one thread per input point.
extern "C" __global__ void __launch_bounds__(1000)
    stencil7_shared_tile(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                         long isy, long isz, long osy, long osz) {
  __shared__ float s[10][10][10];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  const int x = blockIdx.x * 8 + i - 1, y = blockIdx.y * 8 + j - 1, z = blockIdx.z * 8 + k - 1;
  if (x <= nx && y <= ny && z <= nz) s[k][j][i] = in[z * isz + y * isy + x];
  __syncthreads();
  if (i < 1 || i > 8 || j < 1 || j > 8 || k < 1 || k > 8) return;
  if (x >= nx || y >= ny || z >= nz) return;
  out[z * osz + y * osy + x] = TERMS(s[k][j][i], s[k][j][i - 1], s[k][j][i + 1], s[k][j - 1][i],
                                     s[k][j + 1][i], s[k - 1][j][i], s[k + 1][j][i]);
}
