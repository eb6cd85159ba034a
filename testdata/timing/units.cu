// Microbenchmarks of what works beside the warps: textures, bulk copies, mbarriers, clusters; and where blocks are placed.
// With an argument its kernels are for a profiler that reads elapsed cycles; without one it prints clocks and places.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#define K extern "C" __global__ void
static void ok(cudaError_t e, const char *w) { if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", w, cudaGetErrorString(e)); exit(1); } }
__device__ __forceinline__ unsigned clk() { unsigned c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c)::"memory"); return c; }
__device__ __forceinline__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(uint64_t *b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(b)), "r"(n) : "memory"); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ __forceinline__ void expect(uint64_t *b, unsigned n) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void arrive(uint64_t *b) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared(b)) : "memory"); }
__device__ __forceinline__ void await(uint64_t *b, int phase) { asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again; }" ::"r"(shared(b)), "r"(phase) : "memory"); }
__device__ __forceinline__ void bulk(void *to, const void *from, unsigned n, uint64_t *b) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)), "l"(from), "r"(n), "r"(shared(b)) : "memory"); }
__device__ __forceinline__ void box(void *to, const CUtensorMap *map, int x, int y, uint64_t *b) { asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared(to)), "l"(map), "r"(x), "r"(y), "r"(shared(b)) : "memory"); }

// ---- textures ---------------------------------------------------------------------------------------
K tex_chase(cudaTextureObject_t t, int *out, int n) { int x = 0; for (int k = 0; k < n; k++) x = tex1Dfetch<int>(t, x); out[0] = x; }
K tex_fetch(cudaTextureObject_t t, float *out, int n, int all) { float s = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; k < n; k++, i = (i + gridDim.x * blockDim.x) % all) s += tex1Dfetch<float>(t, i); if (s == 1.234f) out[0] = s; }
K tex_image(cudaTextureObject_t t, float *out, int n, float d) { float s = 0, x = threadIdx.x % 16 + 0.5f + (blockIdx.x % 64) * 16, y = threadIdx.x / 16 + 0.5f + (blockIdx.x / 64) * 16; for (int k = 0; k < n; k++) { s += tex2D<float>(t, x, y); x += d; } if (s == 1.234f) out[0] = s; }
K surf_copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to) { int x = threadIdx.x % 16 + blockIdx.x % 64 * 16, y = threadIdx.x / 16 + blockIdx.x / 64 * 16; surf2Dwrite(surf2Dread<float>(from, x * 4, y), to, x * 4, y); }

