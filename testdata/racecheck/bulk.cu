// Bulk copies (`cp.async.bulk`): what completes them, and the fence of their proxy.
#include "race.h"

__device__ __forceinline__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(unsigned long long* m, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(m)), "r"(count) : "memory");
}
__device__ __forceinline__ void expect(unsigned long long* m, int bytes) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(at(m)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(unsigned long long* m) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(at(m)) : "memory");
}
__device__ __forceinline__ void wait(unsigned long long* m, int parity) {
  asm volatile(
      "{ .reg .pred p; again%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again%=; }" ::"r"(at(m)), "r"(parity)
      : "memory");
}
__device__ __forceinline__ void load(void* to, const void* from, int bytes, unsigned long long* m) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)), "l"(from),
               "r"(bytes), "r"(at(m))
               : "memory");
}
__device__ __forceinline__ void store(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at(from)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
template <int N>
__device__ __forceinline__ void wait_group() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

//@ clean block 128
extern "C" __global__ void everybody_waits(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long m;
  int t = threadIdx.x;
  if (t == 0) { init(&m, 1); fence(); }
  __syncthreads();
  if (t == 0) { expect(&m, 512); load(s, a, 512, &m); }
  wait(&m, 0);
  b[t] = s[127 - t];
}

//@ clean block 128
extern "C" __global__ void one_waits_before_a_barrier(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long m;
  int t = threadIdx.x;
  if (t == 0) { init(&m, 1); fence(); expect(&m, 512); load(s, a, 512, &m); wait(&m, 0); }
  __syncthreads();
  b[t] = s[127 - t];
}

//@ race block 128 data-race
extern "C" __global__ void nobody_waits(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long m;
  int t = threadIdx.x;
  if (t == 0) { init(&m, 1); fence(); expect(&m, 512); load(s, a, 512, &m); }
  __syncthreads();
  b[t] = s[127 - t];
}

//@ race block 128 data-race
extern "C" __global__ void half_of_them_wait(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long m;
  int t = threadIdx.x;
  if (t == 0) { init(&m, 1); fence(); expect(&m, 512); load(s, a, 512, &m); }
  __syncthreads();
  if (t < 64) wait(&m, 0);
  b[t] = s[127 - t];
}

//@ race block 128 data-race
extern "C" __global__ void the_issuer_reads_early(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long m;
  int t = threadIdx.x;
  if (t == 0) { init(&m, 1); fence(); expect(&m, 512); load(s, a, 512, &m); b[0] = s[5]; }
}

//@ race block 128 data-race
extern "C" __global__ void loads_over_what_is_read(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long m;
  int t = threadIdx.x;
  s[t] = t;
  if (t == 0) { init(&m, 1); fence(); }
  __syncthreads();
  b[t] = s[127 - t];
  if (t == 0) { expect(&m, 512); load(s, a, 512, &m); }
}

//@ clean block 128
extern "C" __global__ void two_stages(int* a, int* b) {
  __shared__ alignas(16) int s[2][128];
  __shared__ unsigned long long full[2], empty[2];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; i++) { init(&full[i], 1); init(&empty[i], 128); }
    fence();
  }
  __syncthreads();
  int sum = 0;
  if (t == 0) for (int i = 0; i < 2; i++) { expect(&full[i], 512); load(s[i], a + 128 * i, 512, &full[i]); }
  for (int i = 0; i < 6; i++) {
    int stage = i & 1, phase = i / 2 & 1;
    wait(&full[stage], phase);
    sum += s[stage][127 - t];
    arrive(&empty[stage]);
    if (t == 0 && i + 2 < 6) {
      wait(&empty[stage], phase);
      expect(&full[stage], 512);
      load(s[stage], a + 128 * (i + 2), 512, &full[stage]);
    }
  }
  b[t] = sum;
}

//@ race block 128 data-race
extern "C" __global__ void a_stage_reused_too_early(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long full[2];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; i++) init(&full[i], 1);
    fence();
    expect(&full[0], 512);
    load(s, a, 512, &full[0]);
  }
  __syncthreads();
  wait(&full[0], 0);
  int first = s[127 - t];
  if (t == 0) { expect(&full[1], 512); load(s, a + 128, 512, &full[1]); }
  wait(&full[1], 0);
  b[t] = first + s[127 - t];
}

