// What printf takes: by text, arguments, lanes, warps, blocks. Each launch says what it is on the standard error output, in the order in which
// a profiler numbers them, with the cycles of the first thread.
#include <cstdio>
#include <cuda_runtime.h>

__device__ long long took[2];
template <int KIND> __device__ void one(int x) {
  if (KIND == 1) printf("x\n");
  if (KIND == 2) printf("key = %d\n", x);
  if (KIND == 3) printf("%d\n", x);
  if (KIND == 4) printf("%d %d %d %d\n", x, x + 1, x + 2, x + 3);
  if (KIND == 5) printf("%f\n", x * 0.5);
  if (KIND == 6) printf("%s\n", "abcdefgh");
  if (KIND == 7) printf("0123456789012345678901234567890123456789012345678901234567890123\n");
  if (KIND == 8) printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", x, x, x, x, x, x, x, x, x, x, x, x);
}
template <int KIND> __global__ void prints(int lanes, int times) {
  long long begin = clock64();
  if (threadIdx.x % 32 < lanes)
    for (int k = 0; k < times; k++) one<KIND>(threadIdx.x + k);
  if (threadIdx.x == 0 && blockIdx.x == 0) took[0] = clock64() - begin;
}
template <int KIND> static void all() {
  struct { int blocks, threads, lanes, times; } ways[] = {{1, 32, 1, 1}, {1, 32, 1, 2}, {1, 32, 1, 8}, {1, 32, 2, 1}, {1, 32, 8, 1}, {1, 32, 32, 1}, {1, 32, 32, 4}, {1, 128, 1, 1}, {1, 128, 32, 1}, {1, 1024, 1, 1}, {1, 1024, 32, 1}, {8, 32, 1, 1}, {132, 32, 1, 1}, {132, 128, 32, 1}};
  for (auto &w : ways) {
    prints<KIND><<<w.blocks, w.threads>>>(w.lanes, w.times);
    cudaError_t e = cudaDeviceSynchronize();
    long long t = 0;
    cudaMemcpyFromSymbol(&t, took, 8);
    fprintf(stderr, "%d %d %d %d %d: %lld %s\n", KIND, w.blocks, w.threads, w.lanes, w.times, t, cudaGetErrorString(e));
  }
}
int main() { all<0>(); all<1>(); all<2>(); all<3>(); all<4>(); all<5>(); all<6>(); all<7>(); all<8>(); }
