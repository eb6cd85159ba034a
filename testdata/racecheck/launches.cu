// Kernels that launch others: a child sees what was done before its launch, and is over before its parent is.
#include "race.h"

__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
__global__ void sum(const int* p, int* to) {
  int total = 0;
  for (int i = 0; i < 32; i++) total += p[i];
  *to = total;
}
__global__ void fill_below(int* p) {
  if (threadIdx.x == 0) fill<<<1, 32>>>(p);
}

//@ race data-race block 1
extern "C" __global__ void parent_reads_what_its_child_writes(int* a, int* b) {
  fill<<<1, 32>>>(a);
  b[0] = a[5];
}

//@ race data-race block 32
extern "C" __global__ void a_barrier_does_not_wait_for_a_child(int* a, int* b) {
  if (threadIdx.x == 0) fill<<<1, 32>>>(a);
  __syncthreads();
  b[threadIdx.x] = a[threadIdx.x];
}

//@ race data-race block 1
extern "C" __global__ void parent_writes_what_its_child_reads(int* a, int* b) {
  sum<<<1, 1>>>(a, b);
  a[3] = 1;
}

//@ race data-race block 1
extern "C" __global__ void parent_writes_what_its_child_writes(int* a, int* b) {
  fill<<<1, 32, 0, cudaStreamFireAndForget>>>(a);
  a[3] = 1;
}

//@ race data-race block 1
extern "C" __global__ void a_child_of_a_child(int* a, int* b) {
  fill_below<<<1, 1>>>(a);
  b[0] = a[5];
}

//@ clean block 32
extern "C" __global__ void what_was_written_before_the_launch(int* a, int* b) {
  a[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum<<<1, 1>>>(a, b);
    fill<<<1, 32>>>(a);
    sum<<<1, 1>>>(a, b + 1);
  }
  b[64 + threadIdx.x] = 1;
}

//@ clean block 1
extern "C" __global__ void a_tail_launch_sees_all(int* a, int* b) {
  sum<<<1, 1, 0, cudaStreamTailLaunch>>>(a, b);
  fill<<<1, 32>>>(a);
  b[0] = 1;
}

//@ clean block 1
extern "C" __global__ void both_read(int* a, int* b) {
  sum<<<1, 1>>>(a, b);
  b[1] = a[3];
}

//@ clean block 1
extern "C" __global__ void counters_of_parent_and_child(int* a, int* b) {
  fill_below<<<1, 1>>>(a);
  atomicAdd(b, 1);
}
