// Blocks of one launch.
#include <cooperative_groups.h>
#include "race.h"
namespace cg = cooperative_groups;

//@ race data-race grid 2 block 1
extern "C" __global__ void two_blocks_write(int* a, int* b) {
  a[0] = blockIdx.x;
}

//@ race data-race grid 4 block 1
extern "C" __global__ void same_value(int* a, int* b) {
  a[0] = 1;
}

//@ race data-race grid 2 block 64
extern "C" __global__ void stencil_in_place(int* a, int* b) {
  int i = blockIdx.x * 64 + threadIdx.x;
  int left = a[i], right = a[i + 2];
  __syncthreads();
  a[i + 1] = left + right;
}

//@ race data-race grid 2 block 32
extern "C" __global__ void overlapping_outputs(int* a, int* b) {
  b[blockIdx.x * 31 + threadIdx.x] = threadIdx.x;
}

//@ race data-race grid 2 block 32
extern "C" __global__ void reads_the_other_block(int* a, int* b) {
  int t = threadIdx.x;
  a[blockIdx.x * 32 + t] = t;
  __syncthreads();
  b[blockIdx.x * 32 + t] = a[(1 - blockIdx.x) * 32 + t];
}

//@ race data-race grid 2 block 64
extern "C" __global__ void own_grid_barrier_without_fences(int* a, int* b) {
  int t = threadIdx.x;
  a[blockIdx.x * 64 + t] = t;
  __syncthreads();
  if (t == 0) {
    atomicAdd(b + 1000, 1);
    while (*(volatile int*)(b + 1000) < gridDim.x) {}
  }
  __syncthreads();
  b[blockIdx.x * 64 + t] = a[(1 - blockIdx.x) * 64 + t];
}

//@ race data-race grid 3 block 64
extern "C" __global__ void one_block_skips_the_grid_barrier(int* a, int* b) {
  int t = threadIdx.x;
  a[blockIdx.x * 64 + t] = t;
  __syncthreads();
  if (blockIdx.x < 2) {
    if (t == 0) {
      add_acq_rel(b + 1000, 1);
      while (load_acquire(b + 1000) < 2) {}
    }
    __syncthreads();
    b[blockIdx.x * 64 + t] = a[128 + t] + a[(1 - blockIdx.x) * 64 + t];
  }
}

//@ race data-race grid 2 block 32 cooperative
extern "C" __global__ void after_the_grid_barrier(int* a, int* b) {
  int t = threadIdx.x;
  cg::this_grid().sync();
  a[blockIdx.x * 32 + t] = t;
  KEEP();
  b[blockIdx.x * 32 + t] = a[(1 - blockIdx.x) * 32 + t];
}

//@ race data-race grid 8 block 32
extern "C" __global__ void many_readers_one_writer(int* a, int* b) {
  int t = threadIdx.x;
  b[blockIdx.x * 32 + t] = a[t];
  if (blockIdx.x == 5) a[t] = 1;
}

//@ race data-race grid 2 block 1
extern "C" __global__ void pointer_without_release(int* a, int* b) {
  // A list node that is published by a relaxed exchange.
  if (blockIdx.x == 0) {
    a[1] = 7;
    KEEP();
    atomicExch(a, 1);
  } else {
    int at;
    while ((at = load_relaxed(a)) == 0) {}
    b[0] = a[at];
  }
}

//@ clean grid 4 block 64
extern "C" __global__ void each_its_own(int* a, int* b) {
  int i = blockIdx.x * 64 + threadIdx.x;
  b[i] = a[i] + 1;
  b[i] += a[i];
}

//@ clean grid 4 block 64
extern "C" __global__ void all_read_the_same(int* a, int* b) {
  int sum = 0;
  for (int i = 0; i < 64; i++) sum += a[i];
  b[blockIdx.x * 64 + threadIdx.x] = sum + a[threadIdx.x / 7];
}

//@ clean grid 4 block 64
extern "C" __global__ void stencil_out_of_place(int* a, int* b) {
  int i = blockIdx.x * 64 + threadIdx.x;
  b[i + 1] = a[i] + a[i + 1] + a[i + 2];
}

//@ clean grid 3 block 64 cooperative
extern "C" __global__ void grid_barrier(int* a, int* b) {
  int t = threadIdx.x, next = (blockIdx.x + 1) % gridDim.x;
  a[blockIdx.x * 64 + t] = t;
  cg::this_grid().sync();
  b[blockIdx.x * 64 + t] = a[next * 64 + 63 - t];
}

//@ clean grid 3 block 32 cooperative
extern "C" __global__ void grid_barrier_in_a_loop(int* a, int* b) {
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  int *from = a, *to = b;
  for (int step = 0; step < 3; step++) {
    to[i + 1] = from[i] + from[i + 2];
    cg::this_grid().sync();
    int* swap = from;
    from = to;
    to = swap;
  }
}

//@ clean grid 3 block 64
extern "C" __global__ void own_grid_barrier(int* a, int* b) {
  int t = threadIdx.x, next = (blockIdx.x + 1) % gridDim.x;
  a[blockIdx.x * 64 + t] = t;
  __syncthreads();
  if (t == 0) {
    __threadfence();
    atomicAdd(b + 1000, 1);
    while (*(volatile int*)(b + 1000) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  b[blockIdx.x * 64 + t] = a[next * 64 + t];
}

//@ clean grid 8 block 32
extern "C" __global__ void found_flag_is_atomic(int* a, int* b) {
  if (threadIdx.x == 7) atomicExch(a, 1);
  if (load_relaxed(a)) b[blockIdx.x * 32 + threadIdx.x] = 1;
}

//@ clean grid 4 block 32
extern "C" __global__ void neighbours_by_flags(int* a, int* b) {
  // Each block waits for the one before it only.
  int t = threadIdx.x, i = blockIdx.x;
  if (t == 0 && i > 0)
    while (load_acquire(b + 1000 + i - 1) == 0) {}
  __syncwarp();
  a[i * 32 + t] = t + (i > 0 ? a[(i - 1) * 32 + t] : 0);
  __syncwarp();
  if (t == 0) store_release(b + 1000 + i, 1);
}

//@ clean grid 2 block 1
extern "C" __global__ void pointer_with_release(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[1] = 7;
    __threadfence();
    atomicExch(a, 1);
  } else {
    int at;
    while ((at = load_acquire(a)) == 0) {}
    b[0] = a[at];
  }
}
