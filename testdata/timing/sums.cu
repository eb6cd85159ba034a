// Microbenchmark: what sums in memory take, by type and by how many words are changed, which follow each other.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -o sums sums.cu && ./sums
#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

static void ok(cudaError_t e, const char *what) {
  if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); exit(1); }
}

template <class T> __global__ void reds(T *p, unsigned mask, int turns, T one) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < turns; k++) atomicAdd(p + (i & mask), one);
}
template <class T> __global__ void atoms(T *p, unsigned mask, int turns, T one, T *out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  T s = one;
  for (int k = 0; k < turns; k++) s = atomicAdd(p + (i & mask), s);
  if (i == 0xffffffffu) *out = s;
}

// The least of four, of four launches each, at 1.98 GHz.
template <class F> float cycles(F launch) {
  cudaEvent_t begin, end;
  ok(cudaEventCreate(&begin), "event");
  ok(cudaEventCreate(&end), "event");
  float best = 1e30f;
  for (int k = 0; k < 4; k++) {
    float ms;
    cudaEventRecord(begin);
    for (int j = 0; j < 4; j++) launch();
    cudaEventRecord(end);
    ok(cudaEventSynchronize(end), "launches");
    cudaEventElapsedTime(&ms, begin, end);
    best = ms < best ? ms : best;
  }
  return best / 4 * 1.98e6f;
}

template <class T> void types(const char *name, T *p, T one) {
  const int blocks = 1056;
  for (unsigned mask : {0u, 1u, 7u, 31u, 63u, 127u, 255u, 1023u, 65535u}) {
    auto red = [&](int turns) { return cycles([&] { reds<T><<<blocks, 256>>>(p, mask, turns, one); }); };
    auto atom = [&](int turns) { return cycles([&] { atoms<T><<<blocks, 256>>>(p, mask, turns, one, p); }); };
    float r = (red(16) - red(8)) / (blocks * 8.0f * 8), a = (atom(4) - atom(2)) / (blocks * 8.0f * 2);
    printf("%s words %u red: %.2f cycles a warp instruction of the chip, atom: %.2f\n", name, mask + 1, r, a);
  }
}

int main() {
  void *p;
  ok(cudaMalloc(&p, 1 << 20), "memory");
  ok(cudaMemset(p, 0, 1 << 20), "zeros");
  types("float", (float *)p, 1.0f);
  types("double", (double *)p, 1.0);
  types("u32", (unsigned *)p, 1u);
  types("u64", (unsigned long long *)p, 1ull);
  types("half2", (__half2 *)p, __float2half2_rn(1.0f));
}