// ---- bulk copies -------------------------------------------------------------------------------------
K bulk_turns(const char *in, unsigned bytes, int n, int *out) { extern __shared__ __align__(128) char s[]; __shared__ uint64_t b; if (threadIdx.x == 0) { init(&b, 1); for (int k = 0; k < n; k++) { expect(&b, bytes); bulk(s, in + (size_t)(blockIdx.x * n + k) * bytes, bytes, &b); await(&b, k & 1); } out[blockIdx.x] = s[0]; } }
K bulk_again(const char *in, unsigned bytes, int n, int *out) { extern __shared__ __align__(128) char s[]; __shared__ uint64_t b; if (threadIdx.x == 0) { init(&b, 1); for (int k = 0; k < n; k++) { expect(&b, bytes); bulk(s, in + (size_t)blockIdx.x * bytes, bytes, &b); await(&b, k & 1); } out[blockIdx.x] = s[0]; } }
K bulk_stream(const char *in, unsigned bytes, int n, int *out) { extern __shared__ __align__(128) char s[]; __shared__ uint64_t b[4]; if (threadIdx.x == 0) { for (int i = 0; i < 4; i++) init(b + i, 1); for (int k = 0; k < n + 4; k++) { if (k >= 4) await(b + k % 4, k / 4 + 1 & 1); if (k < n) { expect(b + k % 4, bytes); bulk(s + k % 4 * bytes, in + ((size_t)k * gridDim.x + blockIdx.x) * bytes, bytes, b + k % 4); } } out[blockIdx.x] = s[0]; } }
K bulk_store(char *to, unsigned bytes, int n) { extern __shared__ __align__(128) char s[]; if (threadIdx.x == 0) { for (int k = 0; k < n; k++) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + ((size_t)k * gridDim.x + blockIdx.x) * bytes), "r"(shared(s)), "r"(bytes) : "memory"); asm volatile("cp.async.bulk.commit_group;" ::: "memory"); asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); } asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); } }
K box_turns(const __grid_constant__ CUtensorMap map, unsigned bytes, int n, int *out) { extern __shared__ __align__(1024) char s[]; __shared__ uint64_t b; if (threadIdx.x == 0) { init(&b, 1); for (int k = 0; k < n; k++) { expect(&b, bytes); box(s, &map, blockIdx.x % 16 * 64, (blockIdx.x / 16 * n + k) * 64, &b); await(&b, k & 1); } out[blockIdx.x] = s[0]; } }
K box_stream(const __grid_constant__ CUtensorMap map, unsigned bytes, int n, int *out) { extern __shared__ __align__(1024) char s[]; __shared__ uint64_t b[4]; if (threadIdx.x == 0) { for (int i = 0; i < 4; i++) init(b + i, 1); for (int k = 0; k < n + 4; k++) { if (k >= 4) await(b + k % 4, k / 4 + 1 & 1); if (k < n) { expect(b + k % 4, bytes); box(s + k % 4 * bytes, &map, blockIdx.x % 16 * 64, (blockIdx.x / 16 * n + k) * 64, b + k % 4); } } out[blockIdx.x] = s[0]; } }
// ---- mbarriers, clusters ---------------------------------------------------------------------------
K mbar_alone(int n, int *out) { __shared__ uint64_t b; if (threadIdx.x == 0) { init(&b, 1); for (int k = 0; k < n; k++) { arrive(&b); await(&b, k & 1); } out[blockIdx.x] = n; } }
K mbar_pair(int n, int *out) { __shared__ uint64_t full, empty; if (threadIdx.x == 0) { init(&full, 1); init(&empty, 1); } __syncthreads(); if (threadIdx.x == 0) for (int k = 0; k < n; k++) { arrive(&full); await(&empty, k & 1); } else if (threadIdx.x == 32) for (int k = 0; k < n; k++) { await(&full, k & 1); arrive(&empty); } if (threadIdx.x == 0) out[blockIdx.x] = n; }
K mbar_block(int n, int *out) { __shared__ uint64_t b; if (threadIdx.x == 0) init(&b, blockDim.x); __syncthreads(); for (int k = 0; k < n; k++) { arrive(&b); await(&b, k & 1); } if (threadIdx.x == 0) out[blockIdx.x] = n; }
K cluster_sync(int n, int *out) { for (int k = 0; k < n; k++) { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); } if (threadIdx.x == 0) out[blockIdx.x] = n; }
K cluster_chase(int n, int *out) { __shared__ unsigned s[64]; unsigned to; s[threadIdx.x] = 0; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared(s)), "r"(blockIdx.x & 1 ^ 1)); asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); unsigned x = 0; for (int k = 0; k < n; k++) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(to + 4 * x) : "memory"); asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); out[blockIdx.x * 32 + threadIdx.x] = x; }
K placed(int *o, int spin) { if (threadIdx.x == 0) { int v; asm volatile("mov.u32 %0, %%smid;" : "=r"(v)); o[blockIdx.x] = v; } unsigned t = clk(); while (clk() - t < (unsigned)spin); }

// ---- what is merged on the way to the second level -----------------------------------------------------
K store_again(int *p, int n, int pause, int lines) { for (int k = 0; k < n; k++) { p[((blockIdx.x * blockDim.x / 32 + threadIdx.x / 32) * lines + k % lines) * 32 + threadIdx.x % 32] = k; for (unsigned t = clk(); clk() - t < (unsigned)pause;) {} } }
K read_together(const int *p, int n, int later, int times, int *out) { unsigned t = clk(); while (clk() - t < 2000u + blockIdx.x % 2 * later) {} int s = 0; for (int k = 0; k < times; k++) for (int i = 0; i < n; i++) s += __ldcg(p + (i * 32 + (k & 7) * n * 32) + (threadIdx.x + s) % 32); if (s == 77) out[0] = s; }

template <class... A> static void clustered(void (*k)(A...), int grid, int block, int size, A... a) { cudaLaunchConfig_t c = {}; c.gridDim = grid; c.blockDim = block; cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim = {(unsigned)size, 1, 1}; c.attrs = at; c.numAttrs = 1; ok(cudaLaunchKernelEx(&c, k, a...), "cluster"); }

