// C = A * B on pairs of blocks: one warpgroup of each brings tiles by tensor copies, B's to both blocks of the cluster, two
// multiply them by `wgmma`, and C goes back by tensor copies.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int BM = 128, BN = 64, BK = 64, STAGES = 4, THREADS = 384;
constexpr int A_BYTES = BM * BK * 2, B_BYTES = BN * BK * 2, C_BYTES = BM * BN * 4;
constexpr int SHARED = STAGES * (A_BYTES + B_BYTES) + C_BYTES + 1024;

typedef CUresult (*Tiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                          const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                          CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

__device__ uint32_t at(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ uint32_t rank() { uint32_t r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ void init(uint32_t bar, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory"); }
__device__ void expect(uint32_t bar, int bytes) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ void arrive_at(uint32_t bar, uint32_t block) {
    asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }" ::"r"(bar), "r"(block) : "memory");
}
__device__ void wait(uint32_t bar, uint32_t parity) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
}
__device__ void load(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}
__device__ void load_for_both(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(bar), "h"((uint16_t)3) : "memory");
}
__device__ uint64_t descriptor(uint32_t address) {
    return (uint64_t)(address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

struct Accumulators { float v[32]; };
#define EACH8(f, i) f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7)
#define ACCUMULATOR(i) "+f"(d.v[i])
__device__ void multiply(Accumulators& d, uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;\n"
                 : EACH8(ACCUMULATOR, 0), EACH8(ACCUMULATOR, 8), EACH8(ACCUMULATOR, 16), EACH8(ACCUMULATOR, 24)
                 : "l"(a), "l"(b));
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(THREADS, 1)
    product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, const __grid_constant__ CUtensorMap c, int k) {
    extern __shared__ uint8_t dynamic[];
    __shared__ __align__(8) uint64_t barriers[2 * STAGES];
    uint32_t start = (at(dynamic) + 1023) / 1024 * 1024;
    uint32_t as = start, bs = as + STAGES * A_BYTES, cs = bs + STAGES * B_BYTES;
    uint32_t full = at(barriers), empty = full + 8 * STAGES;
    int group = threadIdx.x / 128, tiles = k / BK;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) { init(full + 8 * i, 1); init(empty + 8 * i, 4); }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int i = 0; i < tiles; i++) {
                int stage = i % STAGES, phase = i / STAGES & 1;
                wait(empty + 8 * stage, phase ^ 1);
                expect(full + 8 * stage, A_BYTES + B_BYTES);
                load(as + stage * A_BYTES, &a, i * BK, blockIdx.x * BM, full + 8 * stage);
                int half = rank() * BN / 2;
                load_for_both(bs + stage * B_BYTES + half * BK * 2, &b, i * BK, blockIdx.y * BN + half, full + 8 * stage);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        Accumulators d = {};
        uint32_t rows = (group - 1) * 64;
        bool signals = threadIdx.x % 128 < 2;
        for (int i = 0; i < tiles; i++) {
            int stage = i % STAGES;
            wait(full + 8 * stage, i / STAGES & 1);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            for (int step = 0; step < BK / 16; step++)
                multiply(d, descriptor(as + stage * A_BYTES + rows * BK * 2) + 2 * step, descriptor(bs + stage * B_BYTES) + 2 * step);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (i > 0 && signals) arrive_at(empty + 8 * ((i - 1) % STAGES), threadIdx.x % 128);
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        uint32_t part = cs + rows * BN * 4;
        for (int i = 0; i < 32; i++) {
            int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
            int column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(part + (row * BN + column) * 4), "f"(d.v[i]) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
        if (threadIdx.x % 128 == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&c), "r"(blockIdx.y * BN), "r"(blockIdx.x * BM + rows), "r"(part) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

static void check(int error, const char* what) {
    if (error) { printf("%s: %d\n", what, error); exit(1); }
}

static CUtensorMap map(Tiled tiled, CUtensorMapDataType type, int size, void* at, int columns, int rows, int box_columns, int box_rows, CUtensorMapSwizzle swizzle) {
    CUtensorMap m;
    cuuint64_t extents[] = {(cuuint64_t)columns, (cuuint64_t)rows}, strides[] = {(cuuint64_t)columns * size};
    cuuint32_t box[] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows}, steps[] = {1, 1};
    check(tiled(&m, type, 2, at, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE), "a map");
    return m;
}

int main() {
    cudaFree(0);
    Tiled tiled = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void**)&tiled, 12000, cudaEnableDefault, &found), "the driver's function");
    check(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED), "shared memory");
    const int sizes[][3] = {{256, 64, 64}, {256, 128, 576}, {512, 192, 384}};
    for (auto [m, n, k] : sizes) {
        std::vector<__half> a(m * k), b(n * k);
        std::vector<float> c(m * n), reference(m * n);
        uint32_t state = 1;
        auto random = [&] { state = state * 1664525 + 1013904223; return (int)(state >> 24) % 17 - 8; };
        for (auto& x : a) x = __float2half((float)random() / 4);
        for (auto& x : b) x = __float2half((float)random() / 4);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0;
                for (int at = 0; at < k; at++) sum += __half2float(a[i * k + at]) * __half2float(b[j * k + at]);
                reference[i * n + j] = sum;
            }
        void *da, *db, *dc;
        cudaMalloc(&da, a.size() * 2); cudaMalloc(&db, b.size() * 2); cudaMalloc(&dc, c.size() * 4);
        cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice);
        cudaMemcpy(db, b.data(), b.size() * 2, cudaMemcpyHostToDevice);
        cudaMemset(dc, 0xff, c.size() * 4);
        CUtensorMap ma = map(tiled, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, da, k, m, BK, BM, CU_TENSOR_MAP_SWIZZLE_128B);
        CUtensorMap mb = map(tiled, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, db, k, n, BK, BN / 2, CU_TENSOR_MAP_SWIZZLE_128B);
        CUtensorMap mc = map(tiled, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, dc, n, m, BN, 64, CU_TENSOR_MAP_SWIZZLE_NONE);
        product<<<dim3(m / BM, n / BN), THREADS, SHARED>>>(ma, mb, mc, k);
        check(cudaDeviceSynchronize(), "the product");
        cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost);
        int wrong = 0;
        double sum = 0;
        for (int i = 0; i < m * n; i++) { wrong += c[i] != reference[i]; sum += c[i]; }
        printf("%d x %d x %d: %d wrong, sum %.4f, first %.4f, last %.4f\n", m, n, k, wrong, sum, c[0], c[m * n - 1]);
        cudaFree(da); cudaFree(db); cudaFree(dc);
    }
}
