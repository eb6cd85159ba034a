// Microbenchmarks: accesses whose lanes are in L lines and have at most C words of one bank; local memory; atomic operations of
// many lanes at few words and lines. Clocks of a block, or the longest of all that run at once; built with nvcc -O3 -arch=sm_90.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
static void ok(cudaError_t e, const char *w) { if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", w, cudaGetErrorString(e)); exit(1); } }
__device__ __forceinline__ unsigned clk() { unsigned c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c)::"memory"); return c; }

// ---- the first level -----------------------------------------------------------------------------------
// Each load's address is what the last one read: the word's own place.
__global__ void chase(const unsigned *p, const unsigned *at, int n, unsigned *out) {
  unsigned x = at[threadIdx.x % 32];
  for (int w = 0; w < 2; w++) {
    __syncthreads();
    unsigned t = clk();
    for (int k = 0; k < n; k++)
#pragma unroll
      for (int i = 0; i < 8; i++) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p + x) : "memory");
    unsigned e = clk();
    if (threadIdx.x == 0) out[0] = e - t + (x & 0x80000000);
    __syncthreads();
  }
}
// Bytes of local memory, counted up: B bytes, the lanes at one (spread 0) or at different ones.
__global__ void bytes(const unsigned *steps, int n, int spread, unsigned *out) {
  unsigned char a[256];
  for (int i = 0; i < 256; i++) a[i] = i;
  unsigned x = spread * (threadIdx.x % 32);
  for (int w = 0; w < 2; w++) {
    __syncthreads();
    unsigned t = clk();
    for (int k = 0; k < n; k++) { a[x & 255]++; x += steps[k & 7]; }
    __syncthreads();
    unsigned e = clk();
    if (threadIdx.x == 0) out[0] = e - t;
  }
  unsigned s = 0;
  for (int i = 0; i < 256; i++) s += a[i];
  out[1 + threadIdx.x % 32] = s;
}
// Stores of local memory only, and loads only.
__global__ void local_only(int n, int load, unsigned *out) {
  volatile unsigned a[64];
  for (int i = 0; i < 64; i++) a[i] = i;
  unsigned x = threadIdx.x;
  for (int w = 0; w < 2; w++) {
    __syncthreads();
    unsigned t = clk();
    for (int k = 0; k < n; k += 16) {
      unsigned v[16];
      if (load) {
#pragma unroll
        for (int i = 0; i < 16; i++) v[i] = a[(k + i) & 63];
#pragma unroll
        for (int i = 0; i < 16; i++) x ^= v[i];
      } else {
#pragma unroll
        for (int i = 0; i < 16; i++) a[(k + i) & 63] = x + i;
      }
    }
    __syncthreads();
    unsigned e = clk();
    if (threadIdx.x == 0) out[0] = e - t;
  }
  out[1 + threadIdx.x % 32] = x;
}

// ---- atomic operations ------------------------------------------------------------------------------------
// Each warp n times: lanes at words lane % distinct of a line, lines in turn. How 0: reductions; 1: with a result; 2: floats.
__global__ void atomics(unsigned *p, int n, unsigned distinct, unsigned lines, int how, unsigned *out) {
  unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, word = threadIdx.x % 32 % distinct, s = 0;
  unsigned t = clk();
  for (int k = 0; k < n; k++) {
    unsigned *q = p + (size_t)((warp * 7 + k) % lines) * 32 + word;
    if (how == 0) asm volatile("red.global.add.u32 [%0], 1;" ::"l"(q) : "memory");
    if (how == 1) { unsigned v; asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(q), "r"(s | 1) : "memory"); s += v; }
    if (how == 2) asm volatile("red.global.add.f32 [%0], 0f3F800000;" ::"l"(q) : "memory");
    if (how == 3) asm volatile("red.global.max.u32 [%0], 1;" ::"l"(q) : "memory");
  }
  __threadfence();
  unsigned e = clk();
  atomicMax(out, e - t);
  if (s == 12345) out[1] = s;
}
// Each lane at a word of its own of another line: words in `lines` lines.
__global__ void scattered(unsigned *p, int n, unsigned lines, int how, unsigned *out) {
  unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u, s = 0;
  unsigned t = clk();
  for (int k = 0; k < n; k++) {
    x = x * 1664525u + 1013904223u;
    unsigned *q = p + (x >> 8) % (lines * 32);
    if (how == 0) asm volatile("red.global.add.u32 [%0], 1;" ::"l"(q) : "memory");
    if (how == 1) { unsigned v; asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(q), "r"(s | 1) : "memory"); s += v; }
  }
  __threadfence();
  unsigned e = clk();
  atomicMax(out, e - t);
  if (s == 12345) out[1] = s;
}
// The least of what threads bring, around a compare-and-swap; how often it was tried.
__global__ void least(unsigned long long *p, int up, unsigned *out) {
  unsigned long long mine = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x + 1;
  if (!up) mine = gridDim.x * (unsigned long long)blockDim.x + 1 - mine;
  unsigned tries = 0, t = clk();
  unsigned long long old = *(volatile unsigned long long *)p, assumed;
  while (old > mine) { assumed = old; old = atomicCAS(p, assumed, mine); tries++; if (old == assumed) break; }
  unsigned e = clk();
  atomicMax(out, e - t);
  atomicAdd(out + 1, tries);
  unsigned w = __reduce_max_sync(~0u, tries);
  if (threadIdx.x % 32 == 0) atomicAdd(out + 2, w);
}

