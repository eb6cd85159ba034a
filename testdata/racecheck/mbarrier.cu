// mbarrier objects in shared memory.
#include "race.h"

__device__ __forceinline__ unsigned shared_address(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(unsigned long long* m, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(m)), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(unsigned long long* m) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(shared_address(m)) : "memory");
}
__device__ __forceinline__ void wait(unsigned long long* m, int parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again%=:\n"
      "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
      "@!p bra again%=; }" ::"r"(shared_address(m)), "r"(parity) : "memory");
}

//@ race data-race grid 1 block 64
extern "C" __global__ void arrives_and_does_not_wait(int* a, int* b) {
  __shared__ unsigned long long full;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 0) init(&full, 64);
  __syncthreads();
  if (t < 32) s[t] = t;
  arrive(&full);
  KEEP();
  if (t >= 32) b[t] = s[t - 32];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void writes_after_arriving(int* a, int* b) {
  __shared__ unsigned long long full;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 0) init(&full, 32);
  __syncthreads();
  if (t < 32) {
    arrive(&full);
    KEEP();
    s[t] = t;
  } else {
    wait(&full, 0);
    b[t] = s[t - 32];
  }
}

//@ clean grid 1 block 64
extern "C" __global__ void pipeline_of_mbarriers(int* a, int* b) {
  __shared__ unsigned long long full, empty;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 0) {
    init(&full, 32);
    init(&empty, 32);
  }
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    if (t < 32) {
      if (i > 0) wait(&empty, (i - 1) & 1);
      s[t] = a[32 * i + t];
      arrive(&full);
    } else {
      wait(&full, i & 1);
      sum += s[63 - t];
      arrive(&empty);
    }
  }
  b[t] = sum;
}
