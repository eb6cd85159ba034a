// Microbenchmarks for a profiler, built with nvcc -O3 -std=c++17 -arch=sm_90. Compare-and-swap in loops: minima, sums and maxima that threads try again, in global and in shared memory.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
__device__ unsigned long long word64[64];
__device__ unsigned word32[1 << 20];
__device__ float out[1 << 22];
__device__ void min64(unsigned long long *address, unsigned long long val) {
  unsigned long long ret = *(volatile unsigned long long *)address;
  while (val < ret) { unsigned long long old = ret; if ((ret = atomicCAS(address, old, val)) == old) break; }
}
__device__ float max_float(float *address, float value) {
  int *p = (int *)address; int old = *(volatile int *)p, assumed;
  do { assumed = old; if (__int_as_float(assumed) >= value) break; old = atomicCAS(p, assumed, __float_as_int(value)); } while (assumed != old);
  return __int_as_float(old);
}
__device__ void add_float(unsigned *p, float value) {
  unsigned old = *(volatile unsigned *)p, assumed;
  do { assumed = old; old = atomicCAS(p, assumed, __float_as_uint(__uint_as_float(assumed) + value)); } while (assumed != old);
}
__global__ void reset() { if (threadIdx.x < 64) word64[threadIdx.x] = ~0ull; for (int i = threadIdx.x; i < 1 << 20; i += blockDim.x) word32[i] = 0; }
// Each thread; as a public program has it.
extern "C" __global__ void cas_min(int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) min64(word64, i + 1); }
extern "C" __global__ void cas_min_down(int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) min64(word64, n - i); }
// One thread a block, behind some work: the maximum of an array as people write it.
extern "C" __global__ void block_max(const float *in, int n, int each) {
  __shared__ float s[256];
  float m = 0;
  for (int k = 0; k < each; k++) { int i = (blockIdx.x * each + k) * 256 + threadIdx.x; if (i < n) m = fmaxf(m, in[i]); }
  s[threadIdx.x] = m; __syncthreads();
  for (int w = 128; w; w /= 2) { if (threadIdx.x < w) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + w]); __syncthreads(); }
  if (threadIdx.x == 0) max_float((float *)word32, s[0]);
}
// Each thread adds to one of `words` words.
extern "C" __global__ void cas_add(int words) { int i = threadIdx.x + blockIdx.x * blockDim.x; add_float(word32 + (i * 97u) % words * 8, 1.0f); }
extern "C" __global__ void shared_add(int words) {
  __shared__ unsigned s[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = 0;
  __syncthreads();
  add_float(s + (threadIdx.x * 97u) % words, 1.0f);
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) out[blockIdx.x * 1024 + i] = __uint_as_float(s[i]);
}
extern "C" __global__ void shared_max(const float *in) {
  __shared__ float s[32];
  if (threadIdx.x < 32) s[threadIdx.x] = 0;
  __syncthreads();
  max_float(s, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
int main() {
  float *in; const int n = 1 << 22; cudaMalloc(&in, 4 * n);
  float *host = (float *)malloc(4 * n); srand(1); for (int i = 0; i < n; i++) host[i] = rand() / (float)RAND_MAX;
  cudaMemcpy(in, host, 4 * n, cudaMemcpyHostToDevice);
  for (int t : {32, 256, 4096, 33792, 262144}) { reset<<<1, 1024>>>(); cas_min<<<(t + 255) / 256, 256>>>(t); reset<<<1, 1024>>>(); cas_min_down<<<(t + 255) / 256, 256>>>(t); }
  for (int b : {16, 132, 528, 2048, 16384}) { reset<<<1, 1024>>>(); block_max<<<b, 256>>>(in, n, 1); }
  for (int b : {132, 1056}) { reset<<<1, 1024>>>(); block_max<<<b, 256>>>(in, n, 8); }
  for (int w : {1, 64, 4096}) for (int b : {1, 8, 132}) if (w * 8 > b / 16) { reset<<<1, 1024>>>(); cas_add<<<b, 64>>>(w); }
  for (int w : {1, 32, 1024}) for (int t : {32, 128, 1024}) shared_add<<<1, t>>>(w);
  for (int w : {32}) for (int t : {128, 512}) shared_add<<<264, t>>>(w);
  for (int t : {32, 128, 1024}) shared_max<<<1, t>>>(in);
  shared_max<<<528, 256>>>(in);
  return cudaDeviceSynchronize() != cudaSuccess;
}
