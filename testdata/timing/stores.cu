// Microbenchmarks for a profiler: stores of structures field by field, and whether they are merged on their way to the second level, and local
// memory. Each line of the output is a launch, in the order in which they are made; built with nvcc -O3 -arch=sm_90.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
static void ok(cudaError_t e, const char *w) { if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", w, cudaGetErrorString(e)); exit(1); } }
__device__ __forceinline__ unsigned clk() { unsigned c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c)::"memory"); return c; }
__device__ __forceinline__ void store(unsigned *p, unsigned v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }

// Each thread stores the first fields of its structure of so many words, `again` times; between two fields it waits for so many cycles,
// and its warp stores other lines.
__global__ void fields(unsigned *p, unsigned *away, int stride, int count, int again, int gap, int others) {
  size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  unsigned *own = p + thread * stride;
  unsigned *other = away + thread / 32 * 32 * 256 + thread % 32;
  for (int i = 0; i < again; i++)
    for (int f = 0; f < count; f++) {
      store(own + f, f);
      for (int k = 0; k < others; k++) store(other + 32 * k, k);
      if (gap) for (unsigned t = clk(); clk() - t < gap;) ;
    }
}
// Each thread stores so many words of its own, a grid apart: nothing to merge.
__global__ void lines(unsigned *p, int count) {
  size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x, all = gridDim.x * (size_t)blockDim.x;
  for (int f = 0; f < count; f++) store(p + thread + all * f, f);
}
// So many words of local memory, stored and loaded again.
template <int words> __global__ void local(int again, int loads, unsigned *out) {
  volatile unsigned a[words];
  unsigned x = threadIdx.x;
  for (int i = 0; i < again; i++) {
#pragma unroll 8
    for (int k = 0; k < words; k++) a[k] = x + k;
    for (int l = 0; l < loads; l++)
#pragma unroll 8
      for (int k = 0; k < words; k++) x ^= a[k];
  }
  if (x == 0x12345678) *out = x;
}

static unsigned *memory, *away;
static int launches;
static void store_fields(int blocks, int threads, int stride, int count, int again = 1, int gap = 0, int others = 0) {
  printf("%d fields blocks %d threads %d stride %d count %d again %d gap %d others %d\n", launches++, blocks, threads, stride, count, again, gap, others);
  fields<<<blocks, threads>>>(memory, away, stride, count, again, gap, others);
  ok(cudaDeviceSynchronize(), "fields");
}
static void store_lines(int blocks, int threads, int count) {
  printf("%d lines blocks %d threads %d count %d\n", launches++, blocks, threads, count);
  lines<<<blocks, threads>>>(memory, count);
  ok(cudaDeviceSynchronize(), "lines");
}
template <int words> static void store_local(int blocks, int threads, int again, int loads) {
  printf("%d local blocks %d threads %d words %d again %d loads %d\n", launches++, blocks, threads, words, again, loads);
  local<words><<<blocks, threads>>>(again, loads, memory);
  ok(cudaDeviceSynchronize(), "local");
}
int main() {
  ok(cudaMalloc(&memory, 1u << 29), "memory");
  ok(cudaMalloc(&away, 1u << 28), "memory");
  for (int stride : {1, 2, 4, 5, 8, 16, 32}) store_fields(1, 32, stride, 1);
  for (int stride : {2, 3, 4, 5, 8, 16, 32}) store_fields(1, 32, stride, stride);
  for (int gap : {8, 32, 64, 128, 256, 512, 1024, 4096}) store_fields(1, 32, 5, 5, 1, gap);
  for (int others : {1, 2, 3, 4, 6, 8, 12, 16, 32, 64}) store_fields(1, 32, 2, 2, 1, 0, others);
  for (int others : {1, 2, 4, 8, 16}) store_fields(1, 32, 32, 8, 1, 0, others);
  for (int again : {2, 4, 16, 64}) store_fields(1, 32, 1, 1, again);
  for (int threads : {64, 128, 256, 512, 1024}) store_fields(1, threads, 5, 5);
  for (int threads : {64, 128, 256, 512, 1024}) store_fields(1, threads, 8, 8);
  for (int threads : {64, 256, 1024}) store_fields(1, threads, 1, 1, 16);
  for (int threads : {128, 1024}) store_fields(1, threads, 32, 32);
  for (int stride : {2, 3, 4, 5, 6, 8, 12, 16, 32}) store_fields(132 * 8, 256, stride, stride);
  for (int stride : {2, 4, 5, 8, 32}) store_fields(132 * 8, 256, stride, 1);
  store_fields(132 * 8, 256, 1, 1, 16);
  store_fields(132 * 64, 1024, 5, 5);
  store_fields(132 * 64, 1024, 8, 1);
  store_fields(132 * 64, 1024, 8, 2);
  store_lines(132 * 8, 256, 5);
  store_lines(132 * 64, 1024, 5);
  store_local<16>(1, 32, 1, 0);
  store_local<16>(1, 32, 8, 0);
  store_local<16>(1, 32, 8, 8);
  store_local<64>(1, 32, 8, 1);
  store_local<64>(1, 256, 8, 1);
  store_local<64>(1, 1024, 8, 1);
  store_local<64>(264, 1024, 8, 1);
  store_local<16>(264, 1024, 8, 1);
  store_local<16>(264, 1024, 1, 8);
  store_local<128>(264, 1024, 4, 1);
  store_local<256>(132, 256, 4, 1);
  store_local<256>(132, 1024, 4, 1);
}
