// Launches by kernels: what they take, and what a profiler counts of them. Built with nvcc -O3 -rdc=true -arch=sm_90 -lcudadevrt.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
__device__ unsigned long long at[4096];
__device__ unsigned word[1 << 20];
__device__ __forceinline__ unsigned long long now() { unsigned long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__global__ void nothing() {}
__global__ void stamps(int slot) { if (threadIdx.x == 0 && blockIdx.x == 0) at[slot] = now(); }
__global__ void work(int turns) { unsigned x = threadIdx.x; for (int i = 0; i < turns; i++) x = x * 1664525u + 1013904223u; word[blockIdx.x * blockDim.x + threadIdx.x] = x; }
__global__ void parent(int count, int kind, int blocks, int threads) {
  if (threadIdx.x || blockIdx.x) return;
  at[0] = now();
  for (int i = 0; i < count; i++) {
    if (kind == 0) nothing<<<1, 1>>>();
    if (kind == 1) stamps<<<1, 32>>>(2 + i);
    if (kind == 2) work<<<blocks, threads>>>(100);
    if (kind == 3) { nothing<<<1, 1, 0, cudaStreamFireAndForget>>>(); }
    if (kind == 4) { nothing<<<1, 1, 0, cudaStreamTailLaunch>>>(); }
    if (kind == 5) { stamps<<<1, 32, 0, cudaStreamFireAndForget>>>(2 + i); }
    if (kind == 6) { work<<<blocks, threads, 0, cudaStreamFireAndForget>>>(100); }
  }
  at[1] = now();
}
__global__ void all_launch(int threads) { work<<<1, threads>>>(10); }
__global__ void recursive(int depth) { if (threadIdx.x == 0) { at[2 + depth] = now(); if (depth) recursive<<<1, 32>>>(depth - 1); } }
int main(int argc, char **) {
  cudaEvent_t e[2]; cudaEventCreate(&e[0]); cudaEventCreate(&e[1]);
  auto time = [&](const char *name, int n, auto f) {
    std::vector<float> t; unsigned long long host[4096];
    for (int k = 0; k < (argc > 1 ? 1 : 9); k++) {
      nothing<<<1, 1>>>(); cudaDeviceSynchronize();
      cudaEventRecord(e[0]); f(); cudaEventRecord(e[1]); cudaDeviceSynchronize();
      float ms; cudaEventElapsedTime(&ms, e[0], e[1]); t.push_back(1000 * ms);
    }
    std::sort(t.begin(), t.end());
    cudaMemcpyFromSymbol(host, at, sizeof host);
    printf("%s %d: %.2f us; parent %lld ns, stamps", name, n, t[t.size() / 2], (long long)(host[1] - host[0]));
    for (int i = 0; i < std::min(n, 6); i++) printf(" %lld", (long long)(host[2 + i] - host[0]));
    printf(" %s\n", cudaGetErrorString(cudaGetLastError()));
  };
  for (int n : {0, 1, 2, 8, 32, 128}) for (int kind : {0, 1, 3, 4, 5}) if (argc == 1 || n < 9) { char s[40]; sprintf(s, "kind %d", kind); time(s, n, [&] { parent<<<1, 32>>>(n, kind, 1, 32); }); }
  for (int kind : {2, 6}) for (int b : {1, 132, 1056}) { char s[40]; sprintf(s, "work kind %d blocks %d", kind, b); time(s, 4, [&] { parent<<<1, 32>>>(4, kind, b, 256); }); }
  time("work alone", 0, [&] { work<<<132, 256>>>(100); });
  for (int b : {1, 32, 264}) time("all launch, blocks", b, [&] { all_launch<<<b, 1>>>(64); });
  time("all launch, threads", 32, [&] { all_launch<<<1, 32>>>(64); });
  time("recursive", 6, [&] { recursive<<<1, 32>>>(5); });
}
