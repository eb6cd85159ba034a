// What of the bytes that a kernel writes is in memory when it ends, and what of those that were written before it. Each launch prints
// what it does: `what MiB MiB`, in the order in which a profiler numbers them.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void ok(cudaError_t e, const char *what) {
  if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); exit(1); }
}
typedef unsigned long long u64;

#define EACH(i, count) \
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count); i += gridDim.x * (size_t)blockDim.x)

// Words `stride` apart, so many times over.
__global__ void writes(unsigned *p, size_t count, unsigned stride, unsigned times) {
  for (unsigned time = 0; time < times; time++)
    EACH(i, count) __stcg(p + i * stride, time);
}
__global__ void reads(const unsigned *p, size_t count, unsigned *out) {
  unsigned sum = 0;
  EACH(i, count) sum += __ldcg(p + i);
  if (sum == 0xdeadbeef) *out = sum;
}
__global__ void changes(unsigned *p, size_t count) {
  EACH(i, count) p[i] += 1;
}
__global__ void adds(unsigned *p, size_t count, unsigned stride) {
  EACH(i, count) atomicAdd(p + i * stride, 1);
}
// Reads `ratio` words for each that it writes.
__global__ void copies(const unsigned *from, unsigned *to, size_t count, unsigned ratio) {
  EACH(i, count) {
    unsigned sum = 0;
    for (unsigned k = 0; k < ratio; k++) sum += __ldcg(from + k * count + i);
    __stcg(to + i, sum);
  }
}
// Writes, and is still there for some time.
__global__ void stays(unsigned *p, size_t count, long long cycles) {
  EACH(i, count) __stcg(p + i, 1);
  long long begin = clock64();
  while (clock64() - begin < cycles) __nanosleep(1000);
}
// Writes, and then reads something else; or the other way round.
__global__ void writes_reads(unsigned *p, size_t count, const unsigned *q, size_t other, unsigned *out) {
  EACH(i, count) __stcg(p + i, 1);
  unsigned sum = 0;
  EACH(i, other) sum += __ldcg(q + i);
  if (sum == 0xdeadbeef) *out = sum;
}
__global__ void reads_writes(unsigned *p, size_t count, const unsigned *q, size_t other, unsigned *out) {
  unsigned sum = 0;
  EACH(i, other) sum += __ldcg(q + i);
  EACH(i, count) __stcg(p + i, sum);
}
// Words all over.
__global__ void scattered(unsigned *p, size_t words, size_t count) {
  EACH(i, count) __stcg(p + (i * 0x9E3779B97F4A7C15ull >> 20) % words, 1);
}

int main(int argc, char **argv) {
  bool few = argc > 1; // The first kinds alone, of fewer sizes.
  const size_t mega = 1 << 18, all = 640 * mega;
  unsigned *p;
  ok(cudaMalloc(&p, all * 4), "memory");
  ok(cudaMemset(p, 0, all * 4), "zeros");
  unsigned *q = p + 256 * mega, *out = p + all - 1;
  dim3 grid(132 * 8), block(256);
  auto said = [](const char *what, double one, double two = 0) {
    ok(cudaDeviceSynchronize(), what);
    printf("%s %g %g\n", what, one, two);
  };
  for (int n : {1, 8, 16, 24, 28, 32, 36, 40, 44, 48, 56, 64, 96, 256}) {
    if (few && n % 16) continue;
    reads<<<grid, block>>>(p, n * mega, out); said("reads", n);
  }
  for (int n : {1, 4, 8, 16, 20, 24, 26, 28, 30, 32, 40, 48, 64, 128, 256}) {
    if (few && n % 16) continue;
    writes<<<grid, block>>>(p, n * mega, 1, 1); said("writes", n);
  }
  if (few) return 0;
  for (int n : {8, 16, 24, 28, 32, 48, 64}) { writes<<<grid, block>>>(p, n * mega, 1, 4); said("writes 4 times", n); }
  // A word of each sector, of each second sector, and of each line: MiB of lines.
  for (int n : {16, 32, 64, 128}) {
    for (unsigned stride : {8, 16, 32}) { writes<<<grid, block>>>(p, n * mega / stride, stride, 1); said("a word of each so many", n, stride); }
  }
  for (int n : {16, 20, 24, 28, 32, 40, 64, 128}) { changes<<<grid, block>>>(p, n * mega); said("changes", n); }
  for (int n : {16, 24, 32, 64}) { adds<<<grid, block>>>(p, n * mega, 1); said("adds", n); }
  for (int n : {16, 32, 64}) { adds<<<grid, block>>>(p, n * mega / 8, 8); said("adds to a word of each sector", n); }
  for (int n : {8, 12, 16, 18, 20, 24, 28, 32, 64, 200}) { copies<<<grid, block>>>(q, p, n * mega, 1); said("copies", n, 1); }
  for (int n : {4, 8, 16, 32, 64}) { copies<<<grid, block>>>(q, p, n * mega, 4); said("copies", n, 4); }
  for (int n : {4, 8, 20}) {
    for (long long k : {20000, 200000, 2000000}) { stays<<<grid, block>>>(p, n * mega, k); said("stays", n, k); }
  }
  for (int n : {4, 16, 24}) {
    for (int other : {8, 16, 32, 48, 64, 128}) {
      writes_reads<<<grid, block>>>(p, n * mega, q, other * mega, out); said("writes, reads", n, other);
    }
    for (int other : {16, 64, 128}) {
      reads_writes<<<grid, block>>>(p, n * mega, q, other * mega, out); said("reads, writes", other, n);
    }
  }
  for (int n : {64, 512}) {
    for (int count : {1, 2, 4}) { scattered<<<grid, block>>>(p, n * mega, count * mega); said("scattered", n, count); }
  }
  // What went before: with the caches flushed by the profiler, and without.
  for (int n : {8, 16, 32}) {
    ok(cudaMemset(p, 1, n * mega * 4), "fill"); reads<<<grid, block>>>(q, 128 * mega, out); said("fill, reads of others", n, 128);
    ok(cudaMemset(p, 1, n * mega * 4), "fill"); writes<<<grid, block>>>(p, n * mega, 1, 1); said("fill, writes", n);
  }
}
