// Small programs of the usual kinds, and arithmetic on every pipe.
#include <cstdint>
#include <cuda_fp16.h>
#include <mma.h>

#define KERNEL extern "C" __global__ void
#define ID const int i = blockIdx.x * blockDim.x + threadIdx.x

KERNEL copy_v4(const float4 *in, float4 *out, int n)
{
    ID;
    if (i < n) out[i] = in[i];
}

KERNEL grid_stride(const float *in, float *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 2 + 1;
}

KERNEL gather(const int *index, const float *in, float *out, int n)
{
    ID;
    if (i < n) out[i] = in[index[i]];
}

KERNEL scatter(const int *index, const float *in, float *out, int n)
{
    ID;
    if (i < n) out[index[i]] = in[i];
}

struct Particle { float x, y, z, mass; double energy; };

KERNEL structures(Particle *all, int n)
{
    ID;
    if (i >= n) return;
    Particle p = all[i];
    p.x += p.y * p.mass;
    p.energy += p.z;
    all[i] = p;
}

KERNEL bytes(const unsigned char *in, unsigned char *out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int u = min(max(x + dx, 0), width - 1), v = min(max(y + dy, 0), height - 1);
            sum += in[v * width + u];
        }
    out[y * width + x] = sum / 9;
}

KERNEL transpose_naive(const float *in, float *out, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}

template <int PAD> __device__ void tile_transpose(const float *in, float *out, int n)
{
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}
KERNEL transpose_conflicts(const float *in, float *out, int n) { tile_transpose<0>(in, out, n); }
KERNEL transpose_padded(const float *in, float *out, int n) { tile_transpose<1>(in, out, n); }

template <int TM, int TN> __device__ void gemm(const float *a, const float *b, float *c, int n)
{
    constexpr int BM = 16 * TM, BN = 16 * TN, BK = 16;
    __shared__ float as[BK][BM], bs[BK][BN];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    float sums[TM][TN] = {};
    for (int k = 0; k < n; k += BK) {
        for (int e = t; e < BM * BK; e += 256) as[e % BK][e / BK] = a[(blockIdx.y * BM + e / BK) * n + k + e % BK];
        for (int e = t; e < BN * BK; e += 256) bs[e / BN][e % BN] = b[(k + e / BN) * n + blockIdx.x * BN + e % BN];
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; kk++) {
            float x[TM], y[TN];
#pragma unroll
            for (int i = 0; i < TM; i++) x[i] = as[kk][ty * TM + i];
#pragma unroll
            for (int j = 0; j < TN; j++) y[j] = bs[kk][tx * TN + j];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) c[(blockIdx.y * BM + ty * TM + i) * n + blockIdx.x * BN + tx * TN + j] = sums[i][j];
}
KERNEL gemm_1x1(const float *a, const float *b, float *c, int n) { gemm<1, 1>(a, b, c, n); }
KERNEL gemm_4x4(const float *a, const float *b, float *c, int n) { gemm<4, 4>(a, b, c, n); }
KERNEL gemm_8x4(const float *a, const float *b, float *c, int n) { gemm<8, 4>(a, b, c, n); }

KERNEL gemm_wmma(const half *a, const half *b, float *c, int n)
{
    using namespace nvcuda::wmma;
    const int row = (blockIdx.y * blockDim.y + threadIdx.y) * 16, col = blockIdx.x * 16;
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(x, a + row * n + k, n);
        load_matrix_sync(y, b + k * n + col, n);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(c + row * n + col, sum, n, mem_row_major);
}

