// Tensor copies with every swizzle: what lies where in shared memory, stores, reductions, fills.
#include "common.h"
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace ptx = cuda::ptx;
typedef CUresult (*Tiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static Tiled tiled;
template <int D>
__global__ void dump(const __grid_constant__ CUtensorMap m, int x, int y, int z, int w, int bytes, uint32_t* out) {
    extern __shared__ __align__(1024) uint32_t box[];
    __shared__ __align__(8) uint64_t bar;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) box[i] = 0xdeadbeef;
    if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        int c[5] = {x, y, z, w, 0};
        if (D == 1) ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &m, (const int(&)[1])c, &bar);
        if (D == 2) ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &m, (const int(&)[2])c, &bar);
        if (D == 3) ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &m, (const int(&)[3])c, &bar);
        if (D == 4) ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &m, (const int(&)[4])c, &bar);
        if (D == 5) ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &m, (const int(&)[5])c, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, bytes);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = box[i];
}
template <int OP>
__global__ void store(const __grid_constant__ CUtensorMap m, int x, int y, int bytes, int seed, int kind) {
    extern __shared__ __align__(1024) uint32_t box[];
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) {
        uint32_t h = (i + seed) * 2654435761u; h ^= h >> 15;
        if (kind == 0) box[i] = h;
        if (kind == 1) box[i] = __float_as_uint((int)(h % 2001) / 8.f - 120.f);
        if (kind == 2) { __half2 v = __floats2half2_rn((int)(h % 301) / 16.f - 8.f, (int)(h / 7 % 301) / 4.f - 30.f); box[i] = *(uint32_t*)&v; }
        if (kind == 3) { __nv_bfloat162 v = __floats2bfloat162_rn((int)(h % 301) / 16.f - 8.f, (int)(h / 7 % 301) / 4.f - 30.f); box[i] = *(uint32_t*)&v; }
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        int c[2] = {x, y};
        if (OP == 0) ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &m, c, box);
        if (OP == 1) ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &m, c, box);
        if (OP == 2) ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_min, &m, c, box);
        if (OP == 3) ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_max, &m, c, box);
        if (OP == 4) ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_inc, &m, c, box);
        if (OP == 5) ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_dec, &m, c, box);
        if (OP == 6) ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_and_op, &m, c, box);
        if (OP == 7) ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_xor_op, &m, c, box);
        ptx::cp_async_bulk_commit_group(); ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
