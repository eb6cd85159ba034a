// How much room reads and writes take in the second level: a line is in one partition of it, or in both. Each launch prints what it does,
// `what MiB MiB`, in the order in which a profiler numbers them.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void ok(cudaError_t e, const char *what) {
  if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); exit(1); }
}

#define EACH(i, count) \
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count); i += gridDim.x * (size_t)blockDim.x)

// Where a thread writes of whom two blocks take half a line each, as tiles of 16 columns do.
__device__ size_t half_lines(size_t i) {
  size_t block = i / blockDim.x, row = i % blockDim.x / 16, column = i % 16;
  return block / 2 * 2 * blockDim.x + row * 32 + block % 2 * 16 + column;
}
// Each line is read by `times` blocks; then others are written.
__global__ void reads_writes(const unsigned *q, size_t reads, unsigned times, unsigned *p, size_t writes, bool halves, unsigned *out) {
  unsigned sum = 0;
  for (unsigned k = 0; k < times; k++)
    EACH(i, reads) sum += __ldcg(q + (i + k * (size_t)blockDim.x * 17) % reads);
  EACH(i, writes) __stcg(p + (halves ? half_lines(i) : i), sum);
  if (sum == 0xdeadbeef) *out = sum;
}
__global__ void halves(unsigned *p, size_t writes) {
  EACH(i, writes) __stcg(p + half_lines(i), 1u);
}

int main() {
  const size_t mega = 1 << 18, all = 256 * mega;
  unsigned *p;
  ok(cudaMalloc(&p, all * 4), "memory");
  ok(cudaMemset(p, 0, all * 4), "zeros");
  unsigned *q = p + 128 * mega, *out = p + all - 1;
  dim3 grid(132 * 4), block(256);
  auto said = [&](const char *what, int first, int second = 0) {
    ok(cudaDeviceSynchronize(), what);
    printf("%s %d %d\n", what, first, second);
  };
  const char *names[] = {"reads, writes", "reads twice, writes", "reads 6 times, writes"};
  for (int kind = 0; kind < 3; kind++)
    for (int r : {8, 16, 24})
      for (int w : {4, 8, 12, 16, 20}) {
        if (r == 8 && w < 16) continue;
        reads_writes<<<grid, block>>>(q, r * mega, kind == 2 ? 6 : kind + 1, p, w * mega, false, out);
        said(names[kind], r, w);
      }
  for (int w : {12, 16, 20}) {
    reads_writes<<<grid, block>>>(q, 16 * mega, 6, p, w * mega, true, out);
    said("reads 6 times, halves", 16, w);
  }
  for (int w : {12, 16, 20, 24, 28, 32, 48}) {
    halves<<<dim3(w * mega / 256), block>>>(p, w * mega);
    said("halves", w);
  }
}