int main(int argc, char **) {
  bool elapsed = argc > 1;
  char *big; size_t MB = 1 << 20; ok(cudaMalloc(&big, 1024 * MB), "malloc"); ok(cudaMemset(big, 0, 1024 * MB), "memset");
  int *out; ok(cudaMalloc(&out, MB), "malloc");
  for (void *k : {(void *)bulk_turns, (void *)bulk_again, (void *)bulk_stream, (void *)bulk_store, (void *)box_turns, (void *)box_stream, (void *)placed}) ok(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10), "attribute");
  if (!elapsed) {
    static int s[4000];
    auto show = [&](const char *what, int n) { ok(cudaMemcpy(s, out, 4 * n, cudaMemcpyDeviceToHost), what); printf("%s:", what); for (int i = 0; i < n; i++) printf(" %d", s[i]); printf("\n"); };
    for (int kb : {200, 100, 50, 25, 0}) for (int b : {64, 256}) { placed<<<1600, b, kb << 10>>>(out, 60000); char w[64]; snprintf(w, 64, "placed %d threads %d KiB", b, kb); show(w, 1600); }
    for (int size : {2, 4, 8}) { clustered(placed, 1600, 256, size, out, 60000); char w[64]; snprintf(w, 64, "clusters %d", size); show(w, 1600); }
    return 0;
  }
  cudaResourceDesc r = {}; r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = big; r.res.linear.desc = cudaCreateChannelDesc<int>(); r.res.linear.sizeInBytes = 16 * MB; cudaTextureDesc d = {}; cudaTextureObject_t ti, tf, t2, tl;
  ok(cudaCreateTextureObject(&ti, &r, &d, 0), "texture"); r.res.linear.desc = cudaCreateChannelDesc<float>(); ok(cudaCreateTextureObject(&tf, &r, &d, 0), "texture");
  cudaArray_t array, other; auto desc = cudaCreateChannelDesc<float>(); ok(cudaMallocArray(&array, &desc, 1024, 1024, cudaArraySurfaceLoadStore), "array"); ok(cudaMallocArray(&other, &desc, 1024, 1024, cudaArraySurfaceLoadStore), "array");
  cudaResourceDesc ra = {}; ra.resType = cudaResourceTypeArray; ra.res.array.array = array; ok(cudaCreateTextureObject(&t2, &ra, &d, 0), "texture"); d.filterMode = cudaFilterModeLinear; ok(cudaCreateTextureObject(&tl, &ra, &d, 0), "texture");
  cudaSurfaceObject_t sa, sb; ok(cudaCreateSurfaceObject(&sa, &ra), "surface"); ra.res.array.array = other; ok(cudaCreateSurfaceObject(&sb, &ra), "surface");
  for (int n : {100, 1000}) tex_chase<<<1, 1>>>(ti, out, n);
  for (int g : {1, 132, 1056}) for (int all : {1 << 12, 1 << 22}) tex_fetch<<<g, 256>>>(tf, (float *)out, 64, all);
  for (int g : {64, 1024, 4096}) for (auto t : {t2, tl}) for (float by : {0.0f, 0.5f, 16.0f}) tex_image<<<g, 256>>>(t, (float *)out, 32, by);
  surf_copy<<<4096, 256>>>(sa, sb);
  for (int g : {1, 132}) for (unsigned n : {16u, 512u, 2048u, 16384u}) bulk_again<<<g, 32, n>>>(big, n, 64, out);
  for (int g : {1, 132}) for (unsigned n : {16u, 512u, 2048u, 16384u}) bulk_turns<<<g, 32, n>>>(big, n, 64, out);
  for (int g : {1, 132, 264}) for (unsigned n : {1024u, 8192u, 16384u}) bulk_stream<<<g, 32, 4 * n>>>(big, n, 128, out);
  for (int g : {1, 132}) for (unsigned n : {512u, 16384u}) bulk_store<<<g, 32, n>>>(big, n, 64);
  cudaDriverEntryPointQueryResult q; void *f = nullptr; ok(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &q), "encode");
  auto encode = (CUresult(*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))f;
  for (int wide : {0, 1}) { CUtensorMap map; cuuint64_t dims[] = {1024, 65536}, strides[] = {2048}; cuuint32_t boxes[] = {64, 64}, steps[] = {1, 1};
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, big, dims, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, wide ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) { fprintf(stderr, "map\n"); return 1; }
    for (int g : {1, 128}) box_turns<<<g, 32, 8192>>>(map, 8192, 64, out);
    for (int g : {1, 128, 256}) box_stream<<<g, 32, 4 * 8192>>>(map, 8192, 64, out); }
  for (int g : {1, 132}) { mbar_alone<<<g, 32>>>(200, out); mbar_pair<<<g, 64>>>(200, out); for (int b : {32, 128, 512}) mbar_block<<<g, b>>>(200, out); }
  for (int size : {1, 2, 4, 8}) for (int b : {32, 256}) clustered(cluster_sync, 64, b, size, 200, out);
  for (int n : {10, 200}) clustered(cluster_chase, 2, 32, 2, n, out);
  for (int w : {1, 4, 8, 12, 16, 20, 24, 32}) for (int pause : {0, 100, 400, 2000}) store_again<<<132, 32 * w>>>((int *)big, 100, pause, 1);
  for (int lines : {1, 2, 4, 8, 16, 32}) store_again<<<132, 32>>>((int *)big, 128, 20, lines);
  for (int g : {1, 2, 4, 16, 33, 66, 132}) for (int later : {0, 50, 100, 200, 300, 400, 600, 1000}) read_together<<<g, 32>>>((int *)big, 64, later, 8, out);
  ok(cudaDeviceSynchronize(), "end");
  return 0;
}
