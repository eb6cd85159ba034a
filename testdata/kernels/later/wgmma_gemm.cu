// C = A * B by one warpgroup a block: matrices in shared memory as `wgmma` wants them, swizzled by 128 bytes and
// filled by ordinary stores.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int M = 64, N = 64, K = 64;

// Accumulators of a thread: 64 x 64 floats over 128 threads.
struct Accumulators {
    float v[N / 2];
};

#define EACH8(f, i) f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7)
#define ACCUMULATOR(i) "+f"(d.v[i])

// A matrix with rows of 128 bytes, of which eight make a pattern.
__device__ unsigned long long descriptor(const void *p)
{
    unsigned long long address = __cvta_generic_to_shared(p);
    return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int most> __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(most) : "memory"); }

__device__ void multiply(Accumulators &d, unsigned long long a, unsigned long long b, int keep)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, p, 1, 1, 0, 0;\n"
                 "}\n"
                 : EACH8(ACCUMULATOR, 0), EACH8(ACCUMULATOR, 8), EACH8(ACCUMULATOR, 16), EACH8(ACCUMULATOR, 24)
                 : "l"(a), "l"(b), "r"(keep));
}

// Rows of 64 halves into shared memory: chunk c of row r at place c ^ r % 8.
__device__ void fill(char *to, const uint4 *from, int stride)
{
    for (int i = threadIdx.x; i < 64 * 8; i += blockDim.x) {
        int row = i / 8, chunk = i % 8;
        *(uint4 *)(to + row * 128 + (chunk ^ row % 8) * 16) = from[row * stride + chunk];
    }
}

__device__ void store(float *c, int n, const Accumulators &d)
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    for (int i = 0; i < N / 2; i++) {
        int r = row + i / 2 % 2 * 8, col = i / 4 * 8 + lane % 4 * 2 + i % 2;
        c[r * n + col] = d.v[i];
    }
}

// A by rows, B by columns, both of halves.
extern "C" __global__ void __launch_bounds__(128) wgmma_gemm(const uint4 *a, const uint4 *b, float *c, int n, int k)
{
    __shared__ __align__(1024) char sa[M * K * 2], sb[N * K * 2];
    a += blockIdx.y * M * k / 8;
    b += blockIdx.x * N * k / 8;
    Accumulators d;
    for (int from = 0; from < k; from += K) {
        fill(sa, a + from / 8, k / 8);
        fill(sb, b + from / 8, k / 8);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        fence();
        for (int step = 0; step < K / 16; step++)
            multiply(d, descriptor(sa) + step * 2, descriptor(sb) + step * 2, from + step);
        commit();
        wait<0>();
        __syncthreads();
    }
    store(c + blockIdx.y * M * n + blockIdx.x * N, n, d);
}

__device__ void multiply_rows(Accumulators &d, const unsigned a[4], unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
                 : EACH8(ACCUMULATOR, 0), EACH8(ACCUMULATOR, 8), EACH8(ACCUMULATOR, 16), EACH8(ACCUMULATOR, 24)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// A in registers and B by rows, of bfloat16; while one product is made the next B is loaded.
extern "C" __global__ void __launch_bounds__(128)
    wgmma_gemm_rows(const unsigned *a, const uint4 *b, float *c, int n, int k)
{
    __shared__ __align__(1024) char sb[2][K * N * 2];
    int lane = threadIdx.x % 32, row = blockIdx.y * M + threadIdx.x / 32 * 16 + lane / 4;
    b += blockIdx.x * N / 8;
    Accumulators d = {};
    unsigned rows[4][4];
    fill(sb[0], b, n / 8);
    for (int from = 0, turn = 0; from < k; from += K, turn ^= 1) {
#pragma unroll
        for (int i = 0; i < 16; i++)
            rows[i / 4][i % 4] = a[(row + i % 2 * 8) * k / 2 + from / 2 + i / 4 * 8 + i / 2 % 2 * 4 + lane % 4];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        fence();
#pragma unroll
        for (int step = 0; step < 4; step++)
            multiply_rows(d, rows[step], descriptor(sb[turn] + step * 16 * 128));
        commit();
        if (from + K < k)
            fill(sb[turn ^ 1], b + (from + K) * n / 8, n / 8);
        wait<0>();
    }
    store(c + blockIdx.y * M * n + blockIdx.x * N, n, d);
}
