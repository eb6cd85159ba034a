// Tensor copies of every kind: what they bring to shared memory, and to global memory.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#include <cuda.h>
#include <cuda_runtime.h>

typedef CUresult (*Tiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                          const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                          CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef CUresult (*Im2col)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                           const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,
                           CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static Tiled tiled;
static Im2col im2col;

struct Args {
    int c[5];
    unsigned short off[3];
    int bytes, base, dump;
};

__device__ uint32_t at(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ void wait(uint32_t bar, uint32_t parity) {
    for (int i = 0; i < 20000; i++) {
        uint32_t done;
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
        if (done) return;
        __nanosleep(100);
    }
    printf("never complete\n");
}

template <int R, int K> __device__ void load(uint32_t dst, const CUtensorMap* m, const Args& a, uint32_t bar) {
#define ARGS "r"(dst), "l"(m), "r"(bar), "r"(a.c[0]), "r"(a.c[1]), "r"(a.c[2]), "r"(a.c[3]), "r"(a.c[4])
#define OFFS ARGS, "h"(a.off[0]), "h"(a.off[1]), "h"(a.off[2])
    if constexpr (K == 0) {
        if (R == 1) asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::ARGS : "memory");
        if (R == 2) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4}], [%2];" ::ARGS : "memory");
        if (R == 3) asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5}], [%2];" ::ARGS : "memory");
        if (R == 4) asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6}], [%2];" ::ARGS : "memory");
        if (R == 5) asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6,%7}], [%2];" ::ARGS : "memory");
    } else {
        if (R == 3) asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5}], [%2], {%8};" ::OFFS : "memory");
        if (R == 4) asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6}], [%2], {%8,%9};" ::OFFS : "memory");
        if (R == 5) asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6,%7}], [%2], {%8,%9,%10};" ::OFFS : "memory");
    }
}

template <int R, int K> __global__ void loads(const __grid_constant__ CUtensorMap map, Args a, uint8_t* out, const CUtensorMap* other) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ __align__(8) uint64_t bar;
    const CUtensorMap* m = other ? other : &map;
    for (int i = threadIdx.x; i < a.dump; i += blockDim.x) s[i] = 0xee;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        load<R, K>(at(s) + a.base, m, a, at(&bar));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(a.bytes) : "memory");
    }
    wait(at(&bar), 0);
    for (int i = threadIdx.x; i < a.dump; i += blockDim.x) out[i] = s[i];
}

template <int OP> __global__ void stores(const __grid_constant__ CUtensorMap map, Args a, const uint8_t* in) {
    extern __shared__ __align__(1024) uint8_t s[];
    for (int i = threadIdx.x; i < a.dump; i += blockDim.x) s[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
#define ST(name) asm volatile(name ".2d.global.shared::cta" "%5" " [%0, {%2,%3}], [%1];" :: "l"(&map), "r"(at(s) + a.base), "r"(a.c[0]), "r"(a.c[1]) : "memory")
#define RED(op) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group [%0, {%2,%3}], [%1];" :: "l"(&map), "r"(at(s) + a.base), "r"(a.c[0]), "r"(a.c[1]) : "memory")
        if (OP == 0) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2,%3}], [%1];" :: "l"(&map), "r"(at(s) + a.base), "r"(a.c[0]), "r"(a.c[1]) : "memory");
        if (OP == 1) RED("add");
        if (OP == 2) RED("min");
        if (OP == 3) RED("max");
        if (OP == 4) RED("inc");
        if (OP == 5) RED("dec");
        if (OP == 6) RED("and");
        if (OP == 7) RED("or");
        if (OP == 8) RED("xor");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

template <int R> __global__ void im2col_stores(const __grid_constant__ CUtensorMap map, Args a, const uint8_t* in) {
    extern __shared__ __align__(1024) uint8_t s[];
    for (int i = threadIdx.x; i < a.dump; i += blockDim.x) s[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%2,%3,%4,%5}], [%1];" :: "l"(&map), "r"(at(s) + a.base), "r"(a.c[0]), "r"(a.c[1]), "r"(a.c[2]), "r"(a.c[3]) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