static int encode(CUtensorMap* m, int type, int size, int dims, void* at, std::vector<cuuint64_t> ext, std::vector<cuuint32_t> box, std::vector<cuuint32_t> step, int inter, int swizzle, int fill, int pad = 0) {
    std::vector<cuuint64_t> strides; cuuint64_t s = ext[0] * size + pad; if (inter) s = ext[0] * size; for (int i = 0; i + 1 < dims; i++) { s = (s + 15) / 16 * 16; strides.push_back(s); s *= ext[i + 1]; }
    return tiled(m, (CUtensorMapDataType)type, dims, at, ext.data(), strides.data(), box.data(), step.data(), (CUtensorMapInterleave)inter, (CUtensorMapSwizzle)swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, (CUtensorMapFloatOOBfill)fill);
}
int main() {
    CK(cudaFree(0)); cudaDriverEntryPointQueryResult q; CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void**)&tiled, 12000, cudaEnableDefault, &q));
    std::vector<uint32_t> v(1 << 18); for (size_t i = 0; i < v.size(); i++) v[i] = i * 2654435761u ^ i >> 3; Buf<uint32_t> data(v), out(1 << 14);
    // Bytes of the inner row for each swizzle, and a little less.
    for (int sw = 0; sw < 7; sw++) for (int inner : {16, 32, 48, 64, 96, 128, 256}) for (int rows : {1, 8, 13}) {
        CUtensorMap m; int e = encode(&m, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 2, data, {512, 64}, {(cuuint32_t)inner, (cuuint32_t)rows}, {1, 1}, 0, sw, 0);
        if (e) { if (rows == 1) printf("swizzle %d inner %d: %d\n", sw, inner, e); continue; }
        CK(cudaMemset(out, 0, 1 << 16)); dump<2><<<1, 64, 32768>>>(m, 16, 3, 0, 0, inner * rows, out); int l = cudaDeviceSynchronize(); printf("swizzle %d inner %d rows %d: %d %016llx\n", sw, inner, rows, l, l ? 0ull : (unsigned long long)out.hash()); if (l) return 1; }
    // Types, fills, edges.
    struct { int t, s; } types[] = {{0, 1}, {1, 2}, {2, 4}, {3, 4}, {4, 8}, {5, 8}, {6, 2}, {7, 4}, {8, 8}, {9, 2}, {10, 4}, {11, 4}, {12, 4}};
    for (auto t : types) for (int fill : {0, 1}) for (int sw : {0, 1, 2, 3}) { int inner = (sw == 0 ? 64 : 16 << sw) / t.s; CUtensorMap m; int e = encode(&m, t.t, t.s, 2, data, {(cuuint64_t)100, 50}, {(cuuint32_t)inner, 6}, {1, 1}, 0, sw, fill, 16); if (e) { printf("type %d fill %d swizzle %d: %d\n", t.t, fill, sw, e); continue; }
        for (auto [x, y] : {std::pair{-16 / t.s, -2}, {96, 47}, {0, 60}, {112, 0}, {-400, -400}}) { CK(cudaMemset(out, 0, 1 << 16)); dump<2><<<1, 64, 32768>>>(m, x, y, 0, 0, inner * 6 * t.s, out); int l = cudaDeviceSynchronize(); printf("type %d fill %d swizzle %d at %d %d: %d %016llx\n", t.t, fill, sw, x, y, l, l ? 0ull : (unsigned long long)out.hash()); if (l) return 1; } }
    // Dimensions, element strides, interleave.
    for (int sw : {0, 1, 2, 3}) { CUtensorMap m; cuuint32_t in = 4 << sw; 
        auto go = [&](const char* n, int e, auto k, int bytes, int x, int y, int z, int w) { if (e) { printf("%s swizzle %d: %d\n", n, sw, e); return; } CK(cudaMemset(out, 0, 1 << 16)); k<<<1, 64, 49152>>>(m, x, y, z, w, bytes, out); int l = cudaDeviceSynchronize(); printf("%s swizzle %d: %d %016llx\n", n, sw, l, l ? 0ull : (unsigned long long)out.hash()); if (l) exit(1); };
        go("1d", encode(&m, 2, 4, 1, data, {1000}, {in}, {1}, 0, sw, 0), dump<1>, in * 4, 996, 0, 0, 0);
        go("3d", encode(&m, 2, 4, 3, data, {40, 10, 9}, {in, 3, 2}, {1, 1, 1}, 0, sw, 0), dump<3>, in * 24, 4, 8, -1, 0);
        go("4d", encode(&m, 2, 4, 4, data, {40, 10, 9, 5}, {in, 3, 2, 2}, {1, 1, 1, 1}, 0, sw, 0), dump<4>, in * 48, 4, 8, -1, 4);
        go("5d", encode(&m, 2, 4, 5, data, {40, 10, 9, 5, 4}, {in, 3, 2, 2, 2}, {1, 1, 1, 1, 1}, 0, sw, 0), dump<5>, in * 96, 4, 8, -1, 4);
        go("strides", encode(&m, 2, 4, 2, data, {400, 100}, {in, 12}, {1, 3}, 0, sw, 0), dump<2>, in * 16, 8, 5, 0, 0);
        go("inner strides", encode(&m, 2, 4, 2, data, {400, 100}, {2 * in, 4}, {2, 1}, 0, sw, 0), dump<2>, in * 16, 8, 5, 0, 0);
        go("16B", encode(&m, 1, 2, 3, data, {8, 20, 6}, {8, 5, 3}, {1, 1, 1}, 1, sw, 0), dump<3>, 16 * 15, 0, 2, 1, 0);
        go("32B", encode(&m, 1, 2, 3, data, {16, 20, 6}, {16, 5, 3}, {1, 1, 1}, 2, sw, 0), dump<3>, 32 * 15, 0, 2, 1, 0); }
    // Stores and reductions.
    struct { int t, s, kind; } kinds[] = {{2, 4, 0}, {3, 4, 0}, {4, 8, 0}, {5, 8, 0}, {7, 4, 1}, {6, 2, 2}, {9, 2, 3}};
    auto reduce = [&](auto k, int op, int t, int s, int kind, int sw, int x, int y) { Buf<uint32_t> to(16384); int inner = (sw == 0 ? 64 : 16 << sw) / s; CUtensorMap m; int e = encode(&m, t, s, 2, to, {100, 40}, {(cuuint32_t)inner, 7}, {1, 1}, 0, sw, 0, 16); if (e) { printf("store %d\n", e); return; }
        for (int seed = 0; seed < 3; seed++) { k<<<1, 64, 32768>>>(m, x, y, inner * 7 * s, seed * 99, kind); int l = cudaDeviceSynchronize(); if (l) { printf("op %d type %d: %d\n", op, t, l); exit(1); } } printf("op %d type %d swizzle %d at %d %d: %016llx\n", op, t, sw, x, y, (unsigned long long)to.hash()); };
    for (auto k : kinds) for (int sw = 0; sw < 4; sw++) for (auto [x, y] : {std::pair{0, 0}, {96, 36}}) { reduce(store<0>, 0, k.t, k.s, k.kind, sw, x, y); if (k.t != 5) reduce(store<1>, 1, k.t, k.s, k.kind, sw, x, y); if (k.t != 7 && k.t != 5) { reduce(store<2>, 2, k.t, k.s, k.kind, sw, x, y); reduce(store<3>, 3, k.t, k.s, k.kind, sw, x, y); } if (k.t == 2) { reduce(store<4>, 4, k.t, k.s, 0, sw, x, y); reduce(store<5>, 5, k.t, k.s, 0, sw, x, y); } if (k.kind == 0 && k.t != 3 && k.t != 5) { reduce(store<6>, 6, k.t, k.s, 0, sw, x, y); reduce(store<7>, 7, k.t, k.s, 0, sw, x, y); } }
}
