// How fast blocks begin that do next to nothing: empty ones, ones that look at a parameter, ones with many registers; by threads and blocks.
// Each launch prints what it is, in the order in which a profiler numbers them.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void empty() {}
__global__ void looks(unsigned *a, int how) {
  if (how == 1) a[threadIdx.x] = how;
}
// Some twenty instructions of a warp that depend on each other.
__global__ void adds(unsigned *a, int how) {
  unsigned x = threadIdx.x;
#pragma unroll
  for (int k = 0; k < 16; k++) asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(how));
  if (x == 0xfffffff3) a[0] = x;
}
__global__ void __launch_bounds__(1024, 1) registers(unsigned *a, int how) {
  unsigned x[48];
#pragma unroll
  for (int k = 0; k < 48; k++) x[k] = k * how;
  if (how == 1)
#pragma unroll
    for (int k = 0; k < 48; k++) a[k * 1024 + threadIdx.x] = x[k] + x[(k * 7) % 48];
}

int main() {
  unsigned *a;
  if (cudaMalloc(&a, 1 << 20)) return 1;
  for (int blocks : {132, 264, 1056, 4224})
    for (int threads : {32, 64, 128, 256, 512, 1024})
      for (int kind = 0; kind < 4; kind++) {
        switch (kind) {
          case 0: empty<<<blocks, threads>>>(); break;
          case 1: looks<<<blocks, threads>>>(a, 0); break;
          case 2: adds<<<blocks, threads>>>(a, 0); break;
          default: registers<<<blocks, threads>>>(a, 0);
        }
        cudaError_t e = cudaDeviceSynchronize();
        if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); return 1; }
        printf("%s %d %d\n", (const char *[]){"empty", "looks", "adds", "registers"}[kind], blocks, threads);
      }
}
