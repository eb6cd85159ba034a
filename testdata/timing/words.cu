// Microbenchmark: constants of a program of which lanes ask for different words, for warps of a multiprocessor together.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -o words words.cu && ./words
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void ok(cudaError_t e, const char *what) {
  if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); exit(1); }
}

__constant__ float table[1024];

__global__ void constants(int words, int step, int n, long long *cycles, float *out) {
  unsigned lane = threadIdx.x % 32, at = lane % words * step;
  float s = 0;
  // Nothing is cold behind this.
  for (int k = 0; k < 1024; k += 32) s += table[k];
  __syncthreads();
  long long begin = clock64();
#pragma unroll 1
  for (int k = 0; k < 16; k++) {
#pragma unroll
    for (int j = 0; j < 16; j++) s += table[at + j];
    at += n;
  }
  __syncthreads();
  long long end = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;
  if (s == 0.123f) *out = s;
}

int main() {
  float *out;
  long long *cycles, all[132];
  ok(cudaMalloc(&out, 4), "memory");
  ok(cudaMalloc(&cycles, sizeof all), "memory");
  for (int blocks : {1, 132})
    for (int warps : {1, 2, 4, 8, 16, 32})
      for (int words : {1, 2, 4, 8, 16, 32})
        for (int step : {1, 8}) {
          for (int k = 0; k < 2; k++) constants<<<blocks, warps * 32>>>(words, step, 1, cycles, out);
          ok(cudaMemcpy(all, cycles, sizeof(long long) * blocks, cudaMemcpyDeviceToHost), "cycles");
          double sum = 0;
          for (int block = 0; block < blocks; block++) sum += all[block];
          printf("blocks %d warps %d words %d step %d: %.2f cycles a load of a warp\n", blocks, warps, words, step, sum / blocks / 256);
        }
}
