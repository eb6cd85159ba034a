// Microbenchmarks for a profiler: stores of structures field by field that follow each other in the program without a loop between
// them. Built with nvcc -O3 -std=c++17 -arch=sm_90.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
static void ok(cudaError_t e, const char *w) { if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", w, cudaGetErrorString(e)); exit(1); } }
__device__ __forceinline__ void store(unsigned *p, unsigned v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
// `gap` dependent instructions between two stores, of which ptxas makes one.
template <int gap> __device__ __forceinline__ unsigned wait(unsigned v) {
#pragma unroll
  for (int k = 0; k < gap; k++) asm volatile("add.u32 %0, %0, 1;" : "+r"(v));
  return v;
}
template <int stride, int count, int gap> __global__ void fields(unsigned *p) {
  size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  unsigned *own = p + t * stride, v = threadIdx.x;
#pragma unroll
  for (int f = 0; f < count; f++) { store(own + f, v); v = wait<gap>(v); }
}
// Plain C++: what compilers make of structures.
struct Five { float a, b, c, d, e; };
__global__ void five(const Five *in, Five *out) {
  size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  float a = in[t].a, b = in[t].b;
  out[t] = Five{a * b, a + b, a, b, a - b};
}
// Two arrays in turn.
template <int count> __global__ void in_turn(unsigned *p, unsigned *q) {
  size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
#pragma unroll
  for (int f = 0; f < count; f++) { store(p + t * count + f, f); store(q + t * count + f, f); }
}
// The same word again, without a loop.
template <int count> __global__ void again(unsigned *p) {
  size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
#pragma unroll
  for (int f = 0; f < count; f++) store(p + t, f);
}
// A load between two stores.
__global__ void load_between(unsigned *p, const unsigned *q) {
  size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x; unsigned v;
  store(p + t * 2, 1);
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(q + t) : "memory");
  store(p + t * 2 + 1, 2);
  if (v == 77) store(p, 3);
}
static int n;
template <class F> static void go(const char *name, int blocks, int threads, F f) { printf("%d %s blocks %d threads %d\n", n++, name, blocks, threads); f(blocks, threads); ok(cudaDeviceSynchronize(), name); }
int main() {
  unsigned *p, *q; ok(cudaMalloc(&p, 1u << 30), "p"); ok(cudaMalloc(&q, 1u << 30), "q"); ok(cudaMemset(q, 0, 1u << 30), "fill");
#define FIELDS(S, C, G) go("fields " #S " " #C " gap " #G, b, t, [&](int b, int t) { fields<S, C, G><<<b, t>>>(p); })
  for (auto [b, t] : {std::pair<int, int>{1, 32}, {1, 128}, {1, 1024}, {1056, 256}}) {
    FIELDS(2, 2, 0); FIELDS(3, 3, 0); FIELDS(4, 4, 0); FIELDS(5, 5, 0); FIELDS(8, 8, 0); FIELDS(16, 16, 0); FIELDS(32, 8, 0); FIELDS(32, 32, 0);
    FIELDS(5, 5, 1); FIELDS(5, 5, 2); FIELDS(5, 5, 4); FIELDS(5, 5, 8); FIELDS(5, 5, 16); FIELDS(5, 5, 64);
    FIELDS(2, 2, 1); FIELDS(2, 2, 4); FIELDS(2, 2, 16);
    go("five", b, t, [&](int b, int t) { five<<<b, t>>>((Five *)q, (Five *)p); });
    go("in turn 2", b, t, [&](int b, int t) { in_turn<2><<<b, t>>>(p, q); });
    go("in turn 4", b, t, [&](int b, int t) { in_turn<4><<<b, t>>>(p, q); });
    go("again 2", b, t, [&](int b, int t) { again<2><<<b, t>>>(p); });
    go("again 4", b, t, [&](int b, int t) { again<4><<<b, t>>>(p); });
    go("again 16", b, t, [&](int b, int t) { again<16><<<b, t>>>(p); });
    go("load between", b, t, [&](int b, int t) { load_between<<<b, t>>>(p, q); });
  }
  for (int b : {8448, 39063}) { int t = 256; FIELDS(5, 5, 0); go("five", b, t, [&](int b, int t) { five<<<b, t>>>((Five *)q, (Five *)p); }); FIELDS(8, 8, 0); FIELDS(4, 4, 0); FIELDS(5, 5, 16); }
}
