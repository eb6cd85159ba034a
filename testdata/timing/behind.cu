// Which sectors that were stored to are found by loads behind that, of the same thread and of others: whole sectors and parts, now and later,
// few and many. Each launch prints what it is, in the order in which a profiler numbers them.
#include <cstdio>
#include <cuda_runtime.h>

__device__ inline void st(unsigned *p, unsigned x) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory"); }
__device__ inline unsigned ld(unsigned *p) { unsigned x; asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory"); return x; }
__device__ inline void pause_for(int cycles) { long long begin = clock64(); while (clock64() - begin < cycles) ; }

// Each thread stores to words so far apart, of which the first of `among` threads take part, and loads so many words beside it.
__global__ void own(unsigned *p, int apart, int part, int among, int beside, int wait, int times, unsigned *out) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  unsigned *q = p + i * apart, s = 0;
  for (int k = 0; k < times; k++) {
    if (threadIdx.x % among < part) st(q, k);
    if (wait) pause_for(wait);
    s += ld(q + beside);
  }
  if (s == 12345) *out = s;
}
// The line was loaded before.
__global__ void known(unsigned *p, int apart, int part, int among, int times, unsigned *out) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  unsigned *q = p + i * apart, s = ld(q);
  __syncthreads();
  for (int k = 0; k < times; k++) {
    if (threadIdx.x % among < part) st(q, s + k);
    s += ld(q);
  }
  if (s == 12345) *out = s;
}
// Another warp of the block loads it.
__global__ void others(unsigned *p, unsigned *out) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  st(p + i, i);
  __syncthreads();
  unsigned s = ld(p + (i ^ 32));
  if (s == 12345) *out = s;
}
// Each thread stores so many words, and loads them all.
__global__ void many(unsigned *p, int count, unsigned *out) {
  unsigned *q = p + blockIdx.x * (size_t)blockDim.x * count + threadIdx.x, s = 0;
  for (int k = 0; k < count; k++) st(q + k * blockDim.x, k);
  for (int k = 0; k < count; k++) s += ld(q + k * blockDim.x);
  if (s == 12345) *out = s;
}
// Words that are loaded, others that are stored, and the first ones again: whether stores take their room.
__global__ void between(unsigned *p, int loaded, int stored, unsigned *out) {
  unsigned *q = p + blockIdx.x * (size_t)blockDim.x * (loaded + stored) + threadIdx.x, s = 0;
  for (int k = 0; k < loaded; k++) s += ld(q + k * blockDim.x);
  for (int k = 0; k < stored; k++) st(q + (loaded + k) * blockDim.x, s);
  for (int k = 0; k < loaded; k++) s += ld(q + k * blockDim.x);
  if (s == 12345) *out = s;
}

int main() {
  unsigned *p, *out;
  if (cudaMalloc(&p, 512 << 20) || cudaMalloc(&out, 4096)) return 1;
  int failed = 0;
  auto said = [&](const char *what, int a, int b, int c, int d, int e, int f) {
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error)); failed = 1; }
    printf("%s %d %d %d %d %d %d\n", what, a, b, c, d, e, f);
  };
  struct { int apart, part, among, beside; } ways[] = {
      {1, 1, 1, 0}, {2, 1, 1, 0}, {2, 1, 1, 1}, {8, 1, 1, 0}, {8, 1, 1, 1}, {32, 1, 1, 0}, {32, 1, 1, 8}, {1, 4, 8, 0}, {1, 16, 32, 0}, {1, 8, 32, 0}, {1, 31, 32, 0}};
  for (auto &w : ways)
    for (int wait : {0, 2000})
      for (int times : {1, 4}) {
        own<<<528, 256>>>(p, w.apart, w.part, w.among, w.beside, wait, times, out);
        said("own", w.apart, w.part, w.among, w.beside, wait, times);
      }
  for (int times : {1, 4}) {
    known<<<528, 256>>>(p, 1, 1, 1, times, out); said("known", 1, 1, 1, 0, 0, times);
    known<<<528, 256>>>(p, 1, 4, 8, times, out); said("known", 1, 4, 8, 0, 0, times);
  }
  others<<<528, 256>>>(p, out); said("others", 1, 1, 1, 0, 0, 1);
  for (int count : {1, 4, 16, 32, 64, 128, 192, 256, 320}) { many<<<132, 256>>>(p, count, out); said("many", count, 0, 0, 0, 0, 0); }
  for (int loaded : {32, 128, 192}) for (int stored : {0, 32, 128, 256}) { between<<<132, 256>>>(p, loaded, stored, out); said("between", loaded, stored, 0, 0, 0, 0); }
  return failed;
}
