// Clusters: distributed shared memory by cooperative groups and by PTX.
#include "common.h"
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
__global__ void histogram(const uint32_t* in, int n, uint32_t* bins, int per) {
    extern __shared__ uint32_t part[];
    cg::cluster_group c = cg::this_cluster();
    for (int i = threadIdx.x; i < per; i += blockDim.x) part[i] = 0;
    c.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t b = in[i] % (per * c.num_blocks());
        atomicAdd(c.map_shared_rank(part, b / per) + b % per, 1);
    }
    c.sync();
    for (int i = threadIdx.x; i < per; i += blockDim.x) atomicAdd(&bins[c.block_rank() * per + i], part[i]);
}
__global__ void ring(int* out, int rounds) {
    __shared__ int token[2][64];
    cg::cluster_group c = cg::this_cluster();
    token[0][threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
    auto t = c.barrier_arrive();
    c.barrier_wait(std::move(t));
    for (int r = 0; r < rounds; r++) {
        int* next = c.map_shared_rank(&token[(r + 1) % 2][0], (c.block_rank() + 1) % c.num_blocks());
        next[threadIdx.x] = token[r % 2][threadIdx.x] * 3 + c.block_rank();
        c.sync();
    }
    out[blockIdx.x * 64 + threadIdx.x] = token[rounds % 2][threadIdx.x];
}
__global__ void queries(int* out) {
    cg::cluster_group c = cg::this_cluster();
    __shared__ int mine;
    if (threadIdx.x == 0) {
        int* o = out + (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) * 16;
        dim3 d = c.dim_blocks(), b = c.block_index();
        o[0] = d.x; o[1] = d.y; o[2] = d.z; o[3] = b.x; o[4] = b.y; o[5] = b.z; o[6] = c.block_rank(); o[7] = c.num_blocks();
        o[8] = c.num_threads(); o[9] = c.thread_rank(); o[10] = c.query_shared_rank(c.map_shared_rank(&mine, c.num_blocks() - 1));
        uint32_t r; asm("mov.u32 %0, %%nclusterid.x;" : "=r"(r)); o[11] = r;
        asm("mov.u32 %0, %%clusterid.y;" : "=r"(r)); o[12] = r;
        asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(r)); o[13] = r;
        o[14] = __isShared(c.map_shared_rank(&mine, 0)); 
        o[15] = __isClusterShared(c.map_shared_rank(&mine, 0)); 
    }
    c.sync();
}
// Each block sends to all others by st.async; counts of bytes end the wait.
__global__ void __cluster_dims__(4, 1, 1) exchange(int* out) {
    __shared__ __align__(16) int box[4][32];
    __shared__ __align__(8) uint64_t bar;
    auto c = cg::this_cluster();
    if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
    c.sync();
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 4 * 128);
    for (int to = 0; to < 4; to++) {
        int* there = c.map_shared_rank(&box[c.block_rank()][threadIdx.x], to);
        uint64_t* b = c.map_shared_rank(&bar, to);
        ptx::st_async(there, (int)(100 * c.block_rank() + threadIdx.x + 7 * to), b);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    int sum = 0;
    for (int k = 0; k < 4; k++) sum = sum * 5 + box[k][threadIdx.x];
    out[blockIdx.x * 32 + threadIdx.x] = sum;
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 4 * 128);
    c.sync();
    for (int to = 0; to < 4; to++) {
        uint32_t* there = (uint32_t*)c.map_shared_rank(&box[0][threadIdx.x], to);
        ptx::red_async(ptx::op_add, there, (uint32_t)(threadIdx.x + c.block_rank()), c.map_shared_rank(&bar, to));
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 1)) {}
    out[128 + blockIdx.x * 32 + threadIdx.x] = box[0][threadIdx.x];
    c.sync();
}
// Block 0's shared memory goes to all by a bulk copy from shared to shared memory.
__global__ void __cluster_dims__(2, 1, 1) broadcast(int* out) {
    __shared__ __align__(16) int from[64], to[64];
    __shared__ __align__(8) uint64_t bar;
    auto c = cg::this_cluster();
    from[threadIdx.x] = threadIdx.x * threadIdx.x + blockIdx.x; to[threadIdx.x] = -1;
    if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 256); ptx::fence_proxy_async(); }
    __syncthreads();
    c.sync();
    if (threadIdx.x == 0) {
        int other = c.block_rank() ^ 1;
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, c.map_shared_rank(to, other), from, 256, c.map_shared_rank(&bar, other));
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    out[blockIdx.x * 64 + threadIdx.x] = to[threadIdx.x];
    c.sync();
}
__global__ void __cluster_dims__(2, 2, 1) fixed(int* out) { if (threadIdx.x == 0) out[blockIdx.x + gridDim.x * blockIdx.y] = cg::this_cluster().block_rank(); }
template <class... A>
static int launch(void (*f)(A...), dim3 g, int b, size_t shared, std::vector<dim3> cluster, A... a) {
    cudaLaunchAttribute at[2] = {}; cudaLaunchConfig_t c = {}; c.gridDim = g; c.blockDim = b; c.dynamicSmemBytes = shared; c.attrs = at;
    for (auto& d : cluster) { at[c.numAttrs].id = cudaLaunchAttributeClusterDimension; at[c.numAttrs].val.clusterDim = {d.x, d.y, d.z}; c.numAttrs++; }
    int e = cudaLaunchKernelEx(&c, f, a...); int l = cudaGetLastError(); int s = cudaDeviceSynchronize(); if (e != l) printf("last %d\n", l); return e ? e : s;
}
int main() {
    const int n = 100000; std::vector<uint32_t> v(n); Lcg r(3); for (auto& x : v) x = r.next();
    Buf<uint32_t> in(v);
    for (int size : {1, 2, 4, 8}) { Buf<uint32_t> bins(1024); int e = launch<const uint32_t*, int, uint32_t*, int>(histogram, 16, 128, 1024 / size * 4, {dim3(size)}, in, n, bins, 1024 / size); printf("histogram %d: %d %016llx\n", size, e, (unsigned long long)bins.hash()); }
    { Buf<int> o(16 * 64); for (int size : {2, 4, 8}) for (int rounds : {0, 1, 5}) { int e = launch<int*, int>(ring, 16, 64, 0, {dim3(size)}, o, rounds); printf("ring %d %d: %d %016llx\n", size, rounds, e, (unsigned long long)o.hash()); }
      int e = launch<int*, int>(ring, 16, 64, 0, {dim3(16)}, o, 3); printf("16 without attribute %d\n", e);
      CK(cudaFuncSetAttribute(ring, cudaFuncAttributeNonPortableClusterSizeAllowed, 1)); e = launch<int*, int>(ring, 16, 64, 0, {dim3(16)}, o, 3); printf("16 with attribute %d %016llx\n", e, (unsigned long long)o.hash()); e = launch<int*, int>(ring, 32, 64, 0, {dim3(32)}, o, 3); printf("32: %d\n", e); }
    { Buf<int> o(24 * 16); for (dim3 d : {dim3(1, 1, 1), dim3(2, 1, 1), dim3(1, 2, 1), dim3(1, 1, 3), dim3(2, 2, 1), dim3(3, 2, 1), dim3(0, 1, 1), dim3(4, 1, 1), dim3(3, 1, 2), dim3(2, 4, 1)}) { CK(cudaMemset(o, 0, 24 * 64)); int e = launch<int*>(queries, dim3(3 * 2, 4, 1), 32, 0, {d}, o); printf("queries %u %u %u: %d %016llx", d.x, d.y, d.z, e, (unsigned long long)o.hash()); auto q = o.get(); for (int i = 0; i < 16; i++) printf(" %d", q[7 * 16 + i]); puts(""); } 
      int e = launch<int*>(queries, dim3(6, 4, 1), 32, 0, {dim3(2), dim3(3)}, o); printf("two attributes %d\n", e); e = launch<int*>(queries, dim3(6, 4, 1), 32, 0, {}, o); auto q = o.get(); printf("none %d", e); for (int i = 0; i < 16; i++) printf(" %d", q[7 * 16 + i]); puts(""); }
    { Buf<int> o(256); exchange<<<4, 32>>>(o); show("exchange", o); Buf<int> p(128); broadcast<<<2, 64>>>(p); show("broadcast", p); 
      exchange<<<6, 32>>>(o); printf("6 of 4: %d %d\n", cudaGetLastError(), cudaDeviceSynchronize()); }
    { Buf<int> o(16); printf("fixed %d", launch<int*>(fixed, dim3(4, 4), 32, 0, {}, o)); printf(" %016llx; with the same %d, with another %d\n", (unsigned long long)o.hash(), launch<int*>(fixed, dim3(4, 4), 32, 0, {dim3(2, 2)}, o), launch<int*>(fixed, dim3(4, 4), 32, 0, {dim3(4, 1)}, o));
      cudaFuncAttributes a; CK(cudaFuncGetAttributes(&a, fixed)); printf("attributes %d %d %d set %d nonportable %d\n", a.requiredClusterWidth, a.requiredClusterHeight, a.requiredClusterDepth, a.clusterDimMustBeSet, a.nonPortableClusterSizeAllowed);
      printf("set width %d\n", cudaFuncSetAttribute(queries, cudaFuncAttributeRequiredClusterWidth, 2)); cudaGetLastError(); printf("set on fixed %d\n", cudaFuncSetAttribute(fixed, cudaFuncAttributeRequiredClusterWidth, 2)); cudaGetLastError(); printf("prefer %d\n", cudaFuncSetAttribute(queries, cudaFuncAttributeClusterSchedulingPolicyPreference, cudaClusterSchedulingPolicySpread)); cudaGetLastError(); }
    for (int size : {0, 1, 2, 3, 4, 6, 8, 16}) for (int shared : {0, 100 << 10, 200 << 10}) {
        CK(cudaFuncSetAttribute(histogram, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
        cudaLaunchAttribute at[1] = {}; cudaLaunchConfig_t c = {}; c.gridDim = 48 * 16; c.blockDim = 256; c.dynamicSmemBytes = shared; c.attrs = at; c.numAttrs = 1; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim = {(unsigned)size, 1, 1};
        int k = -1, m = -1; int e = cudaOccupancyMaxActiveClusters(&k, histogram, &c); int f = cudaOccupancyMaxPotentialClusterSize(&m, histogram, &c); cudaGetLastError(); printf("occupancy %d %d: %d %d, %d %d\n", size, shared, e, size == 1 || e ? k : k > 0, f, m); }
}