int main() {
  unsigned *d, *at, *big, h[64];
  ok(cudaMalloc(&d, 4096), "malloc"); ok(cudaMalloc(&at, 4096), "malloc"); ok(cudaMalloc(&big, 64 << 20), "malloc");
  std::vector<unsigned> own(1 << 18);
  for (size_t i = 0; i < own.size(); i++) own[i] = i;
  ok(cudaMemcpy(big, own.data(), own.size() * 4, cudaMemcpyHostToDevice), "copy");
  unsigned *scratch = big + (32 << 18);
  auto report = [&] { ok(cudaDeviceSynchronize(), "end"); ok(cudaMemcpy(h, d, 256, cudaMemcpyDeviceToHost), "copy"); return h[0]; };
  auto pattern = [&](const char *name, const std::vector<unsigned> &lanes) {
    ok(cudaMemcpy(at, lanes.data(), 128, cudaMemcpyHostToDevice), "copy");
    printf("%s", name);
    chase<<<1, 32>>>(big, at, 32, d); printf(" chase %.2f", report() / 256.);
    chase<<<1, 64>>>(big, at, 32, d); printf(" chase2 %.2f", report() / 256.);
    printf("\n"); fflush(stdout);
  };
  char name[64];
  for (unsigned s : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 23, 24, 31, 32, 33, 34, 36, 40, 48, 64, 65, 66, 68, 96, 97, 128, 129, 257}) {
    std::vector<unsigned> lanes; for (unsigned l = 0; l < 32; l++) lanes.push_back(l * s);
    sprintf(name, "stride %u", s); pattern(name, lanes);
  }
  for (unsigned lines : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) for (unsigned c : {1, 2, 4, 8, 16, 32}) {
    std::vector<unsigned> lanes; for (unsigned l = 0; l < 32; l++) lanes.push_back(l % lines * 32 + l / c);
    sprintf(name, "lines %u deep %u", lines, c); pattern(name, lanes);
  }
  srand(7);
  for (int r = 0; r < 6; r++) {
    std::vector<unsigned> lanes; for (unsigned l = 0; l < 32; l++) lanes.push_back(rand() % (64 << (2 * r)));
    sprintf(name, "random %d", 64 << (2 * r)); pattern(name, lanes);
  }
  unsigned steps[8] = {1, 5, 9, 2, 30, 17, 4, 11};
  ok(cudaMemcpy(at, steps, 32, cudaMemcpyHostToDevice), "copy");
  for (int spread : {0, 4, 1, 3, 8, 37}) { printf("bytes spread %d", spread); for (int g : {1, 132}) for (int w : {1, 4, 8, 16, 32}) { bytes<<<g, 32 * w>>>(at, 256, spread, d); printf(" %dx%d:%.2f", g, w, report() / 256.); } printf("\n"); }
  for (int load : {1, 0}) { printf("local load %d", load); for (int w : {1, 4, 8, 16, 32}) { local_only<<<1, 32 * w>>>(256, load, d); printf(" %d:%.2f", w, report() / 256. / w); } printf("\n"); }
  fflush(stdout);
  for (int how : {0, 1, 2, 3}) for (unsigned distinct : {1, 2, 4, 8, 16, 32}) {
    printf("atomics how %d distinct %u", how, distinct);
    for (int grid : {1, 132, 528}) for (unsigned lines : {1, 4, 32, 256, 4096}) {
      int n = grid == 1 ? 64 : 32;
      for (int r = 0; r < 2; r++) { ok(cudaMemset(d, 0, 256), "set"); atomics<<<grid, 256>>>(scratch, n, distinct, lines, how, d); report(); }
      printf(" %dx%u:%.3f", grid, lines, h[0] / double(n) / (grid * 8));
    }
    printf("\n"); fflush(stdout);
  }
  for (int how : {0, 1}) {
    printf("scattered how %d", how);
    for (int grid : {1, 132, 528}) for (unsigned lines : {1, 2, 4, 8, 16, 32, 64, 256, 1024, 8192, 65536}) {
      for (int r = 0; r < 2; r++) { ok(cudaMemset(d, 0, 256), "set"); scattered<<<grid, 256>>>(scratch, 32, lines, how, d); report(); }
      printf(" %dx%u:%.3f", grid, lines, h[0] / 32. / (grid * 8));
    }
    printf("\n"); fflush(stdout);
  }
  for (int up : {1, 0}) for (int grid : {1, 2, 8, 32, 132, 264, 528, 1056, 2112}) for (int block : {32, 256, 1024}) {
    unsigned long long most = ~0ull;
    ok(cudaMemcpy(scratch, &most, 8, cudaMemcpyHostToDevice), "copy"); ok(cudaMemset(d, 0, 256), "set");
    least<<<grid, block>>>((unsigned long long *)scratch, up, d); report();
    printf("least up %d %dx%d cycles %u tries %u warps' %u\n", up, grid, block, h[0], h[1], h[2]);
  }
}