__global__ void __cluster_dims__(4) multicast(const __grid_constant__ CUtensorMap map, Args a, uint8_t* out, int mask) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ __align__(8) uint64_t bar;
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (int i = threadIdx.x; i < a.dump; i += blockDim.x) s[i] = 0xee;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
    asm volatile("fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0) {
        if (mask >> rank & 1)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(a.bytes) : "memory");
        if (rank == 1) {
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3,%4}], [%2], %5;" ::"r"(at(s) + a.base), "l"(&map), "r"(at(&bar)), "r"(a.c[0]), "r"(a.c[1]), "h"((short)mask) : "memory");
        }
    }
    if (mask >> rank & 1) wait(at(&bar), 0);
    for (int i = threadIdx.x; i < a.dump; i += blockDim.x) out[rank * a.dump + i] = s[i];
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

// Bulk copies and reductions without a map: between blocks and to global memory.
template <int OP> __global__ void __cluster_dims__(2) bulk(const uint8_t* in, uint8_t* out, uint8_t* global, int bytes) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ __align__(8) uint64_t bar;
    uint32_t rank, there, therebar;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (int i = threadIdx.x; i < 2 * bytes; i += blockDim.x) s[i] = in[rank * 2 * bytes + i];
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(bytes) : "memory");
    }
    asm volatile("fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(s) + bytes), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(therebar) : "r"(at(&bar)), "r"(rank ^ 1));
    if (threadIdx.x == 0) {
#define SS(op) asm volatile(op " [%0], [%1], %2, [%3];" ::"r"(there), "r"(at(s)), "r"(bytes), "r"(therebar) : "memory")
#define SG(op) asm volatile(op " [%0], [%1], %2;" ::"l"(global + rank * bytes), "r"(at(s)), "r"(bytes) : "memory")
        if (OP == 0) { SS("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"); SG("cp.async.bulk.global.shared::cta.bulk_group"); }
#define RS(op, k) if (OP == k) { SS("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." op); SG("cp.reduce.async.bulk.global.shared::cta.bulk_group." op); }
#define RG(op, k) if (OP == k) { SS("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"); SG("cp.reduce.async.bulk.global.shared::cta.bulk_group." op); }
        RS("add.u32", 1) RS("add.s32", 2) RS("add.u64", 3) RS("min.s32", 4) RS("max.u32", 5) RS("inc.u32", 6) RS("dec.u32", 7)
        RS("and.b32", 8) RS("or.b32", 9) RS("xor.b32", 10)
        RG("add.f32", 11) RG("add.f64", 12) RG("add.noftz.f16", 13) RG("add.noftz.bf16", 14) RG("min.f16", 15) RG("max.bf16", 16)
        RG("min.s64", 17) RG("max.u64", 18) RG("xor.b64", 19) RG("min.u32", 20) RG("max.s32", 21)
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
    wait(at(&bar), 0);
    for (int i = threadIdx.x; i < 2 * bytes; i += blockDim.x) out[rank * 2 * bytes + i] = s[i];
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

// Every field of a map replaced, one after the other, in shared memory.
__global__ void replaces(const __grid_constant__ CUtensorMap map, CUtensorMap* to, uint64_t address, int which, uint64_t value) {
    __shared__ __align__(128) CUtensorMap s;
    for (int i = threadIdx.x; i < 32; i += blockDim.x) ((uint32_t*)&s)[i] = ((const uint32_t*)&map)[i];
    __syncwarp();
    uint32_t v = (uint32_t)value;
    if (threadIdx.x == 0) {
#define RP(name, ty, x) asm volatile("tensormap.replace.tile." name ".shared::cta.b1024." ty " [%0], %1;" ::"r"(at(&s)), x : "memory")
#define RO(name, ty, o, x) asm volatile("tensormap.replace.tile." name ".shared::cta.b1024." ty " [%0], " o ", %1;" ::"r"(at(&s)), x : "memory")
        if (which == 0) RP("global_address", "b64", "l"(address));
        if (which == 1) RP("rank", "b32", "r"(v));
        if (which == 2) RO("box_dim", "b32", "1", "r"(v));
        if (which == 3) RO("global_dim", "b32", "0", "r"(v));
        if (which == 4) RO("global_stride", "b64", "0", "l"(value));
        if (which == 5) RO("element_stride", "b32", "1", "r"(v));
        if (which == 6) asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 3;" ::"r"(at(&s)) : "memory");
        if (which == 7) asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 1;" ::"r"(at(&s)) : "memory");
        if (which == 8) asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 6;" ::"r"(at(&s)) : "memory");
        if (which == 9) RO("box_dim", "b32", "0", "r"(v));
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(to), "r"(at(&s)) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(to) : "memory");
}

// What must not be.
__global__ void wrong(const __grid_constant__ CUtensorMap map, Args a, int which, uint32_t* out) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ __align__(8) uint64_t bar;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(a.bytes) : "memory");
    if (which == 0) load<2, 0>(at(s) + a.base, &map, a, at(&bar));
    if (which == 1) load<3, 0>(at(s), &map, a, at(&bar));
    if (which == 2) load<4, 1>(at(s), &map, a, at(&bar));
    if (which == 3) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2,%3}], [%1];" :: "l"(&map), "r"(at(s) + a.base), "r"(a.c[0]), "r"(a.c[1]) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
        return;
    }
    if (which == 4) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(s) + 1024), "r"(at(s)), "r"(a.bytes), "r"(at(&bar)) : "memory");
    if (which == 5) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(at(s)), "r"(7), "r"(at(&bar)) : "memory");
    if (which == 6) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(s) + a.base), "l"(out + a.c[0]), "r"(a.bytes), "r"(at(&bar)) : "memory");
    wait(at(&bar), 0);
    if (out) out[0] = s[0];
}
__global__ void __cluster_dims__(2) far(int which, uint32_t* out) {
    __shared__ uint32_t word;
    uint32_t rank, there, v = 0;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    word = 5;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    uint32_t target = which == 0 ? 2 : which == 3 ? 9 : rank ^ 1;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&word)), "r"(target));
    if (which == 0 || which == 3) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there));
    if (which == 1) asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(v) : "r"(there));
    if (which == 2) {
        if (rank == 0) return;
        for (int i = 0; i < 1000; i++) __nanosleep(1000);
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there));
    }
    if (which == 4) asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(there), "r"(v + rank) : "memory");
    out[rank] = v;
    if (which != 2) asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (which == 4) out[rank] = word;
}