//@ race block 128 data-race
extern "C" __global__ void waits_for_the_other_stage(int* a, int* b) {
  __shared__ alignas(16) int s[2][128];
  __shared__ unsigned long long full[2];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; i++) init(&full[i], 1);
    fence();
    for (int i = 0; i < 2; i++) { expect(&full[i], 512); load(s[i], a + 128 * i, 512, &full[i]); }
  }
  __syncthreads();
  wait(&full[0], 0);
  b[t] = s[1][127 - t];
}

//@ race block 128 data-race
extern "C" __global__ void two_loads_to_one_place(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  __shared__ unsigned long long m[2];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; i++) init(&m[i], 1);
    fence();
    for (int i = 0; i < 2; i++) { expect(&m[i], 512); load(s, a + 128 * i, 512, &m[i]); }
    for (int i = 0; i < 2; i++) wait(&m[i], 0);
  }
  __syncthreads();
  b[t] = s[127 - t];
}

//@ clean block 128
extern "C" __global__ void stores_what_was_fenced(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t == 0) { store(b, s, 512); commit(); wait_read<0>(); }
  __syncthreads();
  s[t] = 0;
}

//@ clean block 128
extern "C" __global__ void the_issuer_fences_behind_the_barrier(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  if (t == 0) { fence(); store(b, s, 512); commit(); wait_group<0>(); }
}

//@ race block 128 missing-proxy-fence
extern "C" __global__ void stores_without_a_fence(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  if (t == 0) { store(b, s, 512); commit(); wait_group<0>(); }
}

//@ race block 128 missing-proxy-fence
extern "C" __global__ void only_the_issuer_fences(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  if (t == 0) fence();
  __syncthreads();
  if (t == 0) { store(b, s, 512); commit(); wait_group<0>(); }
}

//@ race block 128 data-race
extern "C" __global__ void stores_without_a_barrier(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  if (t == 0) { store(b, s, 512); commit(); wait_group<0>(); }
}

//@ race block 128 data-race
extern "C" __global__ void writes_the_source_too_early(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t == 0) { store(b, s, 512); commit(); }
  __syncthreads();
  s[t] = 0;
}

//@ race block 128 data-race
extern "C" __global__ void waits_without_a_commit(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t == 0) { store(b, s, 512); wait_read<0>(); commit(); }
  __syncthreads();
  s[t] = 0;
}

//@ clean block 128
extern "C" __global__ void the_older_group_is_done(int* a, int* b) {
  __shared__ alignas(16) int s[2][128];
  int t = threadIdx.x;
  s[0][t] = s[1][t] = a[t];
  fence();
  __syncthreads();
  if (t == 0) { store(b, s[0], 512); commit(); store(b + 128, s[1], 512); commit(); wait_read<1>(); }
  __syncthreads();
  s[0][t] = 0;
}

//@ race block 128 data-race
extern "C" __global__ void the_newer_group_is_not(int* a, int* b) {
  __shared__ alignas(16) int s[2][128];
  int t = threadIdx.x;
  s[0][t] = s[1][t] = a[t];
  fence();
  __syncthreads();
  if (t == 0) { store(b, s[0], 512); commit(); store(b + 128, s[1], 512); commit(); wait_read<1>(); }
  __syncthreads();
  s[1][t] = 0;
}

//@ race block 128 data-race
extern "C" __global__ void reads_the_target_when_only_read(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t == 0) { store(b, s, 512); commit(); wait_read<0>(); }
  __syncthreads();
  a[t] = b[127 - t];
}

//@ clean block 128
extern "C" __global__ void reads_the_target_when_written(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t == 0) { store(b, s, 512); commit(); wait_group<0>(); }
  __syncthreads();
  a[t] = b[127 - t];
}

// What a whole warp stores with the same operands is stored once.
//@ clean block 128
extern "C" __global__ void a_warp_stores_once(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t < 32) { store(b, s, 512); commit(); wait_group<0>(); }
}

//@ race block 128 data-race
extern "C" __global__ void two_warps_store_the_same(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t < 64) { store(b, s, 512); commit(); wait_group<0>(); }
}

//@ race block 128 data-race
extern "C" __global__ void a_warp_stores_two_things(int* a, int* b) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  fence();
  __syncthreads();
  if (t < 32) { store(b, s + 4 * (t & 1), 256); commit(); wait_group<0>(); }
}
