// What memory has written when a launch ends: sizes, in place or not, slow or fast; and stores of the same lines again. Each launch prints
// what it does, in the order in which a profiler numbers them: what, MiB, and cycles of waiting or how often.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define EACH(i, count) \
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count); i += gridDim.x * (size_t)blockDim.x)

// Waits so many cycles between reading a word and writing it.
__global__ void copy(const unsigned *q, unsigned *p, size_t n, int wait) {
  EACH(i, n) {
    unsigned x = __ldcg(q + i);
    long long begin = clock64();
    while (clock64() - begin < wait) ;
    __stcg(p + i, x + 1);
  }
}
__global__ void again(unsigned *p, size_t n, int times) {
  EACH(i, n) for (int k = 0; k < times; k++) ((volatile unsigned *)p)[i] = k;
}
// A load comes between two stores.
__global__ void between(unsigned *p, const unsigned *f, size_t n, int times) {
  EACH(i, n) for (int k = 0; k < times; k++) ((volatile unsigned *)p)[i] = *(volatile unsigned *)f + k;
}
__global__ void added(unsigned *p, const unsigned *f, size_t n, int times) {
  EACH(i, n) for (int k = 0; k < times; k++) ((volatile unsigned *)p)[i] += *f + k;
}
// Half of each sector.
__global__ void partial(unsigned *p, size_t n, int times) {
  EACH(i, n) if (i % 8 < 4) for (int k = 0; k < times; k++) ((volatile unsigned *)p)[i] = k;
}

int main() {
  const size_t mega = 1 << 18;
  unsigned *p;
  if (cudaMalloc(&p, 1024 << 20) || cudaMemset(p, 0, 1024 << 20)) return 1;
  unsigned *q = p + 128 * mega;
  auto said = [](const char *what, int mib, int more) {
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); exit(1); }
    printf("%s %d %d\n", what, mib, more);
  };
  for (int wait : {0, 1000, 4000, 16000})
    for (int m : {14, 18, 22, 25, 32}) { copy<<<1056, 256>>>(q, p, m * mega, wait); said("copy", m, wait); }
  for (int m : {18, 26, 32})
    for (int wait : {0, 4000}) { copy<<<1056, 256>>>(p, p, m * mega, wait); said("in place", m, wait); }
  for (int m : {8, 18, 26, 32}) { copy<<<m * mega / 256, 256>>>(q, p, m * mega, 0); said("copy blocks", m, 0); }
  const unsigned grid = 16 * mega / 256;
  for (int k : {1, 2, 5}) {
    again<<<grid, 256>>>(p, 16 * mega, k); said("again", 16, k);
    between<<<grid, 256>>>(p, q, 16 * mega, k); said("between", 16, k);
    added<<<grid, 256>>>(p, q, 16 * mega, k); said("added", 16, k);
    partial<<<grid, 256>>>(p, 16 * mega, k); said("partial", 16, k);
  }
  added<<<4 * grid, 256>>>(p, q + 512, 64 * mega, 5); said("added", 64, 5);
  again<<<4 * grid, 256>>>(p, 64 * mega, 5); said("again", 64, 5);
}
