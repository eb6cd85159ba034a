// Asynchronous copies from global to shared memory (`cp.async`).
#include <cuda_pipeline.h>

#include "race.h"

__device__ __forceinline__ void copy(int* to, const int* from) { __pipeline_memcpy_async(to, from, 4); }

//@ race data-race grid 1 block 64
extern "C" __global__ void copies_and_does_not_wait(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  copy(&s[t], &a[t]);
  __pipeline_commit();
  __syncthreads();
  b[t] = s[63 - t];
}

//@ race data-race grid 1 block 32
extern "C" __global__ void reads_its_own_copy_early(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  copy(&s[t], &a[t]);
  __pipeline_commit();
  KEEP();
  b[t] = s[t];
  __pipeline_wait_prior(0);
}

//@ race data-race grid 1 block 64
extern "C" __global__ void waits_after_the_barrier(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  copy(&s[t], &a[t]);
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
  b[t] = s[63 - t];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void leaves_one_group_too_many(int* a, int* b) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  copy(&s[0][t], &a[t]);
  __pipeline_commit();
  copy(&s[1][t], &a[64 + t]);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  b[t] = s[0][63 - t] + s[1][63 - t];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void writes_where_a_copy_goes(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  copy(&s[t], &a[t]);
  KEEP();
  s[t] = 0;
  __pipeline_commit();
  __pipeline_wait_prior(0);
  b[t] = s[t];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void refills_a_tile_in_use(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 4; i++) {
    copy(&s[t], &a[64 * i + t]);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += s[63 - t];
  }
  b[t] = sum;
}

//@ clean grid 1 block 64
extern "C" __global__ void waits_and_meets(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  copy(&s[t], &a[t]);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  b[t] = s[63 - t];
}

//@ clean grid 1 block 32
extern "C" __global__ void reads_its_own_copy(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  copy(&s[t], &a[t]);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  b[t] = s[t];
}

//@ clean grid 2 block 64
extern "C" __global__ void double_buffer_of_copies(int* a, int* b) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  a += blockIdx.x * 512;
  copy(&s[0][t], &a[t]);
  __pipeline_commit();
  for (int i = 0; i < 8; i++) {
    if (i + 1 < 8) copy(&s[(i + 1) & 1][t], &a[64 * (i + 1) + t]);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[i & 1][63 - t];
    __syncthreads();
  }
  b[64 * blockIdx.x + t] = sum;
}

//@ clean grid 1 block 64
extern "C" __global__ void copies_that_an_mbarrier_counts(int* a, int* b) {
  __shared__ unsigned long long full;
  __shared__ int s[64];
  int t = threadIdx.x;
  unsigned m = (unsigned)__cvta_generic_to_shared(&full);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(m) : "memory");
  __syncthreads();
  copy(&s[t], &a[t]);
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(m) : "memory");
  asm volatile(
      "{ .reg .pred p;\n"
      "again%=:\n"
      "mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n"
      "@!p bra again%=; }" ::"r"(m) : "memory");
  b[t] = s[63 - t];
}

//@ clean grid 1 block 64
extern "C" __global__ void copies_of_which_part_is_zeros(int* a, int* b) {
  __shared__ __align__(16) int s[256];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], &a[4 * t], 16, t % 4 * 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  b[t] = s[255 - 4 * t];
}