KERNEL reduce_tree(const float *in, float *out, int n)
{
    __shared__ float s[256];
    ID;
    s[threadIdx.x] = i < n ? in[i] : 0;
    for (int d = 128; d; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

KERNEL reduce_interleaved(const float *in, float *out, int n)
{
    __shared__ float s[256];
    ID;
    s[threadIdx.x] = i < n ? in[i] : 0;
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        int at = 2 * d * threadIdx.x;
        if (at < 256) s[at] += s[at + d];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

KERNEL reduce_warps(const float *in, float *out, int n)
{
    __shared__ float s[32];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
        for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

KERNEL histogram_global(const unsigned char *in, unsigned *bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
}

KERNEL histogram_shared(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

KERNEL stencil_shared(const float *in, float *out, int n)
{
    __shared__ float s[256 + 8];
    ID;
    const int at = threadIdx.x + 4;
    s[at] = i < n ? in[i] : 0;
    if (threadIdx.x < 4) {
        s[at - 4] = i >= 4 ? in[i - 4] : 0;
        s[at + 256] = i + 256 < n ? in[i + 256] : 0;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = -4; k <= 4; k++) sum += s[at + k];
    if (i < n) out[i] = sum;
}

KERNEL stencil_3d(const float *in, float *out, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    for (int z = 1; z < n - 1; z++) {
        const int at = (z * n + y) * n + x;
        out[at] = in[at] * 0.4f + 0.1f * (in[at - 1] + in[at + 1] + in[at - n] + in[at + n] + in[at - n * n] + in[at + n * n]);
    }
}

KERNEL scan_block(const int *in, int *out)
{
    __shared__ int s[2][512];
    int from = 0;
    s[0][threadIdx.x] = in[blockIdx.x * 512 + threadIdx.x];
    for (int d = 1; d < 512; d *= 2) {
        __syncthreads();
        int v = s[from][threadIdx.x];
        if (threadIdx.x >= d) v += s[from][threadIdx.x - d];
        from ^= 1;
        s[from][threadIdx.x] = v;
    }
    out[blockIdx.x * 512 + threadIdx.x] = s[from][threadIdx.x];
}

KERNEL spmv_rows(const int *rows, const int *columns, const float *values, const float *x, float *y, int n)
{
    ID;
    if (i >= n) return;
    float sum = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++) sum += values[k] * x[columns[k]];
    y[i] = sum;
}

KERNEL binary_search(const int *sorted, const int *keys, int *out, int n, int m)
{
    ID;
    if (i >= m) return;
    int low = 0, high = n, key = keys[i];
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key) low = middle + 1;
        else high = middle;
    }
    out[i] = low;
}

KERNEL bitonic(int *data)
{
    __shared__ int s[512];
    const int t = threadIdx.x;
    s[t] = data[blockIdx.x * 512 + t];
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            __syncthreads();
            int other = t ^ j;
            if (other > t) {
                int a = s[t], b = s[other];
                if ((a > b) == ((t & k) == 0)) s[t] = b, s[other] = a;
            }
        }
    __syncthreads();
    data[blockIdx.x * 512 + t] = s[t];
}

// Arithmetic.
KERNEL arithmetic_f32(const float *in, float *out)
{
    ID;
    float v = in[i];
#pragma unroll 4
    for (int k = 0; k < 32; k++) v = (v * 1.001f + 0.5f) * v - v + 2.0f;
    out[i] = v / (1.0f + v * v) + fminf(v, 3.0f) + fabsf(v);
}

KERNEL arithmetic_f64(const double *in, double *out)
{
    ID;
    double v = in[i];
    for (int k = 0; k < 8; k++) v = v * v + 0.1 - v / 3.0;
    out[i] = v > 2 ? sqrt(v) : v + 1;
}

KERNEL arithmetic_f16(const half2 *in, half2 *out)
{
    ID;
    half2 v = in[i];
#pragma unroll
    for (int k = 0; k < 8; k++) v = __hfma2(v, v, __hadd2(v, in[k]));
    out[i] = __hmul2(v, v);
}

KERNEL arithmetic_int(const int *in, int *out, int by)
{
    ID;
    int v = in[i];
    long long w = (long long)v * by + 7;
    unsigned u = __brev(v) ^ (v << 3) ^ __popc(v) ^ __funnelshift_l(v, by, 5);
    w = w * w + (w >> 5) + v / by + v % 10;
    out[i] = (int)w + u + __clz(v) + min(v, by) + abs(v) + __byte_perm(v, by, 0x1234) + (v > by ? 3 : u);
}

KERNEL functions(const float *in, float *out)
{
    ID;
    float v = in[i];
    out[i] = __sinf(v) + __expf(v) + __logf(v) + rsqrtf(v) + sqrtf(v) + __fdividef(1.0f, v) + tanhf(v) + sinf(v) + powf(v, 1.3f);
}

KERNEL conversions(const float *in, int *out)
{
    ID;
    float v = in[i];
    out[i] = (int)v + (int)(unsigned char)v + (int)__half2float(__float2half(v)) + (int)(double)v + __float2int_rn((float)(short)v)
             + (int)(long long)v;
}

// Registers and shared memory for occupancy.
extern "C" __global__ void __launch_bounds__(1024) many_threads(const float *in, float *out)
{
    ID;
    float v[16];
#pragma unroll
    for (int k = 0; k < 16; k++) v[k] = in[(i + k * 1024) & 4095];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; k++) sum = sum * v[k] + v[15 - k];
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128, 2) many_registers(const float *in, float *out)
{
    ID;
    float v[160];
#pragma unroll
    for (int k = 0; k < 160; k++) v[k] = in[(i + k * 32) & 4095];
#pragma unroll 1
    for (int r = 0; r < 2; r++)
#pragma unroll
        for (int k = 0; k < 160; k++) v[k] = v[k] * v[(k + 1) % 160] + 1.0f;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 160; k++) sum += v[k];
    out[i] = sum;
}

extern "C" __global__ void __maxnreg__(32) spilling(const float *in, float *out)
{
    ID;
    float v[48];
#pragma unroll
    for (int k = 0; k < 48; k++) v[k] = in[(i + k * 32) & 4095];
#pragma unroll 1
    for (int r = 0; r < 2; r++)
#pragma unroll
        for (int k = 0; k < 48; k++) v[k] = v[k] * v[(k + 1) % 48] + 1.0f;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) sum += v[k];
    out[i] = sum;
}

KERNEL dynamic_shared(const float *in, float *out)
{
    extern __shared__ float s[];
    ID;
    s[threadIdx.x] = in[i & 4095];
    __syncthreads();
    out[i] = s[blockDim.x - 1 - threadIdx.x];
}