__global__ void __cluster_dims__(3) ranks(uint32_t* out) {
    __shared__ __align__(16) uint8_t s[64];
    uint32_t rank, y;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    uint32_t* o = out + 16 * rank;
    s[0] = rank;
    o[0] = at(s);
    asm("mapa.shared::cluster.u32 %0, %1, 2;" : "=r"(y) : "r"(at(s)));
    o[1] = y;
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(o[2]) : "r"(at(s)));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(o[3]) : "r"(y));
    uint64_t g = (uint64_t)(void*)s, m;
    asm("mapa.u64 %0, %1, 2;" : "=l"(m) : "l"(g));
    asm("getctarank.u64 %0, %1;" : "=r"(o[4]) : "l"(m));
    asm("{.reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(o[5]) : "l"(m));
    asm("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(o[6]) : "l"(m));
    asm("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(o[7]) : "l"(g));
    asm("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(o[8]) : "l"(m));
    o[9] = (uint32_t)m - y;
    o[10] = __isShared((void*)m);
    asm("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(o[11]) : "l"((g & ~0xff000000ull)));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

static uint64_t state = 88172645463325252ull;
static uint32_t rnd() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return (uint32_t)(state >> 16); }
static uint64_t fnv(const std::vector<uint8_t>& v) { uint64_t h = 1469598103934665603ull; for (auto b : v) h = (h ^ b) * 1099511628211ull; return h; }
static const int SIZE[13] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
static uint8_t *in, *out, *glob;
static std::vector<uint8_t> host;
static const size_t N = 1 << 20;
static FILE* raw;

static void show(const char* name, const void* dev, size_t bytes) {
    cudaError_t e = cudaDeviceSynchronize();
    std::vector<uint8_t> v(bytes);
    if (e == cudaSuccess) e = cudaMemcpy(v.data(), dev, bytes, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) { printf("%s: %s\n", name, cudaGetErrorName(e)); fflush(stdout); _exit(3); }
    printf("%s: %016llx\n", name, (unsigned long long)fnv(v)); fflush(stdout);
    if (raw) { fprintf(raw, "%s %zu\n", name, bytes); fwrite(v.data(), 1, bytes, raw); }
}
static bool ok(const char* name, CUresult r) { if (r) printf("%s: encode %d\n", name, r); return r == CUDA_SUCCESS; }
template <int R, int K> static void one(const char* name, const CUtensorMap& m, Args a, const CUtensorMap* other = nullptr) {
    a.dump = (a.base + 8 * a.bytes + 512 + 15) / 16 * 16;
    cudaFuncSetAttribute(loads<R, K>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000);
    loads<R, K><<<1, 64, a.dump>>>(m, a, out, other);
    show(name, out, a.dump);
}

static void encodes() {
    CUtensorMap m;
    cuuint64_t ext[5] = {64, 32, 8, 4, 2}, str[4] = {256, 8192, 65536, 262144};
    cuuint32_t box[5] = {16, 8, 2, 2, 1}, st[5] = {1, 1, 1, 1, 1};
    int n = 0;
    auto t = [&](int ty, int rank, uint64_t addr, int il, int sw, int l2, int fill) {
        printf("tiled %d: %d\n", n++, tiled(&m, (CUtensorMapDataType)ty, rank, (void*)addr, ext, str, box, st, (CUtensorMapInterleave)il, (CUtensorMapSwizzle)sw, (CUtensorMapL2promotion)l2, (CUtensorMapFloatOOBfill)fill));
    };
    uint64_t p = (uint64_t)in;
    for (int ty = -1; ty < 18; ty++) t(ty, 2, p, 0, 0, 0, 0);
    for (int rank = 0; rank < 7; rank++) t(7, rank > 5 ? 6 : rank, p, 0, 0, 0, 0);
    for (int d : {0, 1, 2, 4, 8, 16, 32, 64}) t(7, 2, p + d, 0, 0, 0, 0);
    t(7, 2, 0, 0, 0, 0, 0);
    t(7, 2, 16, 0, 0, 0, 0);
    for (int sw = 0; sw < 8; sw++) for (int w : {4, 8, 16, 32, 64}) { box[0] = w; t(7, 2, p, 0, sw, 0, 0); }
    box[0] = 16;
    for (int l2 = 0; l2 < 6; l2++) t(7, 2, p, 0, 0, l2, 0);
    for (int fill = 0; fill < 3; fill++) for (int ty : {0, 2, 4, 6, 7, 8, 9, 10, 11, 12}) t(ty, 2, p, 0, 0, 0, fill);
    for (uint64_t e : {0ull, 1ull, 1ull << 31, 1ull << 32, (1ull << 32) + 1, 1ull << 40}) { ext[0] = e; t(7, 2, p, 0, 0, 0, 0); ext[0] = 64; ext[1] = e; t(7, 2, p, 0, 0, 0, 0); ext[1] = 32; }
    for (uint64_t s : {0ull, 8ull, 16ull, 32ull, 240ull, 255ull, 1ull << 39, (1ull << 40) - 16, 1ull << 40, 1ull << 41}) { str[0] = s; t(7, 2, p, 0, 0, 0, 0); t(7, 3, p, 0, 0, 0, 0); str[0] = 256; }
    for (uint64_t s : {0ull, 16ull, 256ull, 8192ull}) { str[1] = s; t(7, 3, p, 0, 0, 0, 0); str[1] = 8192; }
    for (int b : {0, 1, 2, 3, 4, 255, 256, 257}) { box[0] = b; t(7, 2, p, 0, 0, 0, 0); t(0, 2, p, 0, 0, 0, 0); box[0] = 16; box[1] = b; t(7, 2, p, 0, 0, 0, 0); box[1] = 8; }
    box[0] = 256; box[1] = 256; t(7, 2, p, 0, 0, 0, 0); box[2] = 256; t(7, 3, p, 0, 0, 0, 0); box[0] = 16; box[1] = 8; box[2] = 2;
    for (int s : {0, 1, 2, 7, 8, 9}) { st[0] = s; t(7, 2, p, 0, 0, 0, 0); st[0] = 1; st[1] = s; t(7, 2, p, 0, 0, 0, 0); st[1] = 1; }
    for (int il = 0; il < 4; il++) for (int sw = 0; sw < 5; sw++) for (int rank = 2; rank < 6; rank++) t(6, rank, p, il, sw, 0, 0);
    for (int d : {16, 32}) { t(6, 3, p + d, 2, 1, 0, 0); t(6, 3, p + d, 1, 0, 0, 0); }
    alignas(64) char space[256];
    for (int d : {0, 8, 16, 32, 64}) printf("map at %d: %d\n", d, tiled((CUtensorMap*)(space + d), (CUtensorMapDataType)7, 2, (void*)p, ext, str, box, st, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0));
    printf("null: %d %d %d %d %d\n", tiled(nullptr, (CUtensorMapDataType)7, 2, (void*)p, ext, str, box, st, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0),
           tiled(&m, (CUtensorMapDataType)7, 2, (void*)p, nullptr, str, box, st, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0),
           tiled(&m, (CUtensorMapDataType)7, 1, (void*)p, ext, nullptr, box, st, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0),
           tiled(&m, (CUtensorMapDataType)7, 2, (void*)p, ext, str, nullptr, st, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0),
           tiled(&m, (CUtensorMapDataType)7, 2, (void*)p, ext, str, box, nullptr, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0));
    n = 0;
    int lo[3] = {-1, -1, 0}, up[3] = {-1, -1, 0};
    cuuint64_t ie[5] = {64, 9, 14, 6, 3}, is[4] = {128, 1152, 16128, 96768};
    auto i = [&](int ty, int rank, int ch, int px, int il, int sw) {
        printf("im2col %d: %d\n", n++, im2col(&m, (CUtensorMapDataType)ty, rank, (void*)p, ie, is, lo, up, ch, px, st, (CUtensorMapInterleave)il, (CUtensorMapSwizzle)sw, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0));
    };
    for (int rank = 1; rank < 7; rank++) i(6, rank, 8, 16, 0, 0);
    for (int ch : {0, 1, 4, 8, 64, 128, 256, 264, 512}) i(6, 4, ch, 16, 0, 0);
    for (int ch : {8, 16, 32, 64, 128}) for (int sw = 0; sw < 4; sw++) i(6, 4, ch, 16, 0, sw);
    for (int px : {0, 1, 255, 256, 257, 1023, 1024, 1025}) i(6, 4, 8, px, 0, 0);
    for (int c : {-129, -128, 127, 128, -17, -16, 15, 16, -32768, 32767, -32769}) for (int rank = 3; rank < 6; rank++) { lo[0] = c; i(6, rank, 8, 16, 0, 0); lo[0] = -1; up[0] = c; i(6, rank, 8, 16, 0, 0); up[0] = -1; }
    lo[0] = 3; up[0] = -8; i(6, 4, 8, 16, 0, 0);
}

int main(int argc, char** argv) {
    void* lib = dlopen("libcuda.so.1", RTLD_NOW);
    tiled = (Tiled)dlsym(lib, "cuTensorMapEncodeTiled");
    im2col = (Im2col)dlsym(lib, "cuTensorMapEncodeIm2col");
    const char* fault = argc > 1 ? argv[1] : nullptr;
    if (!fault && getenv("RAW")) raw = fopen(getenv("RAW"), "wb");
    host.resize(N);
    for (auto& b : host) b = (uint8_t)rnd();
    // Denormals, infinities and ordinary numbers among them.
    for (size_t k = 0; k < N / 4; k += 7) { float f = (int)(rnd() % 2000) - 1000 + 0.37f; memcpy(&host[4 * k], &f, 4); }
    for (size_t k = 0; k < N / 4; k += 31) { uint32_t f = (rnd() & 0x807fffff); memcpy(&host[4 * k], &f, 4); }
    cudaMalloc(&in, N); cudaMalloc(&out, N); cudaMalloc(&glob, N);
    cudaMemcpy(in, host.data(), N, cudaMemcpyHostToDevice);
    CUtensorMap m;
    cuuint32_t ones[5] = {1, 1, 1, 1, 1};
    char name[200];
    auto mk = [&](int ty, int rank, std::vector<cuuint64_t> ext, std::vector<cuuint64_t> str, std::vector<cuuint32_t> box, int sw = 0, int fill = 0, const cuuint32_t* st = nullptr, int il = 0, void* p = nullptr) {
        str.resize(4); box.resize(5, 1); ext.resize(5, 1);
        return tiled(&m, (CUtensorMapDataType)ty, rank, p ? p : in, ext.data(), str.data(), box.data(), st ? st : ones, (CUtensorMapInterleave)il, (CUtensorMapSwizzle)sw, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)fill);
    };
    if (fault) {
        int k = atoi(fault);
        mk(7, 2, {64, 32}, {256}, {16, 8});
        Args a = {{0, 0, 0, 0, 0}, {0, 0, 0}, 512, 0, 4096};
        int which = 0;
        switch (k) {
        case 0: a.c[0] = 1; break;
        case 1: a.c[0] = -1; break;
        case 2: a.base = 16; break;
        case 3: a.base = 64; break;
        case 4: which = 1; break;
        case 5: which = 2; break;
        case 6: memset(&m, 0, sizeof m); break;
        case 7: memset(&m, 0x5a, sizeof m); break;
        case 8: which = 3; a.c[0] = -4; break;
        case 9: which = 3; a.c[1] = -1; break;
        case 10: which = 3; a.c[0] = 2; break;
        case 11: which = 3; a.base = 64; break;
        case 12: which = 4; break;
        case 13: which = 5; a.bytes = 4; break;
        case 14: which = 6; a.base = 8; break;
        case 15: which = 6; a.c[0] = 2; break;
        case 16: which = 6; a.bytes = 64; break;
        case 17: mk(7, 2, {64, 32}, {256}, {16, 8}, 0, 0, nullptr, 0, (void*)0x7f0000000000ull); break;
        case 18: mk(7, 2, {64, 1u << 20}, {256}, {16, 8}); a.c[1] = 1 << 19; break;
        case 19: mk(7, 2, {64, 32}, {256}, {16, 8}, 3); a.base = 128; break;
        case 20: a.c[0] = 8; a.c[1] = -1000000000; break;
        case 21: a.c[0] = 2147483644; break;
        }
        if (k < 30) wrong<<<1, 1, 4096>>>(m, a, which, (uint32_t*)out);
        else far<<<2, 32>>>(k - 30, (uint32_t*)out);
        cudaError_t e = cudaDeviceSynchronize();
        uint32_t words[2] = {0, 0};
        if (!e) cudaMemcpy(words, out, 8, cudaMemcpyDeviceToHost);
        printf("fault %d: %s %x %x\n", k, cudaGetErrorName(e), words[0], words[1]);
        return 0;
    }
    encodes();
    cudaMemset(out, 0, 256);
    ranks<<<3, 1>>>((uint32_t*)out);
    { uint32_t w[48]; cudaMemcpy(w, out, 192, cudaMemcpyDeviceToHost); for (int k = 0; k < 48; k++) printf("%x%c", w[k], k % 16 == 15 ? '\n' : ' '); }
    for (int c : {-64, -16, -4, 0, 4, 100, 124, 128, 200})
        if (ok("1d", mk(7, 1, {128}, {}, {64}))) { snprintf(name, 200, "1d at %d", c); one<1, 0>(name, m, {{c}, {}, 256, 0, 0}); }
    for (int ty = 0; ty < 13; ty++)
        for (int sw = 0; sw < 4; sw++)
            for (int row : {16, 32, 64, 128, 256})
                if (sw == 0 || row <= 16 << sw) {
                    int w = row / SIZE[ty];
                    if (w > 256) continue;
                    for (int base : {0, 128, 384, 640}) for (int x : {-1, 0, 1}) {
                        if (base && x) continue;
                        snprintf(name, 200, "2d type %d swizzle %d row %d base %d at %d", ty, sw, row, base, x);
                        if (!ok(name, mk(ty, 2, {(cuuint64_t)(200 / SIZE[ty] + 3), 13}, {240}, {(cuuint32_t)w, 10}, sw))) continue;
                        one<2, 0>(name, m, {{x * 16 / SIZE[ty] * 3, x * 4}, {}, row * 10, base, 0});
                    }
                }
    for (int ty : {6, 7, 8, 9, 10, 11, 12}) { snprintf(name, 200, "nan type %d", ty); if (ok(name, mk(ty, 2, {20, 6}, {160}, {(cuuint32_t)(64 / SIZE[ty]), 8}, 0, 1))) one<2, 0>(name, m, {{-16 / SIZE[ty], -1}, {}, 512, 0, 0}); }
    for (int s1 : {1, 2, 3, 8}) for (int s2 : {1, 2}) {
        cuuint32_t st[5] = {(cuuint32_t)s2, (cuuint32_t)s1, (cuuint32_t)s2, 1, 1};
        snprintf(name, 200, "3d steps %d %d", s1, s2);
        if (!ok(name, mk(7, 3, {30, 17, 5}, {128, 2304}, {8, 9, 3}, 0, 0, st))) continue;
        for (int c : {0, -2, 4}) { int n = (9 + s1 - 1) / s1 * ((3 + s2 - 1) / s2) * 32; snprintf(name, 200, "3d steps %d %d at %d", s1, s2, c); one<3, 0>(name, m, {{c * 4, c, c / 2}, {}, n, 0, 0}); }
    }
    if (ok("4d", mk(6, 4, {20, 7, 5, 3}, {48, 352, 1776}, {16, 3, 3, 2}, 1))) for (int c : {0, -1, 2}) { snprintf(name, 200, "4d at %d", c); one<4, 0>(name, m, {{c * 8, c, c, c}, {}, 32 * 18, 0, 0}); }
    if (ok("5d", mk(2, 5, {20, 7, 5, 3, 4}, {80, 560, 2800, 8400}, {8, 3, 3, 2, 2}, 1))) for (int c : {0, -1, 2}) { snprintf(name, 200, "5d at %d", c); one<5, 0>(name, m, {{c * 4, c, c, c, c}, {}, 32 * 36, 0, 0}); }
    if (getenv("INTERLEAVE")) for (int il : {1, 2}) for (int sw : {0, 1}) for (int ty : {0, 6, 7}) for (int c : {0, 1, -1}) {
        int w = (il == 1 ? 16 : 32) / SIZE[ty];
        snprintf(name, 200, "interleave %d swizzle %d type %d at %d", il, sw, ty, c);
        if (ok(name, mk(ty, 4, {(cuuint64_t)w * 3, 6, 5, 4}, {192, 1152, 5760}, {(cuuint32_t)w, 3, 2, 2}, sw, 0, nullptr, il))) one<4, 0>(name, m, {{c * w, c, 0, 0}, {}, w * SIZE[ty] * 12, 0, 0});
    }
    // Pixels.
    auto im = [&](int ty, int rank, std::vector<cuuint64_t> ext, std::vector<cuuint64_t> str, std::vector<int> lo, std::vector<int> up, int ch, int px, std::vector<cuuint32_t> st, int sw, int fill) {
        return im2col(&m, (CUtensorMapDataType)ty, rank, in, ext.data(), str.data(), lo.data(), up.data(), ch, px, st.data(), (CUtensorMapInterleave)0, (CUtensorMapSwizzle)sw, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)fill);
    };
    for (int fill = 0; fill < 2; fill++) for (int s = 1; s < 4; s++) for (int lo : {-1, 0, 1}) for (int up : {-2, -1, 0, 1}) {
        snprintf(name, 200, "im2col 4d fill %d step %d box %d %d", fill, s, lo, up);
        if (!ok(name, im(6, 4, {24, 9, 7, 3}, {48, 432, 3024}, {lo, lo}, {up, up}, 16, 40, {1, (cuuint32_t)s, (cuuint32_t)s, 1}, fill, fill))) continue;
        for (int o = 0; o < 3; o++) { snprintf(name, 200, "im2col 4d fill %d step %d box %d %d offset %d", fill, s, lo, up, o); one<4, 1>(name, m, {{8 * o, 1 + lo, lo + o, o}, {(unsigned short)o, (unsigned short)(2 - o)}, 32 * 40, 0, 0}); }
    }
    if (ok("im2col 3d", im(7, 3, {8, 30, 4}, {32, 960}, {-2}, {1}, 8, 33, {1, 2, 1}, 0, 0))) for (int o = 0; o < 3; o++) { snprintf(name, 200, "im2col 3d offset %d", o); one<3, 1>(name, m, {{0, o, 1}, {(unsigned short)o}, 32 * 33, 0, 0}); }
    if (ok("im2col 5d", im(7, 5, {8, 6, 5, 4, 3}, {32, 192, 960, 3840}, {-1, 0, -1}, {0, -1, 1}, 8, 70, {1, 1, 2, 1, 1}, 1, 0))) for (int o = 0; o < 2; o++) { snprintf(name, 200, "im2col 5d offset %d", o); one<5, 1>(name, m, {{0, 2, 1, 0, o}, {(unsigned short)o, 1, (unsigned short)o}, 32 * 70, 0, 0}); }
    // Stores and reductions.
    auto put = [&](const char* what, auto kernel, Args a) {
        cudaMemcpy(glob, host.data() + 4096, 65536, cudaMemcpyHostToDevice);
        a.dump = 8192;
        kernel<<<1, 64, 8192>>>(m, a, in + 70000 / 16 * 16);
        show(what, glob, 65536);
    };
    for (int ty = 0; ty < 13; ty++) for (int sw : {0, 3}) for (int x : {0, 1, 2}) {
        if (!ok("store", mk(ty, 2, {(cuuint64_t)(200 / SIZE[ty] + 1), 13}, {240}, {(cuuint32_t)(128 / SIZE[ty] > 256 ? 256 : 128 / SIZE[ty]), 10}, sw, 0, nullptr, 0, glob))) continue;
        Args a = {{x * 48 / SIZE[ty], x * 3}, {}, 0, 128, 0};
#define PUT(k) snprintf(name, 200, "store %d type %d swizzle %d at %d", k, ty, sw, x); put(name, stores<k>, a);
        PUT(0)
        bool i32 = ty == 2 || ty == 3, i64 = ty == 4 || ty == 5, h = ty == 6 || ty == 9;
        if (ty >= 2) if (!(ty == 5)) { PUT(1) }
        if (i32 || i64 || h) { PUT(2) PUT(3) }
        if (ty == 2) { PUT(4) PUT(5) }
        if (i32 || ty == 4) { PUT(6) PUT(7) PUT(8) }
    }
    if (const char* v = getenv("IM2COL_STORE")) {
        int k = atoi(v);
        std::vector<cuuint64_t> e = {24, 9, 7, 3}, q = {48, 432, 3024};
        int lo[2] = {k & 1 ? -1 : 0, 0}, up[2] = {0, k & 2 ? -1 : 0};
        cuuint32_t st[4] = {1, (cuuint32_t)(k & 4 ? 2 : 1), 1, 1};
        if (ok("im2col store", im2col(&m, (CUtensorMapDataType)6, 4, glob, e.data(), q.data(), lo, up, 16, 40, st, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0))) { snprintf(name, 200, "im2col store %d", k); put(name, im2col_stores<4>, {{k & 8 ? 8 : 0, 1, 2, 0}, {}, 0, 0, 0}); }
        return 0;
    }
    for (int mask : {1, 2, 5, 15, 8}) {
        mk(7, 2, {64, 32}, {256}, {16, 8}, 2);
        Args a = {{4, 3}, {}, 512, 1024, 2048};
        multicast<<<4, 64, 4096>>>(m, a, out, mask);
        snprintf(name, 200, "multicast %d", mask);
        show(name, out, 4 * 2048);
    }
#define BULK(k) { cudaMemcpy(glob, host.data() + 8192, 4096, cudaMemcpyHostToDevice); bulk<k><<<2, 64, 4096>>>(in, out, glob, 1024); snprintf(name, 200, "bulk %d shared", k); show(name, out, 4096); snprintf(name, 200, "bulk %d global", k); show(name, glob, 4096); }
    BULK(0) BULK(1) BULK(2) BULK(3) BULK(4) BULK(5) BULK(6) BULK(7) BULK(8) BULK(9) BULK(10) BULK(11) BULK(12) BULK(13) BULK(14) BULK(15) BULK(16) BULK(17) BULK(18) BULK(19) BULK(20) BULK(21)
    CUtensorMap* maps;
    cudaMalloc(&maps, 4096);
    struct { int which; uint64_t value; int bytes; } rep[] = {{0, 0, 512}, {2, 4, 256}, {3, 10, 512}, {4, 128, 512}, {4, 8, 512}, {5, 2, 256}, {6, 0, 512}, {7, 0, 512}, {8, 0, 256}, {9, 8, 256}, {1, 1, 512}};
    for (auto& r : rep) {
        mk(7, 2, {60, 32}, {256}, {16, 8});
        replaces<<<1, 32>>>(m, maps, (uint64_t)in + 4096, r.which, r.value);
        cudaDeviceSynchronize();
        snprintf(name, 200, "replace %d %llu", r.which, (unsigned long long)r.value);
        Args a = {{48, 26}, {}, r.bytes, 0, 0};
        if (getenv("RISKY") || r.which != 99) one<2, 0>(name, m, a, maps);
    }
    return 0;
}
